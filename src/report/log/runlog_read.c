/* From the bytes of a log to its lines, at once or as it grows. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lines.h"
#include "report/log/runlog.h"
#include "report/log/runlog_entry.h"
#include "text/line_reader.h"

enum { LINE_MAX_BYTES = 1 << 26 }; /* a ranks entry of a hundred thousand ranks */

static bool is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return false;
    return true;
}

/* The first event of a process that appends to the log: training, or `ferry eval`. */
static bool is_opening(const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "event"));

    return name && (strcmp(name, "start") == 0 || strcmp(name, "test") == 0);
}

static status read_line(struct runlog *log, struct entry *e, struct runlog_suspect *s,
                        struct line line, struct err *err)
{
    json_error_t why;
    json_t *json = json_loadb(line.text, line.n_bytes, 0, &why);
    status result = OK;

    if (s->number && (!json || !is_opening(json))) {
        json_decref(json);
        return err_set(err, ERR_FORMAT, "%s:%zu: not a JSON object: %s", e->name,
                       s->number, s->why);
    }
    if (s->number)
        log->n_cut++;
    s->number = 0;
    if (!json) {
        if (line.text[0] != '{')
            return runlog_entry_refuse(e, "not a JSON object", err);
        s->number = e->number;
        snprintf(s->why, sizeof s->why, "%s", why.text);
        return OK;
    }
    e->json = json;
    if (json_is_object(json))
        result = runlog_entry_event(log, e, err);
    else
        result = runlog_entry_refuse(e, "not a JSON object", err);
    json_decref(json);
    return result;
}

static status add_line(struct runlog *log, struct runlog_suspect *s, const char *name,
                       struct line line, struct err *err)
{
    struct entry e = {.name = name, .number = ++log->n_lines};
    bool is_done = false;

    if (is_blank(line.text, line.n_bytes))
        return OK;
    if (!s->number)
        TRY(runlog_scan(log, line.text, line.n_bytes, &is_done, err));
    return is_done ? OK : read_line(log, &e, s, line, err);
}

status runlog_parse(struct runlog *log, const char *name, const void *data, size_t n,
                    struct err *err)
{
    struct runlog_suspect suspect = {0};
    struct lines lines = lines_over(data, n);
    status result = OK;

    runlog_init(log);
    for (struct line line; result == OK && lines_next(&lines, &line);)
        result = add_line(log, &suspect, name, line, err);
    log->n_cut += suspect.number != 0;
    if (result != OK)
        runlog_close(log);
    return result;
}

status runlog_put(struct runlog *log, json_t *entry, struct err *err)
{
    const struct entry e = {.name = "the log", .number = log->n_lines, .json = entry};

    const status result = entry ? runlog_entry_event(log, &e, err)
                                : err_set(err, ERR_MEMORY, "no memory for the run log");
    json_decref(entry);
    return result;
}

/* ---- files ---- */

/* Whether the line that was handed out last ended, or the file did. */
static bool is_whole(const struct line_reader *file)
{
    return file->at > 0 && file->buf[file->at - 1] == '\n';
}

/* Lines to the end of the file. The last one is left for the next look if it has no end,
 * unless there is none. */
static status read_lines(struct runlog_follow *f, struct line_reader *file,
                         const char *path, bool is_last_look, struct err *err)
{
    const uint64_t from = f->at;
    struct line line;
    bool has;

    file->max_line = LINE_MAX_BYTES;
    for (;;) {
        TRY(line_reader_next(file, &line, &has, err));
        if (!has)
            break;
        if (!is_whole(file) && !is_last_look) {
            f->n_open = 1;
            break;
        }
        TRY(add_line(&f->log, &f->suspect, path, line, err));
        f->at = from + file->in.n_out - (file->end - file->at);
    }
    f->n_open += f->suspect.number != 0;
    f->log.n_cut += f->n_open;
    return OK;
}

static status read_from(struct runlog_follow *f, int fd, const char *path,
                        bool is_last_look, struct err *err)
{
    RELEASED_BY(line_reader_close) struct line_reader file = {0};

    TRY(line_reader_open_fd(&file, fd, path, err));
    if (f->at)
        line_reader_keep_mark(&file); /* one in the midst of a file is none */
    const status result = read_lines(f, &file, path, is_last_look, err);
    f->n_read += file.in.n_in;
    if (file.in.kind != STREAM_PLAIN || file.encoding != LINE_READER_UTF8)
        f->inode = f->device = 0; /* no place to go on from */
    return result;
}

/* Whether the file goes on where the last look ended. */
static bool goes_on(struct runlog_follow *f, int fd, const struct stat *st)
{
    unsigned char now[sizeof f->mark];

    if (!f->is_open || f->device != (uint64_t)st->st_dev ||
        f->inode != (uint64_t)st->st_ino || (uint64_t)st->st_size < f->at)
        return false;
    const ssize_t n = pread(fd, now, f->n_mark, (off_t)(f->at - f->n_mark));
    f->n_read += n > 0 ? (uint64_t)n : 0;
    return n == (ssize_t)f->n_mark && memcmp(now, f->mark, f->n_mark) == 0;
}

static void set_mark(struct runlog_follow *f, int fd)
{
    const size_t n = f->at < sizeof f->mark ? (size_t)f->at : sizeof f->mark;
    const ssize_t got = pread(fd, f->mark, n, (off_t)(f->at - n));

    f->n_read += got > 0 ? (uint64_t)got : 0;
    if (got != (ssize_t)n)
        f->inode = f->device = 0;
    f->n_mark = n;
}

static status look(struct runlog_follow *f, int fd, const char *path, bool is_last_look,
                   struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "%s is not a regular file", path);
    if (!goes_on(f, fd, &st)) {
        const uint64_t n_read = f->n_read;
        runlog_follow_close(f);
        runlog_init(&f->log);
        f->is_open = true;
        f->n_read = n_read;
        f->device = (uint64_t)st.st_dev;
        f->inode = (uint64_t)st.st_ino;
    }
    f->log.n_cut -= f->n_open;
    f->n_open = 0;
    if (f->at && lseek(fd, (off_t)f->at, SEEK_SET) < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    TRY(read_from(f, fd, path, is_last_look, err));
    set_mark(f, fd);
    return OK;
}

static status follow(struct runlog_follow *f, const char *path, bool is_last_look,
                     struct err *err)
{
    /* a pipe without a writer must not hold us */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    const status result = fd < 0 ? err_set(err, ERR_IO, "%s: %s", path, strerror(errno))
                                 : look(f, fd, path, is_last_look, err);
    if (fd >= 0)
        close(fd);
    if (result != OK)
        runlog_follow_close(f);
    return result;
}

status runlog_follow(struct runlog_follow *f, const char *path, struct err *err)
{
    return follow(f, path, false, err);
}

void runlog_follow_close(struct runlog_follow *f)
{
    if (f->is_open)
        runlog_close(&f->log);
    *f = (struct runlog_follow){0};
}

status runlog_open(struct runlog *log, const char *path, struct err *err)
{
    struct runlog_follow f = {.is_open = false};

    *log = (struct runlog){0};
    TRY(follow(&f, path, true, err));
    *log = f.log;
    return OK;
}
