/* schedule.h - the learning rate at any point of a run. */
#ifndef TRAINER_SCHEDULE_H
#define TRAINER_SCHEDULE_H

#include "config.h"

/* The rate after a part of the run, from 0 to 1. */
double schedule_at(const struct trainer_config *config, double where);

/* The rate of a step. With update_interval `epoch` it changes only between
   epochs. */
double schedule_of_step(const struct trainer_config *config, uint64_t step,
                        uint64_t steps_per_epoch);

#endif
