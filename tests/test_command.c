#include "launch/command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "format/sha256.h"
#include "launch/host_check.h"
#include "test.h"

static struct launch_config config;
static struct hosts hosts;
static char train[] = "train", base[] = "base.yaml", run[] = "run=a run";
static char *const args[] = {train, base, run, NULL};

static struct command_plan plan_of(const char *list)
{
    struct err err;

    CHECK_OK(opt_defaults(launch_config_table, &config, &err), &err);
    CHECK_OK(hosts_parse(&hosts, list, &err), &err);
    for (size_t i = 0; i < hosts.n; i++)
        hosts.host[i].n_cores = 8;
    return (struct command_plan){.config = &config,
                                 .hosts = &hosts,
                                 .program = "/opt/ferry",
                                 .directory = "/data/my run",
                                 .job = "0123abcd",
                                 .args = args};
}

static const char *start_of(const struct command_plan *p)
{
    static char text[4096];
    struct str s = str_new(0);
    struct argv w = {0};

    command_start(&w, p);
    argv_put(&s, &w);
    snprintf(text, sizeof text, "%s", str_text(&s));
    str_release(&s);
    argv_release(&w);
    return text;
}

#define SSH                                                          \
    "-o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=5 " \
    "-o ServerAliveCountMax=3"

TEST(the_start_under_open_mpi_is_this)
{
    const struct command_plan p = plan_of("a:2,b:2");

    CHECK_STR(start_of(&p),
              "mpirun -n 4 --host a:2,b:2 --map-by slot:PE=4 --bind-to hwthread "
              "--use-hwthread-cpus --mca plm_rsh_agent ssh --mca plm_rsh_args '" SSH "' "
              "--mca plm_rsh_no_tree_spawn 1 --wdir '/data/my run' -x FERRY_CONTROL "
              "-x FERRY_JOB /opt/ferry train base.yaml 'run=a run'");
}

TEST(networks_ports_variables_and_root_show_in_the_start)
{
    struct command_plan p = plan_of("a:2,b:2");

    snprintf(config.interface, sizeof config.interface, "eth0");
    snprintf(config.ports, sizeof config.ports, "20000-20099");
    snprintf(config.env, sizeof config.env, "LANG,OMP_NUM_THREADS");
    snprintf(config.agent, sizeof config.agent, "/lab/rsh");
    snprintf(config.mpirun_args, sizeof config.mpirun_args, "--mca btl_tcp_links 4");
    config.bind = false;
    p.is_root = true;
    CHECK_STR(start_of(&p),
              "mpirun --allow-run-as-root -n 4 --host a:2,b:2 --map-by slot "
              "--bind-to none --mca plm_rsh_agent /lab/rsh --mca plm_rsh_no_tree_spawn 1 "
              "--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "
              "--mca btl_tcp_port_min_v4 20000 --mca btl_tcp_port_range_v4 100 "
              "--mca oob_tcp_dynamic_ipv4_ports 20000-20099 --wdir '/data/my run' "
              "-x FERRY_CONTROL -x FERRY_JOB -x LANG -x OMP_NUM_THREADS "
              "--mca btl_tcp_links 4 /opt/ferry train base.yaml 'run=a run'");
}

TEST(the_start_under_mpich_is_this)
{
    struct command_plan p = plan_of("a:2,b:2");

    snprintf(config.interface, sizeof config.interface, "eth0");
    p.mpi = COMMAND_MPICH;
    CHECK_STR(start_of(&p),
              "mpiexec.hydra -n 4 -hosts a:2,b:2 -bind-to hwthread:4 -launcher ssh "
              "-launcher-exec ssh -iface eth0 -wdir '/data/my run' -genvlist "
              "FERRY_CONTROL,FERRY_JOB /opt/ferry train base.yaml 'run=a run'");
}

TEST(the_host_with_the_fewest_cores_a_rank_decides_and_too_few_bind_nothing)
{
    const struct command_plan p = plan_of("a:2,b:4");

    CHECK(strstr(start_of(&p), "slot:PE=2 "));
    hosts.host[1].n_cores = 2;
    CHECK(strstr(start_of(&p), "--map-by slot --bind-to none"));
    config.cores = 3;
    CHECK(strstr(start_of(&p), "slot:PE=3 "));
}

TEST(no_secret_is_in_any_command)
{
    const struct command_plan p = plan_of("a:2,b:2");
    struct argv w = {0};

    command_start(&w, &p);
    command_check(&w, &p, "a");
    command_forget(&w, &p, "a");
    for (size_t i = 0; i < w.n; i++)
        CHECK(!strstr(w.arg[i], "TOKEN="));
    argv_release(&w);
}

/* Run the words of a probe here, as a remote shell would, and read the answer. */
static struct host_check ask(const struct command_plan *p, const char *hash)
{
    struct str line = str_new(0);
    struct argv w = {0};
    char text[4096] = {0};
    struct host_check out;

    command_check(&w, p, "localhost");
    str_printf(&line, "export HOME=%s; echo secret | ", test_dir());
    argv_put(&line, &w);
    FILE *f = popen(str_text(&line), "r"); /* NOLINT(bugprone-command-processor) */
    CHECK(f);
    CHECK(fread(text, 1, sizeof text - 1, f) > 0);
    const int code = pclose(f);
    host_check_read(&out, text, code, hash, 0, 0);
    argv_release(&w);
    str_release(&line);
    return out;
}

/* A token that was left behind so many seconds ago. */
static void make_token(const char *name, time_t age)
{
    const struct timespec then = {.tv_sec = time(NULL) - age}, both[2] = {then, then};
    struct err err;

    CHECK_OK(file_write(test_path(name), "x", 1, &err), &err);
    CHECK(utimensat(AT_FDCWD, test_path(name), both, 0) == 0);
}

TEST(a_host_is_asked_for_program_directory_and_clock_and_keeps_the_token)
{
    struct command_plan p = plan_of("localhost:1");
    struct err err;
    uint8_t bytes[32];
    char hash[65];

    p.program = "/bin/sh";
    p.directory = "/";
    CHECK(mkdir(test_path(".ferry"), 0700) == 0);
    make_token(".ferry/dead.token", 2 * 86400);
    make_token(".ferry/dead.token.host.17", 2 * 86400);
    make_token(".ferry/live.token", 3600);
    CHECK_OK(sha256_file(bytes, p.program, &err), &err);
    sha256_hex(hash, bytes);
    const struct host_check good = ask(&p, hash);
    CHECK_STR(good.reason, "");
    CHECK(good.is_good && good.n_cores > 0 && good.skew > 1e9);
    struct file_map map;
    CHECK_OK(file_map_open(&map, test_path(".ferry/0123abcd.token"), &err), &err);
    CHECK(map.n_bytes == 7 && memcmp(map.data, "secret", 6) == 0);
    file_map_close(&map);
    CHECK(!file_exists(test_path(".ferry/dead.token")));
    CHECK(!file_exists(test_path(".ferry/dead.token.host.17")));
    CHECK(file_exists(test_path(".ferry/live.token")));
    hash[0] ^= 1;
    const struct host_check other = ask(&p, hash);
    CHECK(!other.is_good && strstr(other.reason, "has another program"));
    p.directory = "/not here";
    CHECK_STR(ask(&p, hash).reason, "no directory /not here");
    p.directory = "/";
    p.program = "/bin/it's not";
    CHECK_STR(ask(&p, hash).reason, "no program /bin/it's not");
}

TEST(a_host_that_says_something_else_is_quoted)
{
    struct host_check p;

    host_check_read(&p, "Welcome!\nssh: connect to host b: No route\n", 255, "x", 0, 0);
    CHECK(!p.is_good);
    CHECK_STR(p.reason, "does not answer (ssh: connect to host b: No route, status 255)");
    host_check_read(&p, "", 137, "x", 0, 0);
    CHECK_STR(p.reason, "does not answer (silence, status 137)");
    host_check_read(&p, "\033[2J", 1, "x", 0, 0);
    CHECK(!strchr(p.reason, '\033'));
    host_check_read(&p, "a motd\nferry-host abc 101.5 16\n", 0, "abc", 100, 101);
    CHECK(p.is_good && p.n_cores == 16);
    CHECK_NEAR(p.skew, 1, 1e-9);
}

TEST(words_for_a_shell_come_out_as_they_went_in)
{
    const char *odd[] = {"plain", "two words", "it's", "$HOME `x` \"y\" \\", "", "*"};
    struct str s = str_new(0);
    char text[512] = {0};

    str_puts(&s, "printf '%s|'");
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        str_putc(&s, ' ');
        argv_quote(&s, odd[i]);
    }
    FILE *f = popen(str_text(&s), "r"); /* NOLINT(bugprone-command-processor) */
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0);
    pclose(f);
    CHECK_STR(text, "plain|two words|it's|$HOME `x` \"y\" \\||*|");
    str_release(&s);
}

TEST(options_that_contradict_or_would_reach_a_shell_are_refused)
{
    struct err err;

    plan_of("a:2");
    snprintf(config.hosts, sizeof config.hosts, "a");
    snprintf(config.hostfile, sizeof config.hostfile, "f");
    CHECK_FAILS(launch_config_check(&config, &err), &err, ERR_USAGE, "not both");
    plan_of("a:2");
    snprintf(config.ports, sizeof config.ports, "80-90");
    CHECK_FAILS(launch_config_check(&config, &err), &err, ERR_USAGE, "80-90");
    plan_of("a:2");
    snprintf(config.env, sizeof config.env, "A=1");
    CHECK_FAILS(launch_config_check(&config, &err), &err, ERR_USAGE, "A=1");
    plan_of("a:2");
    snprintf(config.interface, sizeof config.interface, "eth0;x");
    CHECK_FAILS(launch_config_check(&config, &err), &err, ERR_USAGE, "eth0;x");
}

static void says(struct host_check *p, const char *mpi)
{
    char text[256];

    snprintf(text, sizeof text,
             "ferry-host abc 101.5 16\nhwloc: a device is ignored\n%s\n", mpi);
    host_check_read(p, text, 0, "abc", 100, 101);
}

TEST(the_library_that_most_hosts_load_is_the_right_one)
{
    struct hosts h;
    struct err err = {0};
    struct host_check p[4];

    CHECK_OK(hosts_parse(&h, "a,b,c,d", &err), &err);
    for (int i = 0; i < 4; i++)
        says(&p[i], i ? "ferry-mpi Open MPI v4" : "ferry-mpi Open MPI v5");
    host_check_compare(p, &h);
    CHECK(!p[0].is_good && p[1].is_good && p[2].is_good && p[3].is_good);
    CHECK(strstr(p[0].reason, "loads Open MPI v5 where host b loads Open MPI v4"));
    says(&p[0], "ferry-mpi Open MPI v5");
    says(&p[1], "ferry-mpi Open MPI v5");
    host_check_compare(p, &h); /* of two halves the first */
    CHECK(p[0].is_good && p[1].is_good && !p[2].is_good && !p[3].is_good);
}

TEST(a_warning_is_not_the_library)
{
    struct host_check p;

    says(&p, "ferry-mpi Open MPI v4");
    CHECK(p.is_good);
    CHECK_STR(p.mpi, "Open MPI v4");
    says(&p, "ferry version: there is no MPI library");
    CHECK(!p.is_good);
    CHECK_STR(p.reason, "ferry version: there is no MPI library");
}
