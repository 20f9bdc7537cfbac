/* Logs that are long, and logs that grow while they are looked at. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "report/log/runlog.h"

static struct err err;

static void parse(struct runlog *log, const struct str *text)
{
    CHECK_OK(runlog_parse(log, "run.jsonl", text->data, text->len, &err), &err);
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* ---- the two ways to read a line ---- */

static void check_fields(enum runlog_kind kind, const void *a, const void *b)
{
    for (size_t i = 0; i < runlog_schema[kind].n; i++) {
        const struct runlog_field *f = &runlog_schema[kind].field[i];
        const void *x = (const char *)a + f->at, *y = (const char *)b + f->at;
        if (f->type == RUNLOG_TEXT)
            CHECK_STR(*(const char *const *)x, *(const char *const *)y);
        else if (f->type == RUNLOG_HASH)
            CHECK(memcmp(x, y, sizeof(uint64_t)) == 0);
        else if (f->type != RUNLOG_JSON)
            CHECK(is_same(*(const double *)x, *(const double *)y));
    }
}

TEST(lines_of_the_journal_are_read_as_any_other_json)
{
    static const char line[] =
        "{\"event\":\"step\",\"t\":1794968801.6483727,\"step\":1,\"epoch\":0,\"loss\":"
        "7.4446349817080444,\"rate\":1.9764235376052372e-6,\"grad_norm\":null,"
        "\"source_tokens\":2201,\"steps\":10,\"t_step\":-0.0,\"t_data\":1E+2,"
        "\"skipped\":123456789012345,\"pairs_hash\":\"00ff00ff00ff00ff\"}\n"
        "{\"event\":\"ranks\",\"t\":2.5,\"step\":1,\"slowest\":0,\"ranks\":[{\"rank\":0,"
        "\"host\":\"vm\",\"t_step\":0.51412227599939797,\"t_comm\":0.1,\"sent_bytes\":0,"
        "\"cards\":{\"a\":{\"sent\":5,\"received\":7,\"errors\":1},\"b\":{\"sent\":9,"
        "\"received\":1,\"errors\":0,\"dropped\":2}}},{\"rank\":1,\"host\":\"vm\","
        "\"t_step\":0.6,\"t_comm\":0.1,\"cards\":{}}]}\n";
    struct runlog quick, general;
    struct str text = str_new(0), blank = str_new(0);

    str_puts(&text, line);
    for (const char *c = line; *c; c++) { /* the same with blanks: the general way */
        str_putc(&blank, *c);
        if (*c == '{')
            str_putc(&blank, ' ');
    }
    parse(&quick, &text);
    parse(&general, &blank);
    CHECK(quick.n_step == 1 && general.n_step == 1 && quick.step[0].skipped > 1e14);
    check_fields(RUNLOG_KIND_STEP, &quick.step[0], &general.step[0]);
    CHECK(quick.n_rank == 2 && general.n_rank == 2 && quick.n_name == 1);
    for (size_t i = 0; i < 2; i++) {
        const struct runlog_rank *a = &quick.rank[i], *b = &general.rank[i];
        check_fields(RUNLOG_KIND_RANK, a, b);
        CHECK(is_same(a->card_sent, b->card_sent) && a->n_busiest == b->n_busiest);
        CHECK(is_same(a->card_received, b->card_received));
        CHECK(is_same(a->card_errors, b->card_errors));
    }
    CHECK(quick.rank[0].card_sent == 9 && quick.rank[0].card_errors == 3);
    CHECK(quick.rank[1].n_busiest == 1 && quick.lap[0].steps == 10);
    CHECK(is_same(quick.t_last, general.t_last));
    runlog_close(&quick);
    runlog_close(&general);
    str_release(&text);
    str_release(&blank);
}

TEST(what_looks_like_a_line_of_the_journal_is_still_judged)
{
    static const char *const bad[] = {
        "{\"event\":\"step\",\"step\":01}\n",
        "{\"event\":\"step\",\"step\":1.}\n",
        "{\"event\":\"step\",\"step\":1,}\n",
        "{\"event\":\"step\",\"step\":0x1}\n",
        "{\"event\":\"step\",\"step\":1}}\n",
        "{\"event\":\"step\",\"step\":1e999}\n",
        "{\"event\":\"step\",\"step\":\"1\"}\n",
        "{\"event\":\"step\",\"loss\":1}\n",
        "{\"event\":\"ranks\",\"step\":1}\n",
        "{\"event\":\"ranks\",\"step\":1,\"ranks\":[1]}\n",
        "{\"event\":\"ranks\",\"step\":1,\"ranks\":[{\"rank\":0}}\n",
    };
    struct str text = str_new(0);
    struct runlog log;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        str_reset(&text);
        str_printf(&text, "%s{\"event\":\"step\",\"step\":2}\n", bad[i]);
        if (runlog_parse(&log, "run.jsonl", text.data, text.len, &err) == OK)
            test_fail(__FILE__, __LINE__, "accepted: %s", bad[i]);
        CHECK(err.code == ERR_FORMAT && strstr(err.msg, "run.jsonl:1: "));
    }
    str_release(&text);
}

/* ---- very many entries ---- */

/* Entries of ten steps whose loss falls, one in 1,000 slow, an evaluation each 4th. */
static void make_long(struct str *out, size_t n)
{
    str_puts(out, "{\"event\":\"start\",\"t\":0,\"step\":0,\"config\":{}}\n");
    for (size_t i = 1; i <= n; i++) {
        str_printf(out,
                   "{\"event\":\"step\",\"t\":%zu,\"step\":%zu,\"loss\":%.17g,\"steps\":"
                   "10,\"t_step\":%s,\"memory_mib\":%zu}\n",
                   i, 10 * i, 1 + 9 / sqrt((double)i), i % 1000 ? "1.0" : "8.0",
                   i == 77 ? (size_t)900 : 100 + i % 2);
        if (i % 4 == 0)
            str_printf(out,
                       "{\"event\":\"eval\",\"t\":%zu,\"step\":%zu,\"valid_loss\":%.17g,"
                       "\"bleu\":%.17g,\"seconds\":0.5}\n",
                       i, 10 * i, 2 + 9 / sqrt((double)i), i == 400 ? 50.0 : 20.0);
    }
}

TEST(a_very_long_log_is_thinned_alike_and_keeps_its_sums)
{
    enum { N = 560000 };
    struct str text = str_new(0);
    struct runlog log;
    double steps = 0, seconds = 0, slowest = 0, low = INFINITY, memory = 0, binned = 0;
    double best_bleu = 0;
    size_t most = 0;

    make_long(&text, N);
    parse(&log, &text);
    str_release(&text);
    CHECK(log.n_step < RUNLOG_ENTRIES_MAX && log.n_eval < RUNLOG_EVALS_MAX);
    for (size_t i = 0; i < log.n_step; i++) {
        const struct runlog_step *s = &log.step[i];
        steps += s->steps;
        seconds += s->t_step;
        slowest = fmax(slowest, runlog_slowest(s));
        low = fmin(low, s->low);
        memory = fmax(memory, s->memory_mib);
        most = s->entries > most ? s->entries : most;
        CHECK(i == 0 || s->step > s[-1].step);
        CHECK(i + RUNLOG_NEWEST / 2 < log.n_step || s->entries == 1);
    }
    CHECK(steps == 10.0 * N && seconds == N + 7.0 * (N / 1000) && slowest == 0.8);
    CHECK(memory == 900 && most == 8 && log.step[0].entries == 1);
    double last = 0;
    for (size_t i = N - 4; i <= N; i++)
        last += 1 + 9 / sqrt((double)i);
    CHECK(fabs(low - last / 5) < 1e-12);
    for (size_t i = 0; i < RUNLOG_BINS; i++)
        binned += log.bin[i].steps;
    for (size_t i = 1; i < log.n_step; i++)
        binned += log.step[i].entries == 1 ? 10 : 0;
    CHECK(binned == 10.0 * (N - 1));
    CHECK(log.all.n_evals == N / 4 && log.all.eval_seconds == N / 8.0);
    for (size_t i = 0; i < log.n_eval; i++)
        best_bleu = fmax(best_bleu, log.eval[i].bleu);
    CHECK(best_bleu == 50 && log.eval[log.n_eval - 1].step == 10.0 * N);
    runlog_close(&log);
}

TEST(of_very_many_rare_events_the_first_and_the_newest_stay)
{
    enum { N = 60000 };
    struct str text = str_new(0);
    struct runlog log;

    for (size_t i = 0; i < N; i++) {
        if (i % 4 == 0)
            str_printf(&text,
                       "{\"event\":\"start\",\"t\":%zu,\"step\":%zu,\"resumed\":true,"
                       "\"device\":\"cpu\",\"config\":{\"n\":%zu}}\n",
                       i, i, i);
        str_printf(&text,
                   "{\"event\":\"step\",\"t\":%zu,\"step\":%zu,\"loss\":2}\n"
                   "{\"event\":\"save\",\"t\":%zu,\"step\":%zu,\"path\":\"p%zu\","
                   "\"seconds\":%d}\n{\"event\":\"sample\",\"t\":%zu,\"step\":%zu,"
                   "\"source\":\"s%zu\"}\n",
                   i, i + 1, i, i + 1, i, i == 9 ? 7 : 1, i, i + 1, i);
        if (i % 6000 == 0)
            str_printf(&text,
                       "{\"event\":\"test\",\"t\":%zu,\"name\":\"test\","
                       "\"bleu\":%zu}\n",
                       i, i);
    }
    parse(&log, &text);
    str_release(&text);
    CHECK(log.n_event <= RUNLOG_EVENTS_MAX && log.n_start <= 4096 &&
          log.n_sample <= 4096);
    CHECK(log.all.n_starts == N / 4 && log.all.n_events == N + N / 4 + 10);
    CHECK(log.all.n_saves == N && log.all.longest_save == 7);
    CHECK(log.all.save_seconds == N + 6);
    CHECK_STR(log.event[1].save.path, "p0");
    CHECK_STR(log.event[log.n_event - 1].save.path, "p59999");
    CHECK_STR(log.sample[log.n_sample - 1].source, "s59999");
    CHECK_STR(runlog_config(&log, "n"), "59996");
    CHECK(log.start[0].n_options == 0 && runlog_tested(&log)->bleu == 54000);
    runlog_close(&log);
}

/* ---- logs that grow ---- */

static void put(const char *mode, const char *text)
{
    FILE *f = fopen(test_path("run.jsonl"), mode);

    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* A look, and whether it shows what reading all of the file shows. */
static void look(struct runlog_follow *f)
{
    struct runlog log;

    CHECK_OK(runlog_follow(f, test_path("run.jsonl"), &err), &err);
    CHECK_OK(runlog_open(&log, test_path("run.jsonl"), &err), &err);
    CHECK(f->log.n_step == log.n_step && f->log.n_event == log.n_event);
    CHECK(f->log.n_cut == log.n_cut && f->log.n_start == log.n_start);
    for (size_t i = 0; i < log.n_step && i < f->log.n_step; i++) {
        check_fields(RUNLOG_KIND_STEP, &f->log.step[i], &log.step[i]);
        CHECK(f->log.step[i].is_lost == log.step[i].is_lost);
    }
    CHECK(is_same(f->log.t_last, log.t_last) && is_same(f->log.t_idle, log.t_idle));
    runlog_close(&log);
}

#define START(step) "{\"event\":\"start\",\"t\":50,\"step\":" #step ",\"config\":{}}\n"
#define STEP(step)  "{\"event\":\"step\",\"t\":" #step ",\"step\":" #step "}\n"

TEST(a_look_costs_what_is_new_however_long_the_log_is)
{
    struct runlog_follow f = {.is_open = false};
    struct str text = str_new(0);

    put("w", START(0));
    for (int i = 1; i < 20000; i++)
        str_printf(&text, "{\"event\":\"step\",\"t\":%d,\"step\":%d,\"loss\":2}\n", i, i);
    put("a", str_text(&text));
    look(&f);
    CHECK(f.n_read >= text.len && f.log.n_step == 19999);
    for (int i = 0; i < 3; i++) { /* nothing is new */
        const uint64_t before = f.n_read;
        look(&f);
        CHECK(f.n_read - before <= 2 * sizeof f.mark);
    }
    const uint64_t before = f.n_read;
    put("a", STEP(20000));
    look(&f);
    CHECK(f.n_read - before <= 2 * sizeof f.mark + strlen(STEP(20000)));
    CHECK(f.log.n_step == 20000);
    runlog_follow_close(&f);
    str_release(&text);
}

TEST(a_half_written_line_waits_for_its_end)
{
    struct runlog_follow f = {.is_open = false};
    static const char rest[] = STEP(3);

    put("w", START(0) STEP(1) STEP(2));
    look(&f);
    put("a", "{\"event\":\"step\",\"t\":3,\"ste");
    look(&f);
    CHECK(f.log.n_step == 2 && f.log.n_cut == 1);
    look(&f);
    CHECK(f.log.n_step == 2 && f.log.n_cut == 1);
    put("a", "p\":3}\n");
    look(&f);
    CHECK(f.log.n_step == 3 && f.log.n_cut == 0);
    put("a", "{\"event\":\"step\",\"t\":4,\n"); /* cut by a crash; then it went on */
    look(&f);
    CHECK(f.log.n_cut == 1);
    put("a", START(2));
    look(&f);
    CHECK(f.log.n_cut == 1 && f.log.step[2].is_lost && !f.log.step[1].is_lost);
    put("a", rest);
    look(&f);
    CHECK(f.log.n_step == 4 && !f.log.step[3].is_lost && f.log.all.n_starts == 2);
    put("a", "{\"event\":\"step\",\n" STEP(9)); /* damaged */
    CHECK_FAILS(runlog_follow(&f, test_path("run.jsonl"), &err), &err, ERR_FORMAT,
                ":8: ");
    put("w", START(0) STEP(1));
    look(&f);
    CHECK(f.log.n_step == 1);
    runlog_follow_close(&f);
}

TEST(a_log_that_is_another_one_is_read_anew)
{
    struct runlog_follow f = {.is_open = false};

    put("w", START(0) STEP(1) STEP(2) STEP(3));
    look(&f);
    put("w", START(0) STEP(1)); /* shorter */
    look(&f);
    CHECK(f.log.n_step == 1);
    put("w", START(0) STEP(5) STEP(6) STEP(7)); /* longer, and other bytes */
    look(&f);
    CHECK(f.log.n_step == 3 && f.log.step[0].step == 5);
    CHECK(rename(test_path("run.jsonl"), test_path("run.jsonl.1")) == 0);
    CHECK_FAILS(runlog_follow(&f, test_path("run.jsonl"), &err), &err, ERR_IO,
                "No such file");
    put("w", START(0) STEP(8));
    look(&f);
    CHECK(f.log.n_step == 1 && f.log.step[0].step == 8);
    runlog_follow_close(&f);
}

TEST(a_log_that_is_a_pipe_is_refused_at_once)
{
    struct runlog log;

    CHECK(mkfifo(test_path("run.jsonl"), 0600) == 0);
    CHECK_FAILS(runlog_open(&log, test_path("run.jsonl"), &err), &err, ERR_IO,
                "not a regular file");
}

/* Marked as the rule says, by the longest way. */
static void check_lost(const double *step, const bool *is_start, size_t n)
{
    struct str text = str_new(0);
    struct runlog log;
    bool lost[512] = {false};
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        str_printf(&text, "{\"event\":\"%s\",\"t\":%zu,\"step\":%g,\"loss\":1}\n",
                   is_start[i] ? "start" : "step", i, step[i]);
        for (size_t k = i; is_start[i] && k > 0; k--) {
            if (!is_start[k - 1] && step[k - 1] <= step[i])
                break;
            lost[k - 1] = true;
        }
    }
    parse(&log, &text);
    for (size_t i = 0; i < n; i++)
        if (!is_start[i])
            CHECK(log.step[at++].is_lost == lost[i]);
    CHECK(at == log.n_step);
    runlog_close(&log);
    str_release(&text);
}

TEST(what_a_later_start_loses_is_marked_whatever_was_lost_before)
{
    double step[512];
    bool is_start[512];
    uint64_t x = 1;

    for (int k = 0; k < 50; k++) {
        double now = 0;
        for (size_t i = 0; i < 512; i++) {
            x = x * 6364136223846793005 + 1442695040888963407;
            is_start[i] = i == 0 || x >> 61 == 0;
            now = is_start[i] ? floor(now * (double)(x >> 40 & 0xff) / 200) : now + 1;
            step[i] = now;
        }
        check_lost(step, is_start, 512);
    }
}

TEST(a_run_that_starts_again_and_again_is_read_in_linear_time)
{
    enum { STARTS = 60000 };
    struct str text = str_new(0);
    struct runlog log;

    for (int i = 0; i < STARTS; i++)
        str_puts(&text, START(0) STEP(1) STEP(2));
    str_puts(&text, STEP(3));
    parse(&log, &text);
    CHECK(log.all.n_starts == STARTS && log.step[log.n_step - 1].step == 3);
    CHECK(!log.step[log.n_step - 2].is_lost && log.step[log.n_step - 4].is_lost);
    runlog_close(&log);
    str_release(&text);
}

TEST(the_loss_around_a_step_is_that_of_a_line_through_its_neighbours)
{
    enum { N = 30000 };
    struct str text = str_new(0);
    struct runlog_losses l;
    struct runlog run;

    for (int i = 1; i <= N; i++)
        str_printf(&text, "{\"event\":\"step\",\"t\":%d,\"step\":%d,\"loss\":%.17g}\n", i,
                   i, 9 - log((double)i));
    parse(&run, &text);
    CHECK_OK(runlog_losses_open(&l, &run, &err), &err);
    for (int i = 1; i <= N; i += i < 100 ? 1 : 997) /* sums of few and of many entries */
        CHECK(fabs(runlog_losses_at(&l, i) - (9 - log((double)i))) < 1e-9);
    CHECK(isnan(runlog_losses_at(&l, 0)));
    runlog_losses_close(&l);
    runlog_close(&run);
    str_release(&text);
}
