/* The program: finds the command, and is the one place that prints an error. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cmd.h"
#include "cli/cmd_help.h"
#include "dist/comm/comm.h"

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* What the user asked for, except for the printing of errors. */
static status run(int argc, char **argv, const struct command **command, struct err *err)
{
    if (argc < 2) {
        cmd_help_overview(stderr);
        return err_set(err, ERR_USAGE, "a command is needed");
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    *command = cmd_help_find(name, err);
    if (!*command)
        return err->code;
    if (asks_for_help(argc - 1, argv + 1)) {
        cmd_help_print(*command, stdout);
        return OK;
    }
    return (*command)->run(argc - 1, argv + 1, err);
}

/* Output that never reached the disk must not look like success. A reader that left
 * (errno is EPIPE when a command ignores the signal) wanted no more. */
static status close_stdout(struct err *err)
{
    const bool lost = ferror(stdout);

    errno = 0;
    if ((fclose(stdout) == 0 && !lost) || errno == EPIPE)
        return OK;
    return err_set(err, ERR_IO, "standard output: %s",
                   errno ? strerror(errno) : "not everything could be written");
}

static void print_error(const struct command *c, const char *msg)
{
    fprintf(stderr, "ferry%s%s: %s\n", c ? " " : "", c ? c->name : "", msg);
}

/* A descriptor that is closed would be given to the next file that is opened, and what is
 * printed would land in it. Opened the wrong way round, so that reading what is not there
 * and losing a result still fail; what is said on standard error may be lost. */
static void open_standard_streams(void)
{
    static const int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", flags[fd]);
}

static char talk_name[64]; /* "ferry train: " */

/* With no function that a handler must not call, and no wait for who does not read. */
static void say_at_once(const char *const part[], size_t n)
{
    static char text[PATH_MAX + 512];
    struct pollfd console = {STDERR_FILENO, POLLOUT, 0};
    size_t used = 0;

    for (size_t i = 0; i < n; i++)
        for (const char *c = part[i]; *c && used < sizeof text; c++)
            text[used++] = *c;
    if (poll(&console, 1, 0) > 0)
        (void)!write(STDERR_FILENO, text, used);
}

/* Another process cut a file short that we read through a mapping, or its disk fails. */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
    const char *path = info->si_code > 0 ? file_mapped_at(info->si_addr) : NULL;
    const char *const sentence[] = {
        talk_name, path,
        ": it can no longer be read, for it was cut short or its disk failed; restore it "
        "and run the command again\n"};

    (void)context;
    if (path) {
        say_at_once(sentence, 3);
        _exit(ERR_IO);
    }
    signal(sig, SIG_DFL); /* a fault comes again at once */
    if (info->si_code <= 0)
        raise(sig);
}

static void set_signals(const char *command)
{
    struct sigaction on_bus = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

    snprintf(talk_name, sizeof talk_name, "ferry %.40s: ", command ? command : "");
    sigaction(SIGBUS, &on_bus, NULL);
    signal(SIGXFSZ, SIG_IGN); /* the write fails, and a sentence says so */
    signal(SIGPIPE, SIG_DFL); /* some parents ignore it; `ferry ... | head` shall end */
}

int main(int argc, char **argv)
{
    const struct command *command = NULL;
    struct err err = {0};

    open_standard_streams();
    set_signals(argv[1]);
    status result = run(argc, argv, &command, &err);
    if (result != OK)
        print_error(command, err.msg);
    struct err lost = {0};
    if (close_stdout(&lost) != OK && result == OK) {
        print_error(command, lost.msg);
        result = lost.code;
    }
    if (cmd_has_peers)
        comm_abort(result);
    return (int)result;
}
