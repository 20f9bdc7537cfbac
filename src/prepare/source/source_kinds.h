/* source_kinds - the readers behind source_next(), one a file, and what they share. */
#pragma once

#include "prepare/source/source.h"

status source_kinds_tsv(struct source *s, bool *has, struct err *err) MUST_CHECK;
status source_kinds_sgm(struct source *s, bool *has, struct err *err) MUST_CHECK;
status source_kinds_tmx(struct source *s, bool *has, struct err *err) MUST_CHECK;

/* Append the text of the present event to the segment of a side; one that would grow
 * beyond LINE_READER_MAX is cut. */
void source_kinds_add(struct source *s, int side);
/* Hand the segment out, without blanks at its ends. */
void source_kinds_finish(struct source *s, int side);
/* Keep an attribute, cut to SOURCE_ID_MAX - 1 bytes; NULL gives "". */
void source_kinds_id(char out[SOURCE_ID_MAX], const char *value);
