#include "base/utf8.h"
#include "text/sentence_marks.h"
#include "text/sentences.h"

/* How well a text may be cut behind a character, the best first. */
enum cut { CUT_CLAUSE, CUT_COMMA, CUT_SPACE, CUT_LETTER, CUT_JOINED };

/* Where white space follows, or where the script has none. */
static enum cut cut_behind(uint32_t code)
{
    return sentence_marks_among(code, U";:!?–—…\u037e\u0387\u00b7؛。！：；？")
               ? CUT_CLAUSE
           : sentence_marks_among(code, U",)]،፣、，､") ? CUT_COMMA
                                                       : CUT_SPACE;
}

/* Joined to the character before it. */
static bool is_joined(uint32_t code)
{
    return (code >= 0x300 && code <= 0x36F) || sentence_marks_is_emoji(code) ||
           sentence_marks_is_quote(code) || sentence_marks_is_closer(code);
}

size_t sentences_clause(const char *text, size_t n_bytes, size_t at_most)
{
    static const size_t eighths[] = {0, 1, 6, 16, 32}; /* of a part, that a cut costs */
    const size_t n_parts = (n_bytes - !!n_bytes) / (at_most + !at_most) + 1;
    const size_t ideal = n_bytes / n_parts;
    size_t best = 0, least = SIZE_MAX, len = 0, next_len;
    enum cut cut = CUT_SPACE;

    if (n_bytes <= at_most)
        return n_bytes;
    for (size_t at = 0; at < n_bytes; at += len) {
        const uint32_t code = utf8_decode(text + at, n_bytes - at, &len);
        const size_t end = at + len;
        if (best && end > at_most)
            break;
        if (!sentence_marks_is_quote(code))
            cut = cut_behind(code);
        if (utf8_is_space(code) || end == n_bytes)
            continue;
        const uint32_t next = utf8_decode(text + end, n_bytes - end, &next_len);
        const bool is_wide = code >= 0x3000 && cut < CUT_SPACE;
        const enum cut here = utf8_is_space(next) ? cut
                              : is_joined(next)   ? CUT_JOINED
                              : is_wide           ? cut
                                                  : CUT_LETTER;
        const size_t away = end > ideal ? end - ideal : ideal - end;
        const size_t cost = away + eighths[here] * ideal / 8;
        if (cost < least) {
            best = end;
            least = cost;
        }
    }
    return best ? best : n_bytes;
}
