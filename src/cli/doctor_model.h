/*
 * doctor_model - a tiny model on a device: is its gradient the derivative of its loss,
 * and do two updates lead where they lead on the CPU?
 */
#pragma once

#include "base/err.h"

struct doctor_model {
    double slope, slope_wanted; /* along one direction: by gradient, by differences */
    double loss[2];             /* mean token loss of two updates */
    double loss_cpu[2];
    double furthest; /* largest difference of a weight after them */
};

status doctor_model(struct doctor_model *r, const char *device,
                    struct err *err) MUST_CHECK;
