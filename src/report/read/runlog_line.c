#include "report/read/runlog_line.h"

#include <math.h>
#include <string.h>

status runlog_line_refuse(const struct line *l, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: %s", l->name, l->number, what);
}

status runlog_line_number(const struct line *l, const json_t *object, const char *key,
                          double *out, struct err *err)
{
    const json_t *v = json_object_get(object, key);

    *out = NAN;
    if (!v || json_is_null(v))
        return OK;
    if (!json_is_number(v))
        return err_set(err, ERR_FORMAT, "%s:%zu: \"%s\" is not a number", l->name,
                       l->number, key);
    *out = json_number_value(v);
    return OK;
}

status runlog_line_copy(char **out, const char *text, struct err *err)
{
    *out = strdup(text);
    return *out ? OK : err_set(err, ERR_MEMORY, "no memory for the run log");
}

status runlog_line_member(const struct line *l, const json_t *object, const char *key,
                          char **out, struct err *err)
{
    const json_t *v = json_object_get(object, key);

    *out = NULL;
    if (!v || json_is_null(v))
        return OK;
    if (!json_is_string(v))
        return err_set(err, ERR_FORMAT, "%s:%zu: \"%s\" is not a string", l->name,
                       l->number, key);
    return runlog_line_copy(out, json_string_value(v), err);
}

status runlog_line_text(const struct line *l, const char *key, char **out,
                        struct err *err)
{
    return runlog_line_member(l, l->json, key, out, err);
}
