#include "corpus/corpus.h"

#include <assert.h>

#include "corpus/corpus_file.h"

status corpus_open(struct corpus *c, const char *path, struct err *err)
{
    struct file_map map;

    *c = (struct corpus){0};
    TRY(file_map_open(&map, path, err));
    if (corpus_file_parse(c, map.data, map.n_bytes, err) != OK) {
        file_map_close(&map);
        *c = (struct corpus){0};
        return err_wrap(err, "%s", path);
    }
    c->map = map;
    return OK;
}

void corpus_close(struct corpus *c)
{
    file_map_close(&c->map);
    *c = (struct corpus){0};
}

static struct sentence side(const struct corpus *c, size_t i)
{
    const uint64_t at = c->start[i], end = c->start[i + 1];

    if (at > end || end > c->n_tokens)
        return (struct sentence){c->token, 0};
    return (struct sentence){c->token + at, (size_t)(end - at)};
}

bool corpus_has_pair(const struct corpus *c, uint32_t i)
{
    const uint64_t *at = c->start + 2 * (size_t)i;

    return at[0] <= at[1] && at[1] <= at[2] && at[2] <= c->n_tokens;
}

struct sentence corpus_source(const struct corpus *c, uint32_t i)
{
    assert(i < c->n_pairs);
    return side(c, 2 * (size_t)i);
}

struct sentence corpus_target(const struct corpus *c, uint32_t i)
{
    assert(i < c->n_pairs);
    return side(c, 2 * (size_t)i + 1);
}

size_t corpus_clip(size_t len, size_t max_length)
{
    assert(max_length >= CORPUS_MIN_LENGTH);
    len = len ? len : 1;
    return (len < max_length - 2 ? len : max_length - 2) + 2;
}
