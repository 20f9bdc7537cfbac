/* A run's state, by its log, the lock on its directory and its pulse. */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os.h"
#include "made_run.h"
#include "recipe/pulse.h"
#include "report/judge/judgement.h"

static struct err err;

/* A log of 100 steps of 2 s in lines of 50; its last line is of time 1e9. From there on
 * it has a line every log_every steps. */
static void put_log_every(int log_every, const char *end)
{
    char host[PULSE_HOST], line[4096];

    os_host_name(host, sizeof host);
    const int n = snprintf(
        line, sizeof line,
        "{\"event\":\"start\",\"t\":999999800,\"step\":0,\"host\":\"%s\",\"ranks\":1,"
        "\"config\":{\"max_steps\":1000,\"log_every\":%d}}\n"
        "{\"event\":\"step\",\"t\":999999900,\"step\":50,\"steps\":50,\"t_step\":100,"
        "\"loss\":3}\n"
        "{\"event\":\"step\",\"t\":1000000000,\"step\":100,\"steps\":50,\"t_step\":100,"
        "\"loss\":2}\n%s",
        host, log_every, end);
    CHECK_OK(file_make_dirs(test_path("a run"), &err), &err);
    CHECK_OK(file_write(test_path("a run/run.jsonl"), line, (size_t)n, &err), &err);
}

static void put_log(const char *end)
{
    put_log_every(50, end);
}

/* The lock of the directory, held; closing it frees it. */
static int hold(void)
{
    const int fd = open(test_path("a run/.lock"), O_RDWR | O_CREAT, 0644);

    CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    return fd;
}

static struct pulse pulse_at(double now)
{
    struct stat st;
    struct pulse p = {.pid = 7, .began = 999999790, .now = now, .step = 137};

    CHECK(stat(test_path("a run/.lock"), &st) == 0);
    p.lock = (uint64_t)st.st_ino;
    os_host_name(p.host, sizeof p.host);
    snprintf(p.phase, sizeof p.phase, "compute");
    return p;
}

static void beat(struct pulse p)
{
    pulse_write(test_path("a run/.pulse"), &p);
}

/* The state at this time, and a text that its sentence and command hold. */
static void check_state(double now, enum run_state want, const char *text)
{
    RELEASED_BY(mem_release) struct judgement *j = NULL;
    struct str said = str_new(0);

    CHECK_OK(mem_alloc(&j, 1, sizeof *j, &err), &err);
    CHECK_OK(judgement_look(j, test_path("a run"), now, NULL, &err), &err);
    run_state_say(&said, &j->run);
    str_putc(&said, ' ');
    run_state_command(&said, &j->run);
    if (j->run.state != want || !strstr(str_text(&said), text))
        test_fail(__FILE__, __LINE__, "%s: %s; want %s and '%s'",
                  run_state_codes[j->run.state], str_text(&said), run_state_codes[want],
                  text);
    str_release(&said);
    judgement_close(j);
}

TEST(a_process_that_holds_the_lock_and_beats_is_running_however_silent_its_log)
{
    put_log("");
    const int lock = hold();
    beat(pulse_at(1e9 + 86400));
    check_state(1e9 + 86402, RUN_RUNNING, "computing after step 137");
    close(lock);
}

TEST(a_lock_without_a_pulse_is_of_an_older_program_that_runs)
{
    put_log("");
    const int lock = hold();
    check_state(1e9 + 86400, RUN_RUNNING, "the last entry, at step 100");
    close(lock);
}

TEST(a_lock_that_is_held_without_a_sign_of_life_is_of_a_frozen_process)
{
    put_log("");
    const int lock = hold();
    beat(pulse_at(1e9 + 60));
    check_state(1e9 + 70, RUN_RUNNING, "");
    check_state(1e9 + 90, RUN_FROZEN, "kill -CONT 7");
    close(lock);
}

TEST(a_process_whose_step_never_ends_is_frozen_and_one_that_evaluates_is_not)
{
    put_log("");
    const int lock = hold();
    struct pulse p = pulse_at(1e9 + 2000);
    p.since = 30;
    beat(p);
    check_state(1e9 + 2001, RUN_RUNNING, "");
    p.since = 1990;
    beat(p);
    check_state(1e9 + 2001, RUN_FROZEN, "has been computing for 33");
    snprintf(p.phase, sizeof p.phase, "evaluate");
    beat(p);
    check_state(1e9 + 2001, RUN_RUNNING, "evaluating");
    close(lock);
}

TEST(a_free_lock_is_of_a_process_that_is_gone)
{
    put_log("");
    int lock = hold();
    beat(pulse_at(1e9 + 60));
    close(lock);
    check_state(1e9 + 61, RUN_DIED, "Died after step 137");
    check_state(1e9 + 61, RUN_DIED, "ferry train run='");
    CHECK_OK(file_remove(test_path("a run/.pulse"), &err), &err);
    check_state(1e9 + 61, RUN_DIED, "without a stop event");
}

TEST(a_run_between_two_starts_of_its_launcher_is_running_while_that_lives)
{
    put_log("");
    int lock = hold();
    struct pulse p = pulse_at(1e9 + 60);

    close(lock);
    snprintf(p.phase, sizeof p.phase, PULSE_RESTART);
    beat(p);
    check_state(1e9 + 61, RUN_RUNNING, "being started again by ferry launch after step");
    check_state(1e9 + 100, RUN_DIED, "Died after step 137");
}

TEST(of_a_copied_directory_the_log_tells)
{
    put_log("");
    struct pulse p;
    int lock = hold();

    close(lock);
    p = pulse_at(1e9 + 60);
    p.lock++;
    beat(p);
    check_state(1e9 + 400, RUN_RUNNING, "");
    check_state(1e9 + 3600, RUN_DIED, "without a stop event");
}

TEST(of_another_host_a_pulse_counts_where_its_lock_does_not_show)
{
    put_log("");
    const int lock = hold();
    close(lock);
    struct pulse p = pulse_at(1e9 + 86400);
    snprintf(p.host, sizeof p.host, "elsewhere.%s", "example");
    beat(p);
    check_state(1e9 + 86430, RUN_RUNNING, "");
    check_state(1e9 + 86600, RUN_DIED, "Died after step 137");
}

#define STOP(reason)                                                         \
    "{\"event\":\"stop\",\"t\":1000000001,\"step\":100,\"reason\":\"" reason \
    "\",\"message\":\"why\"}\n"

TEST(the_last_word_of_a_log_tells_stopped_finished_and_died_apart)
{
    static const struct {
        const char *end, *text;
        enum run_state want;
    } cases[] = {
        {STOP("signal"), "ferry train run=", RUN_STOPPED},
        {STOP("max_steps"), "all its steps are done. ", RUN_FINISHED},
        {STOP("max_epochs"), "Finished at step 100", RUN_FINISHED},
        {STOP("early_stop"), "Finished at step 100", RUN_FINISHED},
        {STOP("error"), "\u201cwhy\u201d", RUN_DIED},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_log(cases[i].end);
        const int lock = hold(); /* it has not let go yet */
        beat(pulse_at(1e9 + 1));
        check_state(1e9 + 2, cases[i].want, cases[i].text);
        close(lock);
        check_state(1e9 + 2, cases[i].want, cases[i].text);
    }
}

TEST(a_run_that_is_started_again_runs_before_its_log_says_so)
{
    put_log(STOP("signal"));
    const int lock = hold();
    struct pulse p = pulse_at(1e9 + 50);
    p.began = 1e9 + 40;
    beat(p);
    check_state(1e9 + 51, RUN_RUNNING, "starting up");
    close(lock);
    check_state(1e9 + 51, RUN_STOPPED, "ferry train");
}

TEST(a_run_that_starts_for_the_first_time_has_no_log_and_runs)
{
    CHECK_OK(file_make_dirs(test_path("a run"), &err), &err);
    const int lock = hold();
    beat(pulse_at(1e9 + 50));
    check_state(1e9 + 51, RUN_RUNNING, "starting up");
    close(lock);
    check_state(1e9 + 51, RUN_EMPTY, "");
}

TEST(a_run_of_several_hosts_goes_on_by_a_command_that_names_them)
{
    struct made_run m = made_healthy(3);

    made_distributed(&m);
    m.steps = 200;
    m.has_no_end = true;
    made_write(&m, test_path("a run"));
    check_state(m.t + 86400, RUN_DIED,
                "ferry launch -H n0:1,n1:1,n2:1,n3:1 -- train run='");
}

TEST(a_damaged_pulse_is_none)
{
    put_log("");
    const int lock = hold();
    static const char *const bad[] = {"", "ferry 1 host\n", "ferry 1 h 1 2 nan 1 1 1 x"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_OK(file_write(test_path("a run/.pulse"), bad[i], strlen(bad[i]), &err),
                 &err);
        check_state(1e9 + 86400, RUN_RUNNING, "the last entry");
    }
    close(lock);
}

TEST(a_pulse_is_a_file_or_none)
{
    put_log("");
    const int lock = hold();
    const char *path = test_path("a run/.pulse");

    CHECK(mkfifo(path, 0600) == 0);
    check_state(1e9 + 86400, RUN_RUNNING, "the last entry");
    beat(pulse_at(1e9));
    CHECK(unlink(path) == 0);
    CHECK_OK(file_write(test_path("other"), "x", 1, &err), &err);
    CHECK(symlink(test_path("other"), path) == 0);
    beat(pulse_at(1e9));
    CHECK(file_bytes(test_path("other")) == 1);
    close(lock);
}

TEST(a_silent_log_alone_is_judged_by_its_own_pace)
{
    put_log("");
    check_state(1e9 + 350, RUN_RUNNING, "");
    check_state(1e9 + 700, RUN_DIED, "");
    put_log_every(500, "");
    check_state(1e9 + 4900, RUN_RUNNING, "");
    check_state(1e9 + 5100, RUN_DIED, "");
}
