/* A meter reads what the system counts. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"
#include "train/log/meter.h"

static void set_counters(const char *card, const char *sent, const char *received)
{
    char dir[128], path[200];
    struct err err = {0};

    snprintf(dir, sizeof dir, "net/%s/statistics", card);
    CHECK_OK(file_make_dirs(test_path(dir), &err), &err);
    snprintf(path, sizeof path, "%s/tx_bytes", dir);
    CHECK_OK(file_write(test_path(path), sent, strlen(sent), &err), &err);
    snprintf(path, sizeof path, "%s/rx_bytes", dir);
    CHECK_OK(file_write(test_path(path), received, strlen(received), &err), &err);
}

static void set_errors(const char *card, const char *n)
{
    char path[200];
    struct err err = {0};

    snprintf(path, sizeof path, "net/%s/statistics/rx_errors", card);
    CHECK_OK(file_write(test_path(path), n, strlen(n), &err), &err);
}

static const struct meter_card *card_named(const struct meter_lap *lap, const char *name)
{
    for (size_t i = 0; i < lap->cards.n; i++)
        if (strcmp(lap->cards.card[i].name, name) == 0)
            return &lap->cards.card[i];
    return NULL;
}

TEST(cards_are_read_as_differences_without_the_loopback)
{
    struct meter m;
    char dir[300];

    set_counters("lo", "5\n", "5\n");
    set_counters("eth0", "100\n", "2000\n");
    snprintf(dir, sizeof dir, "%s", test_path("net"));
    meter_start(&m, dir, NULL);
    set_counters("lo", "50\n", "50\n");
    set_counters("eth0", "150\n", "12345678901\n");
    set_errors("eth0", "3\n");
    set_counters("new0", "7\n", "7\n"); /* came later: nothing to compare with */
    struct meter_lap lap = meter_next(&m);
    CHECK(lap.cards.n == 2 && !card_named(&lap, "lo"));
    CHECK(card_named(&lap, "eth0")->sent_bytes == 50);
    CHECK(card_named(&lap, "eth0")->received_bytes == 12345676901);
    CHECK(card_named(&lap, "eth0")->n_errors == 3);
    CHECK(card_named(&lap, "new0")->sent_bytes == 0);
    set_counters("eth0", "10\n", "12345678902\n"); /* reset */
    lap = meter_next(&m);
    CHECK(card_named(&lap, "eth0")->sent_bytes == 0);
    CHECK(card_named(&lap, "eth0")->received_bytes == 1);
}

TEST(a_busy_process_uses_about_a_core_and_some_memory)
{
    struct meter m;
    volatile double x = 1;

    meter_start(&m, "/no such directory", NULL);
    for (int i = 0; i < 20000000; i++)
        x = x * 1.0000001;
    const struct meter_lap lap = meter_next(&m);
    CHECK(!isfinite(lap.gpu.busy) && !isfinite(lap.gpu.power_w));
    CHECK(lap.cards.n == 0 && lap.seconds > 0 && lap.memory_mib > 0.5);
    CHECK(lap.cores > 0 && lap.cores < 4); /* a busy machine gives us less than one */
}
