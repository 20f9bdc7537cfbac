/* The live view: what a terminal is sent. */
#include "test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "made_run.h"
#include "report/judge/judgement.h"
#include "report/show/live.h"

static struct err err;

static char *screen_of(struct made_run *m, size_t columns, size_t rows, bool has_utf8)
{
    struct judgement *t;
    struct str out = str_new(0);
    const struct live_screen screen = {columns, rows, false, has_utf8};

    made_write(m, test_path("run"));
    CHECK_OK(mem_alloc(&t, 1, sizeof *t, &err), &err);
    CHECK_OK(judgement_look(t, test_path("run"), m->t + 5, NULL, &err), &err);
    CHECK_OK(live_text(&out, t, &screen, &err), &err);
    judgement_close(t);
    free(t);
    CHECK(out.data);
    return out.data;
}

static void check_fits(const char *text, size_t columns, size_t rows)
{
    size_t n = 0;

    for (const char *at = text; *at; n++) {
        const size_t len = strcspn(at, "\n");
        if (utf8_count(at, len) > columns)
            test_fail(__FILE__, __LINE__, "too wide: '%.*s'", (int)len, at);
        at += len + (at[len] == '\n');
    }
    if (n > rows)
        test_fail(__FILE__, __LINE__, "%zu lines, want at most %zu", n, rows);
}

TEST(the_screen_fits_every_window)
{
    for (int ranks = 1; ranks <= 4; ranks += 3)
        for (size_t columns = 1; columns <= 240; columns += columns < 20 ? 3 : 37)
            for (size_t rows = 1; rows <= 60; rows += rows < 26 ? 5 : 17) {
                struct made_run m = made_healthy(1);
                m.steps = 400;
                if (ranks > 1)
                    made_distributed(&m);
                char *text = screen_of(&m, columns, rows, columns % 2);
                check_fits(text, columns, rows);
                free(text);
            }
}

TEST(eighty_columns_show_curve_ranks_network_and_eta)
{
    struct made_run m = made_healthy(2);

    made_distributed(&m);
    m.slow_rank = 2;
    m.slow_by = 0.5;
    m.has_no_end = true;
    m.steps = 2000;
    char *text = screen_of(&m, 80, 24, true);
    check_fits(text, 80, 24);
    CHECK(strstr(text, "step 2,000 of 2,000") && strstr(text, "running"));
    const char *last = strstr(text, " 2,000\n"); /* under the last dot */
    CHECK(last && last + 6 - text > 79 && *(last + 6 - 80) == '\n');
    CHECK(strstr(text, "trained? "));
    CHECK(strstr(text, "\xE2\xA0") && strstr(text, "o")); /* braille, and evaluations */
    CHECK(strstr(text, "network the bottleneck? no") && strstr(text, " Mb/s)\n"));
    const char *update = strstr(text, ", update ");
    CHECK(update && strstr(update, " %\n") == strchr(update, '\n') - 2);
    CHECK(strstr(text, "   3 n3 "));
    CHECK(strstr(text, "! One rank keeps the others waiting: Rank 2 on n2"));
    free(text);
}

TEST(a_terminal_without_utf8_gets_ascii)
{
    struct made_run m = made_healthy(3);
    char *text = screen_of(&m, 80, 24, false);

    for (const char *c = text; *c; c++)
        CHECK((unsigned char)*c < 0x7F);
    free(text);
}
