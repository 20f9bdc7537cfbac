/*
 * doctor_model - a tiny model on a device: is its gradient the derivative of its loss,
 * and do two updates, in any precision, lead where they lead on the CPU?
 */
#pragma once

#include "base/err.h"
#include "device/device.h"

struct doctor_model {
    double slope, slope_wanted; /* along one direction: by gradient, by differences */
    double loss[2];             /* mean token loss of two updates */
    double loss_cpu[2];
    double distance; /* root mean square difference of the weights after them */
    double moved;    /* the same between the CPU's and those that it began with */
};

status doctor_model(struct doctor_model *r, const char *device, enum precision precision,
                    struct err *err) MUST_CHECK;
