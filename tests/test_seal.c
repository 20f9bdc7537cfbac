#include "format/seal.h"

#include <string.h>

#include "base/file.h"
#include "test.h"

static struct err err;
static const char vocab[] = "pieces";

static void write_bytes(const char *name, const void *bytes, size_t n)
{
    CHECK_OK(file_write(test_path(name), bytes, n, &err), &err);
}

static status check(void)
{
    char config[FILE_PATH_MAX];

    snprintf(config, sizeof config, "%s", test_path("config.yaml"));
    return seal_check(config, test_path("vocab.model"), &err);
}

/* config.yaml and vocab.model as a training leaves them. */
static void write_sealed(struct str *all)
{
    struct str lines = str_new(0);

    seal_put_version(&lines);
    str_puts(&lines, "heads: 4\nseed: 1\n");
    seal_put(all, &lines, vocab, strlen(vocab));
    str_add(all, lines.data, lines.len);
    write_bytes("config.yaml", all->data, all->len);
    write_bytes("vocab.model", vocab, strlen(vocab));
    str_release(&lines);
}

TEST(what_was_written_fits_and_what_has_no_checksum_is_taken)
{
    struct str all = str_new(0);

    write_sealed(&all);
    CHECK_OK(check(), &err);
    const char *lines = strchr(all.data, '\n') + 1;
    write_bytes("config.yaml", lines, all.len - (size_t)(lines - all.data));
    write_bytes("vocab.model", "others", 6);
    CHECK_OK(check(), &err);
    write_bytes("config.yaml", "", 0);
    CHECK_OK(check(), &err);
    str_release(&all);
}

/* Damage of the mark alone leaves the options as they were. */
TEST(every_changed_byte_behind_the_mark_and_every_cut_is_found)
{
    const size_t mark = strlen("# checksum ");
    struct str all = str_new(0);

    write_sealed(&all);
    for (size_t i = mark; i < all.len; i++) {
        all.data[i] ^= 1;
        write_bytes("config.yaml", all.data, all.len);
        CHECK(check() == ERR_FORMAT);
        all.data[i] ^= 1;
        write_bytes("config.yaml", all.data, i);
        CHECK_FAILS(check(), &err, ERR_FORMAT, "config.yaml is not as");
    }
    str_puts(&all, "seed: 2\n");
    write_bytes("config.yaml", all.data, all.len);
    CHECK_FAILS(check(), &err, ERR_FORMAT, "remove its line");
    str_release(&all);
}

/* A file of this version number, with a checksum that fits. */
static void write_version(const char *line)
{
    struct str all = str_new(0), lines = str_new(0);

    str_printf(&lines, "# somebody's comment\n%sheads: 4\n# version 9\n", line);
    seal_put(&all, &lines, vocab, strlen(vocab));
    str_add(&all, lines.data, lines.len);
    write_bytes("config.yaml", all.data, all.len);
    write_bytes("vocab.model", vocab, strlen(vocab));
    str_release(&lines);
    str_release(&all);
}

TEST(a_newer_version_is_refused_and_an_older_one_taken)
{
    write_version("# version 2, written by ferry 9.0\n");
    CHECK_FAILS(check(), &err, ERR_USAGE, "newer ferry (version 2 of this file, up to 1");
    write_version("# version 12345678901234567890123456789\n");
    CHECK_FAILS(check(), &err, ERR_USAGE, "newer ferry");
    write_version("# version 1, written by ferry 0.2.0\n");
    CHECK_OK(check(), &err);
    write_version("");
    CHECK_OK(check(), &err);
    write_bytes("config.yaml", "# version 2", 11); /* without a checksum too */
    CHECK_FAILS(check(), &err, ERR_USAGE, "version 2");
    write_bytes("config.yaml", "# version ", 10);
    CHECK_OK(check(), &err);
}

TEST(another_vocabulary_is_found)
{
    struct str all = str_new(0);

    write_sealed(&all);
    write_bytes("vocab.model", "pieceS", 6);
    CHECK_FAILS(check(), &err, ERR_FORMAT, "vocab.model is not as");
    CHECK_OK(seal_check(test_path("config.yaml"), NULL, &err), &err);
    str_release(&all);
}
