/* test_schedule.c - the learning rate over a run, against the formulas of
   config_check.c worked out by hand. */
#include <math.h>

#include "../../../tests/check.h"
#include "../config.h"

#define LR "OPTIMIZER.param_schedulers.lr"

static struct trainer_config config;

static void override(const char *argument)
{
    if (!config_override(&config, argument)) {
        printf("%s\n", config.error);
        CHECK(!"the argument is taken");
    }
}

/* A run of so many epochs with this schedule, as a map in YAML. */
static void begin(const char *epochs, const char *schedule)
{
    char argument[1024];

    config = config_defaults;
    snprintf(argument, sizeof argument, "OPTIMIZER.num_epochs=%s", epochs);
    override(argument);
    snprintf(argument, sizeof argument, LR "=%s", schedule);
    override(argument);
    if (!config_check(&config, 0)) {
        printf("%s\n", config.error);
        CHECK(!"the schedule is taken");
    }
}

static void expect(double where, double rate)
{
    double found = schedule_at(&config, where);

    if (!(fabs(found - rate) <= 1e-12)) {
        printf("at %g: %.17g, not %.17g\n", where, found, rate);
        exit(1);
    }
    check_count++;
}

static void test_forms(void)
{
    double w;

    begin("3", "{name: constant, value: 0.25}");
    expect(0, 0.25);
    expect(1, 0.25);

    begin("3", "{name: linear, start_value: 1, end_value: 3}");
    expect(0, 1);
    expect(0.25, 1.5);
    expect(1, 3);

    begin("3", "{name: cosine, start_value: 0.8, end_value: 0.2}");
    expect(0, 0.8);
    expect(1.0 / 3, 0.65);
    expect(0.5, 0.5);
    expect(2.0 / 3, 0.35);
    expect(1, 0.2);

    begin("10", "{name: step, values: [5, 4, 3, 2]}");
    expect(0, 5);
    expect(0.2499, 5);
    expect(0.25, 4);
    expect(0.7499, 3);
    expect(0.75, 2);
    expect(1, 2);

    /* Falls or stays, without a jump at the ends. */
    begin("3", "{name: cosine, start_value: 1, end_value: 0}");
    for (w = 0; w < 1; w += 0.001) {
        CHECK(schedule_at(&config, w) >= schedule_at(&config, w + 0.001));
    }
}

static void test_multistep(void)
{
    static const double rates[] = {0.1, 0.01, 0.001};
    int epoch;

    /* The default has these rates, and milestones at 30 and 60. */
    begin("90", "{name: multistep}");
    for (epoch = 0; epoch < 90; epoch++) {
        expect(epoch / 90.0, rates[epoch / 30]);
        /* The last moment of an epoch is still in it. */
        expect((epoch + 0.999) / 90, rates[epoch / 30]);
    }
    expect(1, 0.001);
    begin("3", "{values: [7], milestones: []}");
    expect(0, 7);
    expect(1, 7);
}

static void test_composite(void)
{
    const char *parts = "{name: composite, schedulers: ["
                        "{name: linear, start_value: 0, end_value: 1}, "
                        "{name: cosine, start_value: 1, end_value: 0}], "
                        "lengths: [0.2, 0.8]}";

    begin("5", parts);
    expect(0, 0);
    expect(0.1, 0.5);
    expect(0.2, 1);
    expect(0.6, 0.5);
    expect(1, 0);

    /* A part that is shorter than what counts as close. */
    begin("5", "{name: composite, schedulers: ["
               "{name: constant, value: 4}, "
               "{name: linear, start_value: 1, end_value: 2}], "
               "lengths: [0.999999999, 0.000000001]}");
    expect(0.99, 4);
    expect(0.9999995, 1);
    expect(1, 2);

    /* Lengths that sum to a little less than 1: the last one ends at 1. */
    begin("5", "{name: composite, schedulers: ["
               "{name: constant, value: 4}, "
               "{name: linear, start_value: 1, end_value: 2}], "
               "lengths: [0.5, 0.4995]}");
    expect(0.49, 4);
    expect(0.5, 1);
    expect(0.75, 1.5);
    expect(1, 2);
}

/* 2 machines of 4 processes with 64 sequences: 512, twice 256. */
static void test_scaling(void)
{
    static const char *const batch[] = {
        "DISTRIBUTED.NUM_NODES=2",
        "DISTRIBUTED.NUM_PROC_PER_NODE=4",
        "DATA.TRAIN.BATCHSIZE_PER_REPLICA=64",
        LR ".auto_lr_scaling={auto_scale: True, base_value: 0.3}",
    };
    static const struct {
        const char *schedule;
        double first, last;
    } cases[] = {
        {"{name: constant, value: 9}", 0.6, 0.6},
        {"{name: linear, start_value: 0.1, end_value: 9}", 0.1, 0.6},
        {"{name: cosine, start_value: 8, end_value: 2}", 0.6, 0.15},
        {"{name: step, values: [4, 1]}", 0.6, 0.15},
        {"{name: multistep, values: [4, 3, 1], milestones: [1, 2]}", 0.6, 0.15},
        {"{name: composite, schedulers: ["
         "{name: linear, start_value: 0.1, end_value: 9}, "
         "{name: cosine, start_value: 8, end_value: 2}], "
         "lengths: [0.5, 0.5]}",
         0.1, 0.15},
    };
    size_t i, j;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("3", cases[i].schedule);
        for (j = 0; j < sizeof batch / sizeof *batch; j++) {
            override(batch[j]);
        }
        CHECK(config_check(&config, 0));
        expect(0, cases[i].first);
        expect(1, cases[i].last);
        override(LR ".auto_lr_scaling.base_lr_batch_size=32");
        override(LR ".auto_lr_scaling.scaling_type=sqrt");
        if (cases[i].first != 0.1) { /* 16 times the batch: 4 times 0.3. */
            expect(0, cases[i].first * 2);
        }
        expect(1, cases[i].last * 2);
    }
}

static void test_steps(void)
{
    begin("4", "{name: linear, start_value: 0, end_value: 1}");
    CHECK(schedule_of_step(&config, 0, 10) == 0);
    CHECK(schedule_of_step(&config, 9, 10) == 0);
    CHECK(schedule_of_step(&config, 10, 10) == 0.25);
    CHECK(schedule_of_step(&config, 39, 10) == 0.75);
    override(LR ".update_interval=step");
    CHECK(schedule_of_step(&config, 9, 10) == 0.225);
    CHECK(schedule_of_step(&config, 10, 10) == 0.25);
    CHECK(schedule_of_step(&config, 39, 10) == 0.975);
}

int main(void)
{
    test_forms();
    test_multistep();
    test_composite();
    test_scaling();
    test_steps();
    return check_done("test_schedule");
}
