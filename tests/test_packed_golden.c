/* A packed model that was written once: it opens with every later version, and gives the
 * same translations and scores on every machine. tests/data/model.ferry is `ferry pack
 * shortlist=10` of a model of 90 updates on sentences like these. */
#include "decode/loaded.h"
#include "test.h"

static struct err err;

static const char *const lines[] = {"the old ferry sees the river",
                                    "the new child takes the bridge",
                                    "the small light finds the stone", "", "a stone"};
enum { N_LINES = sizeof lines / sizeof *lines, N_BEST = 3 };

static const struct expected {
    size_t line;
    const char *text;
    double score;
} expected[] = {{0, "der alte Fähre sieht den Fluss", -1.260176},
                {0, "der alte Fluss sieht den Fluss", -1.776258},
                {0, "der alte Fluss sieht den Fähre", -2.085108},
                {1, "der neue Kind nimmt den Brücke", -1.133453},
                {1, "der neue Kcke nimmt den Brücke", -2.635052},
                {1, "der ne neue Kind nimmt den Brücke", -2.758322},
                {2, "der kleine Licht findet den Stein", -1.154333},
                {2, "der kleine Licht findet den Licht", -2.025878},
                {2, "der kleine Licht findet den  der", -2.645110},
                {3, "", 0.000000},
                {4, "der neue Stein sieht den Stein", -1.213692},
                {4, "der neue Stein nimmt den Stein", -2.291945},
                {4, "der neue Steindet den Stein", -2.714131}};

static void check(const char *device, size_t n_threads)
{
    struct loaded model;
    struct translator t = {0};
    struct translations found = {0};
    struct translate_config how;
    struct line text[N_LINES];

    for (size_t i = 0; i < N_LINES; i++)
        text[i] = (struct line){lines[i], strlen(lines[i])};
    CHECK_OK(loaded_open(&model, test_data("model.ferry"),
                         (struct loaded_options){.checkpoint = "auto",
                                                 .device = device,
                                                 .n_threads = n_threads,
                                                 .has_shortlist = true},
                         &err),
             &err);
    CHECK_OK(opt_defaults(translate_config_table, &how, &err), &err);
    how.nbest = N_BEST;
    CHECK_OK(loaded_translator(&model, &t, &how, NULL, &err), &err);
    CHECK_OK(translate_lines(&t, text, N_LINES, &found, &err), &err);
    size_t rank = 0;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct expected *e = &expected[i];
        rank = i && expected[i - 1].line == e->line ? rank + 1 : 0;
        CHECK(rank < found.n_found[e->line]);
        CHECK_STR(translate_get(&found, e->line, rank), e->text);
        const double score = found.item[e->line * N_BEST + rank].score;
        CHECK(fabs(score - e->score) < 0.6e-6); /* to the digits that translate prints */
    }
    translate_release(&found);
    translate_close(&t);
    loaded_close(&model);
}

TEST(a_packed_model_of_long_ago_gives_the_same_on_every_machine)
{
    static const char *const devices[] = {"auto", "cpu", "cpu-avx512", "cpu-avx2",
                                          "cpu-plain"};

    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        for (size_t n_threads = 1; n_threads < 3; n_threads++)
            check(devices[i], n_threads);
}
