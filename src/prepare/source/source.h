/*
 * source - a file of foreign text as rows of segments, whatever it is written in.
 *
 *   text  one segment a line                       anything not named otherwise
 *   tsv   two columns of a line, no quoting        .tsv, any other file of pairs
 *   sgm   <seg> of WMT's test sets                 .sgm .sgml .xml
 *   tmx   two languages of each <tu>               .tmx
 *
 * Any of them may be compressed (format/stream.h). text and sgm give one side, tsv and
 * tmx both. Lines and tags that cannot be are refused with the file and the line. In sgm
 * and tmx line ends inside a segment become blanks, blanks at its ends are dropped.
 *
 * Owns: the open file and the present row. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "prepare/source/markup.h"
#include "text/line_reader.h"

enum source_kind { SOURCE_TEXT, SOURCE_TSV, SOURCE_SGM, SOURCE_TMX };

/* By the end of the name, after that of a packer. */
enum source_kind source_kind_of(const char *path);
/* Whether a file of this kind holds both sides. */
bool source_is_both(enum source_kind kind);

enum { SOURCE_SIDES = 2, SOURCE_ID_MAX = 128 };

struct source_options {
    int side;                       /* of sgm: which one is wanted of a file with both */
    int column[SOURCE_SIDES];       /* of tsv, from 1 */
    const char *lang[SOURCE_SIDES]; /* of tmx; "de" takes "de-AT", "de-AT" only itself */
};

/* "2,1": two columns of a .tsv, from 1. */
status source_columns(int column[SOURCE_SIDES], const char *text, struct err *err);

struct source {
    enum source_kind kind;
    struct source_options options;
    struct markup markup; /* text and tsv read its file as it stands */
    struct line seg[SOURCE_SIDES];
    struct str room[SOURCE_SIDES]; /* of segments that are put together from pieces */
    uint64_t line;                 /* 1-based, on which the row begins */
    bool is_cut;                   /* a segment was longer than LINE_READER_MAX */
    char doc[SOURCE_ID_MAX], id[SOURCE_ID_MAX]; /* sgm: of the segment, or "" */
    char system[SOURCE_ID_MAX];                 /* sgm: sysid of the first document */
    bool has_document, in_other, is_done_ref, is_new_style, is_wanted; /* sgm */
    uint64_t n_skipped; /* tmx: units without both languages */
    uint64_t n_rows;
};

/* `name` is what messages call the file. On failure *s is closed. */
status source_open(struct source *s, const char *path, const char *name,
                   enum source_kind kind, struct source_options options, struct err *err);
void source_close(struct source *s); /* safe on a zeroed one */

/* The next row in s->seg, valid until the next call; *has is false at the end. */
status source_next(struct source *s, bool *has, struct err *err);

/* Bytes taken from the file so far. */
uint64_t source_bytes_read(const struct source *s);

/* Between the files of this module: the readers of markup behind source_next(), */
status source_sgm_next(struct source *s, bool *has, struct err *err);
status source_tmx_next(struct source *s, bool *has, struct err *err);
/* what appends the text of the present event to the segment of a side, which is cut if it
 * would grow beyond LINE_READER_MAX, hands the segment out without blanks at its ends, */
void source_add(struct source *s, int side);
void source_finish(struct source *s, int side);
/* and keeps an attribute, cut to SOURCE_ID_MAX - 1 bytes; NULL gives "". */
void source_id(char out[SOURCE_ID_MAX], const char *value);
