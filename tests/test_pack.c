#include "format/pack.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "small_pack.h"

static void check_section(const struct pack *p, size_t i, const char *name,
                          const void *bytes, size_t n)
{
    const struct pack_section *s = pack_find(p, name);

    CHECK(s && s == &p->section[i]);
    CHECK_STR(s->name, name);
    CHECK(s->n_bytes == n && memcmp(s->bytes, bytes, n) == 0);
    CHECK((uintptr_t)s->bytes % PACK_ALIGN == 0);
}

TEST(a_written_pack_reads_back)
{
    const char *path = test_path("small.ferry");
    struct pack p;
    struct err err = {0};

    CHECK_OK(small_pack_write(path, &err), &err);
    CHECK_OK(pack_open(&p, path, &err), &err);
    CHECK(p.n_sections == 3);
    check_section(&p, 0, "config", "vocab: 4\n", 9);
    check_section(&p, 1, "notes", "", 0);
    check_section(&p, 2, "weights", "\1\2\3\4\5\6\7\10", 8);
    CHECK(p.section[0].flags == PACK_REQUIRED && p.section[1].flags == 0);
    CHECK(!pack_find(&p, "weight") && !pack_find(&p, "weights2") && !pack_find(&p, ""));
    const void *was = p.map.data;
    CHECK(file_mapped_at(was));
    pack_close(&p);
    pack_close(&p);
    CHECK(!p.section && !p.map.data && !file_mapped_at(was));
}

TEST(the_bytes_are_those_of_the_golden_file)
{
    unsigned char *bytes = small_pack_bytes();
    struct pack p;
    struct err err = {0};
    size_t n;
    unsigned char *golden = small_pack_copy(test_data("golden.ferry"), &n);

    CHECK(n == SMALL_PACK && memcmp(bytes, golden, n) == 0);
    CHECK_OK(pack_open(&p, test_data("golden.ferry"), &err), &err);
    check_section(&p, 0, "config", "vocab: 4\n", 9);
    pack_close(&p);
    free(bytes);
    free(golden);
}

TEST(a_pack_may_have_no_sections)
{
    const char *path = test_path("none.ferry");
    struct pack_writer w;
    struct pack p;
    struct err err = {0};

    CHECK_OK(pack_writer_create(&w, path, &err), &err);
    CHECK_OK(pack_writer_commit(&w, &err), &err);
    CHECK(file_bytes(path) == PACK_HEAD);
    CHECK_OK(pack_open(&p, path, &err), &err);
    CHECK(p.n_sections == 0 && !pack_find(&p, "config"));
    pack_close(&p);
}

enum { MANY = 1500 };

static size_t many_bytes(size_t i)
{
    return i % 500 == 7 ? (3 << 19) + i
                        : i % 200; /* some more than the writer's buffer */
}

/* In pieces that `seed` chooses. */
static void write_many(const char *path, const unsigned char *bytes, uint64_t seed)
{
    struct rng rng = rng_open(rng_key(seed, "pieces"));
    struct pack_writer w;
    struct err err = {0};

    CHECK_OK(pack_writer_create(&w, path, &err), &err);
    for (size_t i = 0; i < MANY; i++) {
        const size_t n = many_bytes(i);
        char name[16];
        snprintf(name, sizeof name, "é%zu", i * 7919 % MANY);
        CHECK_OK(pack_writer_begin(&w, name, i % 2, &err), &err);
        for (size_t at = 0, step; at < n; at += step) {
            step = (size_t)rng_below(&rng, n > 200 ? 100000 : 70);
            step = step < n - at ? step : n - at;
            CHECK_OK(pack_writer_add(&w, bytes + i + at, step, &err), &err);
        }
        CHECK_OK(pack_writer_end(&w, &err), &err);
    }
    CHECK_OK(pack_writer_commit(&w, &err), &err);
}

TEST(many_sections_are_found_and_equal_sections_give_equal_bytes)
{
    const char *path = test_path("many.ferry"), *again = test_path("again.ferry");
    struct rng rng = rng_open(rng_key(test_seed(), "many"));
    const size_t n_bytes = 2 << 20;
    unsigned char *bytes = malloc(n_bytes);
    struct pack p, q;
    struct err err = {0};

    CHECK(bytes);
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (unsigned char)rng_u64(&rng);
    write_many(path, bytes, 1);
    write_many(again, bytes, 2);
    CHECK_OK(pack_open(&p, path, &err), &err);
    CHECK_OK(pack_open(&q, again, &err), &err);
    CHECK(p.map.n_bytes == q.map.n_bytes &&
          memcmp(p.map.data, q.map.data, p.map.n_bytes) == 0);
    CHECK(p.n_sections == MANY);
    for (size_t i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "é%zu", i * 7919 % MANY);
        check_section(&p, i, name, bytes + i, many_bytes(i));
    }
    pack_close(&p);
    pack_close(&q);
    free(bytes);
}

TEST(a_section_that_must_be_known_and_is_not_is_refused)
{
    const char *path = test_path("small.ferry");
    const char *const all[] = {"weights", "config"}, *const less[] = {"config", "notes"};
    struct pack p;
    struct err err = {0};

    CHECK_OK(small_pack_write(path, &err), &err);
    CHECK_OK(pack_open(&p, path, &err), &err);
    CHECK_OK(pack_check_known(&p, all, 2, &err), &err); /* notes is not required */
    CHECK_FAILS(pack_check_known(&p, less, 2, &err), &err, ERR_FORMAT,
                "small.ferry: was written by a newer Ferry: its section 'weights'");
    CHECK_FAILS(pack_check_known(&p, NULL, 0, &err), &err, ERR_FORMAT, "'config'");
    pack_close(&p);
}

TEST(a_file_that_is_replaced_stays_readable_where_it_is_open)
{
    const char *path = test_path("small.ferry");
    struct pack_writer w;
    struct pack old, new;
    struct err err = {0};

    CHECK_OK(small_pack_write(path, &err), &err);
    CHECK_OK(pack_open(&old, path, &err), &err);
    CHECK_OK(pack_writer_create(&w, path, &err), &err);
    CHECK_OK(small_pack_add(&w, "config", 0, "new", 3, &err), &err);
    CHECK_OK(pack_writer_commit(&w, &err), &err);
    check_section(&old, 0, "config", "vocab: 4\n", 9);
    check_section(&old, 2, "weights", "\1\2\3\4\5\6\7\10", 8);
    CHECK_OK(pack_open(&new, path, &err), &err);
    CHECK(new.n_sections == 1);
    check_section(&new, 0, "config", "new", 3);
    pack_close(&old);
    pack_close(&new);
}

TEST(a_writer_takes_no_name_twice_and_none_that_readers_refuse)
{
    static const char *const bad[] = {"", "a\n", "\xff",
                                      "a name of thirty-two bytes, no 0", "\xe2\x80\xae"};
    struct pack_writer w;
    struct err err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_OK(pack_writer_create(&w, test_path("a"), &err), &err);
        CHECK_FAILS(pack_writer_begin(&w, bad[i], 0, &err), &err, ERR_USAGE,
                    "cannot name a section");
        pack_writer_abort(&w);
    }
    CHECK_OK(pack_writer_create(&w, test_path("a"), &err), &err);
    CHECK_OK(small_pack_add(&w, "a name of thirty-one bytes, no0", 0, "", 0, &err), &err);
    CHECK_OK(small_pack_add(&w, "b", 0, "", 0, &err), &err);
    CHECK_FAILS(pack_writer_begin(&w, "b", 0, &err), &err, ERR_USAGE, "called 'b'");
    pack_writer_abort(&w);
}

TEST(an_aborted_writer_leaves_the_old_file_and_nothing_else)
{
    const char *path = test_path("a");
    struct pack_writer w;
    struct err err = {0};
    char tmp[600];

    CHECK_OK(file_write(path, "old", 3, &err), &err);
    CHECK_OK(pack_writer_create(&w, path, &err), &err);
    CHECK_OK(pack_writer_begin(&w, "config", 0, &err), &err);
    CHECK_OK(pack_writer_add(&w, "new", 3, &err), &err);
    snprintf(tmp, sizeof tmp, "%s", w.file.tmp);
    CHECK(file_exists(tmp));
    pack_writer_abort(&w);
    pack_writer_abort(&w);
    CHECK(file_bytes(path) == 3 && !file_exists(tmp));
    CHECK_FAILS(pack_writer_create(&w, test_path("no/dir/a"), &err), &err, ERR_IO,
                "no/dir");
    pack_writer_abort(&w);
}

static int write_beyond_the_limit(const char *path)
{
    static const char block[3 << 20];
    const struct rlimit limit = {1 << 20, 1 << 20};
    struct pack_writer w;
    struct err err = {0};

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        pack_writer_create(&w, path, &err) != OK ||
        pack_writer_begin(&w, "weights", 0, &err) != OK)
        return 1;
    if (pack_writer_add(&w, block, sizeof block, &err) != ERR_IO)
        return 2;
    pack_writer_abort(&w);
    return strstr(err.msg, path) && strstr(err.msg, "ulimit -f") ? 0 : 3;
}

TEST(a_disk_without_room_is_named_and_the_old_file_stays)
{
    const char *path = test_path("a");
    struct err err = {0};
    int how;

    CHECK_FAILS(small_pack_write("/dev/full", &err), &err, ERR_IO,
                "/dev/full: No space left");
    CHECK_OK(file_write(path, "old", 3, &err), &err);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(write_beyond_the_limit(path));
    CHECK(waitpid(pid, &how, 0) == pid && WIFEXITED(how) && WEXITSTATUS(how) == 0);
    CHECK(file_bytes(path) == 3);
}

TEST(a_pack_goes_through_links_and_into_pipes)
{
    unsigned char *want = small_pack_bytes(), got[SMALL_PACK + 1];
    struct err err = {0};
    char name[32];
    int ends[2];
    struct stat st;

    CHECK(symlink("target", test_path("link")) == 0);
    CHECK_OK(small_pack_write(test_path("link"), &err), &err);
    CHECK(lstat(test_path("link"), &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(file_bytes(test_path("target")) == SMALL_PACK);
    CHECK(pipe(ends) == 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    CHECK_OK(small_pack_write(name, &err), &err);
    CHECK(read(ends[0], got, sizeof got) == SMALL_PACK &&
          memcmp(got, want, SMALL_PACK) == 0);
    close(ends[0]);
    close(ends[1]);
    free(want);
}
