/* schedule.h - the learning rate at any moment of a run, from its
   configuration alone. */
#ifndef TRAINER_SCHEDULE_H
#define TRAINER_SCHEDULE_H

#include "config.h"

/* The rate where a share of the run is done: where is from 0 to 1. With
   auto_lr_scaling it follows the global batch. */
double schedule_at(const struct trainer_config *config, double where);

/* The rate of a step, of so many in an epoch: it changes with each step, or
   with update_interval `epoch` only between epochs. */
double schedule_of_step(const struct trainer_config *config, uint64_t step,
                        uint64_t steps_per_epoch);

#endif
