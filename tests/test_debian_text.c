#include "fetch/debian.h"

#include "test.h"

static struct debian_text t;
static struct err err;

static void parse(const char *text)
{
    debian_text_release(&t);
    CHECK_OK(debian_text_add(&t, text, strlen(text), "de", &err), &err);
    debian_text_sort(&t);
}

#define MD5_A "0123456789abcdef0123456789abcdef"
#define MD5_B "f123456789abcdef0123456789abcdef"

TEST(a_stanza_has_a_package_a_key_and_a_text)
{
    parse("Package: b\nDescription-md5: " MD5_B "\nDescription-de: Zwei\n\n\n"
          "Package: a\r\nDescription-md5: " MD5_A "\r\n"
          "Description-de: Titel \r\n Zeile\r\n .\r\n  * Punkt\r\nSection: x\r\n");
    CHECK(t.n == 2 && t.n_bad == 0);
    const struct debian_text_item *i = &t.item[0];
    CHECK(memcmp(i->md5, MD5_A, DEBIAN_MD5) == 0);
    CHECK(i->n_package == 1 && i->package[0] == 'a');
    CHECK(i->n_text == strlen("Titel \r\n Zeile\r\n .\r\n  * Punkt"));
    CHECK(debian_text_find(&t, i->md5) == i);
    CHECK(debian_text_find(&t, "0123456789abcdef0123456789abcdee") == NULL);
    debian_text_release(&t);
}

TEST(a_stanza_without_its_fields_is_counted)
{
    parse("Package: a\nDescription-de: x\n\n"
          "Package: a\nDescription-md5: xyz\nDescription-de: x\n\n"
          "Description-md5: " MD5_A "\nDescription-de: x\n\n"
          "Package: a\nDescription-md5: " MD5_A "\nDescription-en: x\n\n"
          "Package: a\nDescription-md5: " MD5_A "\nDescription-de:\n\n"
          "junk\n\n ");
    CHECK(t.n == 0 && t.n_bad == 7);
}

TEST(the_same_text_twice_is_one)
{
    parse("Package: b\nDescription-md5: " MD5_A "\nDescription-de: x\n\n"
          "Package: a\nDescription-md5: " MD5_A "\nDescription-de: x\n");
    CHECK(t.n == 1 && t.n_again == 1);
    CHECK(t.item[0].package[0] == 'a');
    debian_text_release(&t);
}

TEST(no_bytes_are_no_stanzas)
{
    parse("");
    CHECK(t.n == 0 && t.n_bad == 0);
    parse("\n\n\n");
    CHECK(t.n == 0 && t.n_bad == 0);
}
