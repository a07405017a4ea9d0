/* rules.h - how many orders, tail rules and stop rules there are. Tests that go
   through all of them, or draw one, end at these: a new rule changes its line
   here. test_errors.c fails if the header takes one more. */
#ifndef STATESAMPLER_TESTS_RULES_H
#define STATESAMPLER_TESTS_RULES_H

#define ORDERS (STATESAMPLER_ORDER_REPLACEMENT + 1)
#define TAILS (STATESAMPLER_TAIL_CARRY + 1)
#define STOPS (STATESAMPLER_STOP_NEVER + 1)

#endif
