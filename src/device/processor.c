#include "device/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clang knows no name for F16C; the operating system's part is AVX's. */
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;

    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

bool processor_has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && has_f16c();
}

bool processor_has_avx512(void)
{
    return processor_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool processor_has_dot_product(void)
{
    return processor_has_avx512() && __builtin_cpu_supports("avx512vnni");
}

/* A process must ask Linux for the tile registers, which add 8 KiB to every context
 * switch; kernels before 5.16 do not know them. */
static bool may_use_tiles(void)
{
    enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };

    return syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
}

static bool has_amx(unsigned kind)
{
    enum { AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;

    return processor_has_avx512() && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & kind) && (d & AMX_TILE) && may_use_tiles();
}

bool processor_has_amx_bf16(void)
{
    enum { AMX_BF16 = 1 << 22, AVX512_BF16 = 1 << 5 };
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX512_BF16) &&
           has_amx(AMX_BF16);
}

bool processor_has_amx_int8(void)
{
    enum { AMX_INT8 = 1 << 25 };

    return processor_has_dot_product() && has_amx(AMX_INT8);
}

#else

#if defined(__aarch64__)
#include <sys/auxv.h>

bool processor_has_dot_product(void)
{
    enum { DOT_PRODUCT = 1 << 20 }; /* HWCAP_ASIMDDP */

    return getauxval(AT_HWCAP) & DOT_PRODUCT;
}
#else
bool processor_has_dot_product(void)
{
    return false;
}
#endif

bool processor_has_avx2(void)
{
    return false;
}

bool processor_has_avx512(void)
{
    return false;
}

bool processor_has_amx_bf16(void)
{
    return false;
}

bool processor_has_amx_int8(void)
{
    return false;
}
#endif
