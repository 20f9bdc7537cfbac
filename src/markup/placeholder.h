/*
 * placeholder - what must stand in a translation as it stands in the source.
 *
 * Code: "%s", "%1$s", "%(name)s", "%{name}", "{name}", "{0}", "{{ name }}", "${x}",
 * "#{x}", "$1", "$name", ":emoji:", "{n, plural, ...}". Addresses: "https://a.b/c",
 * "www.a.b", "me@a.b". Measures: "5 km", "3,5 %", "$5", "€ 1.20". docs/markup.md has the
 * rules.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum placeholder_kind { PLACEHOLDER_CODE, PLACEHOLDER_ADDRESS, PLACEHOLDER_MEASURE };

struct placeholder {
    size_t at, n_bytes;
    enum placeholder_kind kind;
};

/*
 * The first at or behind `from`, which is 0 or the end of the one before; false when
 * there is none. Finding all of them takes time linear in n, whatever the bytes are.
 */
bool placeholder_next(const char *text, size_t n, size_t from, struct placeholder *p);
