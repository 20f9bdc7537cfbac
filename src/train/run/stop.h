/*
 * stop - SIGINT and SIGTERM as a wish: finish the step, save, leave with status 0.
 *
 * The second signal ends the process at once, as usual.
 */
#pragma once

#include <stdbool.h>

void stop_listen(void);
void stop_forget(void); /* the signals have their usual meaning again */
bool stop_requested(void);
