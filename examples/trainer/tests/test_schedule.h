/* test_schedule.h - what test_config asks of the learning rate. */
int test_schedule(void);
