#include "launch/launch_config.h"

#include <stdlib.h>
#include <string.h>

OPT_TABLE(launch_config_table, struct launch_config, LAUNCH_OPTIONS);

bool launch_config_ports(const struct launch_config *c, int *first, int *last)
{
    char *end = NULL, *end2 = NULL;
    const long a = strtol(c->ports, &end, 10);

    if (end == c->ports || *end != '-')
        return false;
    const long b = strtol(end + 1, &end2, 10);
    if (end2 == end + 1 || *end2 || a < 1024 || b <= a || b > 65535)
        return false;
    *first = (int)a;
    *last = (int)b;
    return true;
}

/* env and interface go to a shell and to mpirun as they are. */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

status launch_config_check(const struct launch_config *c, struct err *err)
{
    int first, last;

    if (c->hosts[0] && c->hostfile[0])
        return err_set(err, ERR_USAGE, "give hosts or hostfile, not both");
    if (c->ports[0] && !launch_config_ports(c, &first, &last))
        return err_set(err, ERR_USAGE,
                       "ports '%.40s' is not a range like 20000-20999 within 1024-65535",
                       c->ports);
    if (!c->agent[0])
        return err_set(err, ERR_USAGE, "agent is empty; it is a program like ssh");
    if (c->env[strspn(c->env, LETTERS "_,")])
        return err_set(err, ERR_USAGE,
                       "env '%.200s' is not a list of names like A,B; values are taken "
                       "from this environment",
                       c->env);
    if (c->interface[0] == '-' || c->interface[strspn(c->interface, LETTERS "._-/,:@")])
        return err_set(err, ERR_USAGE,
                       "interface '%.200s' is neither a name like eth0 nor a network "
                       "like 10.0.0.0/24",
                       c->interface);
    return OK;
}
