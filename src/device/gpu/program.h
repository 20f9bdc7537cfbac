/* Every GPU kernel: what OpenCL and nvcc compile, once for each STORAGE. */
#include "device/gpu/activate.h"
#include "device/gpu/attend.h"
#include "device/gpu/bias.h"
#include "device/gpu/columns.h"
#include "device/gpu/embed.h"
#include "device/gpu/gemm.h"
#include "device/gpu/norm.h"
#include "device/gpu/relu.h"
#include "device/gpu/topk.h"
#include "device/gpu/vector.h"
#include "device/gpu/xent.h"
#include "device/gpu/xent_views.h"

#define HEAD 16
#include "device/gpu/attention.h"
#undef HEAD
#define HEAD 32
#include "device/gpu/attention.h"
#undef HEAD
#define HEAD 64
#include "device/gpu/attention.h"
#undef HEAD
#define HEAD 128
#include "device/gpu/attention.h"
#undef HEAD
