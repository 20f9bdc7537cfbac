#include <stdlib.h>

#include "library/result.h"

/* NULL: there is no such translation. */
static const struct result_item *item_of(const struct ferry_result *r, size_t i,
                                         size_t rank)
{
    if (i >= r->n || rank >= r->of[i].n_found)
        return NULL;
    return &r->item[r->of[i].first_item + rank];
}

size_t ferry_result_count(const struct ferry_result *r, size_t i)
{
    return i < r->n ? r->of[i].n_found : 0;
}

const char *ferry_result_text(const struct ferry_result *r, size_t i, size_t rank)
{
    const struct result_item *item = item_of(r, i, rank);

    return item ? r->text.data + item->at : NULL;
}

double ferry_result_score(const struct ferry_result *r, size_t i, size_t rank)
{
    const struct result_item *item = item_of(r, i, rank);

    return item ? item->score : 0;
}

size_t ferry_result_links(const struct ferry_result *r, size_t i, size_t rank,
                          const struct ferry_link **links)
{
    const struct result_item *item = item_of(r, i, rank);

    *links = item ? r->link + item->first_link : NULL;
    return item ? item->n_links : 0;
}

void ferry_result_free(struct ferry_result *r)
{
    if (!r)
        return;
    free(r->of);
    free(r->item);
    free(r->link);
    str_release(&r->text);
    free(r);
}
