#include "text/subword/word_counts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "text/subword/normalizer.h"
#include "text/subword/spm.h"
#include "text/subword/spm_parts.h"

enum { MAX_LINE_BYTES = 4192, N_PARTS = 64, GROUP = 32 };
static const size_t default_bytes = (size_t)1 << 30;

/* Reserved by SentencePiece's trainer for characters that it leaves out. */
static const char reserved[] = "\xE2\x96\x85";

/* A word: its bytes stand at `at` in the text; n_bytes < 2^32 by the line's limit. */
struct word {
    uint64_t at, count;
};

/* Different words in the order in which they came, and how often each did. */
struct words {
    struct table table;
    struct word *word;
    size_t n_words, cap;
    struct str text; /* each word after its length in 4 bytes */
};

struct word_counts {
    size_t max_bytes;
    struct word_counts_seen seen;
    struct spm *rules; /* a model that brings the normalisation rules along */
    struct spm_parts parts;
    struct normalizer normalizer;
    struct str line;
    struct words raw;    /* as they stand in the lines: a word is normalised once */
    struct words words;  /* normalised */
    FILE *part[N_PARTS]; /* words that had to leave memory, by their hash */
    bool has_parts, is_finished;
};

static struct line text_of(const struct words *t, size_t i)
{
    uint32_t n;

    memcpy(&n, t->text.data + t->word[i].at, sizeof n);
    return (struct line){t->text.data + t->word[i].at + sizeof n, n};
}

static void words_release(struct words *t)
{
    table_release(&t->table);
    free(t->word);
    str_release(&t->text);
    *t = (struct words){.text = str_new(SIZE_MAX)};
}

static size_t words_bytes(const struct words *t)
{
    return t->text.len +
           t->n_words * (sizeof(struct word) + 2 * sizeof(struct table_slot));
}

static status insert(struct words *t, uint64_t hash, struct line text, uint64_t count,
                     struct err *err)
{
    const uint32_t n = (uint32_t)text.n_bytes;

    if (text.n_bytes > UINT32_MAX)
        return err_set(err, ERR_FORMAT, "a word of %zu bytes", text.n_bytes);
    TRY(mem_grow(&t->word, &t->cap, t->n_words + 1, sizeof *t->word, err));
    t->word[t->n_words] = (struct word){t->text.len, count};
    str_add(&t->text, &n, sizeof n);
    str_add(&t->text, text.text, n);
    TRY(str_check(&t->text, "the list of words", err));
    return table_add(&t->table, hash, (uint32_t)t->n_words++, err);
}

static status words_add_hashed(struct words *t, uint64_t hash, struct line text,
                               uint64_t count, struct err *err)
{
    struct table_search search = table_search(&t->table, hash);

    for (uint32_t i; (i = table_next(&search)) != TABLE_NONE;) {
        const struct line have = text_of(t, i);
        if (have.n_bytes == text.n_bytes &&
            memcmp(have.text, text.text, text.n_bytes) == 0) {
            t->word[i].count += count;
            return OK;
        }
    }
    return insert(t, hash, text, count, err);
}

static status words_add(struct words *t, struct line text, uint64_t count,
                        struct err *err)
{
    return words_add_hashed(t, table_hash(text.text, text.n_bytes), text, count, err);
}

/* Load what looking these words up will read, all of it at the same time: a large list
 * is not in the processor's caches, and one word after the other would wait for it. */
static void words_prefetch(const struct words *t, const uint64_t *hash, size_t n)
{
    const struct word *word[GROUP];

    for (size_t i = 0; i < n; i++)
        table_prefetch(&t->table, hash[i]);
    for (size_t i = 0; i < n; i++) {
        struct table_search search = table_search(&t->table, hash[i]);
        const uint32_t found = table_next(&search);
        word[i] = found == TABLE_NONE ? NULL : &t->word[found];
        if (word[i])
            __builtin_prefetch(word[i], 1);
    }
    for (size_t i = 0; i < n; i++)
        if (word[i])
            __builtin_prefetch(t->text.data + word[i]->at);
}

static status open_part(FILE **part, struct err *err)
{
    int fd;

    TRY(file_nameless(&fd, err));
    *part = fdopen(fd, "w+");
    if (*part)
        return OK;
    close(fd);
    return err_set(err, ERR_MEMORY, "%s", strerror(errno));
}

static status open_parts(struct word_counts *w, struct err *err)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (!w->part[i] && open_part(&w->part[i], err) != OK)
            return err_wrap(err, "the list of words");
    w->has_parts = true;
    return OK;
}

/* Everything in memory goes to the files. */
static status spill(struct word_counts *w, struct err *err)
{
    struct words *t = &w->words;
    bool is_good = true;

    TRY(open_parts(w, err));
    for (size_t i = 0; i < t->n_words; i++) {
        const struct line text = text_of(t, i);
        const uint64_t h = table_hash(text.text, text.n_bytes);
        FILE *f = w->part[h >> 32 & (N_PARTS - 1)];
        const uint64_t head[2] = {t->word[i].count, text.n_bytes};
        is_good &= fwrite(head, sizeof head, 1, f) == 1 &&
                   fwrite(text.text, 1, text.n_bytes, f) == text.n_bytes;
    }
    words_release(t);
    if (!is_good)
        return err_set(err, ERR_IO, "cannot write the temporary list of words: %s",
                       strerror(errno));
    return OK;
}

static status add_word(struct word_counts *w, struct line text, uint64_t count,
                       struct err *err)
{
    TRY(words_add(&w->words, text, count, err));
    if (words_bytes(&w->words) > w->max_bytes && w->words.n_words > 1)
        return spill(w, err);
    return OK;
}

/*
 * The names of specials are no text to learn from: SentencePiece puts a tab, which it
 * then leaves out of the vocabulary, in their place.
 */
static void hide_specials(struct str *line)
{
    static const char *const name[] = {"<pad>", "</s>", "<s>", "<unk>"};
    char *to = line->data, *end = line->data + line->len;

    for (char *from = line->data; from < end;) {
        size_t n = 0;
        for (size_t i = 0; *from == '<' && i < sizeof name / sizeof *name; i++)
            if (strncmp(from, name[i], strlen(name[i])) == 0)
                n = strlen(name[i]);
        *to++ = n ? '\t' : *from;
        from += n ? n : 1;
    }
    *to = '\0';
    line->len = (size_t)(to - line->data);
}

/* Count what is in w->line, where each word stands after a blank and may be empty. */
static status add_words(struct word_counts *w, uint64_t count, struct err *err)
{
    const char *text, *end;

    TRY(str_check(&w->line, "a line of text", err));
    if (memchr(str_text(&w->line), '<', w->line.len))
        hide_specials(&w->line);
    text = str_text(&w->line);
    end = text + w->line.len;
    while (text < end) {
        const char *word = text + 1;
        const char *stop = memchr(word, ' ', (size_t)(end - word));
        if (!stop)
            stop = end;
        TRY(add_word(w, (struct line){word, (size_t)(stop - word)}, count, err));
        text = stop;
    }
    return OK;
}

/* Normalise what was counted as it stood. */
static status settle(struct word_counts *w, struct err *err)
{
    struct words *t = &w->raw;

    for (size_t i = 0; i < t->n_words; i++) {
        str_reset(&w->line);
        BUG_ON(!normalizer_token(&w->normalizer, text_of(t, i), &w->line));
        TRY(add_words(w, t->word[i].count, err));
    }
    words_release(t);
    return OK;
}

static status add_raw(struct word_counts *w, uint64_t hash, struct line text,
                      uint64_t count, struct err *err)
{
    TRY(words_add_hashed(&w->raw, hash, text, count, err));
    if (words_bytes(&w->raw) > w->max_bytes / 2)
        return settle(w, err);
    return OK;
}

static status read_rules(struct word_counts *w, struct err *err)
{
    TRY(spm_blank(&w->rules, err));
    const struct line bytes = spm_bytes(w->rules);
    TRY(spm_parts_read(&w->parts, bytes.text, bytes.n_bytes, err));
    return normalizer_init(&w->normalizer, w->parts.charsmap, err);
}

status word_counts_new(struct word_counts **w, struct word_counts_options options,
                       struct err *err)
{
    TRY(mem_alloc(w, 1, sizeof **w, err));
    (*w)->max_bytes = options.max_bytes ? options.max_bytes : default_bytes;
    (*w)->line = (*w)->raw.text = (*w)->words.text = str_new(SIZE_MAX);
    if (read_rules(*w, err) == OK)
        return OK;
    word_counts_free(*w);
    *w = NULL;
    return err->code;
}

static void close_parts(struct word_counts *w)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (w->part[i])
            fclose(w->part[i]);
    memset(w->part, 0, sizeof w->part);
    w->has_parts = false;
}

void word_counts_free(struct word_counts *w)
{
    if (!w)
        return;
    words_release(&w->raw);
    words_release(&w->words);
    str_release(&w->line);
    spm_parts_release(&w->parts);
    spm_free(w->rules);
    close_parts(w);
    free(w);
}

/* The next token of a line, between blanks, which *at moves past; false at the end. */
static bool next_token(struct line line, size_t *at, struct line *token)
{
    const char *s = line.text + *at, *end = line.text + line.n_bytes;

    while (s < end && *s == ' ')
        s++;
    if (s == end)
        return false;
    const char *stop = memchr(s, ' ', (size_t)(end - s));
    *token = (struct line){s, (size_t)((stop ? stop : end) - s)};
    *at = (size_t)(token->text + token->n_bytes - line.text);
    return true;
}

static status add_tokens(struct word_counts *w, struct line line, struct err *err)
{
    struct line token[GROUP];
    uint64_t hash[GROUP];
    size_t at = 0, n = GROUP;

    while (n == GROUP) {
        for (n = 0; n < GROUP && next_token(line, &at, &token[n]); n++)
            hash[n] = table_hash(token[n].text, token[n].n_bytes);
        words_prefetch(&w->raw, hash, n);
        for (size_t i = 0; i < n; i++)
            TRY(add_raw(w, hash[i], token[i], 1, err));
    }
    return OK;
}

status word_counts_add(struct word_counts *w, struct line line, struct err *err)
{
    BUG_ON(w->is_finished);
    if (line.n_bytes == 0)
        return OK;
    w->seen.n_lines++;
    if (line.n_bytes > MAX_LINE_BYTES) {
        w->seen.n_too_long++;
        return OK;
    }
    if (memmem(line.text, line.n_bytes, reserved, sizeof reserved - 1)) {
        w->seen.n_reserved++;
        return OK;
    }
    if (normalizer_has_tokens(&w->normalizer, line))
        return add_tokens(w, line, err);
    str_reset(&w->line);
    normalizer_line(&w->normalizer, line, &w->line);
    return add_words(w, 1, err);
}

/* Read one word that spill() wrote; false at the end of the file. */
static bool read_word(FILE *f, struct str *text, uint64_t *count)
{
    uint64_t head[2];

    if (fread(head, sizeof head, 1, f) != 1)
        return false;
    *count = head[0];
    str_reset(text);
    for (uint64_t left = head[1]; left;) {
        char buffer[4096];
        const size_t n = left < sizeof buffer ? (size_t)left : sizeof buffer;
        if (fread(buffer, 1, n, f) != n)
            return false;
        str_add(text, buffer, n);
        left -= n;
    }
    return true;
}

/* Add up the words of one file into a table of their own. */
static status load_part(struct word_counts *w, size_t part, struct words *t,
                        struct err *err)
{
    FILE *f = w->part[part];
    uint64_t count;

    if (fflush(f) != 0 || ferror(f))
        return err_set(err, ERR_IO, "cannot write the temporary list of words: %s",
                       strerror(errno));
    rewind(f);
    while (read_word(f, &w->line, &count)) {
        TRY(str_check(&w->line, "a word", err));
        TRY(words_add(t, (struct line){str_text(&w->line), w->line.len}, count, err));
    }
    if (ferror(f))
        return err_set(err, ERR_IO, "cannot read the temporary list of words: %s",
                       strerror(errno));
    return OK;
}

/* How many bytes the words of each count need; counts from LAST on are never forgotten.
 */
enum { LAST = 1 << 16 };
struct histogram {
    uint64_t bytes[LAST + 1], words[LAST + 1];
};

static void add_to_histogram(struct histogram *c, const struct words *t)
{
    for (size_t i = 0; i < t->n_words; i++) {
        const size_t k = t->word[i].count < LAST ? (size_t)t->word[i].count : LAST;
        c->bytes[k] += text_of(t, i).n_bytes + sizeof(uint32_t) + sizeof(struct word) +
                       2 * sizeof(struct table_slot);
        c->words[k]++;
    }
}

/* The words that are kept, from every file, in memory. */
static status keep_above(struct word_counts *w, uint64_t limit, struct err *err)
{
    for (size_t part = 0; part < N_PARTS; part++) {
        RELEASED_BY(words_release) struct words t = {.text = str_new(SIZE_MAX)};
        TRY(load_part(w, part, &t, err));
        for (size_t i = 0; i < t.n_words; i++)
            if (t.word[i].count > limit)
                TRY(words_add(&w->words, text_of(&t, i), t.word[i].count, err));
    }
    return OK;
}

static status add_parts_up(struct word_counts *w, struct err *err)
{
    RELEASED_BY(mem_release) struct histogram *c = NULL;
    uint64_t total = 0, limit = 0;

    TRY(mem_alloc(&c, 1, sizeof *c, err));
    for (size_t part = 0; part < N_PARTS; part++) {
        RELEASED_BY(words_release) struct words t = {.text = str_new(SIZE_MAX)};
        TRY(load_part(w, part, &t, err));
        add_to_histogram(c, &t);
    }
    for (size_t k = 0; k <= LAST; k++)
        total += c->bytes[k];
    while (limit + 1 < LAST && total > w->max_bytes) {
        limit++;
        total -= c->bytes[limit];
        w->seen.n_forgotten += c->words[limit];
    }
    w->seen.n_forgotten_below = w->seen.n_forgotten ? limit : 0;
    return keep_above(w, limit, err);
}

status word_counts_finish(struct word_counts *w, struct err *err)
{
    if (w->is_finished)
        return OK;
    w->is_finished = true;
    TRY(settle(w, err));
    if (!w->has_parts)
        return OK;
    TRY(spill(w, err));
    TRY(add_parts_up(w, err));
    close_parts(w);
    return OK;
}

static status merge_parts(struct word_counts *into, struct word_counts *from,
                          struct err *err)
{
    for (size_t part = 0; part < N_PARTS; part++) {
        RELEASED_BY(words_release) struct words t = {.text = str_new(SIZE_MAX)};
        TRY(load_part(from, part, &t, err));
        for (size_t i = 0; i < t.n_words; i++)
            TRY(add_word(into, text_of(&t, i), t.word[i].count, err));
    }
    close_parts(from);
    return OK;
}

status word_counts_merge(struct word_counts *into, struct word_counts *from,
                         struct err *err)
{
    BUG_ON(into->is_finished || from->is_finished);
    for (size_t i = 0; i < from->raw.n_words; i++) {
        const struct line text = text_of(&from->raw, i);
        TRY(add_raw(into, table_hash(text.text, text.n_bytes), text,
                    from->raw.word[i].count, err));
    }
    words_release(&from->raw);
    for (size_t i = 0; i < from->words.n_words; i++)
        TRY(add_word(into, text_of(&from->words, i), from->words.word[i].count, err));
    words_release(&from->words);
    if (from->has_parts)
        TRY(merge_parts(into, from, err));
    into->seen.n_lines += from->seen.n_lines;
    into->seen.n_too_long += from->seen.n_too_long;
    into->seen.n_reserved += from->seen.n_reserved;
    from->seen = (struct word_counts_seen){0};
    return OK;
}

struct word_counts_seen word_counts_seen(const struct word_counts *w)
{
    return w->seen;
}

const struct spm *word_counts_rules(const struct word_counts *w)
{
    return w->rules;
}

size_t word_counts_size(const struct word_counts *w)
{
    BUG_ON(!w->is_finished);
    return w->words.n_words;
}

struct word_counts_word word_counts_at(const struct word_counts *w, size_t i)
{
    return (struct word_counts_word){text_of(&w->words, i), w->words.word[i].count};
}
