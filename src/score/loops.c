#include "score/loops.h"

#include <stdint.h>
#include <sys/param.h>

#include "base/mem.h"
#include "base/utf8.h"

/* Whether n characters hold enough in a row that equal those `period` before them. */
static bool repeats(const uint32_t *code, size_t n, size_t period)
{
    const size_t covered = MAX(LOOPS_TIMES * period, (size_t)LOOPS_COVERED);
    size_t equal = 0;

    for (size_t i = period; i < n; i++) {
        equal = code[i] == code[i - period] ? equal + 1 : 0;
        if (equal + period >= covered)
            return true;
    }
    return false;
}

status loops_find(bool *loops, struct line text, struct err *err)
{
    RELEASED_BY(mem_release) uint32_t *code = NULL;
    size_t n = 0, len;

    *loops = false;
    TRY(mem_alloc(&code, text.n_bytes, sizeof *code, err));
    for (size_t i = 0; i < text.n_bytes; i += len)
        code[n++] = utf8_decode(text.text + i, text.n_bytes - i, &len);
    for (size_t p = 1; p <= LOOPS_STRETCH && p * LOOPS_TIMES <= n && !*loops; p++)
        *loops = repeats(code, n, p);
    return OK;
}
