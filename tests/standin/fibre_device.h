/*
 * fibre_device - a GPU device whose GPU is this CPU: the kernels of device/gpu as C, item
 * by item. So every machine tests them, also one without OpenCL.
 */
#pragma once

#include "device/device.h"

status fibre_device_open(struct device *d, enum precision precision, struct err *err);
