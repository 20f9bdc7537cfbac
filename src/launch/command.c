#include "launch/command.h"

#include <string.h>

static bool is_ssh(const char *agent)
{
    const char *slash = strrchr(agent, '/');

    return strcmp(slash ? slash + 1 : agent, "ssh") == 0;
}

/* No question may wait for an answer, no dead host for the kernel's quarter of an hour.
 */
static const char ssh_args[] = "-o BatchMode=yes -o ConnectTimeout=5 "
                               "-o ServerAliveInterval=5 -o ServerAliveCountMax=3";

/* `script` on `host`, by a shell here or by the agent's there; releases the script. */
static void add_remote(struct argv *out, const struct command_plan *p, const char *host,
                       struct str *script)
{
    if (hosts_is_local(host)) {
        argv_printf(out, "sh -c");
    } else {
        argv_add(out, p->config->agent);
        if (is_ssh(p->config->agent))
            argv_printf(out, "%s", ssh_args);
        argv_add(out, host);
    }
    argv_take(out, script);
}

void command_check(struct argv *out, const struct command_plan *p, const char *host)
{
    struct str s = str_new(0), directory = str_new(0), program = str_new(0);

    argv_quote(&directory, p->directory);
    argv_quote(&program, p->program);
    const char *dir = str_text(&directory), *prog = str_text(&program);
    str_printf(
        &s,
        "bad() { echo \"ferry-bad $*\"; exit 1; }; cd %s 2>/dev/null || bad no directory "
        "%s; [ -x %s ] || bad no program %s; umask 077; t=\"$HOME/.ferry/%s.token\"; "
        "n=$(uname -n).$$; mkdir -p \"$HOME/.ferry\" && cat >\"$t.$n\" && mv -f "
        "\"$t.$n\" \"$t\" || bad cannot write to \"$HOME/.ferry\"; find \"$HOME/.ferry\" "
        "-name \"*.token*\" -mtime +0 -exec rm -f {} + 2>/dev/null; h=$(sha256sum <%s) "
        "|| bad no sha256sum; echo \"ferry-host ${h%%%% *} $(date +%%s.%%N) $(nproc)\"",
        dir, dir, prog, prog, p->job, prog);
    if (!p->config->program[0])
        /* what libraries warn of goes by unmarked */
        str_printf(&s, "; { %s version mpi=%s | sed -n '$s/^/ferry-mpi /p'; } 2>&1", prog,
                   p->mpi == COMMAND_MPICH ? "mpich" : "openmpi");
    if (p->old_job)
        str_printf(&s, "; rm -f \"$HOME/.ferry/%s.token\"", p->old_job);
    s.bad |= directory.bad || program.bad;
    str_release(&directory);
    str_release(&program);
    add_remote(out, p, host, &s);
}

void command_forget(struct argv *out, const struct command_plan *p, const char *host)
{
    struct str s = str_new(0);

    str_printf(&s, "rm -f \"$HOME/.ferry/%s.token\"", p->job);
    add_remote(out, p, host, &s);
}

const char *command_mpirun(const struct launch_config *c, enum command_mpi mpi)
{
    if (c->mpirun[0])
        return c->mpirun;
    return mpi == COMMAND_MPICH ? "mpiexec.hydra" : "mpirun";
}

/* A flag, or two, and the one argument behind it, whatever that holds. */
static void add_flag(struct argv *out, const char *flag, const char *value)
{
    argv_printf(out, "%s", flag);
    argv_add(out, value);
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

static void add_openmpi_net(struct argv *out, const struct launch_config *c)
{
    int first, last;

    if (c->interface[0]) {
        add_flag(out, "--mca btl_tcp_if_include", c->interface);
        add_flag(out, "--mca oob_tcp_if_include", c->interface);
    }
    if (launch_config_ports(c, &first, &last))
        argv_printf(out,
                    "--mca btl_tcp_port_min_v4 %d --mca btl_tcp_port_range_v4 %d "
                    "--mca oob_tcp_dynamic_ipv4_ports %d-%d",
                    first, last - first + 1, first, last);
}

static void add_hosts(struct argv *out, const char *flag, const struct hosts *h)
{
    struct str list = str_new(0);

    hosts_put(h, &list);
    argv_printf(out, "-n %zu %s", hosts_ranks(h), flag);
    argv_take(out, &list);
}

/*
 * Every daemon is started from here (no tree), so that hosts need no keys for each other.
 * Messages on one host go through shared memory, others over TCP.
 */
static void add_openmpi(struct argv *out, const struct command_plan *p)
{
    const size_t n_cores = cores_each(p);

    if (p->is_root)
        argv_add(out, "--allow-run-as-root");
    add_hosts(out, "--host", p->hosts);
    if (n_cores)
        argv_printf(out, "--map-by slot:PE=%zu --bind-to hwthread --use-hwthread-cpus",
                    n_cores);
    else
        argv_printf(out, "--map-by slot --bind-to none");
    add_flag(out, "--mca plm_rsh_agent", p->config->agent);
    if (is_ssh(p->config->agent))
        add_flag(out, "--mca plm_rsh_args", ssh_args);
    argv_printf(out, "--mca plm_rsh_no_tree_spawn 1");
    add_openmpi_net(out, p->config);
    add_flag(out, "--wdir", p->directory);
    argv_printf(out, "-x FERRY_CONTROL -x FERRY_JOB");
    for (const char *name = p->config->env; *name; name += *name == ',') {
        const size_t n = strcspn(name, ",");
        if (n)
            argv_printf(out, "-x %.*s", (int)n, name);
        name += n;
    }
}

static void add_mpich(struct argv *out, const struct command_plan *p)
{
    const size_t n_cores = cores_each(p);
    int first, last;

    add_hosts(out, "-hosts", p->hosts);
    if (n_cores)
        argv_printf(out, "-bind-to hwthread:%zu", n_cores);
    add_flag(out, "-launcher ssh -launcher-exec", p->config->agent);
    if (p->config->interface[0])
        add_flag(out, "-iface", p->config->interface);
    if (launch_config_ports(p->config, &first, &last))
        argv_printf(out, "-genv MPIR_CVAR_CH3_PORT_RANGE %d:%d", first, last);
    add_flag(out, "-wdir", p->directory);
    argv_printf(out, "-genvlist FERRY_CONTROL,FERRY_JOB%s%s",
                p->config->env[0] ? "," : "", p->config->env);
}

void command_start(struct argv *out, const struct command_plan *p)
{
    argv_add(out, command_mpirun(p->config, p->mpi));
    if (p->mpi == COMMAND_MPICH)
        add_mpich(out, p);
    else
        add_openmpi(out, p);
    argv_printf(out, "%s", p->config->mpirun_args);
    argv_add(out, p->program);
    for (char *const *arg = p->args; *arg; arg++)
        argv_add(out, *arg);
}
