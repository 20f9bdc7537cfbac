#include "base/err.h"

#include "test.h"

static status fails_inside(struct err *err)
{
    TRY(err_set(err, ERR_FORMAT, "line %d is bad", 3));
    return OK;
}

TEST(a_failure_carries_its_code_and_sentence)
{
    struct err err = {0};

    CHECK_FAILS(err_set(&err, ERR_IO, "%s: %d", "x", 7), &err, ERR_IO, "x: 7");
    CHECK(err.code == ERR_IO);
    CHECK_FAILS(fails_inside(&err), &err, ERR_FORMAT, "line 3 is bad");
}

TEST(context_is_put_before_the_sentence)
{
    struct err err = {0};

    (void)fails_inside(&err);
    CHECK(err_wrap(&err, "file %s", "a.txt") == ERR_FORMAT);
    CHECK(err_wrap(&err, "preparing") == ERR_FORMAT);
    CHECK_STR(err.msg, "preparing: file a.txt: line 3 is bad");
}

TEST(messages_are_cut_and_never_overflow)
{
    char text[3000];
    struct err err = {0};

    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    (void)err_set(&err, ERR_IO, "%s", text);
    CHECK(strlen(err.msg) == sizeof err.msg - 1);
    (void)err_wrap(&err, "context");
    CHECK(strncmp(err.msg, "context: aaa", 12) == 0);
    CHECK(strlen(err.msg) < sizeof err.msg);
    for (size_t n = sizeof err.msg - 6; n < sizeof err.msg + 3; n++) {
        (void)err_set(&err, ERR_IO, "inner");
        CHECK(err_wrap(&err, "%.*s", (int)n, text) == ERR_IO);
        CHECK(strlen(err.msg) < sizeof err.msg);
    }
}

TEST(every_status_has_its_own_exit_status_and_text)
{
    static const status all[] = {
#define X(code, exit_status, text) code,
        STATUS_LIST(X)
#undef X
    };
    const size_t n = sizeof all / sizeof *all;

    CHECK(OK == 0);
    for (size_t i = 0; i < n; i++) {
        CHECK(*status_text(all[i]));
        for (size_t j = 0; j < i; j++) {
            CHECK(all[i] != all[j]);
            CHECK(strcmp(status_text(all[i]), status_text(all[j])) != 0);
        }
    }
    CHECK_STR(status_text((status)99), "unknown status");
}

TEST(foreign_bytes_in_a_message_are_spelled)
{
    struct err err = {0};

    (void)err_set(&err, ERR_IO, "%s is not there", "x\x1B]0;owned\x07");
    (void)err_wrap(&err, "%s", "y\x1B[2J");
    CHECK_STR(err.msg, "y\\x1B[2J: x\\x1B]0;owned\\x07 is not there");
}
