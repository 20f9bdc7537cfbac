#include "train/log/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "format/json_text.h"

enum { WAITING_MAX = 16 << 20 };

const struct journal journal_none = {.fd = -1};

/* As much as the disk takes. */
static void write_out(struct journal *j)
{
    struct str *s = &j->waiting;
    size_t done = 0;

    j->is_stuck = false;
    while (done < s->len && !j->is_stuck) {
        const ssize_t n = write(j->fd, s->data + done, s->len - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            j->is_stuck = true;
    }
    if (j->is_stuck)
        snprintf(j->why, sizeof j->why, "%s", file_reason(errno));
    if (done) {
        memmove(s->data, s->data + done, s->len - done);
        s->len -= done;
    }
}

static void add_line(struct journal *j, const char *text)
{
    struct str *s = &j->waiting;
    const size_t before = s->len;

    str_puts(s, text);
    str_putc(s, '\n');
    if (!s->bad)
        return;
    s->bad = false;
    s->len = before;
    j->n_dropped++;
}

static bool ends_in_a_line(int fd)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    char last = '\n';

    return end <= 0 || (pread(fd, &last, 1, end - 1) == 1 && last == '\n');
}

status journal_open(struct journal *j, const char *run_dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    *j = (struct journal){.fd = -1, .waiting = str_new(WAITING_MAX)};
    TRY(file_join(path, sizeof path, run_dir, "run.jsonl", err));
    TRY(file_open_regular(&j->fd, path, O_RDWR | O_CREAT | O_APPEND, err));
    if (!ends_in_a_line(j->fd))
        str_putc(&j->waiting, '\n');
    return OK;
}

json_t *journal_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *hash_text(uint64_t hash)
{
    char text[24];

    snprintf(text, sizeof text, "%016" PRIx64, hash);
    return json_string(text);
}

static json_t *value_of(const struct runlog_field *f, const void *at)
{
    switch (f->type) {
    case RUNLOG_TEXT:
        return *(const char *const *)at ? json_text(*(const char *const *)at) : NULL;
    case RUNLOG_FLAG:
        return json_boolean(*(const bool *)at);
    case RUNLOG_JSON:
        return *(json_t *const *)at;
    case RUNLOG_HASH:
        return *(const uint64_t *)at ? hash_text(*(const uint64_t *)at) : NULL;
    case RUNLOG_INT:
        return json_integer((json_int_t) * (const double *)at);
    case RUNLOG_MAYBE:
        return isfinite(*(const double *)at) ? journal_number(*(const double *)at) : NULL;
    case RUNLOG_REAL:
        break;
    }
    return journal_number(*(const double *)at);
}

json_t *journal_object(enum runlog_kind kind, const void *fields)
{
    const struct runlog_object *schema = &runlog_schema[kind];
    json_t *o = json_object();

    if (kind < RUNLOG_ENTRIES_N)
        json_object_set_new(o, "event", json_string(schema->name));
    for (size_t i = 0; i < schema->n; i++) {
        const struct runlog_field *f = &schema->field[i];
        json_t *v = value_of(f, (const char *)fields + f->at);
        if (v)
            json_object_set_new(o, f->name, v);
    }
    return o;
}

status journal_put(struct journal *j, struct json_t *o, struct err *err)
{
    char *text = j->fd < 0 ? NULL : json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

    json_decref(o);
    if (j->fd < 0)
        return OK;
    if (!text)
        return err_set(err, ERR_MEMORY, "no memory for a line of run.jsonl");
    add_line(j, text);
    free(text);
    write_out(j);
    return OK;
}

status journal_close(struct journal *j, struct err *err)
{
    status result = OK;

    if (j->fd >= 0) {
        write_out(j);
        if (j->is_stuck)
            result = err_set(err, ERR_IO, "run.jsonl: %zu bytes of its end are lost: %s",
                             j->waiting.len, j->why);
        else if (j->n_dropped)
            result = err_set(err, ERR_IO, "run.jsonl: %zu lines are lost", j->n_dropped);
        if (close(j->fd) != 0 && result == OK)
            result = err_set(err, ERR_IO, "run.jsonl: %s", strerror(errno));
    }
    str_release(&j->waiting);
    *j = journal_none;
    return result;
}
