#include "launch/hosts.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/os.h"

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789._-";

static status add_host(struct hosts *h, const char *name, size_t n, const char *number,
                       struct err *err)
{
    char *end = NULL;
    const long ranks = number ? strtol(number, &end, 10) : 1;

    if (n == 0 || n >= HOSTS_NAME || name[0] == '-' || strspn(name, name_letters) < n)
        return err_set(
            err, ERR_USAGE,
            "'%.*s' is not a host's name; write letters, digits, '.', '-', '_'",
            (int)(n < 80 ? n : 80), name);
    if (number && (end == number || ranks < 1 || ranks > HOSTS_RANKS_MAX))
        return err_set(err, ERR_USAGE,
                       "host %.*s: '%.20s' is not a number of ranks from 1 to %d", (int)n,
                       name, number, HOSTS_RANKS_MAX);
    for (size_t i = 0; i < h->n; i++)
        if (strlen(h->host[i].name) == n && memcmp(h->host[i].name, name, n) == 0)
            return err_set(err, ERR_USAGE, "host %.*s is listed twice", (int)n, name);
    if (h->n == HOSTS_MAX)
        return err_set(err, ERR_USAGE, "more than %d hosts", HOSTS_MAX);
    struct host *to = &h->host[h->n++];
    *to = (struct host){.n_ranks = (size_t)ranks};
    memcpy(to->name, name, n);
    return OK;
}

/* The number must be all that follows. */
static status check_rest(const char *number, const char *rest, struct err *err)
{
    if (number && rest[strspn(rest, "0123456789")])
        return err_set(err, ERR_USAGE, "'%.40s' is not a number of ranks", rest);
    return OK;
}

status hosts_parse(struct hosts *h, const char *list, struct err *err)
{
    char item[HOSTS_NAME + 32];

    *h = (struct hosts){.n = 0};
    for (const char *p = list; *p; p += *p == ',') {
        const size_t n = strcspn(p, ",");
        if (n >= sizeof item)
            return err_set(err, ERR_USAGE, "'%.80s...' is too long for a host", p);
        memcpy(item, p, n);
        item[n] = '\0';
        const char *colon = strchr(item, ':');
        TRY(check_rest(colon, colon ? colon + 1 : "", err));
        TRY(add_host(h, item, colon ? (size_t)(colon - item) : n,
                     colon ? colon + 1 : NULL, err));
        p += n;
    }
    if (h->n == 0)
        return err_set(err, ERR_USAGE, "the list of hosts is empty; write a:2,b:2");
    return OK;
}

/* "name", "name:2", "name slots=2"; other words of Open MPI's are refused by name. */
static status add_line(struct hosts *h, char *line, struct err *err)
{
    const char *space = " \t\r";
    char *save = NULL, *name, *word;

    line[strcspn(line, "#")] = '\0';
    name = strtok_r(line, space, &save);
    if (!name)
        return OK;
    char *number = strchr(name, ':');
    const size_t n = number ? (size_t)(number - name) : strlen(name);
    number = number ? number + 1 : NULL;
    while ((word = strtok_r(NULL, space, &save))) {
        if (strncmp(word, "slots=", 6) == 0)
            number = word + 6;
        else if (strncmp(word, "max_slots=", 10) != 0 &&
                 strncmp(word, "max-slots=", 10) != 0)
            return err_set(err, ERR_USAGE, "'%.40s' is not slots=N", word);
    }
    TRY(check_rest(number, number ? number : "", err));
    return add_host(h, name, n, number, err);
}

status hosts_read(struct hosts *h, const char *path, struct err *err)
{
    struct lines in;
    struct line line;
    char text[512];
    status result = OK;

    *h = (struct hosts){.n = 0};
    TRY(lines_open(&in, path, err));
    while (result == OK && lines_next(&in, &line)) {
        if (line.n_bytes >= sizeof text || memchr(line.text, 0, line.n_bytes)) {
            result = err_set(err, ERR_USAGE, "not a line of hosts");
        } else {
            memcpy(text, line.text, line.n_bytes);
            text[line.n_bytes] = '\0';
            result = add_line(h, text, err);
        }
    }
    if (result != OK)
        (void)err_wrap(err, "%s:%zu", path, (size_t)in.n_read);
    else if (h->n == 0)
        result = err_set(err, ERR_USAGE, "%s names no host", path);
    lines_close(&in);
    return result;
}

size_t hosts_ranks(const struct hosts *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        n += h->host[i].n_ranks;
    return n;
}

double hosts_per_core(const struct hosts *h)
{
    double most = 0;

    for (size_t i = 0; i < h->n; i++) {
        const double n = (double)h->host[i].n_ranks;
        const size_t n_cores = h->host[i].n_cores;
        const double share = n_cores ? n / (double)n_cores : 1;
        most = share > most ? share : most;
    }
    return most;
}

const struct host *hosts_of_rank(const struct hosts *h, size_t rank)
{
    const struct host *at = h->host;

    for (; rank >= at->n_ranks; at++)
        rank -= at->n_ranks;
    return at;
}

void hosts_limit(struct hosts *h, size_t n_ranks)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++) {
        if (n == n_ranks) {
            h->n = i;
            return;
        }
        if (h->host[i].n_ranks > n_ranks - n)
            h->host[i].n_ranks = n_ranks - n;
        n += h->host[i].n_ranks;
    }
}

void hosts_put(const struct hosts *h, struct str *out)
{
    for (size_t i = 0; i < h->n; i++)
        str_printf(out, "%s%s:%zu", i ? "," : "", h->host[i].name, h->host[i].n_ranks);
}

bool hosts_is_local(const char *name)
{
    char own[256];

    if (strcmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0)
        return true;
    os_host_name(own, sizeof own);
    if (strcmp(name, own) == 0)
        return true;
    own[strcspn(own, ".")] = '\0';
    return strcmp(name, own) == 0;
}

/* A datagram socket that is connected has been routed. */
static bool own_end(char *out, size_t n, const struct addrinfo *to)
{
    struct sockaddr_storage own = {0};
    socklen_t n_own = sizeof own;
    const int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return false;
    const bool found = connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
                       getsockname(fd, (struct sockaddr *)&own, &n_own) == 0 &&
                       getnameinfo((struct sockaddr *)&own, n_own, out, (socklen_t)n,
                                   NULL, 0, NI_NUMERICHOST) == 0;
    close(fd);
    return found;
}

status hosts_route(char *out, size_t n, const char *host, struct err *err)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;

    const int bad = getaddrinfo(host, "9", &hints, &found);
    if (bad)
        return err_set(err, ERR_USAGE,
                       "host %s has no address here (%s); give address=, this machine as "
                       "the hosts reach it",
                       host, gai_strerror(bad));
    const bool ok = own_end(out, n, found);
    freeaddrinfo(found);
    if (!ok)
        return err_set(err, ERR_USAGE,
                       "there is no route to host %s; give address=, this machine as the "
                       "hosts reach it",
                       host);
    return OK;
}
