/* source_fuzz - reads bytes as a file of one kind, for the fuzz targets of the readers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "prepare/source/source.h"

static inline void source_fuzz_side(const uint8_t *data, size_t n, enum source_kind kind,
                                    int side)
{
    const struct source_options options = {
        .side = side, .column = {1, 2}, .lang = {"en", "de"}};
    const int n_sides = source_is_both(kind) ? 2 : 1;
    struct source s;
    struct err err = {0};
    bool has = true;
    volatile unsigned char sum = 0;

    char path[32];
    const int fd = memfd_create("input", 0);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const status opened = source_open(&s, path, "input", kind, options, &err);
    close(fd);
    if (opened != OK) {
        if (!strstr(err.msg, "input"))
            abort();
        return;
    }
    while (has && source_bytes_read(&s) < (4 << 20) && s.n_rows < 100000) {
        if (source_next(&s, &has, &err) != OK) {
            if (!strstr(err.msg, "input"))
                abort();
            break;
        }
        for (int i = 0; has && i < n_sides; i++)
            for (size_t k = 0; k < s.seg[i].n_bytes; k++) {
                if (s.seg[i].text[k] == '\n' || s.seg[i].n_bytes > LINE_READER_MAX)
                    abort();
                sum = (unsigned char)(sum + (unsigned char)s.seg[i].text[k]);
            }
    }
    source_close(&s);
}

static inline void source_fuzz(const uint8_t *data, size_t n, enum source_kind kind)
{
    source_fuzz_side(data, n, kind, 0);
    if (!source_is_both(kind))
        source_fuzz_side(data, n, kind, 1);
}
