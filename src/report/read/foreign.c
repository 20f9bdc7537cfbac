#include "report/read/foreign.h"

#include <math.h>
#include <stdlib.h>

void foreign_set(json_t *o, const char *key, double v)
{
    if (isfinite(v))
        json_object_set_new(o, key, json_real(v));
}

json_t *foreign_entry(const char *event, double t, double step)
{
    json_t *o = json_object();

    json_object_set_new(o, "event", json_string(event));
    foreign_set(o, "t", t);
    foreign_set(o, "step", step);
    return o;
}

void foreign_put(struct str *out, json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    if (text)
        str_puts(out, text);
    else
        out->bad = true;
    str_putc(out, '\n');
    free(text);
}
