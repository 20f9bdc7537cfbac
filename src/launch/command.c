#include "launch/command.h"

#include <string.h>

/* ---- words on a host ---- */

static bool is_ssh(const char *agent)
{
    const char *slash = strrchr(agent, '/');

    return strcmp(slash ? slash + 1 : agent, "ssh") == 0;
}

/* No question may wait for an answer, no dead host for the kernel's quarter of an hour.
 */
static const char ssh_args[] = "-o BatchMode=yes -o ConnectTimeout=5 "
                               "-o ServerAliveInterval=5 -o ServerAliveCountMax=3";

/* `script` on `host`: by a shell here, or by the agent's there. */
static void add_remote(struct words *out, const struct command_plan *p, const char *host,
                       const char *script)
{
    if (hosts_is_local(host)) {
        words_add(out, "sh");
        words_add(out, "-c");
    } else {
        words_add(out, p->config->agent);
        if (is_ssh(p->config->agent))
            words_split(out, ssh_args);
        words_add(out, host);
    }
    words_add(out, script);
}

void command_probe(struct words *out, const struct command_plan *p, const char *host)
{
    struct str s = str_new(0);

    str_puts(&s, "bad() { echo \"ferry-bad $*\"; exit 1; }; cd ");
    words_quote(&s, p->directory);
    str_puts(&s, " 2>/dev/null || bad no directory ");
    words_quote(&s, p->directory);
    str_puts(&s, "; [ -x ");
    words_quote(&s, p->program);
    str_puts(&s, " ] || bad no program ");
    words_quote(&s, p->program);
    str_printf(&s,
               "; umask 077; t=\"$HOME/.ferry/%s.token\"; n=$(uname -n).$$; "
               "mkdir -p \"$HOME/.ferry\" && cat >\"$t.$n\" && mv -f \"$t.$n\" \"$t\" || "
               "bad cannot write to \"$HOME/.ferry\"; find \"$HOME/.ferry\" -name "
               "\"*.token*\" -mtime +0 -exec rm -f {} + 2>/dev/null; h=$(sha256sum <",
               p->job);
    words_quote(&s, p->program);
    str_puts(&s, ") || bad no sha256sum; echo \"ferry-host ${h%% *} $(date +%s.%N) "
                 "$(nproc)\"");
    if (p->old_job)
        str_printf(&s, "; rm -f \"$HOME/.ferry/%s.token\"", p->old_job);
    add_remote(out, p, host, str_text(&s));
    out->bad |= s.bad;
    str_release(&s);
}

void command_forget(struct words *out, const struct command_plan *p, const char *host)
{
    struct str s = str_new(0);

    str_printf(&s, "rm -f \"$HOME/.ferry/%s.token\"", p->job);
    add_remote(out, p, host, str_text(&s));
    out->bad |= s.bad;
    str_release(&s);
}

/* ---- the start ---- */

const char *command_mpirun(const struct launch_config *c, enum command_mpi mpi)
{
    if (c->mpirun[0])
        return c->mpirun;
    return mpi == COMMAND_MPICH ? "mpiexec.hydra" : "mpirun";
}

static void add_setting(struct words *out, const char *name, const char *value)
{
    words_add(out, "--mca");
    words_add(out, name);
    words_add(out, value);
}

/* Cores for each rank such that no host is overbooked; 0: do not bind. */
static size_t cores_each(const struct command_plan *p)
{
    size_t least = SIZE_MAX;

    if (!p->config->bind)
        return 0;
    if (p->config->cores)
        return (size_t)p->config->cores;
    for (size_t i = 0; i < p->hosts->n; i++) {
        const struct host *h = &p->hosts->host[i];
        const size_t share = h->n_cores / h->n_ranks;
        least = share < least ? share : least;
    }
    return least;
}

/* The names of `env`, each behind `flag`. */
static void add_names(struct words *out, const char *flag, const char *env)
{
    for (const char *p = env; *p; p += *p == ',') {
        const size_t n = strcspn(p, ",");
        if (n) {
            words_add(out, flag);
            words_printf(out, "%.*s", (int)n, p);
        }
        p += n;
    }
}

static void add_openmpi_net(struct words *out, const struct launch_config *c)
{
    int first, last;

    if (c->interface[0]) {
        add_setting(out, "btl_tcp_if_include", c->interface);
        add_setting(out, "oob_tcp_if_include", c->interface);
    }
    if (launch_config_ports(c, &first, &last)) {
        words_split(out, "--mca btl_tcp_port_min_v4");
        words_printf(out, "%d", first);
        words_split(out, "--mca btl_tcp_port_range_v4");
        words_printf(out, "%d", last - first + 1);
        add_setting(out, "oob_tcp_dynamic_ipv4_ports", c->ports);
    }
}

static void add_hosts(struct words *out, const char *flag, const struct hosts *h)
{
    struct str list = str_new(0);

    hosts_put(h, &list);
    words_add(out, flag);
    words_add(out, str_text(&list));
    out->bad |= list.bad;
    str_release(&list);
}

/*
 * Every daemon is started from here (no tree), so that hosts need no keys for each other.
 * Messages on one host go through shared memory, others over TCP.
 */
static void add_openmpi(struct words *out, const struct command_plan *p)
{
    const size_t n_cores = cores_each(p);

    if (p->is_root)
        words_add(out, "--allow-run-as-root");
    words_add(out, "-n");
    words_printf(out, "%zu", hosts_ranks(p->hosts));
    add_hosts(out, "--host", p->hosts);
    words_add(out, "--map-by");
    if (n_cores)
        words_printf(out, "slot:PE=%zu", n_cores);
    else
        words_add(out, "slot");
    words_split(out,
                n_cores ? "--bind-to hwthread --use-hwthread-cpus" : "--bind-to none");
    add_setting(out, "plm_rsh_agent", p->config->agent);
    if (is_ssh(p->config->agent))
        add_setting(out, "plm_rsh_args", ssh_args);
    add_setting(out, "plm_rsh_no_tree_spawn", "1");
    add_openmpi_net(out, p->config);
    words_add(out, "--wdir");
    words_add(out, p->directory);
    words_split(out, "-x FERRY_CONTROL -x FERRY_JOB");
    add_names(out, "-x", p->config->env);
}

static void add_mpich(struct words *out, const struct command_plan *p)
{
    const size_t n_cores = cores_each(p);
    int first, last;

    words_add(out, "-n");
    words_printf(out, "%zu", hosts_ranks(p->hosts));
    add_hosts(out, "-hosts", p->hosts);
    if (n_cores) {
        words_add(out, "-bind-to");
        words_printf(out, "hwthread:%zu", n_cores);
    }
    words_split(out, "-launcher ssh -launcher-exec");
    words_add(out, p->config->agent);
    if (p->config->interface[0]) {
        words_add(out, "-iface");
        words_add(out, p->config->interface);
    }
    if (launch_config_ports(p->config, &first, &last)) {
        words_split(out, "-genv MPIR_CVAR_CH3_PORT_RANGE");
        words_printf(out, "%d:%d", first, last);
    }
    words_add(out, "-wdir");
    words_add(out, p->directory);
    words_add(out, "-genvlist");
    words_printf(out, "FERRY_CONTROL,FERRY_JOB%s%s", p->config->env[0] ? "," : "",
                 p->config->env);
}

void command_start(struct words *out, const struct command_plan *p)
{
    words_add(out, command_mpirun(p->config, p->mpi));
    if (p->mpi == COMMAND_MPICH)
        add_mpich(out, p);
    else
        add_openmpi(out, p);
    words_split(out, p->config->mpirun_args);
    words_add(out, p->program);
    for (char *const *arg = p->args; *arg; arg++)
        words_add(out, *arg);
}
