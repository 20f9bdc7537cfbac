#include "format/tf/tf_checkpoint.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

enum { NAME_MAX_BYTES = 64 << 10 };

struct scan {
    const char *text;
    size_t at, n, line;
};

static int peek(const struct scan *s)
{
    return s->at < s->n ? (unsigned char)s->text[s->at] : -1;
}

/* White space, comments, and the separators that may follow a field. */
static void skip_blank(struct scan *s)
{
    for (int c; (c = peek(s)) >= 0; s->at++) {
        if (c == '#')
            while (peek(s) >= 0 && peek(s) != '\n')
                s->at++;
        if (peek(s) == '\n')
            s->line++;
        else if (peek(s) >= 0 && !isspace(peek(s)))
            return;
    }
}

static status mistake(const struct scan *s, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "line %zu: %s", s->line, what);
}

static bool is_word(int c)
{
    return c >= 0 && (isalnum(c) || strchr("_.+-", c)) && c != '\0';
}

/* A name or a number, at most max - 1 bytes of it kept. */
static size_t take_word(struct scan *s, char *word, size_t max)
{
    size_t n = 0;

    for (int c; is_word(c = peek(s)); s->at++, n++)
        if (n < max - 1)
            word[n] = (char)c;
    word[n < max ? n : max - 1] = '\0';
    return n;
}

/* Up to max_digits digits; false when there is none or the byte would be 0 or > 255. */
static bool take_code(struct scan *s, int base, size_t max_digits, char *byte)
{
    char digits[4] = "";

    for (size_t n = 0; n < max_digits && isxdigit(peek(s)) &&
                       (base == 16 || (peek(s) >= '0' && peek(s) <= '7'));
         s->at++)
        digits[n++] = s->text[s->at];
    const long code = strtol(digits, NULL, base);
    *byte = (char)code;
    return code > 0 && code < 256;
}

/* What follows a backslash. */
static bool take_escape(struct scan *s, char *byte)
{
    static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
    const int c = peek(s);
    const char *hit = c > 0 ? strchr(from, c) : NULL;

    if (hit) {
        *byte = to[hit - from];
        s->at++;
        return true;
    }
    if (c == 'x' || c == 'X') {
        s->at++;
        return take_code(s, 16, 2, byte);
    }
    return take_code(s, 8, 3, byte);
}

/* One quoted piece, appended to out. */
static status take_quoted(struct scan *s, struct str *out, struct err *err)
{
    const int quote = peek(s);

    s->at++;
    for (int c; (c = peek(s)) != quote;) {
        char byte = (char)c;
        if (c <= 0 || c == '\n')
            return mistake(s, "a string does not end", err);
        s->at++;
        if (c == '\\' && !take_escape(s, &byte))
            return mistake(s, "a string holds an escape that is not one", err);
        str_putc(out, byte);
    }
    s->at++;
    return OK;
}

/* Neighbouring pieces are one string. */
static status take_string(struct scan *s, struct str *out, struct err *err)
{
    str_reset(out);
    while (peek(s) == '"' || peek(s) == '\'') {
        TRY(take_quoted(s, out, err));
        skip_blank(s);
    }
    return str_check(out, "a checkpoint's name", err);
}

static status keep(struct tf_checkpoint *c, const char *key, const char *name,
                   struct err *err)
{
    const bool is_latest = strcmp(key, "model_checkpoint_path") == 0;

    if (!is_latest && strcmp(key, "all_model_checkpoint_paths") != 0)
        return OK;
    TRY(mem_grow(&c->all, &c->cap, c->n + 1, sizeof *c->all, err));
    char *copy = strdup(name);
    if (!copy)
        return err_set(err, ERR_MEMORY, "no memory for a checkpoint's name");
    if (is_latest) {
        free(c->latest);
        c->latest = copy;
    } else {
        c->all[c->n++] = copy;
    }
    return OK;
}

static status take_field(struct scan *s, struct tf_checkpoint *c, struct str *value,
                         struct err *err)
{
    char key[64], number[64];

    if (!take_word(s, key, sizeof key))
        return mistake(s, "expected a field such as model_checkpoint_path", err);
    skip_blank(s);
    if (peek(s) != ':')
        return mistake(s, "expected ':' after the field's name", err);
    s->at++;
    skip_blank(s);
    if (peek(s) == '"' || peek(s) == '\'') {
        TRY(take_string(s, value, err));
        TRY(keep(c, key, str_text(value), err));
    } else if (!take_word(s, number, sizeof number)) {
        return mistake(s, "expected a quoted name after ':'", err);
    }
    skip_blank(s);
    if (peek(s) == ',' || peek(s) == ';')
        s->at++;
    skip_blank(s);
    return OK;
}

status tf_checkpoint_parse(struct tf_checkpoint *c, const char *text, size_t n,
                           struct err *err)
{
    struct scan s = {.text = text, .n = n, .line = 1};
    RELEASED_BY(str_release) struct str value = str_new(NAME_MAX_BYTES);

    *c = (struct tf_checkpoint){0};
    skip_blank(&s);
    while (s.at < s.n)
        if (take_field(&s, c, &value, err) != OK) {
            tf_checkpoint_release(c);
            return err->code;
        }
    return OK;
}

status tf_checkpoint_read(struct tf_checkpoint *c, const char *path, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};

    *c = (struct tf_checkpoint){0};
    TRY(file_map_open(&map, path, err));
    if (tf_checkpoint_parse(c, (const char *)map.data, map.n_bytes, err) != OK)
        return err_wrap(err, "%s", path);
    return OK;
}

void tf_checkpoint_release(struct tf_checkpoint *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->all[i]);
    free(c->all);
    free(c->latest);
    *c = (struct tf_checkpoint){0};
}

/* Bytes outside ASCII are written as octal escapes, as TensorFlow does. */
static void put_field(struct str *out, const char *key, const char *name)
{
    static const char plain[] = "\n\r\t\"'\\", letter[] = "nrt\"'\\";

    str_printf(out, "%s: \"", key);
    for (const char *p = name; *p; p++) {
        const char *hit = strchr(plain, *p);
        if (hit)
            str_printf(out, "\\%c", letter[hit - plain]);
        else if (*p < ' ' || *p > '~')
            str_printf(out, "\\%03o", (unsigned)(unsigned char)*p);
        else
            str_putc(out, *p);
    }
    str_puts(out, "\"\n");
}

status tf_checkpoint_write(const char *path, const char *latest, const char *const *all,
                           size_t n, struct err *err)
{
    RELEASED_BY(str_release) struct str out = str_new(0);

    put_field(&out, "model_checkpoint_path", latest);
    for (size_t i = 0; i < n; i++)
        put_field(&out, "all_model_checkpoint_paths", all[i]);
    return file_write_str(path, &out, err);
}
