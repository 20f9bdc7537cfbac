#include "format/seal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "format/crc32c.h"

/* Of a fixed length. */
#define MARK "# checksum "
#define LINE                                                                          \
    MARK "%08" PRIx32 ", of vocab.model %08" PRIx32 "; if you edit the lines below, " \
         "remove this one\n"
enum { LINE_MAX_BYTES = 160 };

struct seal {
    uint32_t lines, vocab;
};

static size_t print(char text[LINE_MAX_BYTES], struct seal s)
{
    return (size_t)snprintf(text, LINE_MAX_BYTES, LINE, s.lines, s.vocab);
}

void seal_put(struct str *out, const struct str *lines, const void *vocab, size_t n)
{
    char text[LINE_MAX_BYTES];

    print(text, (struct seal){crc32c(0, lines->data, lines->len), crc32c(0, vocab, n)});
    str_puts(out, text);
}

static status crc_of_file(uint32_t *crc, const char *path, struct err *err)
{
    struct file_map map;

    TRY(file_map_open(&map, path, err));
    *crc = crc32c(0, map.data, map.n_bytes);
    file_map_close(&map);
    return OK;
}

/* Whether these are the bytes that seal_put() gave and was given; *s is what they say. */
static bool fits(const struct file_map *map, struct seal *s)
{
    char text[LINE_MAX_BYTES] = "";
    const size_t n = print(text, (struct seal){0});

    if (map->n_bytes < n)
        return false;
    memcpy(text, map->data, n);
    text[n] = '\0';
    if (sscanf(text, MARK "%8" SCNx32 ", of vocab.model %8" SCNx32, &s->lines,
               &s->vocab) != 2)
        return false;
    print(text, *s);
    return memcmp(text, map->data, n) == 0 &&
           crc32c(0, map->data + n, map->n_bytes - n) == s->lines;
}

status seal_check(const char *config, const char *vocab, struct err *err)
{
    struct file_map map;
    struct seal s = {0};
    uint32_t crc = 0;

    TRY(file_map_open(&map, config, err));
    const bool is_sealed =
        map.n_bytes && memmem(map.data, map.n_bytes, MARK, strlen(MARK));
    const bool is_right = !is_sealed || fits(&map, &s);
    file_map_close(&map);
    if (!is_right)
        return err_set(err, ERR_FORMAT,
                       "%s is not as the training wrote it: its checksum does not fit; "
                       "if it was edited on purpose, remove its line '" MARK "...'",
                       config);
    if (!is_sealed || !vocab)
        return OK;
    TRY(crc_of_file(&crc, vocab, err));
    if (crc != s.vocab)
        return err_set(
            err, ERR_FORMAT,
            "%s is not as the training wrote it: its checksum in %s does not fit; take "
            "vocab.model of the data directory, or remove the line '" MARK
            "...' if this one is meant",
            vocab, config);
    return OK;
}
