/*
 * Images often set Acquire::Languages to "none"; a list can only be replaced from a file,
 * so DIR/apt/apt.conf clears it first. Lists, caches and logs are in DIR/apt, hooks of
 * the system are cleared, and nothing but translations is downloaded.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/str.h"
#include "fetch/debian.h"

#define HELPER "/usr/lib/apt/apt-helper"

/* What is cleared was set by the system's files; what is set holds below %1$s alone. */
static const char conf[] =
    "// Written by ferry fetch: apt with lists and caches of its own.\n"
    "#clear Acquire::Languages;\n"
    "Acquire::Languages { \"en\"; \"de\"; };\n"
    "#clear Acquire::IndexTargets;\n"
    "Acquire::IndexTargets::deb::Translations {\n"
    "    MetaKey \"$(COMPONENT)/i18n/Translation-$(LANGUAGE)\";\n"
    "    flatMetaKey \"$(LANGUAGE)\";\n"
    "    ShortDescription \"Translation-$(LANGUAGE)\";\n"
    "    Description \"$(RELEASE)/$(COMPONENT) Translation-$(LANGUAGE)\";\n"
    "};\n"
    "#clear APT::Update::Pre-Invoke;\n"
    "#clear APT::Update::Post-Invoke;\n"
    "#clear APT::Update::Post-Invoke-Success;\n"
    "APT::Sandbox::User \"\";\n"
    "Acquire::Retries \"3\";\n"
    "Dir::State \"%1$s/state\";\n"
    "Dir::State::lists \"%1$s/state/lists\";\n"
    "Dir::State::status \"%1$s/state/status\";\n"
    "Dir::Cache \"%1$s/cache\";\n"
    "Dir::Log \"%1$s/log\";\n";

/* Paths that apt and we use, absolute. */
struct apt_paths {
    char dir[FILE_PATH_MAX], conf[FILE_PATH_MAX], log[FILE_PATH_MAX],
        targets[FILE_PATH_MAX];
};

static status find_paths(struct apt_paths *p, const char *dir, struct err *err)
{
    char whole[PATH_MAX];

    if (!realpath(dir, whole))
        return err_set(err, ERR_IO, "%s: %s", dir, strerror(errno));
    for (const char *c = whole; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == '"' || *c == '\\')
            return err_set(err, ERR_USAGE,
                           "'%.200s' has a quote, a backslash or a control character in "
                           "it, which apt cannot take; give another directory",
                           dir);
    TRY(file_join(p->dir, sizeof p->dir, whole, "apt", err));
    TRY(file_join(p->conf, sizeof p->conf, p->dir, "apt.conf", err));
    TRY(file_join(p->log, sizeof p->log, p->dir, "update.log", err));
    return file_join(p->targets, sizeof p->targets, p->dir, "targets", err);
}

static status make_dirs(const struct apt_paths *p, struct err *err)
{
    static const char *const below[] = {"state/lists/partial", "cache/archives/partial",
                                        "log"};
    char path[FILE_PATH_MAX];

    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        TRY(file_join(path, sizeof path, p->dir, below[i], err));
        TRY(file_make_dirs(path, err));
    }
    /* no package is installed as far as this apt knows */
    TRY(file_join(path, sizeof path, p->dir, "state/status", err));
    return file_write(path, "", 0, err);
}

static status write_conf(const struct apt_paths *p, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);

    str_printf(&text, conf, p->dir);
    return file_write_str(p->conf, &text, err);
}

/* Messages in English, whatever the user speaks: we read some of them. */
#define IN_ENGLISH "env", "LC_ALL=C"

static int spawn(pid_t *pid, const char *const argv[], const char *to, int flags,
                 bool with_errors)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): they are only read */
    char *const *args = (char *const *)(uintptr_t)argv;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t all;

    sigfillset(&all); /* what we ignore is not for children */
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, to,
                                     O_WRONLY | O_CREAT | O_NOFOLLOW | flags, 0666);
    if (with_errors)
        posix_spawn_file_actions_adddup2(&files, 1, 2);
    else
        posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawnp(pid, argv[0], &files, &attr, args, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* Run IN_ENGLISH a program to its end, standard output and perhaps errors to the file
 * `to`; *code is its exit status, or 128 and more after a signal. */
static status run(const char *const argv[], const char *to, int flags, bool with_errors,
                  int *code, struct err *err)
{
    enum { NOT_FOUND = 127 }; /* env says so */
    const char *program = argv[2];
    pid_t pid;
    int how;

    const int failed = spawn(&pid, argv, to, flags, with_errors);
    if (failed && failed != ENOENT)
        return err_set(err, ERR_IO, "%s: %s", program, strerror(failed));
    while (!failed && waitpid(pid, &how, 0) < 0)
        if (errno != EINTR)
            return err_set(err, ERR_IO, "%s: %s", program, strerror(errno));
    *code = failed ? NOT_FOUND : WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    if (*code == NOT_FOUND)
        return err_set(err, ERR_USAGE,
                       "debian-de-en needs %s, which this system does not have; give "
                       "Translation files of a Debian mirror as english= and german=",
                       program);
    return OK;
}

status debian_apt_update(const char *dir, struct err *err)
{
    struct apt_paths p;
    int code;

    TRY(find_paths(&p, dir, err));
    TRY(make_dirs(&p, err));
    TRY(write_conf(&p, err));
    const char *const update[] = {IN_ENGLISH, "apt-get", "-c", p.conf, "update", NULL};
    const char *const list[] = {IN_ENGLISH,
                                "apt-get",
                                "-c",
                                p.conf,
                                "indextargets",
                                "--format",
                                "$(LANGUAGE) $(FILENAME)",
                                "Created-By: Translations",
                                NULL};
    /* one of several sources may fail, and ours be there all the same: the list tells */
    TRY(run(update, p.log, O_TRUNC, true, &code, err));
    TRY(run(list, p.targets, O_TRUNC, false, &code, err));
    if (code)
        return err_set(err, ERR_IO, "apt-get indextargets ends with status %d; see %s",
                       code, p.log);
    return OK;
}

/* The first line of apt's that says what is wrong. */
static void first_error(const char *log, char *out, size_t n_out)
{
    RELEASED_BY(lines_close) struct lines lines = {0};
    struct line line;
    struct err ignored;

    snprintf(out, n_out, "apt names no error");
    if (lines_open(&lines, log, &ignored) != OK)
        return;
    while (lines_next(&lines, &line))
        if (line.n_bytes > 3 &&
            (memcmp(line.text, "E: ", 3) == 0 || memcmp(line.text, "Err:", 4) == 0)) {
            snprintf(out, n_out, "%.*s", (int)line.n_bytes, line.text);
            return;
        }
}

/* The next file of `lang` in apt's list; false at its end. */
static bool next_target(struct lines *list, const char *lang, char path[FILE_PATH_MAX])
{
    const size_t n = strlen(lang) + 1;
    struct line line;

    while (lines_next(list, &line))
        if (line.n_bytes > n && line.n_bytes < FILE_PATH_MAX &&
            memcmp(line.text, lang, n - 1) == 0 && line.text[n - 1] == ' ') {
            snprintf(path, FILE_PATH_MAX, "%.*s", (int)(line.n_bytes - n), line.text + n);
            return true;
        }
    return false;
}

static status unpack_all(const struct apt_paths *p, const char *lang, const char *out,
                         struct err *err)
{
    RELEASED_BY(lines_close) struct lines list = {0};
    char path[FILE_PATH_MAX];
    int code;

    TRY(lines_open(&list, p->targets, err));
    TRY(file_write(out, "", 0, err));
    while (next_target(&list, lang, path)) {
        const char *const cat[] = {IN_ENGLISH, HELPER, "-c", p->conf,
                                   "cat-file", path,   NULL};
        TRY(run(cat, out, O_APPEND, false, &code, err));
        if (code)
            return err_set(err, ERR_IO, "%s: apt cannot unpack it (status %d)", path,
                           code);
    }
    return OK;
}

status debian_apt_translations(const char *dir, const char *lang, char out[FILE_PATH_MAX],
                               struct err *err)
{
    struct apt_paths p;
    char why[256];

    TRY(find_paths(&p, dir, err));
    TRY(file_path(out, err, "%s/Translation-%s", p.dir, lang));
    TRY(unpack_all(&p, lang, out, err));
    if (file_bytes(out) > 0)
        return OK;
    first_error(p.log, why, sizeof why);
    return err_set(err, ERR_IO,
                   "apt's sources gave no Translation-%s: %s; all it said is in %s", lang,
                   why, p.log);
}
