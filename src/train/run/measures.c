#include "train/run/measures.h"

struct measures_text measures_text(const struct score_options *o)
{
    return (struct measures_text){tokenize_find(o->score_tokenize), o->score_lowercase};
}

struct metric_options measures_metric(enum metric m, struct measures_text text)
{
    struct metric_options o = metric_options(m);

    o.bleu.tokenize = text.tokenize;
    o.bleu.is_lowercase = o.chrf.is_lowercase = text.is_lowercase;
    return o;
}

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
