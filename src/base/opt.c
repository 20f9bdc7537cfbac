#include "base/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

bool opt_same_name(const char *given, const char *name)
{
    for (; *given; given++, name++)
        if (*given != *name && !(*given == '-' && *name == '_'))
            return false;
    return !*name;
}

const struct opt *opt_find(struct opt_table t, const char *name)
{
    for (size_t i = 0; i < t.n; i++)
        if (opt_same_name(name, t.opt[i].name))
            return &t.opt[i];
    return NULL;
}

static status unknown_name(struct opt_table t, const char *name, struct err *err)
{
    const char *nearest = NULL;

    for (size_t i = 0; i < t.n; i++)
        str_nearest(&nearest, t.opt[i].name, name);
    if (!nearest)
        return err_set(err, ERR_USAGE, "unknown option '%.64s'", name);
    return err_set(err, ERR_USAGE, "unknown option '%.64s'; did you mean '%s'?", name,
                   nearest);
}

/* A finite decimal number: strtod alone also takes blanks, hexadecimal and "inf". */
static bool read_number(const char *text, double *x)
{
    char *end;

    if (text[strspn(text, "+-.0123456789eE")])
        return false;
    *x = strtod(text, &end);
    return end != text && !*end && isfinite(*x);
}

static status set_number(const struct opt *o, void *field, const char *text,
                         struct err *err)
{
    double x;

    if (!read_number(text, &x) || x < o->lo || x > o->hi)
        return err_set(err, ERR_USAGE, "%s = %.64s: want a number from %.15g to %.15g",
                       o->name, text, o->lo, o->hi);
    if (o->type == OPT_REAL) {
        memcpy(field, &x, sizeof x);
        return OK;
    }
    if (x != nearbyint(x) || fabs(x) > 0x1p53) /* where doubles stop being exact */
        return err_set(err, ERR_USAGE, "%s = %.64s: want a whole number", o->name, text);
    const int64_t whole = (int64_t)x;
    memcpy(field, &whole, sizeof whole);
    return OK;
}

static status set_bool(const struct opt *o, bool *field, const char *text,
                       struct err *err)
{
    static const char *const words[2][4] = {{"false", "no", "off", "0"},
                                            {"true", "yes", "on", "1"}};

    for (int v = 0; v < 2; v++)
        for (int i = 0; i < 4; i++)
            if (strcasecmp(text, words[v][i]) == 0) {
                *field = v;
                return OK;
            }
    return err_set(err, ERR_USAGE, "%s = %.64s: want true or false", o->name, text);
}

static status set_choice(const struct opt *o, char *field, const char *text,
                         struct err *err)
{
    const size_t n = strlen(text);

    for (const char *p = o->choices; *p; p += *p == '|') {
        const size_t len = strcspn(p, "|");
        if (len == n && memcmp(p, text, n) == 0 && n < OPT_CHOICE_MAX) {
            memcpy(field, text, n + 1);
            return OK;
        }
        p += len;
    }
    return err_set(err, ERR_USAGE, "%s = %.64s: want one of %s", o->name, text,
                   o->choices);
}

static status set_text(const struct opt *o, char *field, const char *text,
                       struct err *err)
{
    const size_t n = strlen(text);

    if (n >= OPT_TEXT_MAX)
        return err_set(err, ERR_USAGE, "%s: %zu bytes of text, at most %d are taken",
                       o->name, n, OPT_TEXT_MAX - 1);
    if (!utf8_valid(text, n)) /* YAML could not hold it, so no run could be repeated */
        return err_set(err, ERR_USAGE, "%s: the text is not UTF-8", o->name);
    memcpy(field, text, n + 1);
    return OK;
}

static status set_row(const struct opt *o, void *config, const char *text,
                      struct err *err)
{
    void *field = (char *)config + o->at;

    switch (o->type) {
    case OPT_INT:
    case OPT_REAL:
        return set_number(o, field, text, err);
    case OPT_BOOL:
        return set_bool(o, field, text, err);
    case OPT_CHOICE:
        return set_choice(o, field, text, err);
    case OPT_STR:
        return set_text(o, field, text, err);
    }
    return OK;
}

status opt_set(struct opt_table t, void *config, const char *name, const char *text,
               struct err *err)
{
    const struct opt *o = opt_find(t, name);

    return o ? set_row(o, config, text, err) : unknown_name(t, name, err);
}

status opt_defaults(struct opt_table t, void *config, struct err *err)
{
    for (size_t i = 0; i < t.n; i++)
        TRY(set_row(&t.opt[i], config, t.opt[i].initial, err));
    return OK;
}

/* Length of the key when `word` is key=value with a name before the sign, else 0. */
static size_t key_length(const char *word)
{
    const size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

    return word[n] == '=' ? n : 0;
}

static status set_pair(struct opt_table t, void *config, const char *word, size_t n_key,
                       struct err *err)
{
    char key[80];

    snprintf(key, sizeof key, "%.*s", (int)n_key, word);
    return opt_set(t, config, key, word + n_key + 1, err);
}

/* Whether a word after --key is its value; 0 and 1 may be names of files. */
static bool is_bool(const char *word)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* A word that starts with "--"; *used counts the words taken after it. */
static status set_flag(struct opt_table t, void *config, const char *word,
                       const char *next, int *used, struct err *err)
{
    const size_t n_key = key_length(word);

    if (n_key)
        return set_pair(t, config, word, n_key, err);
    const struct opt *o = opt_find(t, word);
    if (o && o->type == OPT_BOOL) {
        *used = next && is_bool(next);
        return set_row(o, config, *used ? next : "true", err);
    }
    if (!o && strncmp(word, "no-", 3) == 0) {
        const struct opt *negated = opt_find(t, word + 3);
        if (negated && negated->type == OPT_BOOL)
            return set_row(negated, config, "false", err);
    }
    if (!o)
        return unknown_name(t, word, err);
    if (!next || strncmp(next, "--", 2) == 0)
        return err_set(err, ERR_USAGE, "--%s needs a value", word);
    *used = 1;
    return set_row(o, config, next, err);
}

static status add_word(struct opt_words *words, const char *word, struct err *err)
{
    enum { ROOM = sizeof words->word / sizeof *words->word };

    if (words->n >= words->max)
        return err_set(err, ERR_USAGE, "unexpected argument '%.200s'", word);
    if (words->n >= ROOM)
        return err_set(err, ERR_USAGE,
                       "'%.200s' is one argument too many: at most %d are taken at once",
                       word, (int)ROOM);
    words->word[words->n++] = word;
    return OK;
}

status opt_parse(struct opt_table t, void *config, struct opt_words *words, int argc,
                 char **argv, struct err *err)
{
    bool options = true;

    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int used = 0;
        if (options && strcmp(word, "--") == 0)
            options = false;
        else if (options && strncmp(word, "--", 2) == 0)
            TRY(set_flag(t, config, word + 2, argv[i + 1], &used, err));
        else if (options && key_length(word))
            TRY(set_pair(t, config, word, key_length(word), err));
        else
            TRY(add_word(words, word, err));
        i += used;
    }
    return OK;
}

status opt_read(struct opt_table t, void *config, struct opt_words *words, int argc,
                char **argv, struct err *err)
{
    TRY(opt_defaults(t, config, err));
    return opt_parse(t, config, words, argc, argv, err);
}

/* The fewest digits that read back as the same number. */
static void put_real(struct str *out, double x)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    str_puts(out, text);
}

void opt_value(const struct opt *o, const void *config, struct str *out)
{
    const char *field = (const char *)config + o->at;
    int64_t whole;
    double x;

    switch (o->type) {
    case OPT_INT:
        memcpy(&whole, field, sizeof whole);
        str_printf(out, "%lld", (long long)whole);
        break;
    case OPT_REAL:
        memcpy(&x, field, sizeof x);
        put_real(out, x);
        break;
    case OPT_BOOL:
        str_puts(out, *(const bool *)field ? "true" : "false");
        break;
    case OPT_CHOICE:
    case OPT_STR:
        str_puts(out, field);
        break;
    }
}

/* What YAML takes literally on one line between double quotes. */
static bool is_plain(uint32_t c)
{
    if (c < 0x20 || c == '"' || c == '\\' || (c >= 0x7F && c < 0xA0))
        return false;
    return c != 0x2028 && c != 0x2029 && c != 0xFEFF && c != 0xFFFE && c != 0xFFFF;
}

static void put_quoted(struct str *out, const char *text)
{
    const size_t n = strlen(text);
    size_t len;

    str_putc(out, '"');
    for (size_t i = 0; i < n; i += len) {
        const uint32_t c = utf8_decode(text + i, n - i, &len);
        if (is_plain(c))
            str_add(out, text + i, len);
        else
            str_printf(out, "\\u%04x", (unsigned)c);
    }
    str_putc(out, '"');
}

void opt_dump(struct opt_table t, const void *config, struct str *out)
{
    for (size_t i = 0; i < t.n; i++) {
        str_printf(out, "%s: ", t.opt[i].name);
        if (t.opt[i].type == OPT_STR)
            put_quoted(out, (const char *)config + t.opt[i].at);
        else
            opt_value(&t.opt[i], config, out);
        str_putc(out, '\n');
    }
}
