#include "report/read/runlog_entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status runlog_entry_refuse(const struct entry *e, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s:%zu: %s", e->name, e->number, what);
}

status runlog_entry_copy(char **out, const char *text, struct err *err)
{
    *out = strdup(text);
    return *out ? OK : err_set(err, ERR_MEMORY, "no memory for the run log");
}

/* A value that is there, and not null. */
static status get_value(const struct entry *e, const struct runlog_field *f,
                        const json_t *v, void *out, struct err *err)
{
    const bool is_text = f->type == RUNLOG_TEXT;

    if (is_text ? !json_is_string(v) : !json_is_number(v))
        return err_set(err, ERR_FORMAT, "%s:%zu: \"%s\" is not a %s", e->name, e->number,
                       f->name, is_text ? "string" : "number");
    if (is_text)
        return runlog_entry_copy(out, json_string_value(v), err);
    *(double *)out = json_number_value(v);
    return OK;
}

status runlog_entry_get(const struct entry *e, enum runlog_kind kind,
                        const json_t *object, void *out, struct err *err)
{
    for (size_t i = 0; i < runlog_schema[kind].n; i++) {
        const struct runlog_field *f = &runlog_schema[kind].field[i];
        const json_t *v = json_object_get(object, f->name);
        void *at = (char *)out + f->at;

        if (f->type == RUNLOG_FLAG)
            *(bool *)at = json_is_true(v);
        else if (f->type == RUNLOG_TEXT)
            *(char **)at = NULL;
        else if (f->type != RUNLOG_JSON)
            *(double *)at = NAN;
        if (v && !json_is_null(v) && f->type != RUNLOG_FLAG && f->type != RUNLOG_JSON)
            TRY(get_value(e, f, v, at, err));
    }
    return OK;
}

void runlog_entry_free(enum runlog_kind kind, void *fields)
{
    for (size_t i = 0; i < runlog_schema[kind].n; i++)
        if (runlog_schema[kind].field[i].type == RUNLOG_TEXT)
            free(*(char **)((char *)fields + runlog_schema[kind].field[i].at));
}
