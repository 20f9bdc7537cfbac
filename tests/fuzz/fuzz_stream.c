/* Any bytes as a file that may be compressed: read to its end or refused with a sentence,
 * in lines of bounded length. Unpacking stops after some megabytes: bombs are endless. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "bytes_fd.h"
#include "text/line_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct line_reader f;
    struct err err = {0};
    struct line line;
    bool has = true;

    const int fd = bytes_fd(data, n);
    const status opened = line_reader_open_fd(&f, fd, "input", &err);
    close(fd);
    if (opened != OK)
        return err.msg[0] ? 0 : (abort(), 0);
    while (has && f.in.n_out < (16 << 20)) {
        if (line_reader_next(&f, &line, &has, &err) != OK)
            break;
        if (has && line.n_bytes > LINE_READER_MAX)
            abort();
        for (size_t i = 0; has && i < line.n_bytes; i++)
            if (line.text[i] == '\n')
                abort();
    }
    line_reader_close(&f);
    return 0;
}
