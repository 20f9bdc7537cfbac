#include "sample/sample.h"

#include <string.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/table.h"
#include "sample/clause.h"
#include "sample/say.h"

OPT_TABLE(sample_options_table, struct sample_options, SAMPLE_OPTIONS);

/* One sentence in SHARE is for testing, one for validation. */
enum { SHARE = 32 };

const char *sample_split_name(enum sample_split split)
{
    static const char *const names[] = {"train", "valid", "test"};

    return names[split];
}

void sample_open(struct sample_generator *g, uint64_t seed)
{
    *g = (struct sample_generator){.key = rng_key(seed, "sample")};
}

void sample_pair(struct sample_generator *g, uint64_t i, struct str *en, struct str *de)
{
    struct sentence s;

    sample_draw(&g->pick, rng_hash(g->key, i), &s);
    say_sentence(&sample_english, &s, en);
    say_sentence(&sample_german, &s, de);
}

enum sample_split sample_split_of(const char *de)
{
    const uint64_t part = rng_key(0, de) % SHARE;

    return part == 0 ? SPLIT_TEST : part == 1 ? SPLIT_VALID : SPLIT_TRAIN;
}

/* Texts are told apart by 64-bit hashes. Two of a million sentences share one with odds
 * of 1 in 10^7, and then only a pair is left out that could have been written. */
static uint64_t hash_of(const char *text)
{
    return rng_key(1, text);
}

/* Everything that is being written. */
struct work {
    struct sample_generator generator;
    struct str text[N_SIDES];
    struct table_set german, words[N_SIDES]; /* German names the pair, see sample.h */
    struct file_writer file[N_SPLITS][N_SIDES];
    uint64_t want[N_SPLITS];
    struct sample_stats stats;
};

static void work_release(struct work *w)
{
    table_set_release(&w->german);
    for (size_t side = 0; side < N_SIDES; side++) {
        str_release(&w->text[side]);
        table_set_release(&w->words[side]);
        for (size_t split = 0; split < N_SPLITS; split++)
            file_writer_abort(&w->file[split][side]);
    }
}

static status open_files(struct work *w, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_make_dirs(dir, err));
    for (enum sample_split split = 0; split < N_SPLITS; split++)
        for (enum sample_side side = 0; side < N_SIDES; side++) {
            TRY(file_path(path, err, "%s/%s.%s", dir, sample_split_name(split),
                          side == SIDE_EN ? "en" : "de"));
            TRY(file_writer_open(&w->file[split][side], path, err));
        }
    return OK;
}

/* Small letters of ASCII and of ä ö ü; the bytes of other letters do not change. */
static char lower(char c, char before)
{
    const unsigned char u = (unsigned char)c;

    if (c >= 'A' && c <= 'Z')
        return (char)(c + 0x20);
    if ((unsigned char)before == 0xc3 && (u == 0x84 || u == 0x96 || u == 0x9c))
        return (char)(u + 0x20);
    return c;
}

static status count_words(struct work *w, enum sample_side side, struct err *err)
{
    char word[64];
    size_t n = 0;

    for (const char *c = str_text(&w->text[side]);; c++) {
        if (*c && !strchr(" ,.?", *c)) {
            BUG_ON(n + 1 >= sizeof word);
            word[n] = lower(*c, n ? word[n - 1] : ' ');
            n++;
            continue;
        }
        word[n] = '\0';
        if (n)
            TRY(table_set_add(&w->words[side], hash_of(word), err));
        w->stats.n_words[side] += n > 0;
        n = 0;
        if (!*c)
            return OK;
    }
}

static status keep(struct work *w, enum sample_split split, struct err *err)
{
    TRY(table_set_add(&w->german, hash_of(str_text(&w->text[SIDE_DE])), err));
    for (enum sample_side side = 0; side < N_SIDES; side++) {
        struct str *text = &w->text[side];
        TRY(count_words(w, side, err));
        str_putc(text, '\n');
        TRY(str_check(text, "a sentence", err));
        TRY(file_writer_add(&w->file[split][side], text->data, text->len, err));
    }
    w->stats.n_pairs[split]++;
    return OK;
}

static status fill(struct work *w, struct err *err)
{
    const uint64_t n_want =
        w->want[SPLIT_TRAIN] + w->want[SPLIT_VALID] + w->want[SPLIT_TEST];
    const uint64_t n_most = (n_want + SHARE) * SHARE * 4;

    for (uint64_t i = 0, n_left = n_want; n_left > 0; i++) {
        if (i == n_most)
            return err_set(err, ERR_USAGE,
                           "the grammar gave fewer than %llu different pairs in %llu "
                           "tries: ask for fewer",
                           (unsigned long long)n_want, (unsigned long long)n_most);
        str_reset(&w->text[SIDE_EN]);
        str_reset(&w->text[SIDE_DE]);
        sample_pair(&w->generator, i, &w->text[SIDE_EN], &w->text[SIDE_DE]);
        TRY(str_check(&w->text[SIDE_EN], "a sentence", err));
        TRY(str_check(&w->text[SIDE_DE], "a sentence", err));
        const enum sample_split split = sample_split_of(str_text(&w->text[SIDE_DE]));
        if (w->stats.n_pairs[split] < w->want[split] &&
            !table_set_has(&w->german, hash_of(str_text(&w->text[SIDE_DE])))) {
            TRY(keep(w, split, err));
            n_left--;
        }
    }
    return OK;
}

status sample_write(const struct sample_options *o, const char *dir,
                    struct sample_stats *stats, struct err *err)
{
    RELEASED_BY(work_release)
    struct work w = {.want = {[SPLIT_TRAIN] = (uint64_t)o->pairs,
                              [SPLIT_VALID] = (uint64_t)o->valid,
                              [SPLIT_TEST] = (uint64_t)o->test}};

    sample_open(&w.generator, (uint64_t)o->seed);
    TRY(open_files(&w, dir, err));
    TRY(fill(&w, err));
    for (size_t side = 0; side < N_SIDES; side++) {
        for (size_t split = 0; split < N_SPLITS; split++)
            TRY(file_writer_commit(&w.file[split][side], err));
        w.stats.n_types[side] = w.words[side].table.n;
    }
    *stats = w.stats;
    return OK;
}
