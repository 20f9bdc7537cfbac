#include "decode/steer/terms.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/line_reader.h"

static status check_line(const struct line_reader *r, struct line line, struct err *err)
{
    if (r->is_cut)
        return err_set(err, ERR_FORMAT, "the line is longer than %d bytes",
                       LINE_READER_MAX);
    if (!utf8_valid(line.text, line.n_bytes))
        return err_set(err, ERR_FORMAT, "the line is not valid UTF-8");
    return OK;
}

status terms_read_lines(const char *path, terms_take *take, void *ctx, struct err *err)
{
    RELEASED_BY(line_reader_close) struct line_reader r = {0};
    struct line line;
    bool has = true;

    TRY(line_reader_open(&r, path, path, err));
    TRY(line_reader_expect_text(&r, err));
    for (;;) {
        TRY(line_reader_next(&r, &line, &has, err));
        if (!has)
            return OK;
        status result = check_line(&r, line, err);
        THEN(result, take(ctx, line, r.n_lines, err));
        if (result != OK)
            return err_wrap(err, "%s:%llu", path, (unsigned long long)r.n_lines);
    }
}

status terms_letters(const struct spm *spm, struct line text, uint32_t **code,
                     struct letters_text *phrase, struct err *err)
{
    size_t n;

    TRY(letters_normalise(spm, text, code, &n, err));
    *phrase = (struct letters_text){*code, n};
    while (phrase->n && phrase->code[0] == ' ') {
        phrase->code++;
        phrase->n--;
    }
    while (phrase->n && phrase->code[phrase->n - 1] == ' ')
        phrase->n--;
    if (!phrase->n)
        return err_set(err, ERR_FORMAT, "the phrase is empty; remove the line");
    if (phrase->n > TERMS_LETTERS)
        return err_set(err, ERR_FORMAT,
                       "the phrase has %zu letters; at most %d are taken", phrase->n,
                       TERMS_LETTERS);
    return OK;
}

struct forbidding {
    struct phrases *phrases;
    const struct spm *spm;
};

static status take_forbidden(void *ctx, struct line line, uint64_t number,
                             struct err *err)
{
    const struct forbidding *f = ctx;
    RELEASED_BY(mem_release) uint32_t *code = NULL;
    struct letters_text phrase;
    uint32_t ignored;

    (void)number;
    TRY(terms_letters(f->spm, line, &code, &phrase, err));
    return phrases_add(f->phrases, phrase, &ignored, err);
}

status terms_read_forbidden(struct phrases *p, const struct spm *spm, const char *path,
                            struct err *err)
{
    struct forbidding f = {p, spm};

    TRY(terms_read_lines(path, take_forbidden, &f, err));
    return phrases_build(p, err);
}
