/*
 * apt - Translation files through the system's own apt, in a state directory of ours.
 *
 * apt-get update runs with the system's sources, keys and proxies, as whoever we are, and
 * changes nothing outside DIR/apt: lists, caches and logs are there, hooks of the system
 * are cleared, and nothing but translations is downloaded. Images often set
 * Acquire::Languages to "none"; a list can only be replaced from a file, so
 * DIR/apt/apt.conf clears it first.
 *
 * Owns: a child process during the calls. Threads: one.
 */
#pragma once

#include "base/err.h"

/*
 * All Translation files of `lang` that the sources carry, unpacked by apt's own helper
 * and one behind the other in DIR/apt/Translation-LANG; its path in out. apt_update comes
 * first.
 */
status apt_update(const char *dir, struct err *err) MUST_CHECK;
status apt_translations(const char *dir, const char *lang, char *out, size_t n_out,
                        struct err *err) MUST_CHECK;
