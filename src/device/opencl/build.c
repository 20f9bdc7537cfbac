/*
 * The program: source that is part of this binary, compiled by the driver, or what the
 * driver made of the same source, options and device last time.
 */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "device/opencl/opencl_state.h"

extern const char gpu_program_source[];

static uint64_t hash_more(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

/*
 * Where the compiled program is kept; empty when there is no place. Nothing is kept of a
 * CPU's: PoCL has a cache of its own, which holds the kernels that were used, while
 * asking it for the whole program compiles every kernel at once, half a minute of work.
 * FERRY_OPENCL_CACHE=1 keeps it all the same.
 */
static void cache_path(const struct opencl *o, const char *options, char *path, size_t n)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *asked = getenv("FERRY_OPENCL_CACHE");
    uint64_t hash = 0xcbf29ce484222325u;

    *path = '\0';
    if (!o->number && !(asked && *asked == '1'))
        return;
    hash = hash_more(hash, gpu_program_source);
    hash = hash_more(hash, options);
    hash = hash_more(hash, o->name);
    hash = hash_more(hash, o->version);
    if (cache && *cache)
        snprintf(path, n, "%s/ferry/opencl-%016" PRIx64 ".bin", cache, hash);
    else if (home && *home)
        snprintf(path, n, "%s/.cache/ferry/opencl-%016" PRIx64 ".bin", home, hash);
}

static bool load(struct opencl *o, cl_program *program, const char *path,
                 const char *options)
{
    struct file_map map = {0};
    struct err err;
    cl_int code = -1;

    if (!*path || !file_exists(path) || file_map_open(&map, path, &err) != OK)
        return false;
    const unsigned char *bytes = map.data;
    const size_t n = map.n_bytes;
    cl_program p = o->cl->clCreateProgramWithBinary(o->context, 1, &o->device, &n, &bytes,
                                                    NULL, &code);
    file_map_close(&map);
    if (p && code == CL_SUCCESS)
        code = o->cl->clBuildProgram(p, 1, &o->device, options, NULL, NULL);
    if (p && code != CL_SUCCESS)
        o->cl->clReleaseProgram(p);
    if (code != CL_SUCCESS)
        return false; /* another driver's: it is compiled and written again */
    *program = p;
    return true;
}

/* A cache that cannot be written is no failure: the next start compiles again. */
static void save(const struct opencl *o, cl_program program, const char *path)
{
    char dir[FILE_PATH_MAX];
    struct err err;
    size_t n = 0;
    unsigned char *bytes = NULL;

    snprintf(dir, sizeof dir, "%s", path);
    if (!*path)
        return;
    *strrchr(dir, '/') = '\0';
    if (o->cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) ||
        n == 0 || mem_alloc(&bytes, n, 1, &err) != OK)
        return;
    if (o->cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                                NULL) == CL_SUCCESS &&
        file_make_dirs(dir, &err) == OK && file_write(path, bytes, n, &err) != OK)
        unlink(path);
    free(bytes);
}

/* The first lines of the compiler's log are where its first error is. */
static status explain(const struct opencl *o, cl_program program, cl_int code,
                      struct err *err)
{
    char log[600] = "";
    size_t n = 0;
    char *all = NULL;

    if (o->cl->clGetProgramBuildInfo(program, o->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                     &n) == CL_SUCCESS &&
        mem_alloc(&all, n + 1, 1, err) == OK) {
        (void)o->cl->clGetProgramBuildInfo(program, o->device, CL_PROGRAM_BUILD_LOG, n,
                                           all, NULL);
        snprintf(log, sizeof log, "%s", all);
    }
    free(all);
    return err_set(err, ERR_DEVICE,
                   "device = opencl: %s cannot compile the kernels (code %d); its "
                   "compiler says:\n%s",
                   o->name, (int)code, log);
}

static status compile(struct opencl *o, cl_program *program, const char *options,
                      struct err *err)
{
    const char *source = gpu_program_source;
    cl_int code;
    cl_program p = o->cl->clCreateProgramWithSource(o->context, 1, &source, NULL, &code);

    if (!p)
        return err_set(err, ERR_DEVICE, "device = opencl: no program (code %d)",
                       (int)code);
    code = o->cl->clBuildProgram(p, 1, &o->device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        (void)explain(o, p, code, err);
        o->cl->clReleaseProgram(p);
        return err->code;
    }
    *program = p;
    return OK;
}

status opencl_build(struct opencl *o, enum mat_type type, enum precision precision,
                    struct err *err)
{
    char options[64], path[FILE_PATH_MAX];

    snprintf(options, sizeof options, "-cl-std=CL1.2 -DSTORAGE=%d -DWIDE=%d",
             type == MAT_REAL ? 0 : (int)precision, o->gpu.wide_bytes == sizeof(double));
    cache_path(o, options, path, sizeof path);
    if (load(o, &o->program[type], path, options))
        return OK;
    TRY(compile(o, &o->program[type], options, err));
    save(o, o->program[type], path);
    return OK;
}
