#include "test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "report/log/runlog.h"
#include "train/log/journal.h"

static struct err err;

/* The line of an entry; the caller frees it. */
static char *line_of(enum runlog_kind kind, const void *fields)
{
    json_t *o = journal_object(kind, fields);
    char *text = json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER);

    json_decref(o);
    CHECK(text != NULL);
    return text;
}

/* A log of one entry. */
static void read_back(struct runlog *log, enum runlog_kind kind, const void *fields)
{
    char *text = line_of(kind, fields);

    CHECK_OK(runlog_parse(log, "log", text, strlen(text), &err), &err);
    free(text);
}

TEST(what_is_not_known_is_null_or_left_out_as_the_schema_says)
{
    const struct runlog_eval e = {.t = 2,
                                  .step = 30,
                                  .valid_loss = 1.5,
                                  .eval_loss = NAN,
                                  .forced_bleu = 0.25,
                                  .bleu = NAN,
                                  .chrf = 55.5,
                                  .chrf_words = NAN,
                                  .ter = NAN,
                                  .repeating = NAN,
                                  .length_ratio = NAN,
                                  .seconds = 4};
    char *text = line_of(RUNLOG_KIND_EVAL, &e);

    CHECK_STR(text, "{\"event\":\"eval\",\"t\":2.0,\"step\":30,\"valid_loss\":1.5,"
                    "\"eval_loss\":null,\"forced_bleu\":0.25,\"bleu\":null,"
                    "\"chrf\":55.5,\"seconds\":4.0}");
    free(text);

    const struct runlog_best b = {.t = 1,
                                  .step = 3,
                                  .path = "bleu=1",
                                  .valid_loss = NAN,
                                  .bleu = 12.5,
                                  .value = NAN};
    text = line_of(RUNLOG_KIND_BEST, &b);
    CHECK_STR(text, "{\"event\":\"best\",\"t\":1.0,\"step\":3,\"path\":\"bleu=1\","
                    "\"bleu\":12.5}");
    free(text);
}

TEST(text_that_is_no_utf8_is_mended_and_not_lost)
{
    const struct runlog_sample s = {.t = 1,
                                    .step = 2,
                                    .source = "K\xc3\xa4se \xc3",
                                    .reference = "cheese",
                                    .translation = "\xff"};
    struct runlog log;

    read_back(&log, RUNLOG_KIND_SAMPLE, &s);
    CHECK(log.n_sample == 1);
    CHECK_STR(log.sample[0].source, "K\u00e4se \uFFFD");
    CHECK_STR(log.sample[0].translation, "\uFFFD");
    runlog_close(&log);
}

/* A value that tells its field from every other. */
static double value_of(size_t i)
{
    return (double)(3 * i + 1);
}

TEST(every_number_of_a_step_and_of_a_rank_is_read_back)
{
    const struct runlog_object *step = &runlog_schema[RUNLOG_KIND_STEP],
                               *rank = &runlog_schema[RUNLOG_KIND_RANK];
    struct runlog_step s = {0};
    struct runlog_rank r = {.host = "n1"};
    struct runlog log;

    for (size_t i = 0; i < step->n; i++)
        *(double *)((char *)&s + step->field[i].at) = value_of(i);
    read_back(&log, RUNLOG_KIND_STEP, &s);
    CHECK(log.n_step == 1);
    for (size_t i = 0; i < step->n; i++)
        CHECK(*(double *)((char *)log.step + step->field[i].at) == value_of(i));
    runlog_close(&log);

    for (size_t i = 0; i < rank->n; i++)
        if (rank->field[i].type != RUNLOG_TEXT && rank->field[i].type != RUNLOG_JSON)
            *(double *)((char *)&r + rank->field[i].at) = value_of(i);
    json_t *list = json_array();
    json_array_append_new(list, journal_object(RUNLOG_KIND_RANK, &r));
    const struct runlog_ranks all = {.t = 1, .step = 2, .ranks = list};
    read_back(&log, RUNLOG_KIND_RANKS, &all);
    CHECK(log.n_rank == 1 && log.n_lap == 1);
    CHECK_STR(log.rank[0].host, "n1");
    for (size_t i = 0; i < rank->n; i++)
        if (rank->field[i].type != RUNLOG_TEXT && rank->field[i].type != RUNLOG_JSON)
            CHECK(*(double *)((char *)log.rank + rank->field[i].at) == value_of(i));
    runlog_close(&log);
}
