#include "report/read/sources.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "format/stream.h"
#include "recipe/pulse.h"
#include "report/log/runlog.h"
#include "report/read/capture.h"
#include "report/read/foreign.h"
#include "text/line_reader.h"

enum { FILES_MAX = 4096 }; /* of a directory that are looked at */

/* The first byte of a log that is no blank tells ours from another's. */
static bool is_run_log(const char *path)
{
    struct line_reader file;
    struct err ignored;
    int byte = ' ';

    if (line_reader_open(&file, path, path, &ignored) != OK)
        return false;
    while ((byte == ' ' || byte == '\n') &&
           line_reader_byte(&file, &byte, &ignored) == OK)
        ;
    line_reader_close(&file);
    return byte == '{' || byte == LINE_READER_END;
}

/* The name without an ending of compression, in which `endings` are looked for. */
static bool has_ending(const char *name, const char *const *endings)
{
    char bare[FILE_PATH_MAX];

    snprintf(bare, sizeof bare, "%.*s", (int)stream_stem(name, strlen(name)), name);
    for (; *endings; endings++)
        if (str_ends(bare, *endings))
            return true;
    return false;
}

/* A pipe would wait for its writer. */
static bool is_regular(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static double written(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0
               ? (double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec
               : NAN;
}

static void add_capture(struct sources *s, const char *path)
{
    if (s->n_captures < SOURCES_CAPTURES_MAX)
        snprintf(s->capture[s->n_captures++], FILE_PATH_MAX, "%s", path);
}

/* A file that lies in a directory: checkpoints, captures, and of several console logs the
 * one that was written last. */
static void look_at(struct sources *s, const char *dir, const char *name)
{
    static const char *const logs[] = {".out", ".log", ".txt", NULL};
    static const char *const captures[] = {".nmon", ".csv", NULL};
    char path[FILE_PATH_MAX];
    struct err ignored;

    if (file_join(path, sizeof path, dir, name, &ignored) != OK || !is_regular(path))
        return;
    if (str_ends(name, ".index"))
        snprintf(s->files, sizeof s->files, "%s", dir);
    else if (has_ending(name, captures) && capture_sniff(path) != CAPTURE_NONE)
        add_capture(s, path);
    else if (has_ending(name, logs) && foreign_is_console(path) &&
             !(s->log[0] && written(s->log) > written(path)))
        snprintf(s->log, sizeof s->log, "%s", path);
}

/* What another program left in the directory. */
static void look_into(struct sources *s, const char *dir)
{
    struct dirent **list;
    const int n = scandir(dir, &list, NULL, alphasort);

    if (n < 0)
        return;
    if (!s->events[0] && foreign_has_events(dir))
        snprintf(s->events, sizeof s->events, "%s", dir);
    for (int i = 0; i < n; i++) {
        if (i < FILES_MAX && list[i]->d_name[0] != '.')
            look_at(s, dir, list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

/* The sources of a directory; the reference keeps its files in `logs` with some options,
 * and its best models in a folder of their own. */
static status open_dir(struct sources *s, const char *dir, struct err *err)
{
    static const char *const folders[] = {"logs", "best_models"};
    char path[FILE_PATH_MAX], pulse[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, dir, RUNLOG_FILE, err));
    TRY(file_join(pulse, sizeof pulse, dir, PULSE_FILE, err));
    if (file_exists(path) || file_exists(pulse)) { /* a run that starts has no log yet */
        s->is_ferry = true;
        memcpy(s->log, path, sizeof path);
        snprintf(s->files, sizeof s->files, "%s", dir);
        return OK;
    }
    look_into(s, dir);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct sources inner = {0};
        TRY(file_join(path, sizeof path, dir, folders[i], err));
        look_into(&inner, path);
        if (!s->events[0])
            memcpy(s->events, inner.events, sizeof s->events);
        if (!s->files[0])
            memcpy(s->files, inner.files, sizeof s->files);
        if (!s->log[0])
            memcpy(s->log, inner.log, sizeof s->log);
        for (size_t k = 0; k < inner.n_captures; k++)
            add_capture(s, inner.capture[k]);
    }
    if (s->log[0] || s->events[0] || s->files[0] || s->n_captures)
        return OK;
    return err_set(err, ERR_IO,
                   "%s: nothing to report on: no run.jsonl, no TensorBoard events, no "
                   "console log, no checkpoint",
                   dir);
}

/* A path without its last component. */
static void folder_of(char out[FILE_PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');

    snprintf(out, FILE_PATH_MAX, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    if (slash == path)
        snprintf(out, FILE_PATH_MAX, "/");
}

static void open_file(struct sources *s, const char *path)
{
    if (str_ends(path, ".index")) {
        folder_of(s->files, path);
    } else if (strstr(path, "events.out.tfevents.")) {
        folder_of(s->events, path);
    } else {
        s->is_ferry = is_run_log(path);
        if (!s->is_ferry && !foreign_is_console(path) &&
            capture_sniff(path) != CAPTURE_NONE)
            add_capture(s, path);
        else
            snprintf(s->log, sizeof s->log, "%s", path);
    }
}

status sources_open(struct sources *s, const char *path, struct err *err)
{
    *s = (struct sources){.n_given = 1};
    if (strlen(path) >= sizeof s->given)
        return err_set(err, ERR_USAGE, "%.40s...: the path of the run is too long", path);
    memcpy(s->given, path, strlen(path) + 1);
    if (file_is_dir(path))
        return open_dir(s, path, err);
    if (!file_exists(path))
        return err_set(err, ERR_IO,
                       "%s: no such directory; give the run directory of `ferry train`, "
                       "a directory of TensorBoard events, or a log",
                       path);
    if (!is_regular(path))
        return err_set(err, ERR_IO, "%s: neither a directory nor a regular file", path);
    open_file(s, path);
    return OK;
}

/* Whether both may be of one run: no two of a kind, and none of Ferry's. */
static bool fits(const struct sources *a, const struct sources *b)
{
    return !a->is_ferry && !b->is_ferry && !(a->log[0] && b->log[0]) &&
           !(a->events[0] && b->events[0]) &&
           !(a->files[0] && b->files[0] && strcmp(a->files, b->files) != 0);
}

static void take(char *to, const char *from)
{
    if (from[0])
        memcpy(to, from, FILE_PATH_MAX);
}

static void join(struct sources *s, const struct sources *more)
{
    take(s->log, more->log);
    take(s->events, more->events);
    take(s->files, more->files);
    for (size_t i = 0; i < more->n_captures; i++)
        add_capture(s, more->capture[i]);
    s->n_given++;
}

status sources_group(struct sources *runs, size_t *n, const char *const *path,
                     size_t n_paths, bool joins, struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < n_paths; i++) {
        struct sources *next = &runs[*n];
        TRY(sources_open(next, path[i], err));
        if (joins && *n && fits(next - 1, next))
            join(next - 1, next);
        else
            ++*n;
    }
    return OK;
}

double sources_written(const struct sources *s)
{
    return s->log[0] ? written(s->log) : NAN;
}
