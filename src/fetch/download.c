#include "fetch/download.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

enum { PROGRESS_BYTES = 1 << 20, MAX_PAUSE = 60 };

static void forget(struct download_part *p)
{
    p->n = 0;
    p->n_total = -1;
    p->validator[0] = '\0';
}

/* What PATH.meta says, if it is about this address; otherwise the download starts over.
 */
static void read_meta(struct download_part *p)
{
    struct file_map m;
    struct err ignored;
    char text[DOWNLOAD_URL + DOWNLOAD_TEXT + 64], url[DOWNLOAD_URL];
    const int64_t n_bytes = file_bytes(p->path);

    forget(p);
    if (n_bytes <= 0 || file_map_open(&m, p->meta, &ignored) != OK)
        return;
    snprintf(text, sizeof text, "%.*s", (int)(m.n_bytes < 4096 ? m.n_bytes : 0),
             m.n_bytes ? (const char *)m.data : "");
    file_map_close(&m);
    int64_t n_total = -1;
    if (sscanf(text, "%2047s\n%" SCNd64 "\n%255[^\n]", url, &n_total, p->validator) < 3 ||
        strcmp(url, p->url) != 0 || (n_total >= 0 && n_bytes > n_total)) {
        p->validator[0] = '\0';
        return;
    }
    p->n_total = n_total;
    p->n = (uint64_t)n_bytes;
}

static status write_meta(const struct download_part *p, struct err *err)
{
    char text[DOWNLOAD_URL + DOWNLOAD_TEXT + 64];

    const int n = snprintf(text, sizeof text, "%s\n%" PRId64 "\n%s\n", p->url, p->n_total,
                           p->validator);
    return file_write(p->meta, text, (size_t)n, err);
}

static status check_room(const struct download_part *p, struct err *err)
{
    struct statvfs fs;

    if (p->n_total < 0 || fstatvfs(p->fd, &fs) != 0)
        return OK;
    const uint64_t n_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    const uint64_t n_want = (uint64_t)p->n_total - p->n;
    if (n_want > n_free)
        return err_set(err, ERR_IO,
                       "%s: %" PRIu64
                       " MB are still to be downloaded and the disk has room for %" PRIu64
                       " MB",
                       p->path, n_want / 1000000, n_free / 1000000);
    return OK;
}

/* Old bytes go before the note of the new version comes: never both. */
status download_begin(struct download_part *p, bool is_rest, int64_t n_total,
                      const char *validator, struct err *err)
{
    if (!is_rest) {
        p->n = 0;
        if (ftruncate(p->fd, 0) != 0)
            return file_error(err, p->path);
        p->n_total = n_total;
        snprintf(p->validator, sizeof p->validator, "%s", validator);
        TRY(write_meta(p, err));
    }
    TRY(check_room(p, err));
    p->n_shown = p->n;
    progress_begin(p->config->progress, p->config->label, "kB",
                   p->n_total < 0 ? 0 : ((uint64_t)p->n_total - p->n) / 1000);
    return OK;
}

status download_add(struct download_part *p, const void *bytes, size_t n, struct err *err)
{
    const char *next = bytes;

    while (n) {
        const ssize_t done = pwrite(p->fd, next, n, (off_t)p->n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return file_error(err, p->path);
        next += done;
        n -= (size_t)done;
        p->n += (uint64_t)done;
    }
    progress_update(p->config->progress, (p->n - p->n_shown) / 1000);
    return OK;
}

static void pause_before(const struct download_part *p, int64_t n_failed, const char *why,
                         double t_wait)
{
    double t = p->config->t_backoff;
    char line[DOWNLOAD_TEXT * 3];

    for (int64_t i = 1; i < n_failed && t < MAX_PAUSE; i++)
        t *= 2;
    t = t < MAX_PAUSE ? t : MAX_PAUSE;
    t = t > t_wait ? t : t_wait;
    snprintf(line, sizeof line, "%s: %s; again in %.0f s", p->config->label, why, t);
    progress_note(p->config->progress, line);
    const struct timespec nap = {(time_t)t, (long)((t - (double)(time_t)t) * 1e9)};
    nanosleep(&nap, NULL);
}

static status start_over(struct download_part *p, struct err *err)
{
    forget(p);
    if (ftruncate(p->fd, 0) != 0)
        return file_error(err, p->path);
    return file_remove(p->meta, err);
}

static bool is_whole(const struct download_part *p)
{
    return p->n > 0 && p->n_total >= 0 && p->n == (uint64_t)p->n_total;
}

static status give_up(const struct download_part *p, const struct download_try *r,
                      int64_t n_failed, struct err *err)
{
    if (r->end == DOWNLOAD_NEVER)
        return err_set(err, ERR_IO, "%.300s: %s", p->url, r->why);
    return err_set(err, ERR_IO,
                   "%.300s: gave up after %" PRId64
                   " tries: %s; the same command continues from where it stopped",
                   p->url, n_failed, r->why);
}

/* Until it is whole, or trying again is no use. */
static status get_all(struct download_part *p, bool *is_local, struct err *err)
{
    struct download_try r = {.end = DOWNLOAD_WHOLE};
    int64_t n_failed = 0;

    read_meta(p);
    while (!is_whole(p)) {
        const uint64_t n_before = p->n;
        *is_local = true;
        TRY(download_http(p, &r, err));
        if (r.end == DOWNLOAD_STALE)
            TRY(start_over(p, err));
        *is_local = false;
        if (r.end == DOWNLOAD_WHOLE)
            break;
        if (p->n > n_before + PROGRESS_BYTES)
            n_failed = 0;
        if (r.end == DOWNLOAD_NEVER || ++n_failed > p->config->retries)
            return give_up(p, &r, n_failed, err);
        pause_before(p, n_failed, r.why, r.t_wait);
    }
    *is_local = true;
    if (fsync(p->fd) != 0)
        return file_error(err, p->path);
    progress_end(p->config->progress, (p->n - p->n_shown) / 1000);
    return OK;
}

status download_get(const struct download_config *c, const char *url, const char *path,
                    bool *is_local, struct err *err)
{
    struct download_part p = {.config = c, .url = url, .path = path, .n_total = -1};

    *is_local = true;
    TRY(file_path(p.meta, err, "%s.meta", path));
    TRY(file_open_regular(&p.fd, path, O_WRONLY | O_CREAT, err));
    const status result = get_all(&p, is_local, err);
    close(p.fd);
    return result;
}

status download_discard(const char *path, struct err *err)
{
    char meta[FILE_PATH_MAX];

    TRY(file_path(meta, err, "%s.meta", path));
    TRY(file_remove(path, err));
    return file_remove(meta, err);
}

status download_commit(const char *path, const char *name, struct err *err)
{
    char meta[FILE_PATH_MAX];

    TRY(file_path(meta, err, "%s.meta", path));
    TRY(file_rename(path, name, err));
    return file_remove(meta, err);
}
