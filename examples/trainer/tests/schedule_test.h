/* schedule_test.h - what config_test asks of the learning rate. */
int schedule_test(void);
