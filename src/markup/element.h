/* element - what a tag's name says about the text around it and inside it. */
#pragma once

#include <stddef.h>

enum element_traits {
    ELEMENT_BLOCK = 1,  /* divides the text around it */
    ELEMENT_VOID = 2,   /* has no content and no end tag */
    ELEMENT_RAW = 4,    /* its content is no markup: up to its end tag */
    ELEMENT_KEPT = 8,   /* its content is not translated */
    ELEMENT_HIDDEN = 16 /* its content is no part of the sentence around it */
};

/* Traits of the element; 0 for one that stands in a line and for those not known. */
unsigned element_traits(const char *name, size_t n_bytes);
