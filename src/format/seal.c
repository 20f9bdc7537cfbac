#include "format/seal.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/crc32c.h"

/* Of a fixed length. */
#define MARK "# checksum "
#define LINE                                                                          \
    MARK "%08" PRIx32 ", of vocab.model %08" PRIx32 "; if you edit the lines below, " \
         "remove this one\n"
enum { LINE_MAX_BYTES = 160 };

#define VERSION_MARK "# version "

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

void seal_put_version(struct str *lines)
{
    str_printf(lines, VERSION_MARK "%d, written by ferry " FERRY_VERSION "\n",
               SEAL_VERSION);
}

/* What the line says that seal_put_version() gave; 0 where there is none. */
static long version_of(const struct file_map *map)
{
    const size_t n_mark = strlen(VERSION_MARK);
    const unsigned char *end = map->data + map->n_bytes, *line = map->data;
    char digits[16] = "";

    while (line && line < end && *line == '#') {
        const size_t n = (size_t)(end - line);
        if (n > n_mark && memcmp(line, VERSION_MARK, n_mark) == 0) {
            memcpy(digits, line + n_mark,
                   n - n_mark < sizeof digits ? n - n_mark : sizeof digits - 1);
            return strtol(digits, NULL, 10);
        }
        line = memchr(line, '\n', n);
        line += line != NULL;
    }
    return 0;
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
    const long version = version_of(&map);
    file_map_close(&map);
    if (!is_right)
        return err_set(err, ERR_FORMAT,
                       "%s is not as the training wrote it: its checksum does not fit; "
                       "if it was edited on purpose, remove its line '" MARK "...'",
                       config);
    if (version > SEAL_VERSION)
        return err_set(err, ERR_USAGE,
                       "%s: written by a newer ferry (version %ld of this file, up to %d "
                       "can be read); continue with that one",
                       config, version, SEAL_VERSION);
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
