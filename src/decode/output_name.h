/*
 * output_name - names of output files, made from those of the input files.
 *
 * In a pattern {dir} is the directory of the input file, {name} its name without .gz, .xz
 * or .zst, and {stem} that without its last suffix: {dir}/{stem}.de is text/a.de for
 * text/a.en.gz. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"

/* Or is it the name of one file? */
bool output_name_is_pattern(const char *text);

/* The output of each of n inputs, by the pattern or all in the one file that it names.
 * ERR_USAGE for an unknown name in braces, two inputs with one output by a pattern, and
 * an output that is an input, however their names are spelled. */
status output_name_make(char (*name)[FILE_PATH_MAX], const char *pattern,
                        const char *const *input, size_t n, struct err *err);
