#include "format/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

enum { IN_BUFFER = 1 << 17, XZ_MEMORY = 256 << 20, ZST_WINDOW_LOG = 27 };

_Static_assert(STREAM_WINDOW_MAX == (size_t)1 << ZST_WINDOW_LOG, "one limit");

/* One of these lies behind stream.codec. */
union codec {
    z_stream gz;
    lzma_stream xz;
    ZSTD_DStream *zst;
};

size_t stream_stem(const char *name, size_t n)
{
    static const char *const ends[] = {".gz", ".xz", ".zst"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t len = strlen(ends[i]);
        if (n > len && strncasecmp(name + n - len, ends[i], len) == 0)
            return n - len;
    }
    return n;
}

static status fail(const struct stream *s, struct err *err, const char *what)
{
    static const char *const names[] = {"plain", "gzip", "xz", "zstd"};

    return err_set(err, ERR_FORMAT, "%s: the %s data %s", s->name, names[s->kind], what);
}

static status no_memory(const struct stream *s, struct err *err)
{
    return err_set(err, ERR_MEMORY, "%s: no memory to unpack it", s->name);
}

/* Up to n bytes of the file; *got is 0 at its end. */
static status read_file(const struct stream *s, unsigned char *to, size_t n, size_t *got,
                        struct err *err)
{
    ssize_t part;

    do
        part = read(s->fd, to, n);
    while (part < 0 && errno == EINTR);
    if (part < 0)
        return err_set(err, ERR_IO, "%s: %s", s->name, strerror(errno));
    *got = (size_t)part;
    return OK;
}

static void take(struct stream *s, size_t n)
{
    if (n)
        s->next += n;
    s->n_left -= n;
    s->n_in += n;
}

/* What the first bytes say; *is_sure is false when more of them could change it. */
static enum stream_kind recognise(const unsigned char *p, size_t n, bool *is_sure)
{
    static const struct {
        enum stream_kind kind;
        unsigned char mask; /* of the first byte */
        unsigned char n;
        unsigned char bytes[6];
    } magic[] = {
        {STREAM_GZ, 0xFF, 3, {0x1F, 0x8B, 0x08}},
        {STREAM_XZ, 0xFF, 6, {0xFD, '7', 'z', 'X', 'Z', 0}},
        {STREAM_ZST, 0xFF, 4, {0x28, 0xB5, 0x2F, 0xFD}},
        {STREAM_ZST, 0xF0, 4, {0x50, 0x2A, 0x4D, 0x18}}, /* skippable: pzstd's first */
    };

    *is_sure = n > 0;
    for (size_t i = 0; n && i < sizeof magic / sizeof *magic; i++) {
        const size_t n_seen = n < magic[i].n ? n : magic[i].n;
        if ((p[0] & magic[i].mask) != magic[i].bytes[0] ||
            memcmp(p + 1, magic[i].bytes + 1, n_seen - 1) != 0)
            continue;
        *is_sure = n_seen == magic[i].n;
        return *is_sure ? magic[i].kind : STREAM_PLAIN;
    }
    return STREAM_PLAIN;
}

bool stream_is_packed(const void *bytes, size_t n)
{
    bool is_sure;

    return recognise(bytes, n, &is_sure) != STREAM_PLAIN;
}

static status codec_open(struct stream *s, struct err *err)
{
    union codec *c;

    if (s->kind == STREAM_PLAIN)
        return OK;
    TRY(mem_alloc(&c, 1, sizeof *c, err));
    s->codec = c;
    if (s->kind == STREAM_GZ && inflateInit2(&c->gz, 15 + 16) == Z_OK)
        return OK;
    if (s->kind == STREAM_XZ &&
        lzma_stream_decoder(&c->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK)
        return OK;
    if (s->kind == STREAM_ZST && (c->zst = ZSTD_createDStream())) {
        ZSTD_DCtx_setParameter(c->zst, ZSTD_d_windowLogMax, ZST_WINDOW_LOG);
        return OK;
    }
    free(c);
    s->codec = NULL;
    return no_memory(s, err);
}

static void codec_close(struct stream *s)
{
    union codec *c = s->codec;

    if (!c)
        return;
    if (s->kind == STREAM_GZ)
        inflateEnd(&c->gz);
    else if (s->kind == STREAM_XZ)
        lzma_end(&c->xz);
    else
        ZSTD_freeDStream(c->zst);
    free(c);
    s->codec = NULL;
}

static status read_plain(struct stream *s, unsigned char *out, size_t n, size_t *got,
                         struct err *err)
{
    (void)err;
    *got = n < s->n_left ? n : s->n_left;
    if (*got)
        memcpy(out, s->next, *got);
    take(s, *got);
    return OK;
}

/* Another member follows, or zeros with which tapes were filled up: then nothing does. */
static status begin_member(struct stream *s, union codec *c, struct err *err)
{
    while (s->n_in && s->n_left && *s->next == 0)
        take(s, 1);
    if (!s->n_left)
        return OK;
    if (s->n_in && *s->next != 0x1f)
        return fail(s, err, "is followed by something else");
    if (inflateReset(&c->gz) != Z_OK)
        return fail(s, err, "cannot be unpacked");
    s->in_member = true;
    return OK;
}

static status read_gz(struct stream *s, unsigned char *out, size_t n, size_t *got,
                      struct err *err)
{
    union codec *c = s->codec;

    *got = 0;
    if (!s->in_member)
        TRY(begin_member(s, c, err));
    if (!s->in_member)
        return OK;
    const uInt room = n < UINT32_MAX ? (uInt)n : UINT32_MAX;
    c->gz.next_in =
        (Bytef *)(uintptr_t)s->next; /* only read; NOLINT(performance-no-int-to-ptr) */
    c->gz.avail_in = (uInt)s->n_left;
    c->gz.next_out = out;
    c->gz.avail_out = room;
    const int code = inflate(&c->gz, Z_NO_FLUSH);
    take(s, s->n_left - c->gz.avail_in);
    *got = room - c->gz.avail_out;
    if (code == Z_STREAM_END)
        s->in_member = false;
    else if (code == Z_MEM_ERROR)
        return no_memory(s, err);
    else if (code != Z_OK && code != Z_BUF_ERROR)
        return fail(s, err, "is damaged");
    return OK;
}

static status explain_xz(const struct stream *s, lzma_ret code, struct err *err)
{
    if (code == LZMA_MEM_ERROR)
        return no_memory(s, err);
    return fail(s, err,
                code == LZMA_MEMLIMIT_ERROR
                    ? "wants more than 256 MiB of memory to be unpacked"
                : code == LZMA_OPTIONS_ERROR ? "uses a feature that is not supported"
                : code == LZMA_BUF_ERROR     ? "ends too early: the file was cut"
                                             : "is damaged");
}

static status read_xz(struct stream *s, unsigned char *out, size_t n, size_t *got,
                      struct err *err)
{
    union codec *c = s->codec;

    c->xz.next_in = s->next;
    c->xz.avail_in = s->n_left;
    c->xz.next_out = out;
    c->xz.avail_out = n;
    s->in_member = true;
    const lzma_ret code = lzma_code(&c->xz, s->at_end ? LZMA_FINISH : LZMA_RUN);
    take(s, s->n_left - c->xz.avail_in);
    *got = n - c->xz.avail_out;
    if (code == LZMA_STREAM_END)
        s->in_member = false;
    else if (code != LZMA_OK && !(code == LZMA_BUF_ERROR && !s->at_end))
        return explain_xz(s, code, err);
    return OK;
}

static status read_zst(struct stream *s, unsigned char *out, size_t n, size_t *got,
                       struct err *err)
{
    union codec *c = s->codec;
    ZSTD_inBuffer in = {s->next, s->n_left, 0};
    ZSTD_outBuffer to = {out, n, 0};

    const size_t code = ZSTD_decompressStream(c->zst, &to, &in);
    take(s, in.pos);
    *got = to.pos;
    if (ZSTD_isError(code))
        return err_set(err, ERR_FORMAT, "%s: the zstd data is damaged: %s", s->name,
                       ZSTD_getErrorName(code));
    /* 0: a frame is complete; with output left over there may be more of it */
    s->in_member = code != 0;
    return OK;
}

typedef status read_fn(struct stream *s, unsigned char *out, size_t n, size_t *got,
                       struct err *err);

status stream_read(struct stream *s, void *buf, size_t n, size_t *got, struct err *err)
{
    static read_fn *const readers[] = {read_plain, read_gz, read_xz, read_zst};

    for (;;) {
        if (!s->n_left && !s->at_end) {
            TRY(read_file(s, s->buf, IN_BUFFER, &s->n_left, err));
            s->next = s->buf;
            s->at_end = s->n_left == 0;
        }
        /* at the end of the input an unpacker may still hold text */
        const bool drained = !s->n_left && s->at_end;
        if (drained && (s->kind == STREAM_PLAIN || !s->in_member)) {
            *got = 0;
            return OK;
        }
        TRY(readers[s->kind](s, buf, n, got, err));
        s->n_out += *got;
        if (*got)
            return OK;
        if (drained && s->in_member)
            return fail(s, err, "ends too early: the file was cut");
    }
}

bool stream_stalls(const struct stream *s, int milliseconds)
{
    struct pollfd ask = {.fd = s->fd, .events = POLLIN};

    /* a signal or a failure is for the read to find */
    return milliseconds >= 0 && !s->n_left && !s->at_end &&
           poll(&ask, 1, milliseconds) == 0;
}

/* The first bytes decide what the file is. A pipe may give them in pieces; a terminal
 * that has given a line is not asked for more. */
static status begin(struct stream *s, struct err *err)
{
    bool is_sure = false;
    size_t got = 1;

    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    TRY(mem_alloc(&s->buf, IN_BUFFER, 1, err));
    s->next = s->buf;
    while (!is_sure && got) {
        TRY(read_file(s, s->buf + s->n_left, IN_BUFFER - s->n_left, &got, err));
        s->n_left += got;
        (void)recognise(s->buf, s->n_left, &is_sure);
    }
    s->at_end = got == 0; /* a terminal is not asked for its end twice */
    s->kind = recognise(s->next, s->n_left, &is_sure);
    return codec_open(s, err);
}

/* *s has an open file, or `errno` says why not. */
static status start(struct stream *s, const char *name, struct err *err)
{
    struct stat st;
    status result = OK;

    if (s->fd < 0 || fstat(s->fd, &st) != 0)
        result = err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    else if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
        result = err_set(err, ERR_IO, "%s: not a regular file", name);
    else if (!(s->name = strdup(name)))
        result = err_set(err, ERR_MEMORY, "%s: no memory to open it", name);
    else
        result = begin(s, err);
    if (result != OK)
        stream_close(s);
    return result;
}

status stream_open(struct stream *s, const char *path, const char *name, struct err *err)
{
    *s = (struct stream){.fd = open(path, O_RDONLY | O_CLOEXEC), .is_open = true};
    return start(s, name, err);
}

status stream_open_fd(struct stream *s, int fd, const char *name, struct err *err)
{
    *s = (struct stream){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .is_open = true};
    return start(s, name, err);
}

void stream_close(struct stream *s)
{
    codec_close(s);
    if (s->is_open && s->fd >= 0)
        close(s->fd);
    free(s->name);
    free(s->buf);
    *s = (struct stream){.fd = -1};
}
