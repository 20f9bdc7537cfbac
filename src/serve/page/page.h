/* page - the files of the page for people, which are texts inside the program. */
#pragma once

#include "http/http.h"

struct page_file {
    const char *path, *type, *text;
};

/* Made of src/serve/page by cmake/page.cmake; ended by a row without a path. */
extern const struct page_file page_files[];

/* Answer with the file of this path; false: there is none. */
bool page_answer(struct http_request *r);
