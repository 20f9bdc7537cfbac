#include "fetch/tally.h"

#include <string.h>

#include "base/file.h"

void tally_init(struct tally *t)
{
    *t = (struct tally){0};
    sha256_init(&t->hash);
}

/* "<seg" and then a blank or ">": <segment> is another tag. */
static void match(struct tally *t, unsigned char c)
{
    static const char tag[] = "<seg";
    const unsigned char lower = c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;

    if (t->n_match == 4)
        t->n_segments += c == '>' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
    t->n_match = t->n_match < 4 && lower == (unsigned char)tag[t->n_match]
                     ? t->n_match + 1
                     : lower == '<';
}

void tally_add(struct tally *t, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    if (n == 0)
        return;
    t->n_bytes += n;
    t->last = p[n - 1];
    sha256_add(&t->hash, bytes, n);
    for (size_t i = 0; i < n;) {
        if (t->n_match == 0) { /* nothing to match before the next end or tag */
            const unsigned char *tag = memchr(p + i, '<', n - i);
            const size_t n_plain = tag ? (size_t)(tag - (p + i)) : n - i;
            const unsigned char *stop = p + i + n_plain;
            for (const unsigned char *e = p + i;
                 e < stop && (e = memchr(e, '\n', (size_t)(stop - e))); e++)
                t->n_ends++;
            i += n_plain;
        }
        if (i < n) {
            t->n_ends += p[i] == '\n';
            match(t, p[i++]);
        }
    }
}

uint64_t tally_lines(const struct tally *t)
{
    return t->n_ends + (t->n_bytes > 0 && t->last != '\n');
}

void tally_hex(struct tally *t, char out[SHA256_HEX])
{
    uint8_t hash[SHA256_BYTES];

    sha256_end(&t->hash, hash);
    sha256_hex(out, hash);
}

status tally_file(struct tally *t, const char *path, struct err *err)
{
    enum { STEP = 1 << 20 };
    struct file_map m;

    tally_init(t);
    TRY(file_map_open(&m, path, err));
    for (size_t at = 0; at < m.n_bytes; at += STEP)
        tally_add(t, m.data + at, m.n_bytes - at < STEP ? m.n_bytes - at : STEP);
    file_map_close(&m);
    return OK;
}
