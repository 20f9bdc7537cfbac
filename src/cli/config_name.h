/*
 * config_name - ready configurations by name: `ferry train small` reads small.yaml.
 *
 * They are looked for from the program's own place, so that a moved installation finds
 * its own: first where `make install` puts them, then in the source tree around a build
 * directory, then in ./configs. Any thread.
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

/* The file that `word` means: a path as it is (one with a slash or a dot in it, or of a
 * file that is there), otherwise a configuration. ERR_USAGE lists those there are. */
status config_name_find(char path[FILE_PATH_MAX], const char *word, struct err *err);

/* The names there are and their folder, a line for people. */
void config_name_describe(struct str *out);
