/* Hosts, cards and network of a run, from the lines of NCCL, MPI and TensorFlow. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "format/json_text.h"
#include "report/read/foreign_parts.h"

static bool is_name(const char *s, size_t n)
{
    if (n == 0 || n >= FOREIGN_NAME_MAX || !isalpha((unsigned char)s[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
            return false;
    return true;
}

static bool add_host(struct foreign_place *p, const char *s, size_t n)
{
    if (!is_name(s, n))
        return false;
    for (size_t i = 0; i < p->n_hosts; i++)
        if (strncmp(p->host[i], s, n) == 0 && p->host[i][n] == '\0')
            return true;
    if (p->n_hosts < FOREIGN_HOSTS_MAX)
        snprintf(p->host[p->n_hosts++], FOREIGN_NAME_MAX, "%.*s", (int)n, s);
    return true;
}

static void keep(char to[FOREIGN_NAME_MAX], const char *s, size_t n)
{
    if (!to[0] && n > 0)
        snprintf(to, FOREIGN_NAME_MAX, "%.*s", (int)(n < 63 ? n : 63), s);
}

/* "v100a:209:284 [0] NCCL INFO rank 0 nranks 4" */
static bool read_nccl(struct foreign_place *p, const char *line)
{
    const char *at = foreign_parts_after(line, " NCCL INFO ");

    if (!at) {
        at = foreign_parts_after(line, "NCCL version ");
        if (at)
            keep(p->library, at - strlen("NCCL version "),
                 strlen("NCCL version ") + strcspn(at, " +"));
        return at != NULL;
    }
    add_host(p, line, strcspn(line, ":"));
    const char *interface = foreign_parts_after(at, "Using interface ");
    if (!interface && (interface = foreign_parts_after(at, "NET/Socket : Using [0]")))
        keep(p->interface, interface, strcspn(interface, ":<"));
    else if (interface)
        keep(p->interface, interface, strcspn(interface, ":< "));
    p->is_infiniband |= strstr(at, "via NET/IB") != NULL;
    const char *ranks = foreign_parts_after(at, " nranks "),
               *rank = foreign_parts_after(at - 1, " rank ");
    if (ranks)
        p->ranks = fmax(p->ranks, strtod(ranks, NULL));
    if (ranks && rank && strtol(rank, NULL, 10) >= 0 && strtol(rank, NULL, 10) < 64)
        p->rank_seen |= UINT64_C(1) << strtol(rank, NULL, 10);
    return true;
}

/* "[v100b][[12510,1],3][btl_tcp.c:559:...", "[v100a:00203] WARNING", "  Host: v100b" */
static bool read_mpi(struct foreign_place *p, const char *line)
{
    const char *host = line + strspn(line, " ");

    if (line[0] == '[')
        return (strncmp(line + strcspn(line, "]:"), "][[", 3) == 0 ||
                (line[strcspn(line, "]:")] == ':' &&
                 isdigit((unsigned char)line[strcspn(line, "]:") + 1]))) &&
               add_host(p, line + 1, strcspn(line + 1, "]:"));
    if (host > line && strncmp(host, "Host: ", 6) == 0)
        return add_host(p, host + 6, strcspn(host + 6, " "));
    return false;
}

/* "name: Tesla V100-PCIE-16GB major: 7 minor: 0", or inside a longer line of later
 * versions: "... (device: 0, name: Tesla V100-PCIE-16GB, pci bus id: ..." */
static void read_device(struct foreign_place *p, const char *line)
{
    const char *name = strncmp(line, "name: ", 6) == 0 ? line + 6 : NULL;
    const char *end = name ? strstr(name, " major: ") : NULL;

    if (!end) {
        name = foreign_parts_after(line, "(device: 0, name: ");
        end = name ? strchr(name, ',') : NULL;
    }
    if (end)
        keep(p->device, name, (size_t)(end - name));
}

void foreign_place_line(struct foreign_place *p, const char *line)
{
    if (!read_nccl(p, line) && !read_mpi(p, line))
        read_device(p, line);
}

static void put_text(json_t *o, const char *key, const char *text)
{
    if (text[0])
        json_object_set_new(o, key, json_text(text));
}

void foreign_place_put(const struct foreign_place *p, json_t *start)
{
    struct str hosts = str_new(4096);
    json_t *network = json_object();

    for (size_t i = 0; i < p->n_hosts; i++)
        str_printf(&hosts, "%s%s", i ? ", " : "", p->host[i]);
    put_text(start, "host", str_text(&hosts));
    str_release(&hosts);
    put_text(start, "device", p->device);
    /* one host is all of them only if every rank was seen there */
    if (p->n_hosts > 1 ||
        (p->ranks > 0 && __builtin_popcountll(p->rank_seen) >= p->ranks))
        foreign_parts_set(start, "nodes", (double)p->n_hosts);
    foreign_parts_set(start, "ranks", p->ranks > 0 ? p->ranks : NAN);
    put_text(network, "library", p->library);
    put_text(network, "backend", p->interface);
    if (p->interface[0])
        put_text(network, "gradients", p->is_infiniband ? "InfiniBand" : "sockets");
    json_object_set_new(start, "network", network);
}
