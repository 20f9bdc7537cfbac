/*
 * Any bytes as a run log: refused with a sentence, or a log that closes cleanly. Lines as
 * our journal writes them are read by a way of their own; with a blank after its first
 * brace a line goes the general way, and the log must be the same.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "report/log/runlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_general_way(const struct runlog *log, const uint8_t *data, size_t n)
{
    struct str text = str_new(0);
    struct runlog other;
    struct err err;

    for (size_t i = 0; i < n; i++) {
        str_putc(&text, (char)data[i]);
        if (data[i] == '{' && (i == 0 || data[i - 1] == '\n'))
            str_putc(&text, ' ');
    }
    if (runlog_parse(&other, "run.jsonl", text.data, text.len, &err) != OK ||
        other.n_step != log->n_step || other.n_rank != log->n_rank ||
        other.n_lap != log->n_lap || other.n_cut != log->n_cut)
        abort();
    for (size_t i = 0; i < log->n_step; i++)
        if (memcmp(&log->step[i], &other.step[i],
                   offsetof(struct runlog_step, pairs_hash)) != 0)
            abort();
    runlog_close(&other);
    str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct runlog log;
    struct err err = {.code = OK};

    if (runlog_parse(&log, "run.jsonl", data, n, &err) == OK) {
        if (log.n_cut > log.n_lines || log.n_step > log.n_lines)
            abort();
        (void)runlog_end(&log);
        (void)runlog_config(&log, "data");
        check_general_way(&log, data, n);
    } else if (err.code == OK || err.msg[0] == '\0') {
        abort();
    }
    runlog_close(&log);
    return 0;
}
