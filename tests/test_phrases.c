/* Phrases as whole words, against a search that looks everywhere. */
#include "decode/steer/phrases.h"

#include "base/rng.h"
#include "base/str.h"
#include "decode/steer/terms.h"
#include "toy_model.h"

enum { LETTERS = 12, PHRASES = 6, TEXT = 40 };

static struct err err;

struct random_case {
    uint32_t phrase[PHRASES][LETTERS], text[TEXT];
    size_t n[PHRASES], n_text;
};

/* Few letters, so that phrases overlap and contain each other: of words, marks, and a
 * script without blanks. */
static uint32_t letter(struct rng *r)
{
    static const uint32_t letters[] = {'a', 'b', 'a', 'b', ' ', '-', 0x6F22};

    return letters[rng_below(r, 7)];
}

static void make_case(struct random_case *c, uint64_t seed)
{
    struct rng r = rng_open(rng_key(seed, "phrases"));

    for (size_t i = 0; i < PHRASES; i++) {
        c->n[i] = 1 + rng_below(&r, 5);
        for (size_t k = 0; k < c->n[i]; k++)
            do
                c->phrase[i][k] = letter(&r);
            while (c->phrase[i][k] == ' ' && (k == 0 || k + 1 == c->n[i]));
    }
    c->n_text = TEXT;
    for (size_t k = 0; k < TEXT; k++)
        c->text[k] = letter(&r);
}

/* Does phrase i stand in the text, as whole words, with its end before letter `end`? */
static bool stands(const struct random_case *c, size_t i, size_t end)
{
    if (end < c->n[i])
        return false;
    const size_t at = end - c->n[i];
    if (memcmp(c->text + at, c->phrase[i], c->n[i] * sizeof *c->text) != 0)
        return false;
    return (at == 0 || letters_is_border(c->text[at - 1], c->text[at])) &&
           (end == c->n_text || letters_is_border(c->text[end - 1], c->text[end]));
}

TEST(every_phrase_is_found_where_it_stands_and_nowhere_else)
{
    size_t n_found = 0;

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct random_case c;
        struct phrases p = {0};
        struct phrases_state s;
        uint32_t number[PHRASES];

        make_case(&c, seed);
        for (size_t i = 0; i < PHRASES; i++)
            CHECK_OK(phrases_add(&p, (struct letters_text){c.phrase[i], c.n[i]},
                                 &number[i], &err),
                     &err);
        CHECK_OK(phrases_build(&p, &err), &err);
        phrases_begin(&s);
        for (size_t end = 1; end <= c.n_text; end++) {
            bool is_found[PHRASES + 1] = {false};
            phrases_read(&p, &s, c.text[end - 1]);
            const uint32_t next = end < c.n_text ? c.text[end] : ' ';
            for (uint32_t node = phrases_found(&p, &s, next); node;
                 node = p.node[p.node[node].fail].ends)
                is_found[p.node[node].phrase] = true;
            for (size_t i = 0; i < PHRASES; i++) {
                CHECK(is_found[number[i]] == stands(&c, i, end));
                n_found += is_found[number[i]];
            }
        }
        phrases_release(&p);
    }
    CHECK(n_found > 10000);
}

TEST(equal_phrases_have_one_number)
{
    const uint32_t a[] = {'a', 'b'}, b[] = {'a'};
    struct phrases p = {0};
    uint32_t x, y, z;

    CHECK_OK(phrases_add(&p, (struct letters_text){a, 2}, &x, &err), &err);
    CHECK_OK(phrases_add(&p, (struct letters_text){b, 1}, &y, &err), &err);
    CHECK_OK(phrases_add(&p, (struct letters_text){a, 2}, &z, &err), &err);
    CHECK(x == z && x != y && p.n_phrases == 2);
    phrases_release(&p);
    phrases_release(&p);
}

static status read_forbidden(const struct spm *spm, struct phrases *p, const char *text)
{
    const char *path = test_path("forbid.txt");

    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    phrases_release(p);
    return terms_read_forbidden(p, spm, path, &err);
}

TEST(a_file_of_phrases_is_read_line_by_line)
{
    struct spm *spm = toy_model_spm();
    struct phrases p = {0};
    struct str long_one = str_new(0);

    CHECK_OK(read_forbidden(spm, &p, "die Fähre\n  die   Fähre \r\n\u65e5\u672c\nx"),
             &err);
    CHECK(p.n_phrases == 3); /* white space does not make another one */
    CHECK_OK(read_forbidden(spm, &p, ""), &err);
    CHECK(p.n_phrases == 0);
    CHECK_FAILS(read_forbidden(spm, &p, "a\n \nb\n"), &err, ERR_FORMAT,
                "forbid.txt:2: the phrase is empty");
    CHECK_FAILS(read_forbidden(spm, &p, "a\nb\nc\xff\n"), &err, ERR_FORMAT,
                "forbid.txt:3: the line is not valid UTF-8");
    for (int i = 0; i < TERMS_LETTERS + 1; i++)
        str_putc(&long_one, 'a');
    CHECK_FAILS(read_forbidden(spm, &p, long_one.data), &err, ERR_FORMAT,
                "has 257 letters; at most 256");
    CHECK_FAILS(terms_read_forbidden(&p, spm, "nowhere", &err), &err, ERR_IO, "nowhere");
    phrases_release(&p);
    str_release(&long_one);
    spm_free(spm);
}
