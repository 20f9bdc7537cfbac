/* rates - the learning rate that the configuration asks for, beside the logged one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "recipe/schedule.h"

struct run;

/* The schedule of the newest configuration; false when it does not give one. */
bool rates_schedule(struct schedule *s, const struct run *run);

/*
 * The largest |logged / computed - 1| over the logged steps, and their number in *n. The
 * update that made step k was the one of t = k - 1. NAN when nothing was logged.
 */
double rates_difference(const struct schedule *s, const struct run *run, size_t *n);
