/*
 * Languages detected in Tatoeba, German and English: profiles of 31 English sentences of
 * 32 and their translations, tested on the rest. Prints the table of
 * docs/formats/profiles.md. FERRY_DATA names the folder of tatoeba/, ../shared/data
 * without it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "base/table.h"
#include "text/line_reader.h"
#include "text/profile.h"

#include "tatoeba.h"
#include "test.h"

enum kind { WORD, SHORT, LONGER, N_KINDS };
enum { SHORT_BYTES = 20, ONE_IN = 32, MOST_WORDS = 7 };

struct tally {
    size_t n[N_KINDS], n_right[N_KINDS];
    double confidence[N_KINDS][2]; /* of wrong and of right ones */
};

static void try_text(struct tally *t, enum kind kind, const struct profiles *p,
                     struct line text, const char *name)
{
    struct profile_guess guess[2];

    profile_detect(p, text, guess);
    const bool is_right = guess[0].confidence > 0 && strcmp(guess[0].name, name) == 0;
    t->n[kind]++;
    t->n_right[kind] += is_right;
    t->confidence[kind][is_right] += guess[0].confidence;
}

/* Word i of a line, or its last. */
static struct line word_of(struct line line, size_t i)
{
    const char *end = line.text + line.n_bytes, *at = line.text, *blank;

    while (i-- && (blank = memchr(at, ' ', (size_t)(end - at))) && blank + 1 < end)
        at = blank + 1;
    blank = memchr(at, ' ', (size_t)(end - at));
    return (struct line){at, (size_t)((blank ? blank : end) - at)};
}

static void try_line(struct tally *t, const struct profiles *p, struct line line,
                     const char *name)
{
    const size_t n = t->n[SHORT] + t->n[LONGER];

    try_text(t, WORD, p, word_of(line, n % MOST_WORDS), name);
    try_text(t, line.n_bytes < SHORT_BYTES ? SHORT : LONGER, p, line, name);
}

/* Learn from what is not held out, or try what is. */
static void read_all(const char *path, struct profile_counts *counts, struct tally *tally,
                     const struct profiles *p)
{
    struct line_reader f;
    struct line line;
    struct err err;
    bool has = true;

    CHECK_OK(line_reader_open(&f, path, "Tatoeba", &err), &err);
    while (has) {
        CHECK_OK(line_reader_next(&f, &line, &has, &err), &err);
        const char *tab = has ? memchr(line.text, '\t', line.n_bytes) : NULL;
        if (!tab)
            continue;
        const struct line de = {line.text, (size_t)(tab - line.text)};
        const struct line en = {tab + 1, line.n_bytes - de.n_bytes - 1};
        if (table_hash(en.text, en.n_bytes) % ONE_IN) {
            if (counts) {
                profile_count(&counts[0], de);
                profile_count(&counts[1], en);
            }
        } else if (tally) {
            try_line(tally, p, de, "de");
            try_line(tally, p, en, "en");
        }
    }
    line_reader_close(&f);
}

TEST(german_and_english_are_told_apart)
{
    static const char *const names[] = {"one word", "below 20 bytes", "longer"};
    static const double least[] = {90, 98.5, 99.9};
    const char *path = tatoeba_path(FERRY_TEST_DATA);
    struct profile_counts *counts = calloc(2, sizeof *counts);
    struct profiles p = {0};
    struct tally t = {0};
    struct err err;

    read_all(path, counts, NULL, NULL);
    CHECK_OK(profile_add(&p, "de", &counts[0], &err), &err);
    CHECK_OK(profile_add(&p, "en", &counts[1], &err), &err);
    read_all(path, NULL, &t, &p);
    for (int k = 0; k < N_KINDS; k++) {
        const double right = 100 * (double)t.n_right[k] / (double)t.n[k];
        printf("%s: %.2f %% of %zu right; confidence %.0f, wrong ones %.0f\n", names[k],
               right, t.n[k], t.confidence[k][1] / (double)t.n_right[k],
               t.confidence[k][0] / (double)(t.n[k] - t.n_right[k]));
        CHECK(right > least[k]);
    }
    profile_release(&p);
    free(counts);
}
