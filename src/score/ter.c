#include "score/ter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "score/edits.h"
#include "score/letters.h"
#include "score/ngram.h"
#include "score/rewrite.h"
#include "score/tokenize.h"

/* ---- words ---- */

static bool is_asian_mark(uint32_t code)
{
    static const struct letters_span marks[] = {
        {0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F}, {0x30FB, 0x30FB},
        {0xFF01, 0xFF02}, {0xFF08, 0xFF09}, {0xFF0C, 0xFF0C}, {0xFF0E, 0xFF0E},
        {0xFF1A, 0xFF1B}, {0xFF1F, 0xFF1F}, {0xFF61, 0xFF65}};

    return letters_in(marks, sizeof marks / sizeof *marks, code);
}

/* Not kana: Tercom's rule for it asks for a line of nothing else, and the line has blanks
 * at its ends by then. */
static bool stands_alone(uint32_t code)
{
    static const struct letters_span signs[] = {{0x2E80, 0x2EFF}, {0x31C0, 0x31EF},
                                                {0x3200, 0x4DBF}, {0x4E00, 0x9FFF},
                                                {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};

    return letters_in(signs, sizeof signs / sizeof *signs, code) || is_asian_mark(code);
}

static void apart_asian(struct str *out, const struct str *in)
{
    size_t len;

    for (size_t i = 0; i < in->len; i += len) {
        const bool alone = stands_alone(utf8_decode(in->data + i, in->len - i, &len));
        str_puts(out, alone ? " " : "");
        str_add(out, in->data + i, len);
        str_puts(out, alone ? " " : "");
    }
}

static void drop_marks(struct str *out, const struct str *in)
{
    for (size_t i = 0; i < in->len; i++)
        if (!in->data[i] || !strchr(".,?:;!\"()", in->data[i]))
            str_putc(out, in->data[i]);
}

static void drop_asian_marks(struct str *out, const struct str *in)
{
    size_t len;

    for (size_t i = 0; i < in->len; i += len)
        if (!is_asian_mark(utf8_decode(in->data + i, in->len - i, &len)))
            str_add(out, in->data + i, len);
}

static void lower(struct str *out, const struct str *in)
{
    letters_lower(out, str_text(in), in->len);
}

static void normalize(struct rewrite *w, const struct ter_options *o)
{
    rewrite_replace(w, "\n-", "");
    rewrite_replace(w, "\n", " ");
    rewrite_entities(w);
    rewrite_step(w, rewrite_pad);
    rewrite_step(w, rewrite_marks);
    rewrite_replace(w, "'s ", " 's ");
    rewrite_stops(w);
    if (o->is_asian)
        rewrite_step(w, apart_asian);
}

status ter_cut(struct str *out, const struct ter_options *o, struct line line,
               struct err *err)
{
    RELEASED_BY(rewrite_release)
    struct rewrite w =
        rewrite_begin(line.text, tokenize_trimmed(line.text, line.n_bytes));

    if (!o->is_case_sensitive)
        rewrite_step(&w, lower);
    if (o->is_normalized)
        normalize(&w, o);
    if (o->without_punctuation)
        rewrite_step(&w, drop_marks);
    if (o->without_punctuation && o->is_asian)
        rewrite_step(&w, drop_asian_marks);
    rewrite_join(out, &w);
    return str_check(out, "the words of a line", err);
}

/* ---- a segment ---- */

/* sacreBLEU cuts references twice, which matters where entities become new ones. */
static status cut_reference(struct str *out, const struct ter_options *o, struct line ref,
                            struct err *err)
{
    RELEASED_BY(str_release) struct str once = str_new(SIZE_MAX / 2);

    TRY(ter_cut(&once, o, ref, err));
    return ter_cut(out, o, (struct line){str_text(&once), once.len}, err);
}

static status count_reference(uint64_t *n_edits, size_t *n_words, const struct str *hyp,
                              const struct ter_options *o, struct line ref,
                              struct err *err)
{
    RELEASED_BY(ngram_numbers_release) struct ngram_numbers k = {0};
    RELEASED_BY(str_release) struct str text = str_new(SIZE_MAX / 2);

    TRY(cut_reference(&text, o, ref, err));
    TRY(ngram_number(&k, (struct line){str_text(hyp), hyp->len}, err));
    const size_t n_hyp = k.n_words;
    TRY(ngram_number(&k, (struct line){str_text(&text), text.len}, err));
    *n_words = k.n_words - n_hyp;
    *n_edits = 0;
    if (!k.word)
        return OK; /* neither has a word */
    return edits_count(n_edits, (struct ngram_words){k.word, n_hyp},
                       (struct ngram_words){k.word + n_hyp, *n_words}, err);
}

status ter_add(struct ter_stats *s, const struct ter_options *o, struct line hyp,
               const struct line *ref, size_t n_refs, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(SIZE_MAX / 2);
    uint64_t least = UINT64_MAX;
    size_t n_words = 0;

    TRY(ter_cut(&text, o, hyp, err));
    for (size_t i = 0; i < n_refs; i++) {
        uint64_t n_edits;
        size_t n;
        TRY(count_reference(&n_edits, &n, &text, o, ref[i], err));
        least = MIN(least, n_edits);
        n_words += n;
    }
    s->n_edits += (double)least;
    s->ref_len += (double)n_words / (double)n_refs;
    return OK;
}

/* ---- the score ---- */

double ter_score(const struct ter_stats *s, const struct ter_options *o)
{
    if (s->ref_len > 0)
        return numbers_kept(o->numbers,
                            100 * numbers_kept(o->numbers, s->n_edits / s->ref_len));
    return s->n_edits > 0 ? 100 : 0;
}

struct result ter_result(const struct ter_stats *s, const struct ter_options *o,
                         size_t n_refs)
{
    struct result r = result_new(ter_score(s, o));

    str_puts(&r.name, "TER");
    str_printf(&r.signature,
               "nrefs:%zu|case:%s|tok:tercom|norm:%s|punct:%s|asian:%s"
               "|version:" SCORE_VERSION,
               n_refs, o->is_case_sensitive ? "mixed" : "lc",
               o->is_normalized ? "yes" : "no", o->without_punctuation ? "no" : "yes",
               o->is_asian ? "yes" : "no");
    return r;
}
