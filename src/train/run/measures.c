#include "train/run/measures.h"

#include <string.h>

#include "base/err.h"

static const struct row {
    const char *name, *title;
    bool is_more_better;
} rows[] = {
#define M(code, name, member, more, title) {name, title, more},
    MEASURE_LIST(M)
#undef M
};

enum measure measure_find(const char *name)
{
    enum measure m = MEASURE_LOSS;

    while (m < MEASURE_N && strcmp(rows[m].name, name) != 0)
        m++;
    BUG_ON(m == MEASURE_N);
    return m;
}

const char *measure_title(enum measure m)
{
    return rows[m].title;
}

bool measure_is_better(enum measure m, double now, double before)
{
    return rows[m].is_more_better ? now > before : now < before;
}
