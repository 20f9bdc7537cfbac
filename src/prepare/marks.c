#include "prepare/marks.h"

#include <stdio.h>
#include <string.h>

static const char open_sign[] = ">>", close_sign[] = "<<";
enum { N_SIGN = 2, N_SIGNS = 2 * N_SIGN };

/* What a mark's name may consist of. */
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_-";

/* The mark of a name, which is added if it is new. */
static status add(struct marks *m, const char *name, size_t n, const char **text,
                  struct err *err)
{
    char one[MARKS_TEXT];

    if (n > N_SIGNS && memcmp(name, open_sign, N_SIGN) == 0 &&
        memcmp(name + n - N_SIGN, close_sign, N_SIGN) == 0) {
        name += N_SIGN;
        n -= N_SIGNS;
    }
    if (!n || n + N_SIGNS >= sizeof one || strspn(name, letters) < n)
        return err_set(err, ERR_USAGE,
                       "'%.*s' is no name of a mark: want 1 to %d letters, digits, - and "
                       "_, as in de for >>de<<",
                       (int)n, name, MARKS_TEXT - N_SIGNS - 1);
    snprintf(one, sizeof one, "%s%.*s%s", open_sign, (int)n, name, close_sign);
    size_t i = 0;
    while (i < m->n && strcmp(m->text[i], one) != 0)
        i++;
    if (i == MARKS_MAX)
        return err_set(err, ERR_USAGE, "more than %d marks", MARKS_MAX);
    memcpy(m->text[i], one, sizeof one);
    m->n = i < m->n ? m->n : i + 1;
    *text = m->text[i];
    return OK;
}

status marks_read(struct marks *m, const char *names, const char *own, struct err *err)
{
    const char *text;

    *m = (struct marks){0};
    while (*names) {
        const size_t n = strcspn(names, ",");
        TRY(add(m, names, n, &text, err));
        names += n + (names[n] == ',');
    }
    return *own ? add(m, own, strlen(own), &m->own, err) : OK;
}

status marks_check(const struct marks *m, const struct spm *spm, const char *path,
                   struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t n;
        if (spm_mark(spm, (struct line){m->text[i], strlen(m->text[i])}, &n) < 0)
            return err_set(err, ERR_USAGE,
                           "%s has no token %s; marks are reserved when a vocabulary is "
                           "learned, with marks=%s",
                           path, m->text[i], m->text[i]);
    }
    return OK;
}

struct line marks_without(const struct marks *m, struct line text)
{
    for (size_t i = 0; i < m->n; i++) {
        const size_t n = strlen(m->text[i]);
        if (text.n_bytes >= n && memcmp(text.text, m->text[i], n) == 0)
            return (struct line){text.text + n, text.n_bytes - n};
    }
    return text;
}
