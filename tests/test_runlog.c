#include "test.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/lines.h"
#include "base/str.h"
#include "report/log/runlog.h"

#define START(step, resumed)                                                            \
    "{\"event\":\"start\",\"t\":" #step ".5,\"step\":" #step ",\"resumed\":" #resumed   \
    ",\"version\":\"0.1.0\",\"host\":\"h\",\"device\":\"cpu\",\"ranks\":1,\"threads\":" \
    "2,"                                                                                \
    "\"parameters\":9842688,\"config\":{\"max_steps\":100,\"lr\":0.5,\"pin\":true,"     \
    "\"data\":\"d\",\"list\":[1,2]},\"data\":{\"train_pairs\":7,\"valid_pairs\":3},"    \
    "\"roof_gflops\":null}\n"
#define STEP(step, loss) \
    "{\"event\":\"step\",\"t\":" #step ",\"step\":" #step ",\"loss\":" #loss "}\n"
#define EVAL(step, loss) \
    "{\"event\":\"eval\",\"t\":" #step ",\"step\":" #step ",\"valid_loss\":" #loss "}\n"
#define STOP "{\"event\":\"stop\",\"t\":99,\"step\":9,\"reason\":\"signal\"}\n"

static struct err err;

static void parse(struct runlog *log, const char *text)
{
    CHECK_OK(runlog_parse(log, "run.jsonl", text, strlen(text), &err), &err);
}

static void refuse(const char *text, const char *why)
{
    struct runlog log;

    CHECK_FAILS(runlog_parse(&log, "run.jsonl", text, strlen(text), &err), &err,
                ERR_FORMAT, why);
    CHECK(log.n_step == 0 && !log.step && !log.start);
}

TEST(every_field_of_a_step_is_read)
{
    struct runlog log;

    parse(&log, "{\"event\":\"step\",\"t\":1.5,\"step\":20,\"epoch\":3,\"loss\":4.25,"
                "\"rate\":1e-4,\"grad_norm\":0.5,\"source_tokens\":100,"
                "\"target_tokens\":110,\"sentences\":9,\"steps\":10,\"t_step\":2,"
                "\"t_data\":0.125,\"t_compute\":1.5,\"t_comm\":0.25,\"t_update\":0.0625,"
                "\"tokens_per_s\":105,\"gflops\":12,\"memory_mib\":64,\"skipped\":1}\n");
    const struct runlog_step *s = &log.step[0];
    CHECK(log.n_step == 1 && s->t == 1.5 && s->step == 20 && s->epoch == 3);
    CHECK(s->loss == 4.25 && s->rate == 1e-4 && s->grad_norm == 0.5);
    CHECK(s->source_tokens == 100 && s->target_tokens == 110 && s->sentences == 9);
    CHECK(s->steps == 10 && s->t_step == 2 && s->t_data == 0.125 && s->t_compute == 1.5);
    CHECK(s->t_comm == 0.25 && s->t_update == 0.0625 && s->tokens_per_s == 105);
    CHECK(s->gflops == 12 && s->memory_mib == 64 && s->skipped == 1);
    runlog_close(&log);
}

TEST(a_start_gives_its_configuration_as_typed)
{
    struct runlog log;

    parse(&log, START(0, false));
    const struct runlog_start *s = runlog_latest(&log);
    CHECK(s && s->parameters == 9842688 && s->threads == 2 && !s->resumed);
    CHECK(s->train_pairs == 7 && s->valid_pairs == 3 && isnan(s->train_source_tokens));
    CHECK(isnan(s->roof_gflops));
    CHECK_STR(s->device, "cpu");
    CHECK_STR(runlog_config(&log, "max_steps"), "100");
    CHECK_STR(runlog_config(&log, "lr"), "0.5");
    CHECK_STR(runlog_config(&log, "pin"), "true");
    CHECK_STR(runlog_config(&log, "data"), "d");
    CHECK_STR(runlog_config(&log, "list"), "[1, 2]");
    CHECK(runlog_config(&log, "absent") == NULL);
    runlog_close(&log);
}

TEST(null_and_absent_numbers_are_missing)
{
    struct runlog log;

    parse(&log, STEP(1, null) "{\"event\":\"eval\",\"t\":2,\"step\":1,\"bleu\":null}\n");
    CHECK(isnan(log.step[0].loss) && isnan(log.step[0].t_step));
    CHECK(log.step[0].steps == 1);
    CHECK(isnan(log.eval[0].bleu) && isnan(log.eval[0].valid_loss));
    runlog_close(&log);
}

TEST(an_empty_log_is_a_log)
{
    struct runlog log;

    parse(&log, "");
    CHECK(log.n_lines == 0 && isnan(log.t_last) && !runlog_latest(&log));
    CHECK(!runlog_end(&log) && !runlog_config(&log, "x"));
    runlog_close(&log);
    parse(&log, "\n  \n\r\n");
    CHECK(log.n_lines == 3 && log.n_step == 0);
    runlog_close(&log);
}

TEST(a_log_cut_anywhere_loses_at_most_its_last_line)
{
    static const char text[] =
        START(0, false) STEP(1, 5.0) STEP(2, 4.0) EVAL(2, 4.5) STEP(3, 3.0) STOP;

    for (size_t n = 0; n < sizeof text; n++) {
        struct runlog log;
        size_t whole = 0;
        for (size_t i = 0; i < n; i++)
            whole += text[i] == '\n';
        CHECK_OK(runlog_parse(&log, "run.jsonl", text, n, &err), &err);
        const size_t got = log.n_start + log.n_step + log.n_eval + !!runlog_end(&log);
        CHECK(got == whole || got == whole + 1);
        runlog_close(&log);
    }
}

TEST(a_line_cut_by_a_crash_is_excused_by_the_process_that_went_on)
{
    struct runlog log;

    parse(&log,
          START(0, false) STEP(1, 5.0) "{\"event\":\"ste\n" START(1, true) STEP(2, 4.0));
    CHECK(log.n_cut == 1 && log.n_step == 2 && log.n_start == 2);
    runlog_close(&log);
    parse(&log, STEP(1, 5.0) "{\"event\":\"ste\n{\"event\":\"test\",\"bleu\":3}\n");
    CHECK(log.n_cut == 1 && log.n_event == 1 && log.event[0].test.bleu == 3);
    runlog_close(&log);
}

TEST(a_damaged_line_is_refused_with_its_number)
{
    refuse(STEP(1, 5.0) "{\"event\":\"step\",\n" STEP(2, 4.0), "run.jsonl:2: ");
    refuse(STEP(1, 5.0) "{\"a\":\n{\"b\":\n", "run.jsonl:2: ");
    refuse("hello\n", "run.jsonl:1: not a JSON object");
    refuse(STEP(1, 5.0) "[1,2]\n", "run.jsonl:2: not a JSON object");
    refuse("{\"t\":1}\n", "run.jsonl:1: an entry without an \"event\"");
    refuse("{\"event\":7}\n", "run.jsonl:1: an entry without an \"event\"");
    refuse("{\"event\":\"step\",\"step\":\"one\"}\n", "\"step\" is not a number");
    refuse("{\"event\":\"step\",\"t\":1}\n", "a step event without a \"step\"");
    refuse("{\"event\":\"start\",\"config\":[]}\n", "\"config\" is not an object");
    refuse("{\"event\":\"save\",\"path\":3}\n", "\"path\" is not a string");
    refuse("{\"event\":\"sample\",\"source\":\"\xff\"}\n" STEP(1, 2.0), "run.jsonl:1: ");
}

TEST(unknown_events_are_counted_and_passed_over)
{
    struct runlog log;

    parse(&log, "{\"event\":\"rank\",\"rank\":2}\n" STEP(1, 5.0));
    CHECK(log.n_unknown == 1 && log.n_step == 1);
    runlog_close(&log);
}

TEST(a_resume_marks_what_it_threw_away)
{
    struct runlog log;

    parse(&log, START(0, false) STEP(10, 5.0) STEP(20, 4.0) EVAL(20, 4.5) STEP(30, 3.0)
                    EVAL(30, 3.5) START(20, true) STEP(30, 3.1) EVAL(30, 3.6));
    CHECK(log.n_step == 4 && log.n_eval == 3);
    CHECK(!log.step[0].is_lost && !log.step[1].is_lost && log.step[2].is_lost);
    CHECK(!log.step[3].is_lost && log.eval[1].is_lost && !log.eval[2].is_lost);
    CHECK(log.step[0].is_first && !log.step[1].is_first && log.step[3].is_first);
    runlog_close(&log);
}

TEST(time_between_sessions_is_idle_and_tests_are_no_part_of_the_run)
{
    struct runlog log;

    parse(&log, "{\"event\":\"start\",\"t\":100,\"step\":0}\n"
                "{\"event\":\"step\",\"t\":110,\"step\":1}\n"
                "{\"event\":\"step\",\"t\":117,\"step\":2}\n"
                "{\"event\":\"start\",\"t\":150,\"step\":2}\n"
                "{\"event\":\"stop\",\"t\":155,\"step\":2,\"reason\":\"signal\"}\n"
                "{\"event\":\"test\",\"t\":900,\"name\":\"a\",\"bleu\":20.5,\"loss\":1,"
                "\"sentences\":10,\"bleu_signature\":\"nrefs:1\"}\n");
    CHECK(log.t_first == 100 && log.t_last == 155 && log.t_idle == 33 && log.t_gap == 10);
    CHECK(log.n_event == 4 && log.event[3].kind == RUNLOG_KIND_TEST);
    CHECK_STR(log.event[3].test.bleu_signature, "nrefs:1");
    CHECK_STR(runlog_end(&log)->reason, "signal");
    runlog_close(&log);
}

TEST(a_start_after_a_stop_means_the_run_goes_on)
{
    struct runlog log;

    parse(&log, START(0, false) STOP START(9, true) STEP(10, 1.0));
    CHECK(!runlog_end(&log));
    runlog_close(&log);
}

TEST(a_missing_log_is_named)
{
    struct runlog log;

    CHECK_FAILS(runlog_open(&log, test_path("run.jsonl"), &err), &err, ERR_IO,
                "run.jsonl");
    runlog_close(&log);
}

/* The text of a section of the document, from its heading to the next one. */
static char *section(const char *doc, const char *heading)
{
    const char *at = strstr(doc, heading);

    CHECK(at != NULL);
    const char *end = strstr(at + strlen(heading), "\n### ");
    return end ? strndup(at, (size_t)(end - at)) : strdup(at);
}

TEST(the_document_names_every_field_of_the_schema)
{
    static const struct {
        const char *heading;
        enum runlog_kind kind;
    } parts[] = {
        {"### start", RUNLOG_KIND_START},       {"### start", RUNLOG_KIND_DATA},
        {"### start", RUNLOG_KIND_NETWORK},     {"### step", RUNLOG_KIND_STEP},
        {"### ranks", RUNLOG_KIND_RANKS},       {"### ranks", RUNLOG_KIND_RANK},
        {"### ranks", RUNLOG_KIND_CARD},        {"### eval", RUNLOG_KIND_EVAL},
        {"### The others", RUNLOG_KIND_SAVE},   {"### The others", RUNLOG_KIND_BEST},
        {"### The others", RUNLOG_KIND_SKIP},   {"### The others", RUNLOG_KIND_TEST},
        {"### The others", RUNLOG_KIND_SAMPLE}, {"### The others", RUNLOG_KIND_STOP},
    };
    struct file_map map;

    CHECK_OK(file_map_open(&map, FERRY_TEST_DATA "/../../docs/formats/runlog.md", &err),
             &err);
    char *doc = strndup((const char *)map.data, map.n_bytes);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *text = section(doc, parts[i].heading);
        const struct runlog_object *of = &runlog_schema[parts[i].kind];
        /* t and step are said once, of every entry */
        for (size_t k = parts[i].kind < RUNLOG_ENTRIES_N ? 2 : 0; k < of->n; k++) {
            char name[80];
            snprintf(name, sizeof name, "`%s`", of->field[k].name);
            if (!strstr(text, name))
                test_fail(__FILE__, __LINE__, "%s is missing in '%s'", name,
                          parts[i].heading);
        }
        free(text);
    }
    free(doc);
    file_map_close(&map);
}

static bool is_in_schema(const char *name, size_t n)
{
    for (int kind = 0; kind < RUNLOG_KINDS_N; kind++) {
        const struct runlog_object *of = &runlog_schema[kind];
        if (strlen(of->name) == n && strncmp(of->name, name, n) == 0)
            return true;
        for (size_t i = 0; i < of->n; i++)
            if (strlen(of->field[i].name) == n &&
                strncmp(of->field[i].name, name, n) == 0)
                return true;
    }
    return n == 5 && strncmp(name, "event", 5) == 0;
}

/* The first cell of a row: `name`, `name` | */
TEST(the_tables_of_the_document_name_nothing_else)
{
    struct lines doc;
    size_t n_seen = 0;

    CHECK_OK(lines_open(&doc, FERRY_TEST_DATA "/../../docs/formats/runlog.md", &err),
             &err);
    for (struct line line; lines_next(&doc, &line);) {
        const char *at = line.text, *end = at + line.n_bytes;
        if (line.n_bytes < 4 || strncmp(at, "| `", 3) != 0)
            continue;
        end = memchr(at + 1, '|', (size_t)(end - at - 1));
        while (end && (at = memchr(at, '`', (size_t)(end - at)))) {
            const char *stop = memchr(at + 1, '`', (size_t)(end - at - 1));
            CHECK(stop != NULL);
            at++;
            if (!is_in_schema(at, (size_t)(stop - at)))
                test_fail(__FILE__, __LINE__, "`%.*s` is not in the schema",
                          (int)(stop - at), at);
            at = stop + 1;
            n_seen++;
        }
    }
    CHECK(n_seen > 50);
    lines_close(&doc);
}
