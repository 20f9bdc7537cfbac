#include "launch/revival.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"

static struct pulse found;

static bool is_there(void)
{
    return pulse_read(&found, test_path("run/.pulse"));
}

TEST(the_launcher_beats_only_while_no_rank_holds_the_run_and_takes_it_back)
{
    struct revival v;
    struct err err;

    revival_open(&v, test_path("run"));
    revival_beat(&v, 7); /* there is no such directory */
    CHECK_OK(file_make_dirs(test_path("run"), &err), &err);
    revival_beat(&v, 7); /* nobody has ever trained there */
    CHECK(!is_there());
    const int fd = open(test_path("run/.lock"), O_RDWR | O_CREAT, 0644);
    CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
    revival_beat(&v, 7);
    CHECK(!is_there());
    CHECK(flock(fd, LOCK_UN) == 0);
    revival_beat(&v, 7);
    CHECK(is_there() && found.step == 7 && found.pid == (long)getpid());
    CHECK_STR(found.phase, PULSE_RESTART);
    CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0); /* the next start is not in its way */
    revival_end(&v);
    CHECK(!is_there());

    /* that of a rank stays */
    CHECK(flock(fd, LOCK_UN) == 0);
    revival_beat(&v, 8);
    found = v.pulse;
    snprintf(found.phase, sizeof found.phase, "compute");
    pulse_write(test_path("run/.pulse"), &found);
    revival_end(&v);
    CHECK(is_there());
    close(fd);
    revival_open(&v, "");
    revival_beat(&v, 1);
    revival_end(&v);
}
