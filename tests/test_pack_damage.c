/* Packs that were cut, flipped, forged or mistaken: each is refused with one sentence. */
#include "format/crc32c.h"
#include "format/le.h"
#include "format/pack.h"
#include "format/pack_layout.h"
#include "small_pack.h"

/* Open bytes that are expected to be refused, and give nothing if they are. */
static status examine(const unsigned char *bytes, size_t n, struct err *err)
{
    struct pack p;
    const status result = pack_parse(&p, bytes, n, true, err);

    CHECK(result == OK || (!p.section && !p.by_name && !p.n_sections));
    pack_close(&p);
    return result;
}

TEST(a_pack_cut_at_any_byte_is_refused_with_both_sizes)
{
    unsigned char *bytes = small_pack_bytes();

    for (size_t cut = 0; cut < SMALL_PACK; cut++) {
        unsigned char *part; /* of exactly this size, for the address sanitizer */
        struct err err = {0};
        char want[80];
        snprintf(want, sizeof want, "cut short: %s bytes expected, %zu seen",
                 cut < PACK_HEAD ? "at least 64" : "384", cut);
        CHECK_OK(mem_alloc(&part, cut, 1, &err), &err);
        memcpy(part, bytes, cut);
        CHECK_FAILS(examine(part, cut, &err), &err, ERR_FORMAT, want);
        free(part);
    }
    free(bytes);
}

/* What the message of a flipped bit in this byte names. */
static const char *culprit(size_t at)
{
    if (at < 8)
        return at >= 1 && at < 6 ? "not a packed model" : "first bytes were changed";
    if (at < PACK_HEAD)
        return "its head is damaged";
    if (at >= SMALL_PACK_TABLE)
        return "its table of sections is damaged";
    if (at < 64 + 9)
        return "its section 'config' is damaged";
    return at >= SMALL_PACK_WEIGHTS && at < SMALL_PACK_WEIGHTS + 8
               ? "its section 'weights' is damaged"
               : "damaged between its sections";
}

TEST(a_pack_with_any_flipped_bit_is_refused_with_the_part_that_is_damaged)
{
    unsigned char *bytes = small_pack_bytes();

    for (size_t bit = 0; bit < 8 * (size_t)SMALL_PACK; bit++) {
        struct err err = {0};
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK_FAILS(examine(bytes, SMALL_PACK, &err), &err, ERR_FORMAT, culprit(bit / 8));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    free(bytes);
}

/* Make the checksums of table and head right again, so that the checks behind them are
 * reached. */
static void sign(unsigned char *bytes)
{
    le_put32(bytes + PACK_HEAD_TABLE_CRC,
             crc32c(0, bytes + SMALL_PACK_TABLE, SMALL_PACK - SMALL_PACK_TABLE));
    le_put32(bytes + PACK_HEAD_CRC, crc32c(0, bytes, PACK_HEAD_CRC));
}

/* Overwrite n bytes of the small pack, sign it, and expect this sentence. */
static void spoil(size_t at, const void *value, size_t n, const char *message)
{
    unsigned char *bytes = small_pack_bytes();
    struct err err = {0};

    memcpy(bytes + at, value, n);
    sign(bytes);
    CHECK_FAILS(examine(bytes, SMALL_PACK, &err), &err, ERR_FORMAT, message);
    free(bytes);
}

static void spoil32(size_t at, uint32_t value, const char *message)
{
    unsigned char bytes[4];

    le_put32(bytes, value);
    spoil(at, bytes, sizeof bytes, message);
}

static void spoil64(size_t at, uint64_t value, const char *message)
{
    unsigned char bytes[8];

    le_put64(bytes, value);
    spoil(at, bytes, sizeof bytes, message);
}

/* Place of the table and number of sections, which together end the file. */
static void spoil_table(uint64_t at, uint32_t n_sections)
{
    unsigned char bytes[12];

    le_put64(bytes, at);
    le_put32(bytes + 8, n_sections);
    spoil(PACK_HEAD_TABLE_AT, bytes, sizeof bytes, "does not end a file of 384 bytes");
}

TEST(a_signed_but_hostile_head_is_refused)
{
    const uint64_t top = UINT64_MAX;

    spoil32(PACK_HEAD_VERSION, 2,
            "was written by a newer Ferry: version 2, this one reads 1");
    spoil32(PACK_HEAD_VERSION, UINT32_MAX, "newer Ferry: version 4294967295");
    spoil32(PACK_HEAD_VERSION, 0, "cannot be of a packed model (version 0");
    spoil32(PACK_HEAD_ORDER, PACK_ORDER_TURNED, "another byte order (big-endian)");
    spoil32(PACK_HEAD_ORDER, 0x02010403, "byte order 02010403");
    spoil32(PACK_HEAD_ZEROS, 1, "cannot be of a packed model");
    spoil32(PACK_HEAD_CRC - 4, 1 << 24, "cannot be of a packed model");
    spoil64(PACK_HEAD_FILE_BYTES, 385, "cut short: 385 bytes expected, 384 seen");
    spoil64(PACK_HEAD_FILE_BYTES, top, "cut short: 18446744073709551615 bytes expected");
    spoil64(PACK_HEAD_FILE_BYTES, 383, "383 bytes expected, 384 seen");
    spoil64(PACK_HEAD_FILE_BYTES, 0, "0 bytes expected, 384 seen");
    spoil64(PACK_HEAD_TABLE_AT, 0, "a table of 192 bytes at 0 does not end a file");
    spoil64(PACK_HEAD_TABLE_AT, 128, "a table of 192 bytes at 128 does not end");
    spoil64(PACK_HEAD_TABLE_AT, 256, "a table of 192 bytes at 256 does not end");
    spoil64(PACK_HEAD_TABLE_AT, 384, "at 384 does not end a file of 384 bytes");
    spoil64(PACK_HEAD_TABLE_AT, 448, "at 448 does not end a file of 384 bytes");
    spoil64(PACK_HEAD_TABLE_AT, top - 63, "does not end a file of 384 bytes");
    spoil32(PACK_HEAD_N_SECTIONS, 0, "a table of 0 bytes at 192 does not end");
    spoil32(PACK_HEAD_N_SECTIONS, 4, "a table of 256 bytes at 192 does not end");
    spoil32(PACK_HEAD_N_SECTIONS, UINT32_MAX, "a table of 274877906880 bytes at 192");
    spoil_table(0, 6);        /* the head would be an entry */
    spoil_table(top - 63, 7); /* the end is right modulo 2^64 */
    /* 64 bytes each: right modulo 2^32 */
    spoil32(PACK_HEAD_N_SECTIONS, (1 << 26) + 3, "a table of 4294967488 bytes at 192");
}

TEST(a_signed_but_hostile_table_is_refused)
{
    const size_t first = SMALL_PACK_TABLE, second = first + PACK_ENTRY,
                 third = second + PACK_ENTRY;
    const uint64_t top = UINT64_MAX;

    spoil(second, "config", 7, "two sections are called 'config'");
    spoil(first, "\0onfig", 6, "section 0 has no valid name");
    spoil(second, "no\tes", 5, "section 1 has no valid name");
    spoil(second, "no\x7f", 3, "section 1 has no valid name");
    spoil(third, "w\xc3ights", 7, "section 2 has no valid name");
    spoil(third, "\xe2\x80\xae", 3, "section 2 has no valid name"); /* U+202E */
    spoil(third, "a name of thirty-two bytes, no 0", 32, "section 2 has no valid name");
    spoil(third + 9, "x", 1, "section 2 has no valid name"); /* behind its end */
    spoil32(first + PACK_ENTRY_FLAGS, 3, "'config' has flags that this Ferry does not");
    spoil32(first + PACK_ENTRY_ZEROS, 1, "'config' has flags that this Ferry does not");
    spoil32(first + PACK_ENTRY_ZEROS + 4, 1u << 31, "'config' has flags");
    spoil64(first + PACK_ENTRY_AT, 0, "'config' begins at 0, within what is before it");
    spoil64(first + PACK_ENTRY_AT, 65, "'config' begins at 65, which is no multiple of");
    spoil64(second + PACK_ENTRY_AT, 64, "'notes' begins at 64, within what is before");
    spoil64(third + PACK_ENTRY_AT, 64, "'weights' begins at 64, within what is before");
    spoil64(second + PACK_ENTRY_AT, 192,
            "'weights' begins at 128, within what is before");
    spoil64(second + PACK_ENTRY_AT, 256,
            "'notes', 0 bytes at 256, passes the end at 192");
    spoil64(third + PACK_ENTRY_AT, top - 63, "passes the end at 192");
    spoil64(third + PACK_ENTRY_BYTES, 65, "'weights', 65 bytes at 128, passes the end");
    spoil64(third + PACK_ENTRY_BYTES, top, "passes the end at 192");
    /* ends within the file modulo 2^64 */
    spoil64(third + PACK_ENTRY_BYTES, top - 127 + 8, "passes the end at 192");
    spoil64(first + PACK_ENTRY_BYTES, 65, "'notes' begins at 128, within what is before");
    spoil64(first + PACK_ENTRY_BYTES, 10, "its section 'config' is damaged");
    spoil32(third + PACK_ENTRY_CRC, 0, "its section 'weights' is damaged");
}

TEST(a_table_that_is_not_aligned_is_refused)
{
    unsigned char *bytes = small_pack_bytes(), moved[SMALL_PACK + 1] = {0};
    struct err err = {0};

    memcpy(moved, bytes, SMALL_PACK_TABLE);
    memcpy(moved + SMALL_PACK_TABLE + 1, bytes + SMALL_PACK_TABLE,
           SMALL_PACK - SMALL_PACK_TABLE);
    le_put64(moved + PACK_HEAD_FILE_BYTES, sizeof moved);
    le_put64(moved + PACK_HEAD_TABLE_AT, SMALL_PACK_TABLE + 1);
    le_put32(moved + PACK_HEAD_CRC, crc32c(0, moved, PACK_HEAD_CRC));
    CHECK_FAILS(examine(moved, sizeof moved, &err), &err, ERR_FORMAT,
                "a table of 192 bytes at 193");
    free(bytes);
}

/* Every number of the head as a big-endian machine would have written it. */
TEST(a_pack_of_the_other_byte_order_is_called_so)
{
    static const size_t width[] = {4, 4, 8, 8, 4, 4};
    unsigned char *bytes = small_pack_bytes();
    struct err err = {0};
    size_t at = PACK_HEAD_VERSION;

    for (size_t i = 0; i < sizeof width / sizeof *width; at += width[i++])
        for (size_t k = 0; k < width[i] / 2; k++) {
            const unsigned char keep = bytes[at + k];
            bytes[at + k] = bytes[at + width[i] - 1 - k];
            bytes[at + width[i] - 1 - k] = keep;
        }
    CHECK_FAILS(examine(bytes, SMALL_PACK, &err), &err, ERR_FORMAT, "another byte order");
    free(bytes);
}

TEST(a_gap_may_be_longer_than_needed)
{
    unsigned char *bytes = small_pack_bytes();
    unsigned char *weights = bytes + SMALL_PACK_TABLE + 2 * PACK_ENTRY;
    struct err err = {0};

    memset(bytes + SMALL_PACK_WEIGHTS, 0, 8);
    le_put64(weights + PACK_ENTRY_BYTES, 0);
    le_put32(weights + PACK_ENTRY_CRC, 0);
    sign(bytes);
    CHECK_OK(examine(bytes, SMALL_PACK, &err), &err);
    bytes[SMALL_PACK_TABLE - 1] = 1;
    CHECK_FAILS(examine(bytes, SMALL_PACK, &err), &err, ERR_FORMAT,
                "damaged between its sections (at 128 to 192");
    free(bytes);
}

TEST(without_verifying_the_sections_are_not_read)
{
    unsigned char *bytes = small_pack_bytes();
    struct pack p;
    struct err err = {0};

    for (size_t at = 0; at < SMALL_PACK; at++) {
        bytes[at] ^= 1;
        const bool is_refused = pack_parse(&p, bytes, SMALL_PACK, false, &err) != OK;
        CHECK(is_refused == (at < PACK_HEAD || at >= SMALL_PACK_TABLE));
        pack_close(&p);
        bytes[at] ^= 1;
    }
    free(bytes);
}

static bool is_mapped(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    bool found = false;

    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

TEST(a_file_that_cannot_be_opened_is_named)
{
    static const char lost_cr[80] = "\x89"
                                    "FERRY\n",
                      seven_bits[80] = "\tFERRY\r\n";
    const char *path = test_path("x.ferry");
    unsigned char *bytes = small_pack_bytes();
    struct pack p;
    struct err err = {0};

    CHECK_FAILS(pack_open(&p, test_path("none"), &err), &err, ERR_IO, "none: No such");
    CHECK_FAILS(pack_open(&p, test_dir(), &err), &err, ERR_IO, "not a regular file");
    CHECK_OK(file_write(path, "", 0, &err), &err);
    CHECK_FAILS(pack_open(&p, path, &err), &err, ERR_FORMAT, "x.ferry: cut short: at");
    CHECK_OK(file_write(path, "FERRYCRP", 8, &err), &err);
    CHECK_FAILS(pack_open(&p, path, &err), &err, ERR_FORMAT, "x.ferry: not a packed");
    CHECK_OK(file_write(path, lost_cr, sizeof lost_cr, &err), &err);
    CHECK_FAILS(pack_open(&p, path, &err), &err, ERR_FORMAT, "x.ferry: its first bytes");
    CHECK_OK(file_write(path, seven_bits, sizeof seven_bits, &err), &err);
    CHECK_FAILS(pack_open(&p, path, &err), &err, ERR_FORMAT, "transfer in text mode");
    bytes[SMALL_PACK_WEIGHTS] ^= 1;
    CHECK_OK(file_write(path, bytes, SMALL_PACK, &err), &err);
    CHECK_FAILS(pack_open(&p, path, &err), &err, ERR_FORMAT,
                "x.ferry: its section 'weights' is damaged");
    CHECK(!p.path && !p.map.data && !p.section && !is_mapped("x.ferry"));
    pack_close(&p);
    free(bytes);
}
