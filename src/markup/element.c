#include "markup/element.h"

#include <string.h>

enum { RAW = ELEMENT_RAW | ELEMENT_KEPT | ELEMENT_HIDDEN };
enum { FOREIGN = ELEMENT_KEPT | ELEMENT_HIDDEN };
enum { BLOCK_VOID = ELEMENT_BLOCK | ELEMENT_VOID };

static const struct {
    unsigned traits;
    const char *names; /* each with a blank before and behind it */
} elements[] = {
    {ELEMENT_BLOCK,
     " address article aside blockquote body button caption center colgroup dd details "
     "dialog dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 "
     "h5 "
     "h6 head header hgroup html legend li main map menu nav noscript ol optgroup option "
     "p search section select summary table tbody td tfoot th thead title tr ul "},
    {BLOCK_VOID, " base br col frame hr link meta param source track "},
    {ELEMENT_VOID, " area embed img input wbr "},
    {ELEMENT_KEPT, " code kbd samp tt var "},
    {ELEMENT_BLOCK | ELEMENT_KEPT, " listing pre template "},
    {RAW, " iframe noembed noframes plaintext script style textarea xmp "},
    {FOREIGN, " audio canvas math object svg video "},
};

enum { LONGEST = 10 };

unsigned element_traits(const char *name, size_t n_bytes)
{
    char key[LONGEST + 3] = " ";

    if (n_bytes > LONGEST)
        return 0;
    for (size_t i = 0; i < n_bytes; i++)
        key[i + 1] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
    key[n_bytes + 1] = ' ';
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strstr(elements[i].names, key))
            return elements[i].traits;
    return 0;
}
