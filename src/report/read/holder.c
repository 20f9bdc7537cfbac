#include "report/read/holder.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"

/* A pulse is written every second. So much older it is none, here and on another host,
 * whose clock may differ. */
static const double t_silent = 20, t_silent_elsewhere = 90;

static bool is_this_host(const char *host)
{
    char own[PULSE_HOST];

    os_host_name(own, sizeof own);
    return host && strcmp(host, own) == 0;
}

static enum holder_kind judge(const struct holder *h, enum pulse_lock lock,
                              const char *host)
{
    const bool is_here = is_this_host(h->has_pulse ? h->pulse.host : host);
    const bool is_silent = h->age > (is_here ? t_silent : t_silent_elsewhere);

    if (lock == PULSE_LOCK_HELD)
        return is_silent ? HOLDER_FROZEN : HOLDER_ALIVE;
    const bool is_restarted = h->has_pulse && strcmp(h->pulse.phase, PULSE_RESTART) == 0;
    if (lock == PULSE_LOCK_FREE && is_here && !is_restarted)
        return HOLDER_GONE;
    /* Not every disk passes the locks of other hosts on. */
    if (!h->has_pulse)
        return HOLDER_UNKNOWN;
    return is_silent ? HOLDER_GONE : HOLDER_ALIVE;
}

void holder_find(struct holder *h, const char *dir, const char *host, double now)
{
    char path[FILE_PATH_MAX], lock_path[FILE_PATH_MAX];
    struct err ignored;
    uint64_t number;

    *h = (struct holder){.age = NAN};
    if (file_join(path, sizeof path, dir, PULSE_FILE, &ignored) != OK ||
        file_join(lock_path, sizeof lock_path, dir, PULSE_LOCK, &ignored) != OK)
        return;
    const enum pulse_lock lock = pulse_look_at_lock(lock_path, &number);
    const bool is_read = pulse_read(&h->pulse, path);
    h->has_pulse = is_read && number && h->pulse.lock == number;
    h->age = h->has_pulse ? now - h->pulse.now : NAN;
    /* What was copied has a lock that nobody will take. */
    const bool is_copy = is_read && !h->has_pulse && lock != PULSE_LOCK_HELD;
    h->kind = is_copy ? HOLDER_UNKNOWN : judge(h, lock, host);
}
