#include "prepare/source/pairs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "test.h"

static const char *write_bytes(const char *name, const char *bytes)
{
    const char *path = test_path(name);
    struct err err = {0};

    CHECK_OK(file_write(path, bytes, strlen(bytes), &err), &err);
    return path;
}

static struct pairs_lists lists(const char *source, const char *target, const char *both)
{
    return (struct pairs_lists){
        source, target, both, {.column = {1, 2}, .lang = {"en", "de"}}};
}

static status open_and_count(struct pairs *p, struct pairs_lists l, struct err *err)
{
    struct progress silent = {0};

    *err = (struct err){0};
    TRY(pairs_open(p, &l, err));
    const status result = pairs_count(p, &silent, err);
    if (result != OK)
        pairs_close(p);
    return result;
}

static void check_refused(struct pairs_lists l, status code, const char *why)
{
    struct pairs p;
    struct err err;

    CHECK_FAILS(open_and_count(&p, l, &err), &err, code, why);
}

/* All pairs as "source|target\n", and where they are. */
static void check_text(struct pairs *p, const char *want)
{
    struct str all = str_new(0);
    struct pairs_row row;
    struct err err = {0};
    bool has = true;

    pairs_rewind(p);
    while (has) {
        CHECK_OK(pairs_next(p, &row, &has, &err), &err);
        if (has)
            str_printf(&all, "%zu:%d %.*s|%.*s\n", row.file, (int)row.line[1],
                       (int)row.side[0].n_bytes, row.side[0].text,
                       (int)row.side[1].n_bytes, row.side[1].text);
    }
    CHECK_STR(str_text(&all), want);
    str_release(&all);
}

static const char *write_gz(const char *name, const char *text)
{
    const char *path = test_path(name);
    gzFile f = gzopen(path, "wb");

    CHECK(f && gzputs(f, text) >= 0 && gzclose(f) == Z_OK);
    return path;
}

TEST(files_of_every_kind_are_one_corpus)
{
    struct str source = str_new(0), target = str_new(0), both = str_new(0);
    struct pairs p;
    struct err err;

    str_printf(&source, "%s,%s", write_gz("a.en.gz", "one\ntwo\n"),
               write_bytes("b-src.sgm", "<doc docid=x><seg id=1>three</seg></doc>"));
    str_printf(&target, "%s,%s", write_bytes("a.de", "eins\r\nzwei"),
               write_bytes("b-ref.sgm", "<doc docid=x>\n<seg id=1>drei</seg></doc>"));
    str_printf(&both, "%s,%s,%s", write_gz("c.tsv.gz", "four\tvier\n"),
               write_bytes("d.tmx", "<tmx><tu><tuv lang=en><seg>five</seg></tuv>"
                                    "<tuv lang=de><seg>sechs</seg></tuv></tu></tmx>"),
               write_bytes("e.xml", "<doc><src><seg id=1>six</seg></src>"
                                    "<ref><seg id=1>sechs</seg></ref></doc>"));
    CHECK_OK(open_and_count(
                 &p, lists(str_text(&source), str_text(&target), str_text(&both)), &err),
             &err);
    CHECK(p.n_files == 5 && p.n_lines == 6 && p.file[0].n_lines == 2);
    for (int i = 0; i < 2; i++)
        check_text(&p, "0:1 one|eins\n0:2 two|zwei\n1:2 three|drei\n2:1 four|vier\n"
                       "3:1 five|sechs\n4:1 six|sechs\n");
    pairs_close(&p);
    pairs_close(&p);
    str_release(&source);
    str_release(&target);
    str_release(&both);
}

TEST(a_list_may_stand_in_a_file)
{
    struct str text = str_new(0), name = str_new(0);
    struct pairs p;
    struct err err;

    for (int i = 0; i < 200; i++)
        str_printf(&text, "%s\n", write_bytes("x.tsv", "a\tb\n"));
    str_printf(&name, "@%s", write_bytes("list", str_text(&text)));
    CHECK_OK(open_and_count(&p, lists("", "", str_text(&name)), &err), &err);
    CHECK(p.n_files == 200 && p.n_lines == 200);
    pairs_close(&p);
    str_release(&text);
    str_release(&name);
}

TEST(a_pipe_can_be_read_again_and_again)
{
    const char *target = write_bytes("t", "eins\nzwei\n");
    struct pairs p;
    struct err err;
    char name[64];
    int end[2];

    CHECK(pipe(end) == 0);
    CHECK(write(end[1], "one\ntwo\n", 8) == 8);
    close(end[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", end[0]);
    CHECK_OK(open_and_count(&p, lists(name, target, ""), &err), &err);
    check_text(&p, "0:1 one|eins\n0:2 two|zwei\n");
    check_text(&p, "0:1 one|eins\n0:2 two|zwei\n");
    pairs_close(&p);
    close(end[0]);
}

TEST(a_pipe_that_cannot_be_copied_is_said)
{
    const char *target = write_bytes("t", "eins\n");
    char name[64];
    int end[2];

    CHECK(pipe(end) == 0);
    close(end[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", end[0]);
    setenv("TMPDIR", test_path("absent"), 1);
    check_refused(lists(name, target, ""), ERR_IO, "set TMPDIR");
    unsetenv("TMPDIR");
    close(end[0]);
}

TEST(what_cannot_be_a_side_is_said)
{
    const char *tsv = write_bytes("a.tsv", "a\tb\n"), *text = write_bytes("a.en", "a\n");
    const char *tmx = write_bytes("a.tmx", "<tmx></tmx>");
    struct pairs_lists l = lists("", "", tmx);

    check_refused(lists(tsv, text, ""), ERR_USAGE,
                  "holds both sides: name it with pairs=");
    check_refused(lists("", "", text), ERR_FORMAT, "named with source= and target=");
    l.reading.lang[1] = "";
    check_refused(l, ERR_USAGE, "name the languages to take of it");
    check_refused(lists(text, "", ""), ERR_USAGE, "1 source files");
    check_refused(lists(text, "none", ""), ERR_IO, "none: No such file");
    check_refused(lists(text, test_dir(), ""), ERR_IO, "not a regular file");
    check_refused(lists(text, write_bytes("e.de", ""), ""), ERR_FORMAT,
                  "e.de: the file is empty");
    check_refused(lists("", "", tmx), ERR_FORMAT, "a.tmx: there is no text in it");
    check_refused(lists(write_bytes("s.sgm", "<doc docid=x><seg id=1>a</seg></doc>"),
                        write_bytes("r.sgm", "<doc docid=x>\n<seg id=2>b</seg></doc>"),
                        ""),
                  ERR_FORMAT, "s.sgm:1 is segment 1 of document 'x'");
}

/* n lines whose lengths tell them apart, the ones from `lost` on without one. */
static const char *write_lengths(const char *name, char letter, int n, int lost,
                                 int n_lost)
{
    struct str text = str_new(0);

    for (int i = 0; i < n; i++) {
        const uint64_t len =
            1 + rng_hash(rng_key(test_seed(), "length"), (uint64_t)i) % 90;
        if (i >= lost && i < lost + n_lost)
            continue;
        for (uint64_t k = 0; k < len + (letter == 'd') * (len / 5); k++)
            str_putc(&text, letter);
        str_putc(&text, '\n');
    }
    const char *path = write_bytes(name, str_text(&text));
    str_release(&text);
    return path;
}

/* Where two files of 1000 lines are said to part when some are lost. */
static long parting(int lost, int n_lost, bool of_source)
{
    const char *a = write_lengths("p.en", 'e', 1000, lost, of_source ? n_lost : 0);
    const char *b = write_lengths("p.de", 'd', 1000, lost, of_source ? 0 : n_lost);
    struct pairs p;
    struct err err;

    CHECK_FAILS(open_and_count(&p, lists(a, b, ""), &err), &err, ERR_FORMAT,
                "parallel files need the same number");
    const char *at = strstr(err.msg, "seem to diverge at line ");
    CHECK(at != NULL);
    return strtol(at + strlen("seem to diverge at line "), NULL, 10);
}

TEST(the_place_where_files_part_is_named)
{
    for (int side = 0; side < 2; side++)
        for (int n = 1; n <= 7; n += 3)
            for (int lost = 0; lost < 999 - n; lost += 331) {
                const long at = parting(lost, n, side);
                if (labs(at - (lost + 1)) > 2)
                    test_fail(__FILE__, __LINE__, "%d lines lost at %d: said %ld", n,
                              lost + 1, at);
            }
    CHECK(parting(997, 3, true) >= 996); /* the end of the file is missing */
}

TEST(a_file_that_is_no_longer_parallel_is_noticed)
{
    const char *a = write_bytes("a.en", "1\n2\n"), *b = write_bytes("a.de", "1\n2\n");
    struct pairs_row row;
    struct pairs p;
    struct err err;
    bool has = true;
    status result = OK;

    CHECK_OK(open_and_count(&p, lists(a, b, ""), &err), &err);
    write_bytes("a.de", "1\n2\n3\n");
    while (result == OK && has)
        result = pairs_next(&p, &row, &has, &err);
    CHECK(result == ERR_FORMAT && strstr(err.msg, "3; parallel files"));
    pairs_close(&p);
}
