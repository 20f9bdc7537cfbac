#include "launch/hosts.h"

#include "base/file.h"
#include "test.h"

static struct hosts h;
static struct err err;

static const char *text_of(void)
{
    static char text[256];
    struct str s = str_new(0);

    hosts_put(&h, &s);
    snprintf(text, sizeof text, "%s", str_text(&s));
    str_release(&s);
    return text;
}

static void write_file(const char *text)
{
    CHECK_OK(file_write(test_path("hosts"), text, strlen(text), &err), &err);
}

TEST(a_list_names_hosts_and_ranks)
{
    CHECK_OK(hosts_parse(&h, "a:2,node-7.example.org:16,c", &err), &err);
    CHECK(h.n == 3 && hosts_ranks(&h) == 19);
    CHECK_STR(text_of(), "a:2,node-7.example.org:16,c:1");
}

TEST(what_is_no_host_is_refused_by_name)
{
    CHECK_FAILS(hosts_parse(&h, "", &err), &err, ERR_USAGE, "empty");
    CHECK_FAILS(hosts_parse(&h, "a,,b", &err), &err, ERR_USAGE, "not a host's name");
    CHECK_FAILS(hosts_parse(&h, "-oProxyCommand=x", &err), &err, ERR_USAGE, "-oProxy");
    CHECK_FAILS(hosts_parse(&h, "a;reboot", &err), &err, ERR_USAGE, "a;reboot");
    CHECK_FAILS(hosts_parse(&h, "$(x)", &err), &err, ERR_USAGE, "$(x)");
    CHECK_FAILS(hosts_parse(&h, "a:0", &err), &err, ERR_USAGE, "host a: '0'");
    CHECK_FAILS(hosts_parse(&h, "a:", &err), &err, ERR_USAGE, "host a");
    CHECK_FAILS(hosts_parse(&h, "a:2x", &err), &err, ERR_USAGE, "2x");
    CHECK_FAILS(hosts_parse(&h, "a:-1", &err), &err, ERR_USAGE, "-1");
    CHECK_FAILS(hosts_parse(&h, "a:99999999999999", &err), &err, ERR_USAGE, "1024");
    CHECK_FAILS(hosts_parse(&h, "a:2,b,a", &err), &err, ERR_USAGE,
                "host a is listed twice");
}

TEST(names_of_any_length_are_safe)
{
    static char text[8192];

    memset(text, 'x', sizeof text - 1);
    CHECK_FAILS(hosts_parse(&h, text, &err), &err, ERR_USAGE, "too long");
    text[HOSTS_NAME] = '\0';
    CHECK_FAILS(hosts_parse(&h, text, &err), &err, ERR_USAGE, "not a host's name");
    text[HOSTS_NAME - 1] = '\0';
    CHECK_OK(hosts_parse(&h, text, &err), &err);
}

TEST(more_hosts_than_fit_are_refused)
{
    struct str s = str_new(0);

    for (int i = 0; i <= HOSTS_MAX; i++)
        str_printf(&s, "h%d,", i);
    CHECK_FAILS(hosts_parse(&h, str_text(&s), &err), &err, ERR_USAGE, "more than 2048");
    str_release(&s);
}

TEST(a_thousand_hosts_are_read_from_a_file)
{
    struct str s = str_new(0);

    for (int i = 0; i < 1000; i++)
        str_printf(&s, "node-%d.cluster.example slots=8\n", i);
    write_file(str_text(&s));
    CHECK_OK(hosts_read(&h, test_path("hosts"), &err), &err);
    CHECK(h.n == 1000 && hosts_ranks(&h) == 8000);
    CHECK_STR(hosts_of_rank(&h, 7999)->name, "node-999.cluster.example");
    str_release(&s);
}

TEST(a_file_may_be_of_either_library_with_comments)
{
    write_file("# our machines\na slots=2\n\nb:3   # the old one\r\nc\n"
               "d slots=4 max_slots=4");
    CHECK_OK(hosts_read(&h, test_path("hosts"), &err), &err);
    CHECK_STR(text_of(), "a:2,b:3,c:1,d:4");
}

TEST(a_bad_line_is_named_with_its_number)
{
    write_file("a slots=2\nb slots=two\n");
    CHECK_FAILS(hosts_read(&h, test_path("hosts"), &err), &err, ERR_USAGE, "hosts:2: ");
    write_file("a sockets=2\n");
    CHECK_FAILS(hosts_read(&h, test_path("hosts"), &err), &err, ERR_USAGE, "sockets=2");
    write_file("# none\n");
    CHECK_FAILS(hosts_read(&h, test_path("hosts"), &err), &err, ERR_USAGE,
                "names no host");
    CHECK_FAILS(hosts_read(&h, test_path("absent"), &err), &err, ERR_IO, "absent");
}

TEST(fewer_ranks_are_taken_from_the_end)
{
    CHECK_OK(hosts_parse(&h, "a:2,b:2,c:2", &err), &err);
    hosts_limit(&h, 3);
    CHECK_STR(text_of(), "a:2,b:1");
    hosts_limit(&h, 2);
    CHECK_STR(text_of(), "a:2");
    hosts_limit(&h, 9);
    CHECK_STR(text_of(), "a:2");
}

TEST(this_machine_is_known_by_its_names)
{
    CHECK(hosts_is_local("localhost"));
    CHECK(!hosts_is_local("surely-not-this-one"));
}
