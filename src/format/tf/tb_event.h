/*
 * tb_event - TensorBoard's event files: a curve is the values of one tag at steps.
 *
 * A writer makes a new file events.out.tfevents.<unix second>.<host> in a directory;
 * TensorBoard reads all such files of a directory as one run. Beside curves it shows
 * texts, histograms, and a table of runs by their options. The reader gives back
 * scalars one by one and skips every other kind of event.
 *
 * Tags are borrowed: by the writer during the call, from the reader until its next
 * call. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "format/tf/tfrecord.h"

struct tb_event_value {
    const char *tag;
    float value;
};

struct tb_event_writer {
    struct tfrecord_writer records;
    struct str message;
};

/* wall_time, as everywhere here, is in seconds since 1970; it names the file. */
status tb_event_open(struct tb_event_writer *w, const char *dir, double wall_time,
                     struct err *err);
/*
 * Tell TensorBoard that the run (re)starts, and that `step` is the first to come: it
 * drops the points at `step` and after that older files of the directory hold.
 */
status tb_event_start(struct tb_event_writer *w, int64_t step, double wall_time,
                      struct err *err);
/* The values of one step, at most 64, in one event. */
status tb_event_scalars(struct tb_event_writer *w, int64_t step, double wall_time,
                        const struct tb_event_value *values, size_t n, struct err *err);
/* A text in UTF-8, read as Markdown. */
status tb_event_text(struct tb_event_writer *w, int64_t step, double wall_time,
                     const char *tag, const char *text, struct err *err);

/* How often values lie in [limit[i-1], limit[i]), the first limit having no left one. */
struct tb_event_histogram {
    double least, most, n, sum, sum_squares;
    const double *limit, *count; /* [n_buckets] */
    size_t n_buckets;
};
status tb_event_histogram(struct tb_event_writer *w, int64_t step, double wall_time,
                          const char *tag, const struct tb_event_histogram *h,
                          struct err *err);

/* An option of the run: a number, true or false, or a text in UTF-8. */
struct tb_event_option {
    const char *name, *text; /* text NULL: `number` is the value */
    double number;
    bool is_bool; /* number is 0 or 1 */
};
/* The run's row in the table of runs, at most 256 options. Of several that a run writes
 * TensorBoard takes the first, which is also true of tb_event_finished(). */
status tb_event_options(struct tb_event_writer *w, int64_t step, double wall_time,
                        const struct tb_event_option *options, size_t n, struct err *err);
status tb_event_finished(struct tb_event_writer *w, int64_t step, double wall_time,
                         struct err *err);

status tb_event_flush(struct tb_event_writer *w, struct err *err);
status tb_event_close(struct tb_event_writer *w, struct err *err);

struct tb_event_point {
    int64_t step;
    double wall_time;
    const char *tag;
    float value;
};

struct tb_event_reader {
    struct file_map map; /* of tb_event_read(); empty when the bytes are the caller's */
    struct tfrecord_reader records;
    void *event; /* the one whose values are being handed out */
    size_t next; /* of them */
    size_t n_events;
    bool is_cut; /* the file ended inside a record: its writer was killed or still runs */
};

status tb_event_read(struct tb_event_reader *r, const char *path, struct err *err);
/* The same of bytes that outlive the reader. */
void tb_event_read_bytes(struct tb_event_reader *r, const void *bytes, size_t n);
/* *more is false at the end. A damaged record is ERR_FORMAT; nothing follows it. */
status tb_event_next(struct tb_event_reader *r, struct tb_event_point *point, bool *more,
                     struct err *err);
void tb_event_read_close(struct tb_event_reader *r);
