#include "prepare/source/source.h"

#include "base/file.h"
#include "base/str.h"
#include "test.h"

static struct source over(const char *text, enum source_kind kind, int side)
{
    const struct source_options options = {
        .side = side, .column = {2, 1}, .lang = {"en", "de-AT"}};
    struct source s;
    struct err err = {0};

    CHECK_OK(file_write(test_path("input"), text, strlen(text), &err), &err);
    CHECK_OK(source_open(&s, test_path("input"), "input", kind, options, &err), &err);
    return s;
}

static void check_row(struct source *s, uint64_t line, const char *a, const char *b)
{
    const char *want[2] = {a, b};
    struct err err = {0};
    bool has;

    CHECK_OK(source_next(s, &has, &err), &err);
    CHECK(has);
    if (s->line != line)
        test_fail(__FILE__, __LINE__, "line %d, want %d", (int)s->line, (int)line);
    for (int i = 0; i < 2 && want[i]; i++)
        if (s->seg[i].n_bytes != strlen(want[i]) ||
            memcmp(s->seg[i].text, want[i], s->seg[i].n_bytes) != 0)
            test_fail(__FILE__, __LINE__, "'%.*s', want '%s'", (int)s->seg[i].n_bytes,
                      s->seg[i].text, want[i]);
}

static void check_end(struct source *s)
{
    struct err err = {0};
    bool has;

    CHECK_OK(source_next(s, &has, &err), &err);
    CHECK(!has);
    source_close(s);
}

/* Reading to the end fails with this sentence. */
static void check_refused(const char *text, enum source_kind kind, const char *why)
{
    struct source s = over(text, kind, 0);
    struct err err = {0};
    status result = OK;
    bool has = true;

    while (result == OK && has)
        result = source_next(&s, &has, &err);
    source_close(&s);
    if (result != ERR_FORMAT || !strstr(err.msg, why))
        test_fail(__FILE__, __LINE__, "status %d '%s', want '%s'", (int)result,
                  result == OK ? "" : err.msg, why);
}

TEST(the_name_tells_the_kind)
{
    CHECK(source_kind_of("a.en") == SOURCE_TEXT && source_kind_of("a.gz") == SOURCE_TEXT);
    CHECK(source_kind_of("a.TSV") == SOURCE_TSV);
    CHECK(source_kind_of("a.tsv.zst") == SOURCE_TSV);
    CHECK(source_kind_of("newstest2014-deen-ref.de.sgm") == SOURCE_SGM);
    CHECK(source_kind_of("a.sgml.gz") == SOURCE_SGM &&
          source_kind_of("a.xml.xz") == SOURCE_SGM);
    CHECK(source_kind_of("a.tmx.xz") == SOURCE_TMX);
    CHECK(source_kind_of(".tsv") == SOURCE_TEXT && source_kind_of("tsv") == SOURCE_TEXT);
}

TEST(tsv_gives_two_columns_and_minds_no_quotes)
{
    struct source s = over("eins\tone\n\"a\t\"b\tmore\r\n\t\nx\ty", SOURCE_TSV, 0);

    check_row(&s, 1, "one", "eins");
    check_row(&s, 2, "\"b", "\"a");
    check_row(&s, 3, "", "");
    check_row(&s, 4, "y", "x");
    check_end(&s);
    check_refused(
        "a\tb\n\nc\td\n", SOURCE_TSV,
        "input:2: a line of 1 column, column 2 is wanted: columns are separated by "
        "tabs, and it has none; two files");
    check_refused("a;b;c\n", SOURCE_TSV, "it has none but 2 semicolons (tr ';' '\\t'");
}

static const char reference[] =
    "<refset setid=\"newstest\" srclang=\"any\" trglang=\"de\">\n"
    "<DOC sysid=\"ref\" docid=\"a/b\" genre=\"news\" origlang=\"en\">\n"
    "<hl>\n<seg id=\"1\"> Eins &amp; zwei </seg>\n</hl>\n"
    "<p>\n<SEG ID='2'>5 &lt; 6 < 7 &amp;amp; &#228;&#xDF; &bogus; AT&T</SEG>\n"
    "<seg id=3>zwei\nZeilen<br/><![CDATA[<roh>]]></seg>\n</p>\n</DOC>\n"
    "<doc sysid=\"ref2\" docid=\"a/b\"><seg id=\"1\">another</seg></doc>\n"
    "<doc sysid=\"ref\" docid=\"c\"><seg id=\"1\"></seg></doc>\n"
    "</refset>\n";

TEST(test_sets_give_their_segments_with_number_and_document)
{
    struct source s = over(reference, SOURCE_SGM, 1);

    check_row(&s, 4, "Eins & zwei", NULL);
    CHECK_STR(s.doc, "a/b");
    CHECK_STR(s.id, "1");
    check_row(&s, 7, "5 < 6 < 7 &amp; \xC3\xA4\xC3\x9F &bogus; AT&T", NULL);
    CHECK_STR(s.id, "2");
    check_row(&s, 8, "zwei Zeilen<roh>", NULL);
    check_row(&s, 13, "", NULL); /* the second reference is passed over */
    CHECK_STR(s.doc, "c");
    check_end(&s);
}

TEST(newer_test_sets_hold_both_sides)
{
    static const char set[] =
        "<?xml version='1.0' encoding='utf-8'?>\n<dataset id=\"wmt\">\n"
        "<doc origlang=\"en\" id=\"d1\"><src lang=\"en\"><p><seg id=\"1\">one</seg>\n"
        "<seg id=\"2\">two</seg></p></src>"
        "<ref lang=\"de\" translator=\"A\"><seg id=\"1\">eins</seg>"
        "<seg id=\"2\">zwei</seg></ref>"
        "<ref lang=\"de\" translator=\"B\"><seg id=\"1\">no</seg></ref>"
        "<hyp system=\"x\"><seg id=\"1\">no</seg></hyp></doc>\n"
        "<doc id=\"d2\"><ref><seg id=\"1\">drei</seg></ref>"
        "<src><seg id=\"1\">three</seg></src></doc></dataset>";
    struct source s = over(set, SOURCE_SGM, 0);

    check_row(&s, 3, "one", NULL);
    check_row(&s, 4, "two", NULL);
    check_row(&s, 5, "three", NULL);
    check_end(&s);
    s = over(set, SOURCE_SGM, 1);
    check_row(&s, 4, "eins", NULL);
    check_row(&s, 4, "zwei", NULL);
    check_row(&s, 5, "drei", NULL);
    CHECK_STR(s.doc, "d2");
    check_end(&s);
}

TEST(test_sets_that_cannot_be_are_refused_with_their_line)
{
    check_refused("<doc>\n<seg id=1>a\n<seg id=2>b</seg></doc>", SOURCE_SGM,
                  "input:3: <seg> inside the <seg> of line 2");
    check_refused("<doc>\n<seg id=1>a</doc>", SOURCE_SGM,
                  "input:2: </doc> inside the <seg> of line 2");
    check_refused("<doc docid=x>\n<seg id=1>a", SOURCE_SGM,
                  "ends inside the <seg> of line 2; was it cut?");
    check_refused("<doc docid=x>\n<seg id=1>a</seg>\n", SOURCE_SGM,
                  "input:3: the file ends inside document 'x'");
    check_refused("<doc docid=x>\n<seg id=1>a</seg>\n</do", SOURCE_SGM,
                  "input:3: the file ends inside a tag");
    check_refused("<seg>a</seg>\n<!-- b", SOURCE_SGM,
                  "input:2: the file ends inside a comment");
    check_refused("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><seg>a</seg>",
                  SOURCE_SGM, "input:1: the encoding is 'ISO-8859-1'");
}

TEST(a_tag_has_bounds)
{
    struct str text = str_new(0);

    str_puts(&text, "<seg id=\"");
    for (int i = 0; i < 2 * MARKUP_TAG_MAX; i++)
        str_putc(&text, 'x');
    str_puts(&text, "\">a</seg>");
    check_refused(str_text(&text), SOURCE_SGM, "input:1: a tag of more than 65535 bytes");
    str_release(&text);
}

TEST(a_segment_has_bounds)
{
    struct str text = str_new(0);
    struct err err = {0};
    bool has;

    str_puts(&text, "<seg id=\"1\">");
    for (int i = 0; i < LINE_READER_MAX + 5; i++)
        str_putc(&text, 'x');
    str_puts(&text, "</seg><seg>b</seg>");
    struct source s = over(str_text(&text), SOURCE_SGM, 0);
    CHECK_OK(source_next(&s, &has, &err), &err);
    CHECK(has && s.is_cut && s.seg[0].n_bytes <= LINE_READER_MAX);
    check_row(&s, 1, "b", NULL);
    CHECK(!s.is_cut);
    check_end(&s);
    str_release(&text);
}

/* The one segment of a file, n letters in a CDATA section. */
static size_t cdata_length(int n, bool *is_cut)
{
    struct str text = str_new(0);
    struct err err = {0};
    bool has;

    str_puts(&text, "<seg id=\"1\"><![CDATA[");
    for (int i = 0; i < n; i++)
        str_putc(&text, i < n - 1 ? 'x' : 'y');
    str_puts(&text, "]]></seg>");
    struct source s = over(str_text(&text), SOURCE_SGM, 0);
    CHECK_OK(source_next(&s, &has, &err), &err);
    CHECK(has);
    *is_cut = s.is_cut;
    const size_t len = s.seg[0].n_bytes;
    CHECK(s.is_cut || len == 0 || s.seg[0].text[len - 1] == 'y');
    check_end(&s);
    str_release(&text);
    return len;
}

TEST(text_that_is_quoted_whole_has_the_bounds_of_any_text)
{
    static const int whole[] = {0, 1, 4, 40000, LINE_READER_MAX};
    bool is_cut;

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        CHECK(cdata_length(whole[i], &is_cut) == (size_t)whole[i] && !is_cut);
    (void)cdata_length(LINE_READER_MAX + 1, &is_cut);
    CHECK(is_cut);
}

static const char memory[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!DOCTYPE tmx SYSTEM \"tmx14.dtd\" [ <!ENTITY x \"y>\"> ]>\n"
    "<tmx version=\"1.4\"><header srclang=\"en\" segtype=\"sentence\"/><body>\n"
    "<tu tuid=\"1\"><prop type=\"x\">no text</prop>\n"
    "<tuv xml:lang=\"EN_us\"><seg>one <bpt i=\"1\" x=\"a>b\">&lt;b&gt;</bpt>bold"
    "<ept i=\"1\">&lt;/b&gt;</ept> <hi>high</hi><ph/></seg></tuv>\n"
    "<tuv xml:lang=\"de-AT\"><note>nothing</note><seg>eins\n "
    "&quot;fett&quot;</seg></tuv>\n"
    "<tuv xml:lang=\"en\"><seg>second English</seg></tuv></tu>\n"
    "<tu><tuv xml:lang=\"en\"><seg>two</seg></tuv>"
    "<tuv xml:lang=\"de-DE\"><seg>zwei</seg></tuv></tu>\n"
    "<tu><tuv lang=\"de-at\"><seg>drei</seg></tuv><tuv lang=\"en-GB\"><seg/></tuv></tu>\n"
    "</body></tmx>\n";

TEST(a_translation_memory_gives_two_languages)
{
    struct source s = over(memory, SOURCE_TMX, 0);

    check_row(&s, 4, "one bold high", "eins  \"fett\"");
    check_row(&s, 10, "", "drei");
    check_end(&s);
}

TEST(units_without_both_languages_are_counted)
{
    struct source s = over(memory, SOURCE_TMX, 0);

    check_row(&s, 4, "one bold high", NULL);
    check_row(&s, 10, "", NULL);
    CHECK(s.n_skipped == 1); /* de-AT was asked for, de-DE is another */
    source_close(&s);
    check_refused("<tmx><body><tu><tuv xml:lang=\"fr\"><seg>un</seg></tuv>"
                  "<tuv xml:lang=\"it\"><seg>uno</seg></tuv></tu></body></tmx>",
                  SOURCE_TMX,
                  "none of its 1 units has both 'en' and 'de-AT'; the last one "
                  "has: fr, it");
}

TEST(memories_that_cannot_be_are_refused_with_their_line)
{
    check_refused("<tmx>\n<tu>\n<tu>", SOURCE_TMX,
                  "input:3: <tu> inside the <tu> of line 2");
    check_refused("<tmx>\n<tu>\n<tuv><seg>", SOURCE_TMX,
                  "input:3: a <tuv> without xml:lang");
    check_refused("<tmx>\n<tu>\n<tuv lang=\"en\"><seg>", SOURCE_TMX,
                  "ends inside the <tu> of line 2; was it cut?");
    check_refused("<tmx>\n<tu><tuv lang=\"en\"><seg>a<seg>", SOURCE_TMX,
                  "input:2: <seg> inside <seg>");
    check_refused("<tmx>\n<body>\n", SOURCE_TMX, "the file ends inside <tmx>");
}
