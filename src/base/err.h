/*
 * err - how every fallible function in the project reports failure.
 *
 * A fallible function returns a status and takes a `struct err *` as its last
 * argument. On success it returns OK and leaves *err alone. On failure it returns
 * the code it stored in *err, beside one complete sentence for the user. The message
 * grows outward: callers prepend what they were doing. It may quote names and text of
 * foreign files: what a terminal would obey is spelled out in it (utf8_spell). Nothing
 * below src/cli prints an error, and nothing but main chooses an exit status.
 */
#pragma once

#include <stddef.h>

/* code, process exit status, meaning */
#define STATUS_LIST(X)                                          \
    X(OK, 0, "success")                                         \
    X(ERR_CHECK, 1, "a check was asked for and did not hold")   \
    X(ERR_USAGE, 2, "bad option or configuration")              \
    X(ERR_IO, 3, "operating system refused")                    \
    X(ERR_FORMAT, 4, "malformed input")                         \
    X(ERR_MEMORY, 5, "out of memory")                           \
    X(ERR_DEVICE, 6, "compute device failed")                   \
    X(ERR_COMM, 7, "a peer rank failed")                        \
    X(ERR_NUMERIC, 8, "training diverged")                      \
    X(ERR_LOST, 9, "cut off from the job, or told to leave it") \
    X(ERR_CANCELLED, 10, "cancelled by whoever had asked")

/* The compiler warns where a status is not looked at. Each has its own way to say so of a
 * type. */
#ifdef __clang__
#define ERR_LOOKED_AT __attribute__((warn_unused_result))
#else
#define ERR_LOOKED_AT [[nodiscard]]
#endif

#define STATUS_CODE(code, exit_status, text) code = exit_status,
typedef enum ERR_LOOKED_AT { STATUS_LIST(STATUS_CODE) } status;

struct err {
    status code;
    char msg[1024];
};

#define PRINTF(fmt, a) __attribute__((format(printf, fmt, a)))

/* Store code and message; return code, so that `return err_set(...)` reads well. */
status err_set(struct err *err, status code, const char *fmt, ...) PRINTF(3, 4);

/* Prepend context: "loading shard 3: " + message. Returns the stored code. */
status err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3);

#ifdef __clang_analyzer__ /* it sees one file at a time: a failure is never OK */
#define ERR_FAILED(call)               \
    __extension__({                    \
        const status failed_ = (call); \
        if (failed_ == OK)             \
            __builtin_unreachable();   \
        failed_;                       \
    })
#define err_set(...)  ERR_FAILED((err_set)(__VA_ARGS__))
#define err_wrap(...) ERR_FAILED((err_wrap)(__VA_ARGS__))
#endif

const char *status_text(status code);

/* Forward a failure unchanged. Only for functions that hold nothing to release but what
 * RELEASED_BY names. */
#define TRY(call)             \
    do {                      \
        status try_ = (call); \
        if (try_ != OK)       \
            return try_;      \
    } while (0)

/* Before a declaration: `fn` gets the variable's address wherever its scope is left. */
#define RELEASED_BY(fn) __attribute__((cleanup(fn)))

/* The next call, while all before it went well: for functions with something to release.
 */
#define THEN(result, call)     \
    do {                       \
        if ((result) == OK)    \
            (result) = (call); \
    } while (0)

/* A broken invariant on which memory safety depends: abort with file and line. */
#define BUG_ON(cond)                            \
    do {                                        \
        if (cond)                               \
            err_bug(#cond, __FILE__, __LINE__); \
    } while (0)

/* An attribute and not _Noreturn, because the one C++ file of text/ includes this. */
__attribute__((noreturn)) void err_bug(const char *cond, const char *file, int line);
