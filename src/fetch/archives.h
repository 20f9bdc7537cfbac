/*
 * archives - every file of a catalogue in its place: downloaded, compared with what was
 * recorded, unpacked and counted; the next address when one of these fails.
 *
 * DIR/archives/NAME.part is a download under way, DIR/archives/NAME a whole one.
 */
#pragma once

#include "fetch/catalog.h"
#include "fetch/fetch.h"

status archives_fetch(const struct fetch_config *c, const struct catalog *catalog,
                      const char *dir, struct progress *progress, struct fetch_result *r,
                      struct err *err) MUST_CHECK;
