/* Any bytes as a console log of another program: refused in a sentence, or a log. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/read/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct runlog log;
    struct err err = {.code = OK};

    if (foreign_console_bytes(&log, "nohup.out", data, n, &err) == OK)
        (void)runlog_end(&log);
    else if (err.code == OK || err.msg[0] == '\0')
        abort();
    runlog_close(&log);
    return 0;
}
