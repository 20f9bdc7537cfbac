#include "fetch/catalog.h"

#include "base/file.h"
#include "test.h"

static struct catalog c;
static struct err err;

static status parse(const char *text)
{
    return catalog_parse(&c, text, strlen(text), "x.corpus", &err);
}

/* The numbers of reference.md: what the reference's script makes of these files. */
TEST(wmt16_has_as_many_lines_as_the_reference)
{
    uint64_t n[2] = {0}, valid = 0, test = 0;

    CHECK_OK(catalog_open(&c, "wmt16-de-en", &err), &err);
    for (size_t i = 0; i < c.n_files; i++)
        for (size_t k = 0; k < c.file[i].n_members; k++) {
            const struct catalog_member *m = &c.file[i].member[k];
            n[0] += strcmp(m->set, "train.en") == 0 ? m->n : 0;
            n[1] += strcmp(m->set, "train.de") == 0 ? m->n : 0;
            valid += strcmp(m->set, "valid.en") == 0 ? m->n : 0;
            test += strcmp(m->set, "test.de") == 0 ? m->n : 0;
            CHECK(strncmp(c.file[i].url[0], "https://", 8) == 0);
        }
    CHECK(n[0] == 4562102 && n[1] == 4562102 && valid == 3000 && test == 2737);
    catalog_close(&c);
}

TEST(a_catalogue_reads_back)
{
    CHECK_OK(parse("# comment\n\ncorpus x\r\nfile a.tgz # another\n url  http://h/p\n"
                   "member train.en a 1 lines\nmember test.de b 22 segments"),
             &err);
    CHECK_STR(c.name, "x");
    CHECK(c.n_files == 1 && c.file[0].n_urls == 1 && c.file[0].n_members == 2);
    CHECK_STR(c.file[0].url[0], "http://h/p");
    CHECK(c.file[0].member[1].n == 22 && c.file[0].member[1].unit == CATALOG_SEGMENTS);
    catalog_close(&c);
    catalog_close(&c);
}

TEST(every_mistake_is_named_with_its_line)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        {"", "names no corpus"},
        {"corpus x\n", "no file of it"},
        {"corpus x\nfile a\n", "file a has no url"},
        {"corpus x\ncorpus y\n", "x.corpus:2"},
        {"corpus x\nfile ../a\n", "x.corpus:2"},
        {"corpus x\nfile .a\n", "x.corpus:2"},
        {"corpus x\nfile fetch.json\n", "x.corpus:2"},
        {"corpus x\nurl http://h/p\n", "below a file"},
        {"corpus x\nfile a\nurl ftp://h/p\n", "x.corpus:3"},
        {"corpus x\nfile a\nurl http://h\n", "x.corpus:3"},
        {"corpus x\nfile a\nfile a\n", "twice"},
        {"corpus x\nfile a\nmember train.en b 3\n", "x.corpus:3"},
        {"corpus x\nfile a\nmember dev.en b 3 lines\n", "x.corpus:3"},
        {"corpus x\nfile a\nmember train.en b -3 lines\n", "x.corpus:3"},
        {"corpus x\nfile a\nmember train.en b 0 lines\n", "cannot be"},
        {"corpus x\nfile a\nmember train.en b 3x lines\n", "cannot be"},
        {"corpus x\nfile a\nmember train.en b 3 words\n", "counted in"},
        {"corpus x\nfile a\nmember train.en b 3 lines\nmember train.de b 3 lines\n",
         "x.corpus:4"},
        {"corpus x\nfiel a\n", "begins with"},
        {"corpus a b c d e f g\n", "too many words"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(parse(bad[i].text), &err, ERR_FORMAT, bad[i].want);
    CHECK_FAILS(catalog_parse(&c, "a\0b", 3, "x", &err), &err, ERR_FORMAT, "NUL");
}

TEST(an_unknown_corpus_is_answered_with_the_nearest)
{
    CHECK_FAILS(catalog_open(&c, "wmt16", &err), &err, ERR_USAGE, "no corpus");
    CHECK_FAILS(catalog_open(&c, "debian-en-de", &err), &err, ERR_USAGE, "debian-de-en");
    CHECK_FAILS(catalog_open(&c, test_path("x.corpus"), &err), &err, ERR_IO, "x.corpus");
}
