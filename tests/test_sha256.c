#include "format/sha256.h"

#include "base/file.h"
#include "test.h"

static const char *hex_of(const void *bytes, size_t n)
{
    static char hex[SHA256_HEX];
    uint8_t hash[SHA256_BYTES];
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, bytes, n);
    sha256_end(&s, hash);
    sha256_hex(hex, hash);
    return hex;
}

TEST(hashes_are_those_of_the_standard)
{
    CHECK_STR(hex_of("", 0),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_STR(hex_of("abc", 3),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_STR(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(a_million_letters_hash_as_the_standard_says_in_any_portions)
{
    uint8_t hash[SHA256_BYTES];
    char text[997], hex[SHA256_HEX];
    struct sha256 s;

    memset(text, 'a', sizeof text);
    sha256_init(&s);
    for (size_t left = 1000000; left > 0;) {
        const size_t n = left < sizeof text ? left : sizeof text;
        sha256_add(&s, text, n);
        left -= n;
    }
    sha256_end(&s, hash);
    sha256_hex(hex, hash);
    CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(keyed_hashes_are_those_of_rfc_4231)
{
    const char question[] = "what do ya want for nothing?";
    uint8_t key[20], mac[SHA256_BYTES];
    char hex[SHA256_HEX];

    memset(key, 0x0b, sizeof key);
    sha256_hmac(mac, key, sizeof key, "Hi There", 8);
    sha256_hex(hex, mac);
    CHECK_STR(hex, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    sha256_hmac(mac, "Jefe", 4, question, sizeof question - 1);
    sha256_hex(hex, mac);
    CHECK_STR(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(equality_sees_every_byte)
{
    uint8_t a[SHA256_BYTES] = {0}, b[SHA256_BYTES] = {0};

    CHECK(sha256_equal(a, b));
    for (int i = 0; i < SHA256_BYTES; i++) {
        b[i] = 0x80;
        CHECK(!sha256_equal(a, b));
        b[i] = 0;
    }
}

TEST(a_file_hashes_like_its_bytes_and_a_missing_one_is_named)
{
    uint8_t hash[SHA256_BYTES];
    char hex[SHA256_HEX];
    struct err err;

    CHECK_OK(file_write(test_path("x"), "abc", 3, &err), &err);
    CHECK_OK(sha256_file(hash, test_path("x"), &err), &err);
    sha256_hex(hex, hash);
    CHECK_STR(hex, hex_of("abc", 3));
    CHECK_FAILS(sha256_file(hash, test_path("none"), &err), &err, ERR_IO, "none");
}
