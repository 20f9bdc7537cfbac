#include "format/tar.h"

#include <string.h>

#include "base/str.h"

enum { BLOCK = 512 };

/* Fields of a header, by offset and length. */
enum { NAME_AT = 0, SIZE_AT = 124, SUM_AT = 148, TYPE_AT = 156, MAGIC_AT = 257 };
enum { NAME_BYTES = 100, SIZE_BYTES = 12, SUM_BYTES = 8 };
enum { PREFIX_AT = 345, PREFIX_BYTES = 155 };

void tar_open(struct tar *t, tar_read_fn *read, void *from, const char *name)
{
    *t = (struct tar){.read = read, .from = from, .name = name};
}

static status fail(const struct tar *t, struct err *err, const char *what)
{
    return err_set(err, ERR_FORMAT, "%s: %s", t->name, what);
}

/* All n bytes, or *got fewer at the end of the source. */
static status read_all(struct tar *t, void *buf, size_t n, size_t *got, struct err *err)
{
    unsigned char *p = buf;
    size_t part = 1;

    *got = 0;
    while (*got < n && part) {
        TRY(t->read(t->from, p + *got, n - *got, &part, err));
        *got += part;
    }
    return OK;
}

static status read_exactly(struct tar *t, void *buf, size_t n, struct err *err)
{
    size_t got;

    TRY(read_all(t, buf, n, &got, err));
    return got < n ? fail(t, err, "the archive ends inside a member: it was cut") : OK;
}

static status skip(struct tar *t, uint64_t n, struct err *err)
{
    unsigned char waste[1 << 14];

    while (n) {
        const size_t part = n < sizeof waste ? (size_t)n : sizeof waste;
        TRY(read_exactly(t, waste, part, err));
        n -= part;
    }
    return OK;
}

/* Octal digits between blanks and NULs, or GNU's big-endian binary after 0x80. */
static bool number(const unsigned char *p, size_t n, uint64_t *value)
{
    size_t i = 0;

    *value = 0;
    if (p[0] & 0x80) {
        if (p[0] != 0x80)
            return false; /* negative, or beyond any size */
        for (i = 1; i < n; i++) {
            if (*value >> 56)
                return false;
            *value = *value << 8 | p[i];
        }
        return true;
    }
    while (i < n && p[i] == ' ')
        i++;
    const size_t first = i;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        *value = *value << 3 | (uint64_t)(p[i] - '0');
    for (size_t j = i; j < n; j++)
        if (p[j] != ' ' && p[j] != '\0')
            return false;
    return i > first;
}

/* Writers of old summed signed bytes; both sums are in use. */
static bool sum_holds(const unsigned char *h)
{
    int64_t plain = 0, with_sign = 0;
    uint64_t want;

    for (size_t i = 0; i < BLOCK; i++) {
        const unsigned char c = i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : h[i];
        plain += c;
        with_sign += (signed char)c;
    }
    return number(h + SUM_AT, SUM_BYTES, &want) &&
           ((int64_t)want == plain || (int64_t)want == with_sign);
}

static bool is_zero(const unsigned char *h)
{
    return !h[0] && memcmp(h, h + 1, BLOCK - 1) == 0;
}

static size_t field_length(const unsigned char *p, size_t max)
{
    const unsigned char *end = memchr(p, '\0', max);

    return end ? (size_t)(end - p) : max;
}

/* The name in a header; ustar splits long ones in two. */
static void header_path(const unsigned char *h, char out[TAR_PATH_MAX])
{
    const size_t n_name = field_length(h + NAME_AT, NAME_BYTES);
    const bool is_posix = memcmp(h + MAGIC_AT, "ustar\0", 6) == 0;
    size_t n = is_posix ? field_length(h + PREFIX_AT, PREFIX_BYTES) : 0;

    memcpy(out, h + PREFIX_AT, n);
    if (n)
        out[n++] = '/';
    memcpy(out + n, h + NAME_AT, n_name);
    out[n + n_name] = '\0';
}

/* Names are only ever compared, yet one that means harm says that the archive does. */
static status check_path(const struct tar *t, const char *path, struct err *err)
{
    const char *harm = path[0] == '/' ? "has an absolute name" : NULL;

    for (const char *p = path; *p && !harm;) {
        const size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.')
            harm = "climbs out of its directory";
        p += n + (p[n] == '/');
    }
    if (harm)
        return err_set(err, ERR_FORMAT, "%s: member '%.200s' %s; the archive is refused",
                       t->name, path, harm);
    return OK;
}

static enum tar_kind kind_of(unsigned char type, const char *path)
{
    if (type == '0' || type == '7' || type == '\0')
        /* before ustar a directory was a file with a slash at the end */
        return str_ends(path, "/") ? TAR_DIR : TAR_FILE;
    return type == '5' ? TAR_DIR : type == '1' || type == '2' ? TAR_LINK : TAR_OTHER;
}

/* GNU's 'L': the data is the name of the next member. */
static status read_long_path(struct tar *t, uint64_t n, struct err *err)
{
    if (n == 0 || n > TAR_PATH_MAX - 1)
        return fail(t, err, "a member's name is longer than 4095 bytes");
    TRY(read_exactly(t, t->long_path, (size_t)n, err));
    t->long_path[n] = '\0';
    return skip(t, (BLOCK - n % BLOCK) % BLOCK, err);
}

/* One "LENGTH KEY=VALUE\n" of a pax header; n_value leaves the line end out. */
static status take_pax(struct tar *t, const char *key, const char *value, size_t n_value,
                       struct err *err)
{
    if (strncmp(key, "path=", 5) == 0) {
        if (n_value == 0 || n_value >= TAR_PATH_MAX || memchr(value, '\0', n_value))
            return fail(t, err, "a member's name in a pax header is empty or too long");
        memcpy(t->long_path, value, n_value);
        t->long_path[n_value] = '\0';
    } else if (strncmp(key, "size=", 5) == 0) {
        t->long_bytes = 0;
        for (size_t i = 0; i < n_value; i++) {
            if (value[i] < '0' || value[i] > '9' || t->long_bytes > TAR_BYTES_MAX)
                return fail(t, err, "a member's size in a pax header is no number");
            t->long_bytes = t->long_bytes * 10 + (uint64_t)(value[i] - '0');
        }
        t->has_long_bytes = n_value > 0;
    }
    return OK;
}

static status read_pax(struct tar *t, uint64_t n, struct err *err)
{
    char text[TAR_PAX_MAX + 1];

    if (n > TAR_PAX_MAX)
        return fail(t, err, "a pax header is longer than 64 KiB");
    TRY(read_exactly(t, text, (size_t)n, err));
    text[n] = '\0';
    for (size_t at = 0; at < n;) {
        size_t length = 0, i = at;
        for (; i < n && text[i] >= '0' && text[i] <= '9' && length <= TAR_PAX_MAX; i++)
            length = length * 10 + (size_t)(text[i] - '0');
        const char *equals =
            i < n && text[i] == ' ' ? memchr(text + i, '=', (size_t)(n - i)) : NULL;
        if (!equals || length <= i - at || length > n - at ||
            text[at + length - 1] != '\n' || equals >= text + at + length)
            return fail(t, err, "a pax header is damaged");
        const size_t n_value = (size_t)(text + at + length - 1 - (equals + 1));
        TRY(take_pax(t, text + i + 1, equals + 1, n_value, err));
        at += length;
    }
    return skip(t, (BLOCK - n % BLOCK) % BLOCK, err);
}

/* A header block, checked; *has is false at the end mark. */
static status read_header(struct tar *t, unsigned char h[BLOCK], uint64_t *n_bytes,
                          bool *has, struct err *err)
{
    size_t got;

    *has = false;
    TRY(read_all(t, h, BLOCK, &got, err));
    if (got < BLOCK)
        return fail(t, err, "the archive has no end mark: it was cut, or is no archive");
    if (is_zero(h))
        return OK;
    if (!sum_holds(h))
        return fail(t, err, "this is no tar archive, or a damaged one");
    if (!number(h + SIZE_AT, SIZE_BYTES, n_bytes) || *n_bytes > TAR_BYTES_MAX)
        return fail(t, err, "a member's size cannot be");
    *has = true;
    return OK;
}

static status begin_member(struct tar *t, const unsigned char *h, uint64_t n_bytes,
                           struct tar_entry *e, struct err *err)
{
    if (t->long_path[0])
        memcpy(e->path, t->long_path, sizeof e->path);
    else
        header_path(h, e->path);
    e->n_bytes = t->has_long_bytes ? t->long_bytes : n_bytes;
    e->kind = kind_of(h[TYPE_AT], e->path);
    t->long_path[0] = '\0';
    t->has_long_bytes = false;
    if (e->kind == TAR_LINK || e->kind == TAR_DIR)
        e->n_bytes = 0;
    TRY(check_path(t, e->path, err));
    while (strncmp(e->path, "./", 2) == 0)
        memmove(e->path, e->path + 2, strlen(e->path + 2) + 1);
    if (e->n_bytes > TAR_BYTES_MAX || t->n_total + e->n_bytes > TAR_BYTES_MAX)
        return fail(t, err, "the members are larger than any corpus");
    t->n_total += e->n_bytes;
    t->n_left = e->n_bytes;
    t->n_pad = (BLOCK - e->n_bytes % BLOCK) % BLOCK;
    return OK;
}

status tar_next(struct tar *t, struct tar_entry *e, bool *has, struct err *err)
{
    unsigned char h[BLOCK];
    uint64_t n_bytes = 0;

    *has = false;
    if (t->is_done)
        return OK;
    TRY(skip(t, t->n_left + t->n_pad, err));
    t->n_left = t->n_pad = 0;
    for (;;) {
        TRY(read_header(t, h, &n_bytes, has, err));
        t->is_done = !*has;
        if (!*has)
            return OK;
        if (h[TYPE_AT] == 'L')
            TRY(read_long_path(t, n_bytes, err));
        else if (h[TYPE_AT] == 'x')
            TRY(read_pax(t, n_bytes, err));
        else if (h[TYPE_AT] == 'g' || h[TYPE_AT] == 'K')
            TRY(skip(t, n_bytes + (BLOCK - n_bytes % BLOCK) % BLOCK, err));
        else
            return begin_member(t, h, n_bytes, e, err);
    }
}

status tar_data(struct tar *t, void *buf, size_t n, size_t *got, struct err *err)
{
    *got = 0;
    if (t->n_left == 0)
        return OK;
    if (n > t->n_left)
        n = (size_t)t->n_left;
    TRY(t->read(t->from, buf, n, got, err));
    if (*got == 0)
        return fail(t, err, "the archive ends inside a member: it was cut");
    t->n_left -= *got;
    return OK;
}
