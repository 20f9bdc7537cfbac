/* The thread that writes a run's sign of life. */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/file.h"
#include "recipe/pulse.h"
#include "train/run/pulse_writer.h"

static struct err err;

static int make_lock(void)
{
    const int fd = open(test_path(PULSE_LOCK), O_RDWR | O_CREAT, 0644);

    CHECK(fd >= 0);
    return fd;
}

/* The pulse, once it tells this step; a loaded machine may take a while. */
static struct pulse wait_for(uint64_t step)
{
    struct pulse p = {0};

    for (int i = 0; i < 600 && (!pulse_read(&p, test_path(PULSE_FILE)) || p.step != step);
         i++)
        poll(NULL, 0, 50);
    CHECK(p.step == step);
    return p;
}

TEST(the_pulse_tells_what_training_publishes_and_goes_when_it_ends)
{
    struct pulse_writer *w;
    struct phase phase = {0};
    struct pulse p;
    const int lock = make_lock();

    CHECK_OK(pulse_writer_open(&w, test_dir(), lock, &phase, &err), &err);
    CHECK(pulse_read(&p, test_path(PULSE_FILE))); /* at once */
    CHECK_STR(p.phase, "start");
    CHECK(p.pid == getpid() && p.lock && p.began <= p.now);
    phase_set(&phase, 7, PHASE_EVALUATE);
    CHECK_STR(wait_for(7).phase, "evaluate");
    phase_set(&phase, 8, PHASE_SAVE);
    CHECK_STR(wait_for(8).phase, "save");
    pulse_writer_close(w);
    CHECK(!file_exists(test_path(PULSE_FILE)));
    close(lock);
}

TEST(a_rank_that_was_replaced_leaves_the_pulse_of_its_successor_alone)
{
    struct pulse_writer *w;
    struct pulse p = {.host = "next", .lock = 1, .step = 99, .phase = "data"};
    const int lock = make_lock();

    CHECK_OK(pulse_writer_open(&w, test_dir(), lock, NULL, &err), &err);
    CHECK(unlink(test_path(PULSE_LOCK)) == 0);
    const int next = make_lock();
    pulse_write(test_path(PULSE_FILE), &p);
    poll(NULL, 0, 1500); /* it would have written by now */
    pulse_writer_close(w);
    CHECK(pulse_read(&p, test_path(PULSE_FILE)));
    CHECK_STR(p.host, "next");
    close(lock);
    close(next);
}
