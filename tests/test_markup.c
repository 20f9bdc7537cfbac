#include "markup/markup.h"

#include <stdlib.h>

#include "any_translator.h"
#include "test.h"

/* The texts of all segments, "|" between them. */
static const char *segments(const char *source, enum markup_format format)
{
    static char out[1024];
    struct markup m = {0};
    struct err err = {0};
    size_t n = 0;

    out[0] = '\0';
    CHECK_OK(markup_parse(&m, (struct line){source, strlen(source)}, format, &err), &err);
    for (size_t i = 0; i < m.n_segments; i++) {
        const struct line text = markup_text(&m, i);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%.*s", i ? "|" : "",
                              (int)text.n_bytes, text.text);
    }
    markup_release(&m);
    return out;
}

/* Where word i of a text begins, and its bytes. */
static struct line word_of(struct line text, size_t i)
{
    size_t at = 0;
    struct line word = any_word(text, &at);

    while (i--)
        word = any_word(text, &at);
    return word;
}

/* The source with this translation of its only segment. Links are pairs of numbers of
 * words that blanks divide: "0-1 1-0". */
static const char *join(const char *source, enum markup_format format,
                        const char *translation, const char *links)
{
    static char out[1024];
    struct markup m = {0};
    struct markup_link link[32];
    struct markup_translation t = {{translation, strlen(translation)}, link, 0};
    struct str s = str_new(0);
    struct err err = {0};
    unsigned a, b;
    int n;

    CHECK_OK(markup_parse(&m, (struct line){source, strlen(source)}, format, &err), &err);
    CHECK(m.n_segments == 1);
    const struct line text = markup_text(&m, 0);
    for (const char *at = links; sscanf(at, "%u-%u%n", &a, &b, &n) == 2; at += n) {
        const struct line x = word_of(text, a), y = word_of(t.text, b);
        CHECK(x.n_bytes && y.n_bytes);
        link[t.n_links++] =
            (struct markup_link){(size_t)(x.text - text.text), x.n_bytes,
                                 (size_t)(y.text - t.text.text), y.n_bytes};
    }
    CHECK_OK(markup_join(&s, &m, &t, NULL, &err), &err);
    snprintf(out, sizeof out, "%s", str_text(&s));
    str_release(&s);
    markup_release(&m);
    return out;
}

static const char *html(const char *source, const char *translation, const char *links)
{
    return join(source, MARKUP_HTML, translation, links);
}

static const char *text(const char *source, const char *translation, const char *links)
{
    return join(source, MARKUP_TEXT, translation, links);
}

/* What a translator that copies leaves of a text. */
static const char *copied(const char *source, enum markup_format format)
{
    static char out[2048];
    struct rng r = rng_open(1);
    struct str s = str_new(0);

    any_through(&s, (struct line){source, strlen(source)}, format, 0, &r);
    snprintf(out, sizeof out, "%s", str_text(&s));
    str_release(&s);
    return out;
}

TEST(blocks_divide_html_into_segments)
{
    CHECK_STR(
        segments("<h1>A b</h1>\n<p>c <b>d</b><p>e<ul><li>f<li>g</ul>h", MARKUP_HTML),
        "A b|c d|e|f|g|h");
    CHECK_STR(segments("one<br>two<hr/>three", MARKUP_HTML), "one|two|three");
    CHECK_STR(segments("<td>x y</td><td>z</td>", MARKUP_HTML), "x y|z");
    CHECK_STR(segments("<title>a &amp; b</title>", MARKUP_HTML), "a & b");
}

TEST(lines_divide_text_into_segments)
{
    CHECK_STR(segments("a b\n\n  c\r\n-- 12 --\nd", MARKUP_TEXT), "a b|c|d");
    CHECK_STR(segments("<b>a</b> &amp; b", MARKUP_TEXT), "<b>a</b> &amp; b");
    CHECK_STR(segments("", MARKUP_TEXT), "");
    CHECK_STR(segments("", MARKUP_HTML), "");
}

TEST(what_has_no_letters_is_not_translated)
{
    CHECK_STR(segments("<p>12 - 13</p><p>%s: {n}</p><p><code>x</code></p>", MARKUP_HTML),
              "");
}

TEST(script_style_comments_and_preformatted_text_are_not_translated)
{
    CHECK_STR(segments("<!DOCTYPE html><style>p > a {}</style>a<script>if (a<b) '</p>'"
                       "</script>b<pre>c <b>d</b></pre>e<!-- f <p> -->g<textarea>h"
                       "</textarea><![CDATA[ i ]]><svg><text>j</text></svg>k",
                       MARKUP_HTML),
              "ab|egk");
}

TEST(translate_no_is_kept_and_translate_yes_inside_is_not)
{
    CHECK_STR(
        segments("<p>a</p><div translate=no><p>b</p>c</div><p class='x notranslate'>"
                 "d</p>e",
                 MARKUP_HTML),
        "a|e");
    CHECK_STR(
        segments("<div TRANSLATE='no'>b<p translate='yes'>c d</p>e</div>f", MARKUP_HTML),
        "c d|f");
    CHECK_STR(html("<p>ask <span translate=\"no\">New  York</span> now</p>",
                   "jetzt fragen", "0-1 3-0"),
              "<p><span translate=\"no\">New  York</span> jetzt fragen</p>");
    CHECK_STR(html("<p>the <i translate=\"no\">make</i> program</p>",
                   "das Programm machen", "0-0 1-2 2-1"),
              "<p>das Programm <i translate=\"no\">make</i></p>");
}

TEST(inline_tags_follow_their_words)
{
    CHECK_STR(html("<p>I <b>really</b> like it.</p>", "Das gefällt mir wirklich .",
                   "0-2 1-3 2-1 3-0"),
              "<p>Das gefällt mir <b>wirklich</b> .</p>");
    CHECK_STR(html("<i>red</i> <b>cars</b>", "coches rojos", "0-1 1-0"),
              "<b>coches</b> <i>rojos</i>");
    CHECK_STR(
        html("er hat <b>gut</b> gespielt.", "he has played well.", "0-0 1-1 2-3 3-2"),
        "he has played <b>well</b>.");
    CHECK_STR(html("a <u>b <b>c</b></u> d", "C B A D", "0-2 1-1 2-0 3-3"),
              "<u><b>C</b> B</u> A D");
}

TEST(an_element_inside_of_another_ones_words_is_empty)
{
    CHECK_STR(html("<b>a c d e</b> <i>x</i>", "A C X D E", "0-0 1-1 2-3 3-4 4-2"),
              "<b>A C X D E</b><i></i>");
}

TEST(tags_around_a_whole_segment_stay_there)
{
    CHECK_STR(html("<p> <b><i>a b</i></b> </p>", "y z", "1-0"),
              "<p> <b><i>y z</i></b> </p>");
    CHECK_STR(html("<b>a</b>", "x y z", ""), "<b>x y z</b>");
}

TEST(without_links_tags_stand_in_proportion)
{
    CHECK_STR(html("one <b>two</b> three four", "eins zwei drei vier", ""),
              "eins <b>zwei</b> drei vier");
}

TEST(an_element_whose_words_vanish_is_empty)
{
    CHECK_STR(html("the <b>big</b> cat", "katze", "2-0"), "<b></b>katze");
    CHECK_STR(html("see <img src=x> this <a id=y></a>one", "dies sehen", "0-1 1-0 2-0"),
              "<img src=x> dies <a id=y></a>sehen");
}

TEST(misnested_tags_keep_their_order)
{
    CHECK_STR(html("a <b>b <i>c</b> d</i> e", "E D C B A", "0-4 1-3 2-2 3-1 4-0"),
              "E D C <b><i></b></i>B A");
    CHECK_STR(html("a </b>b <i>c", "A B C", "0-0 1-1 2-2"), "A </b>B <i>C");
    CHECK_STR(copied("a <b>b <i>c</b> d</i> </u> e <u>f", MARKUP_HTML),
              "a <b>b <i>c</b> d</i> </u> e <u>f");
}

TEST(references_are_decoded_and_written_as_before)
{
    CHECK_STR(
        segments("M&uuml;ller &amp; S&#246;hne &lt;x&gt; &copy 2 a&nbsp;b", MARKUP_HTML),
        "Müller & Söhne <x> © 2 a\u00A0b");
    CHECK_STR(html("M&uuml;ller &amp; Co", "Co & Müller <ü>", ""),
              "Co &amp; M&uuml;ller &lt;&uuml;&gt;");
    CHECK_STR(html("AT&T is big", "AT&T & AT&lt; <b>", ""),
              "AT&T & AT&amp;lt; &lt;b&gt;");
    CHECK_STR(html("a < b &unknown; c", "A < B C", "0-0 1-1 2-2 3-3"),
              "A < B &unknown; C");
}

TEST(placeholders_are_kept)
{
    CHECK_STR(
        text("Hello %s, you have %d messages", "Hallo %s , Sie haben %d Nachrichten", ""),
        "Hallo %s , Sie haben %d Nachrichten");
    /* changed by the translator */
    CHECK_STR(text("Hello {name} and bye", "Hallo {Name} und ciao", ""),
              "Hallo {name} und ciao");
    CHECK_STR(text("It is 3,5 kg heavy", "Es ist 3.5 kg schwer", ""),
              "Es ist 3,5 kg schwer");
    /* torn, and known by its links */
    CHECK_STR(text("Hello %1$s you", "Hallo %1 $s du", "0-0 1-1 1-2 2-3"),
              "Hallo %1$s du");
    /* lost */
    CHECK_STR(text("You have %d messages", "Sie haben Nachrichten", "0-0 1-1 3-2"),
              "Sie haben %d Nachrichten");
    /* said twice, and one that the source has not */
    CHECK_STR(text("Go to ${x} now", "Geh zu ${x} ${x} jetzt {y}", ""),
              "Geh zu ${x} jetzt");
    CHECK_STR(text("Say :ok: now", "Sag :ok: :ok:y jetzt", ""), "Sag :ok: y jetzt");
    CHECK_STR(text("Say :ok: and :ok:y", "Sag :ok: und :ok:y", ""), "Sag :ok: und :ok:y");
    /* as the translator sees them, with one blank */
    CHECK_STR(text("for ¥   5 m", "für ¥ 5 m", ""), "für ¥   5 m");
    CHECK_STR(text("for $ \t 5 or 6   km", "für $ 5 oder 6 km", ""),
              "für $ \t 5 oder 6   km");
    CHECK_STR(text("mail me@a.org or see http://b.org/c?d=1.", "", ""),
              "me@a.org http://b.org/c?d=1");
}

TEST(white_space_is_that_of_the_source)
{
    static const char *const sources[] = {
        "  a   b\t c \n\n\td  e",
        "<p>\n  one\n  two <b> three</b>  four <i>five </i> six\n</p>",
        "a<b> b </b>c",
        "<b> a</b> b <i>c </i>",
        "x  <a href='y'> z </a>  %s  w",
    };

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        CHECK_STR(copied(sources[i], i ? MARKUP_HTML : MARKUP_TEXT), sources[i]);
}

TEST(malformed_html_is_carried_through)
{
    static const char *const sources[] = {
        "a < b > c <3 & d &; &#; &#x; &#xD800; &#9;x &nosuch; e&f",

        "<p>x<a href=\"y z</p> w",
        "x <!-- y>",
        "x <![CDATA[ y>",
        "<",
        "&",
        "</",
        "</>x",
        "<p>x</q></p></p>",
        "<b><b><b>x",
        "x</b></b> y",
        "<x/>y<br/>z <b/>w",
        "<script>x",
        "x <script>y</scrip> z",
        "<a b='c>d' e=f/g>h</a>",
        "<p <b>x</b>",
        "a <?php x ?>b",
        "<!>c",
        "\xff\xfe <b>\xc3</b> d",
    };

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        CHECK_STR(copied(sources[i], MARKUP_HTML), sources[i]);
    CHECK_STR(copied("a <b c <d", MARKUP_HTML), "a &lt;b c &lt;d"); /* no tag ends */
}

/* The square of the length would take hours. */
TEST(hostile_texts_take_linear_time)
{
    static const char *const patterns[] = {
        "<",
        "&",
        "<b>",
        "</b>",
        "<b>x ",
        "<a ",
        "<!--",
        "<b x=\"",
        "{",
        "{a,",
        "%s ",
        "$",
        "a@",
        "1 ",
        "1;",
        "://,",
        "a://b,",
        "<i>%s",
        "a%s",
        "&a",
        "<x1></x2>",
        "<a>x</b>",
        "%<a>",
        "</a <",
        "<script",
        ":a",
        "<![CDATA[",
        "www.",
        "<b translate=no>",
        "x<code>y</code> ",
    };
    const size_t n_bytes = 1 << 18;
    char *source = malloc(n_bytes + 32);

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const size_t n = strlen(patterns[i]);
        struct str out = str_new(0);
        struct rng r = rng_open(i);
        size_t n_left = 0;
        for (size_t at = 0; at < n_bytes; at += n)
            memcpy(source + at, patterns[i], n);
        CHECK(any_holds((struct line){source, n_bytes / n * n}, MARKUP_HTML, 20, &r, &out,
                        &n_left));
        str_release(&out);
    }
    free(source);
}
