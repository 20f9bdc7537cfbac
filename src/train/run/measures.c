#include "train/run/measures.h"

unsigned measures_find(const char *name)
{
    return metric_find(name); /* the loss is behind them all */
}

bool measures_is_better(unsigned measure, double now, double before)
{
    if (measure == MEASURE_LOSS)
        return now < before;
    return metric_is_better((enum metric)measure, now, before);
}
