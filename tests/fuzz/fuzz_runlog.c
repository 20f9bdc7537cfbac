/* Any bytes as a run log: refused with a sentence, or a log that closes cleanly. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/log/runlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct runlog log;
    struct err err = {.code = OK};

    if (runlog_parse(&log, "run.jsonl", data, n, &err) == OK) {
        if (log.n_cut > log.n_lines || log.n_step > log.n_lines)
            abort();
        (void)runlog_end(&log);
        (void)runlog_config(&log, "data");
    } else if (err.code == OK || err.msg[0] == '\0') {
        abort();
    }
    runlog_close(&log);
    return 0;
}
