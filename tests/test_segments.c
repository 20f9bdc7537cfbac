#include "decode/lines/segments.h"

#include "base/utf8.h"
#include "text/subword/encoder.h"
#include "toy_model.h"

static struct err err;

#define LINE(text)             \
    {                          \
        text, sizeof(text) - 1 \
    }

static void make(struct segments *s, const struct line *lines, size_t n,
                 struct segments_options o)
{
    struct spm *spm = toy_model_spm();
    struct encoder *encoder;

    o.lang = o.lang ? o.lang : "";
    CHECK_OK(encoder_new(&encoder, spm, 0, &err), &err);
    CHECK_OK(segments_make(s, encoder, lines, n, &o, &err), &err);
    encoder_free(encoder);
    spm_free(spm);
}

/* Segments lie in order in their line, and only white space is outside them. */
static void check_whole(const struct segments *s, size_t i)
{
    const struct segments_line *line = &s->line[i];
    const char *at = line->text.text;

    for (size_t k = line->first; k < line->first + line->n; k++) {
        const struct segment *g = &s->segment[k];
        CHECK(g->line == i && g->text.text >= at && g->text.n_bytes > 0);
        CHECK(!segments_is_visible((struct line){at, (size_t)(g->text.text - at)}));
        at = g->text.text + g->text.n_bytes;
    }
    const char *end = line->text.text + line->text.n_bytes;
    CHECK(at <= end && !segments_is_visible((struct line){at, (size_t)(end - at)}));
}

TEST(sentences_are_segments_and_nothing_is_lost)
{
    const struct line lines[] = {LINE("  The ferry waits.  We wait! Wir"), LINE(""),
                                 LINE("we wait"), LINE(" \t ")};
    struct segments s = {0};

    make(&s, lines, 4, (struct segments_options){.max_length = 256, .splits = true});
    CHECK(s.n == 4 && s.line[0].n == 3 && s.line[2].n == 1);
    CHECK(s.line[1].n == 0 && s.line[3].n == 0);
    for (size_t i = 0; i < 4; i++)
        check_whole(&s, i);
    for (size_t k = 0; k < s.n; k++) {
        const struct segment *g = &s.segment[k];
        CHECK(s.ids.id[g->at] == ID_BOS && s.ids.id[g->at + g->n - 1] == ID_EOS);
    }
    segments_release(&s);
    make(&s, lines, 4, (struct segments_options){.max_length = 256});
    CHECK(s.n == 2 && s.line[0].n == 1 && s.segment[0].text.n_bytes == lines[0].n_bytes);
    segments_release(&s);
    segments_release(&s);
}

TEST(the_language_decides_what_is_an_abbreviation)
{
    const struct line line = LINE("Wir warten ggf. Morgen kommt die F\u00e4hre.");
    struct segments s = {0};

    for (size_t is_german = 0; is_german < 2; is_german++) {
        make(&s, &line, 1,
             (struct segments_options){
                 .max_length = 256, .splits = true, .lang = is_german ? "de" : "en"});
        CHECK(s.n == 2 - is_german);
        segments_release(&s);
    }
}

/* A long sentence without clauses, and behind it a word that must be torn. */
TEST(what_is_too_long_is_divided_until_it_fits)
{
    struct str text = str_new(0);

    for (int i = 0; i < 40; i++)
        str_puts(&text, i % 7 ? "the ferry and the river " : "die F\u00e4hre, ");
    for (int i = 0; i < 90; i++)
        str_puts(&text, "\u00e4flussufer");
    for (size_t max = 4; max < 300; max = max * 3 / 2) {
        const struct line line = {text.data, text.len};
        struct segments s = {0};
        make(&s, &line, 1, (struct segments_options){.max_length = max, .splits = true});
        CHECK(s.line[0].is_divided && !s.line[0].is_cut);
        check_whole(&s, 0);
        size_t n_pieces = 0;
        for (size_t k = 0; k < s.n; k++) {
            n_pieces += s.segment[k].n - 2;
            CHECK(s.segment[k].n <= max);
            CHECK(utf8_valid(s.segment[k].text.text, s.segment[k].text.n_bytes));
        }
        /* about as few as possible */
        CHECK(s.n <= 3 * n_pieces / (max - 2) + 1);
        segments_release(&s);
    }
    str_release(&text);
}

TEST(only_a_cut_inside_a_word_tears_one)
{
    const struct line lines[] = {LINE("aflussuferaflussuferaflussufer"),
                                 LINE("We wait\u3002A river\u3002"),
                                 LINE("\u65e5\u65e5\u65e5\u65e5\u65e5\u65e5\uff0c\u65e5"
                                      "\u65e5\u65e5\u65e5\u65e5\u65e5"),
                                 LINE("the ferry and the river and the ferry")};
    struct segments s = {0};

    make(&s, lines, 4, (struct segments_options){.max_length = 8, .splits = true});
    for (size_t k = 0; k < s.n; k++) {
        const struct segment *g = &s.segment[k];
        CHECK(g->is_torn == (g->line == 0 && k > s.line[0].first));
    }
    CHECK(s.line[0].n > 1 && s.line[3].n > 1);
    segments_release(&s);
}

TEST(without_splitting_a_line_is_cut_and_marked)
{
    const struct line line = LINE("The ferry crosses. The river is wide.");
    struct segments s = {0};

    make(&s, &line, 1, (struct segments_options){.max_length = 8});
    CHECK(s.n == 1 && s.segment[0].n == 8 && s.line[0].is_cut && !s.line[0].is_divided);
    segments_release(&s);
}
