#include "prepare/source/weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/corpus.h"

enum { NUMBER_MAX = 63 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A finite decimal number: strtod alone also takes hexadecimal and "inf". */
static bool read_number(struct line in, double *x)
{
    char text[NUMBER_MAX + 1], *end;

    while (in.n_bytes && is_blank(in.text[in.n_bytes - 1]))
        in.n_bytes--;
    while (in.n_bytes && is_blank(*in.text)) {
        in.text++;
        in.n_bytes--;
    }
    if (!in.n_bytes || in.n_bytes > NUMBER_MAX)
        return false;
    memcpy(text, in.text, in.n_bytes);
    text[in.n_bytes] = '\0';
    if (text[strspn(text, "+-.0123456789eE")])
        return false;
    *x = strtod(text, &end);
    return end != text && !*end && isfinite(*x);
}

status weights_read(float *weight, struct line in, const char *name, uint64_t line,
                    struct err *err)
{
    double x;

    if (read_number(in, &x)) {
        *weight = (float)x;
        if (x == 0 || corpus_is_weight(*weight))
            return OK;
    }
    return err_set(err, ERR_FORMAT,
                   "%s:%" PRIu64 ": '%.*s' is no weight; want 0, which leaves the pair "
                   "out, or a number from 0.000001 to 1000000",
                   name, line, in.n_bytes < 40 ? (int)in.n_bytes : 40, in.text);
}

status weights_count_differs(const char *name, uint64_t n, const char *text,
                             uint64_t n_text, struct err *err)
{
    return err_set(err, ERR_FORMAT,
                   "%s has %" PRIu64 " lines, %s has %" PRIu64
                   " pairs; want a weight for each pair, one a line",
                   name, n, text, n_text);
}
