#include "fetch/digest.h"

#include "base/file.h"

void digest_start(struct digest *d)
{
    *d = (struct digest){0};
    sha256_init(&d->hash);
}

/* "<seg" and then a blank or ">": <segment> is another tag. */
static void match(struct digest *d, unsigned char c)
{
    static const char tag[] = "<seg";
    const unsigned char lower = c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;

    if (d->n_match == 4)
        d->n_segments += c == '>' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
    d->n_match = d->n_match < 4 && lower == (unsigned char)tag[d->n_match]
                     ? d->n_match + 1
                     : lower == '<';
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    if (n == 0)
        return;
    d->n_bytes += n;
    d->last = p[n - 1];
    sha256_add(&d->hash, bytes, n);
    for (size_t i = 0; i < n; i++) {
        d->n_ends += p[i] == '\n';
        if (d->n_match || p[i] == '<')
            match(d, p[i]);
    }
}

uint64_t digest_lines(const struct digest *d)
{
    return d->n_ends + (d->n_bytes > 0 && d->last != '\n');
}

void digest_end(struct digest *d)
{
    uint8_t hash[SHA256_BYTES];

    sha256_end(&d->hash, hash);
    sha256_hex(d->sha256, hash);
}

status digest_file(struct digest *d, const char *path, struct err *err)
{
    enum { STEP = 1 << 20 }; /* bytes that are still at hand when they are counted */
    struct file_map m;

    digest_start(d);
    TRY(file_map_open(&m, path, err));
    for (size_t at = 0; at < m.n_bytes; at += STEP)
        digest_add(d, m.data + at, m.n_bytes - at < STEP ? m.n_bytes - at : STEP);
    file_map_close(&m);
    digest_end(d);
    return OK;
}
