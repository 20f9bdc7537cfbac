#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "launch/hosts.h"
#include "launch/launch_config.h"
#include "launch/supervisor.h"

/* What mpirun's users type. */
static const char *long_form(const char *word)
{
    if (strcmp(word, "-H") == 0 || strcmp(word, "-host") == 0)
        return "--hosts";
    if (strcmp(word, "-n") == 0 || strcmp(word, "-np") == 0)
        return "--ranks";
    return word;
}

/* The words before "--" are ours, those behind it the program's; *rest is the first. */
static status read_options(struct launch_config *c, int argc, char **argv, char ***rest,
                           struct err *err)
{
    struct opt_words words = {.max = 0};
    int n = 1;

    while (n < argc && strcmp(argv[n], "--") != 0) {
        argv[n] = (char *)long_form(argv[n]);
        n++;
    }
    TRY(opt_defaults(launch_config_table, c, err));
    *rest = argv + (n < argc ? n + 1 : argc);
    argv[n] = NULL; /* where opt_parse's array ends */
    TRY(opt_parse(launch_config_table, c, &words, n, argv, err));
    if (!**rest)
        return err_set(err, ERR_USAGE,
                       "say what to start, behind --: ferry launch -n 2 -- train CONFIG");
    if (!c->program[0] && strcmp(**rest, "train") != 0)
        return err_set(err, ERR_USAGE,
                       "only train runs on many ranks; '%.64s' is a command for one",
                       **rest);
    return launch_config_check(c, err);
}

static status read_hosts(struct hosts *h, const struct launch_config *c, struct err *err)
{
    char local[32];

    if (c->hosts[0])
        TRY(hosts_parse(h, c->hosts, err));
    else if (c->hostfile[0])
        TRY(hosts_read(h, c->hostfile, err));
    else if (c->ranks > 0 && c->ranks <= HOSTS_RANKS_MAX) {
        snprintf(local, sizeof local, "localhost:%d", (int)c->ranks);
        TRY(hosts_parse(h, local, err));
    } else
        return err_set(err, ERR_USAGE,
                       "where? Give -H a:2,b:2, hostfile=FILE, or -n N for this machine");
    const size_t n = hosts_ranks(h);
    if ((size_t)c->ranks > n)
        return err_set(err, ERR_USAGE, "%lld ranks do not fit on hosts for %zu",
                       (long long)c->ranks, n);
    if (c->ranks)
        hosts_limit(h, (size_t)c->ranks);
    if (hosts_ranks(h) < (size_t)c->min_ranks)
        return err_set(err, ERR_USAGE, "min_ranks is %lld, but there are only %zu ranks",
                       (long long)c->min_ranks, hosts_ranks(h));
    return OK;
}

status cmd_launch(int argc, char **argv, struct err *err)
{
    struct launch_config config;
    struct hosts hosts;
    char **rest;

    TRY(read_options(&config, argc, argv, &rest, err));
    TRY(read_hosts(&hosts, &config, err));
    const struct supervisor_job job = {&config, &hosts, rest, stderr};
    return config.dry_run ? supervisor_show(&job, stdout, err)
                          : supervisor_run(&job, err);
}
