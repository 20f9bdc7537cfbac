#include "cli/config_name.h"

#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* CONFIG_NAME_INSTALLED is where an installation has them, seen from the program
 * (cmake/install.cmake). */
static const struct {
    bool is_from_program;
    const char *folder;
} places[] = {
    {true, CONFIG_NAME_INSTALLED},
    {true, "../../configs"},
    {false, "configs"},
};

enum { N_PLACES = sizeof places / sizeof *places };

/* The folder of place i; false where there is none. */
static bool find_place(char dir[FILE_PATH_MAX], size_t i)
{
    char program[PATH_MAX], joined[FILE_PATH_MAX];
    struct err ignored;

    if (!places[i].is_from_program)
        return file_path(dir, &ignored, "%s", places[i].folder) == OK && file_is_dir(dir);
    if (!realpath("/proc/self/exe", program) ||
        file_join(joined, sizeof joined, dirname(program), places[i].folder, &ignored) !=
            OK)
        return false;
    char *real = realpath(joined, NULL);
    const bool is_there = real && file_path(dir, &ignored, "%s", real) == OK;
    free(real);
    return is_there && file_is_dir(dir);
}

static int is_config(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && str_ends(entry->d_name, ".yaml");
}

/* The names of a folder's configurations, and their number. */
static size_t put_names(struct str *out, const char *dir)
{
    struct dirent **entry;
    const int n = scandir(dir, &entry, is_config, alphasort);

    for (int i = 0; i < n; i++) {
        const size_t n_name = strlen(entry[i]->d_name) - strlen(".yaml");
        str_puts(out, i ? ", " : "");
        str_add(out, entry[i]->d_name, n_name);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
    return n > 0 ? (size_t)n : 0;
}

/* The first folder that has any, and their names. */
static bool find_names(char dir[FILE_PATH_MAX], struct str *names)
{
    for (size_t i = 0; i < N_PLACES; i++)
        if (find_place(dir, i) && put_names(names, dir) > 0)
            return true;
    return false;
}

static status refuse(const char *word, struct err *err)
{
    char dir[FILE_PATH_MAX];
    struct str names = str_new(4096);

    if (find_names(dir, &names))
        (void)err_set(err, ERR_USAGE,
                      "there is no file '%.64s' here and no configuration of that name; "
                      "there are %s in %s",
                      word, str_text(&names), dir);
    else
        (void)err_set(
            err, ERR_USAGE,
            "there is no file '%.64s' here, and no configurations are installed "
            "beside the program",
            word);
    str_release(&names);
    return err->code;
}

status config_name_find(char path[FILE_PATH_MAX], const char *word, struct err *err)
{
    char dir[FILE_PATH_MAX];

    TRY(file_path(path, err, "%s", word));
    if (strpbrk(word, "/.") || (file_exists(word) && !file_is_dir(word)))
        return OK;
    for (size_t i = 0; i < N_PLACES; i++) {
        if (!find_place(dir, i))
            continue;
        TRY(file_path(path, err, "%s/%s.yaml", dir, word));
        if (file_exists(path))
            return OK;
    }
    return refuse(word, err);
}

void config_name_describe(struct str *out)
{
    char dir[FILE_PATH_MAX];
    struct str names = str_new(4096);

    if (find_names(dir, &names))
        str_printf(out, "configs %s in %s\n", str_text(&names), dir);
    else
        str_puts(out, "configs none beside the program\n");
    str_release(&names);
}
