#include "decode/lines/joint.h"

#include <stdint.h>

#include "base/utf8.h"
#include "text/sentence_marks.h"
#include "text/unicode.h"

enum { MARKS_MAX = 8 }; /* quotes and brackets that are looked behind */

static bool is_pair(uint32_t code)
{
    return sentence_marks_is_quote(code) || sentence_marks_is_closer(code) ||
           sentence_marks_is_opener(code);
}

static bool ends_spaced(struct line text)
{
    size_t len;

    for (int i = 0; text.n_bytes && i < MARKS_MAX; i++, text.n_bytes -= len) {
        const uint32_t code = utf8_decode_last(text.text, text.n_bytes, &len);
        if (unicode_is_unspaced(code) || (i == 0 && utf8_is_space(code)))
            return false;
        if (!is_pair(code))
            return true;
    }
    return true;
}

static bool begins_spaced(struct line text)
{
    size_t len;

    for (int i = 0; text.n_bytes && i < MARKS_MAX; i++) {
        const uint32_t code = utf8_decode(text.text, text.n_bytes, &len);
        if (unicode_is_unspaced(code) || (i == 0 && utf8_is_space(code)))
            return false;
        if (!is_pair(code))
            return true;
        text.text += len;
        text.n_bytes -= len;
    }
    return true;
}

bool joint_needs_blank(struct line before, struct line after)
{
    return before.n_bytes && after.n_bytes && ends_spaced(before) && begins_spaced(after);
}
