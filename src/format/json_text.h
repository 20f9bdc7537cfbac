/* json_text - bytes as a JSON string: what is no UTF-8 becomes U+FFFD. */
#pragma once

#include <jansson.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

static inline json_t *json_text(const char *bytes)
{
    struct str valid = str_new(0);

    utf8_mend(&valid, bytes, strlen(bytes));
    json_t *text = json_string(str_text(&valid));
    str_release(&valid);
    return text;
}
