#include "serve/page/page.h"

#include <string.h>

/* Everything comes from this server and nothing is inline, so that text which someone
 * translates can never run. */
static const char policy[] =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

bool page_answer(struct http_request *r)
{
    for (const struct page_file *f = page_files; f->path; f++) {
        if (strcmp(f->path, http_path(r)) != 0)
            continue;
        struct http_answer a = {.status = 200, .type = f->type, .body = str_new(0)};
        http_add_header(&a, "Content-Security-Policy", policy);
        http_add_header(&a, "X-Content-Type-Options", "nosniff");
        http_add_header(&a, "Referrer-Policy", "no-referrer");
        http_add_header(&a, "Cache-Control", "no-cache");
        str_puts(&a.body, f->text);
        http_answer(r, &a);
        return true;
    }
    return false;
}
