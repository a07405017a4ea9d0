/* schedule.c - the learning rate at any point of a run.

   The kinds are those of ClassyVision's schedulers, which VISSL uses. If w is
   the part of the run that is done, from 0 to 1, the rate is
     constant    value
     linear      start_value + (end_value - start_value) w
     cosine      end_value + (start_value - end_value) (1 + cos(pi w)) / 2
     step        the values in order, each for an equal part of the run
     multistep   the values in order; each milestone (an epoch) starts the next
     composite   that of the schedulers in order, each for its length

   auto_lr_scaling: let rate be base_value times the global batch divided by
   base_lr_batch_size (or the square root of that ratio). It replaces the value
   of constant, the end_value of linear, and the first rate of cosine, step and
   multistep, whose other rates keep their ratio to the first. In a composite
   schedule it applies to each part. */
#include "schedule.h"

#include <math.h>

/* `where` may fall short of a boundary by a rounding error. */
#define CLOSE 1e-6

static const double pi = 3.14159265358979323846;

/* There is at least one value. */
static double step_at(const struct config_numbers *values, double where)
{
    double place = (where + CLOSE) * values->count;
    uint32_t last = values->count - 1;

    return values->items[place < last ? (uint32_t)place : last];
}

static double multistep_at(const struct config_curve *curve,
                           int64_t num_epochs, double where)
{
    int64_t epoch = (int64_t)((where + CLOSE) * (double)num_epochs);
    uint32_t i = 0;

    while (i < curve->milestones.count && curve->milestones.items[i] <= epoch)
        i++;
    return curve->values.items[i];
}

static double curve_at(const struct config_curve *curve, int64_t num_epochs,
                       double where)
{
    double start = curve->start_value, end = curve->end_value;

    switch (curve->name) {
    case CONFIG_CONSTANT:
        return curve->value;
    case CONFIG_LINEAR:
        return start * (1 - where) + end * where;
    case CONFIG_COSINE:
        return end + (start - end) * (1 + cos(pi * where)) / 2;
    case CONFIG_MULTISTEP:
        return multistep_at(curve, num_epochs, where);
    default:
        return step_at(&curve->values, where);
    }
}

/* Applies auto_lr_scaling to a schedule. */
static void scale_curve(struct config_curve *curve, double rate)
{
    double first = curve->values.items[0];
    uint32_t i;

    switch (curve->name) {
    case CONFIG_CONSTANT:
        curve->value = rate;
        break;
    case CONFIG_LINEAR:
        curve->end_value = rate;
        break;
    case CONFIG_COSINE:
        curve->end_value *= rate / curve->start_value;
        curve->start_value = rate;
        break;
    default:
        for (i = 0; i < curve->values.count; i++)
            curve->values.items[i] *= rate / first;
    }
}

static double scaled_at(const struct trainer_config *config,
                        const struct config_curve *curve, double where)
{
    struct config_curve scaled = *curve;

    if (config->optimizer.lr.auto_lr_scaling.auto_scale) {
        double base = config->optimizer.lr.auto_lr_scaling.base_value;
        double factor =
            (double)config_global_batch(config) /
            (double)config->optimizer.lr.auto_lr_scaling.base_lr_batch_size;

        if (config->optimizer.lr.auto_lr_scaling.scaling_type ==
            CONFIG_SQRT_SCALING)
            factor = sqrt(factor);
        scale_curve(&scaled, base * factor);
    }
    return curve_at(&scaled, config->optimizer.num_epochs, where);
}

double schedule_at(const struct trainer_config *config, double where)
{
    const struct config_numbers *lengths = &config->optimizer.lr.lengths;
    uint32_t last = config->optimizer.lr.schedulers.count - 1, i = 0;
    double start = 0, length;

    if (config->optimizer.lr.curve.name != CONFIG_COMPOSITE)
        return scaled_at(config, &config->optimizer.lr.curve, where);
    while (i < last && where + CLOSE > start + lengths->items[i])
        start += lengths->items[i++];
    /* The last one gets the rest, so that it ends at 1. */
    length = i < last ? lengths->items[i] : 1 - start;
    if (config->optimizer.lr.interval_scaling.count == 0 ||
        config->optimizer.lr.interval_scaling.items[i] == CONFIG_RESCALED) {
        /* It may have started up to CLOSE early. */
        where = where > start ? (where - start) / length : 0;
    }
    return scaled_at(config, &config->optimizer.lr.schedulers.items[i], where);
}

double schedule_of_step(const struct trainer_config *config, uint64_t step,
                        uint64_t steps_per_epoch)
{
    uint64_t epochs = (uint64_t)config->optimizer.num_epochs;
    double where;

    if (config->optimizer.lr.update_interval == CONFIG_EPOCH)
        where = (double)(step / steps_per_epoch) / (double)epochs;
    else
        where = (double)step / ((double)epochs * (double)steps_per_epoch);
    return schedule_at(config, where);
}
