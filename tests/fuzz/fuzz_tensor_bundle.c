/*
 * An index with its checksums mended, since a fuzzer cannot guess them: the input is a
 * run of (key length, key, value length, value) rows that we put into a real table.
 */
#include <stdlib.h>
#include <string.h>

#include "format/tf/tensor_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_index(const unsigned char *bytes, size_t n)
{
    struct tensor_index index;
    struct err err;

    if (tensor_index_read(&index, bytes, n, &err) != OK)
        return;
    for (size_t i = 0; i < index.n; i++)
        if (tensor_index_find(&index, index.entry[i].name) != &index.entry[i])
            abort();
    tensor_index_release(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sstable_writer w;
    struct err err;

    check_index(data, n);
    sstable_writer_init(&w, 64);
    for (size_t at = 0; at < n;) {
        const size_t n_key = data[at++];
        if (n_key > n - at || n_key == n - at)
            break;
        const uint8_t *key = data + at;
        at += n_key;
        const size_t n_value = data[at++];
        if (n_value > n - at ||
            sstable_writer_add(&w, key, n_key, data + at, n_value, &err) != OK)
            break;
        at += n_value;
    }
    if (sstable_writer_finish(&w, &err) == OK)
        check_index((const unsigned char *)w.out.data, w.out.len);
    sstable_writer_release(&w);
    return 0;
}
