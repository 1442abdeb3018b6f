/* A libcuda.so.1 without a GPU: device memory is host memory, work is done at once, and launches are logged to stderr.
 * It is stricter than the real one in that nothing works on a thread without a current context.
 * It holds launches to the limits of an H200: it reads the registers and the static shared memory of a kernel in its cubin.
 * Environment: STUB_LOG logs calls; STUB_MISALIGN gives addresses that are aligned to 256 bytes only;
 * STUB_PAGEABLE makes host memory pageable unless it was pinned here;
 * STUB_CAPTURE lets all streams be captured; STUB_BUSY lets queries say "not ready"; from launch number N on,
 * STUB_FAULT=N lets synchronisation fail as an illegal access does, STUB_HANG=N lets it never end, STUB_DIE=N ends the process, and
 * STUB_REFUSE=N lets launches fail; STUB_EMPTY gives as much memory as an H200 has, which keeps nothing: addresses alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NOT_FOUND = 500 };
enum { NOT_READY = 600, ILLEGAL = 700, OUT_OF_RESOURCES = 701 };
enum { UNSUPPORTED = 900, INVALIDATED = 901, UNJOINED = 904, ISOLATION = 905, IMPLICIT = 906 };
enum { RELAXED = 2 };
enum { STATIC_SHARED = 1, REGISTERS = 4, MOST_DYNAMIC_SHARED = 8 }; /* attributes of kernels */
enum { BLOCK_SHARED = 49152, OPT_IN_SHARED = 232448 };  /* bytes of a block; the second is 227 KiB */
enum { ALL_SHARED = 233472, RESERVED_SHARED = 1024 };   /* of a multiprocessor, and what each block takes besides */
enum { BLOCK_THREADS = 1024, ALL_WARPS = 64, ALL_BLOCKS = 32, QUARTER_REGISTERS = 16384 };

typedef int Result;
typedef unsigned long long Address;

#define memory (is_set("STUB_EMPTY") ? 140ull << 30 : 1ull << 33)
static char contexts[2];
static __thread char *stack[64];
static __thread int depth;

static int is_set(const char *name) { return getenv(name) != NULL; }

static int num_launches;
static int is_reached(const char *name) { return is_set(name) && num_launches >= atoi(getenv(name)); }

static void say(const char *format, ...) {
  va_list arguments;
  if (!is_set("STUB_LOG")) return;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
}

#define NEEDS_CONTEXT \
  if (depth == 0) return INVALID_CONTEXT

/* Captures: there is one at a time, of one or several streams. Calls that CUDA refuses during a capture end it, as in CUDA. */
static void *captured[8]; /* its streams; the first one began the capture */
static int num_captured, is_spoilt, graph_number, num_nodes;
static __thread int mode_of_thread;

static int is_captured(void *stream) {
  for (int i = 0; i < num_captured; i++)
    if (captured[i] == stream) return 1;
  return 0;
}
static void count_node(void *stream) { num_nodes += is_captured(stream); }
static Result spoil(const char *what) { return say("SPOILT by %s\n", what), is_spoilt = 1, UNSUPPORTED; }

#define NO_CAPTURE_OF(stream) \
  if (is_captured(stream)) return spoil(__func__)
#define NO_CAPTURE \
  if (num_captured) return spoil(__func__)
#define SAFE \
  if (num_captured && mode_of_thread != RELAXED) return spoil(__func__)

Result cuInit(unsigned flags) { return 0; }
Result cuDriverGetVersion(int *version) { return *version = 13000, 0; }
Result cuDeviceGetCount(int *count) { return *count = 2, 0; }
Result cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
Result cuDeviceGetName(char *name, int length, int device) { return snprintf(name, length, "Stub %d", device), 0; }
Result cuDeviceTotalMem(size_t *bytes, int device) { return *bytes = memory, 0; }

Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
    case 1: *value = BLOCK_THREADS; return 0;
    case 8: *value = BLOCK_SHARED; return 0;
    case 16: *value = 132; return 0;  /* multiprocessors */
    case 39: *value = 2048; return 0; /* threads per multiprocessor */
    case 75: *value = 9; return 0;    /* compute capability */
    case 76: *value = 0; return 0;
    case 97: *value = OPT_IN_SHARED; return 0;
    case 115: *value = 1; return 0;   /* memory pools */
    default: return INVALID_VALUE;
  }
}

Result cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &contexts[device], 0; }
Result cuCtxPushCurrent(void *context) { return stack[depth++] = context, 0; }
Result cuCtxPopCurrent(void **context) { NEEDS_CONTEXT; return *context = stack[--depth], 0; }
Result cuCtxGetCurrent(void **context) { return *context = depth ? stack[depth - 1] : NULL, 0; }
Result cuCtxSetCurrent(void *context) { return stack[depth ? depth - 1 : depth++] = context, 0; }
Result cuCtxGetDevice(int *device) { NEEDS_CONTEXT; return *device = stack[depth - 1] - contexts, 0; }
Result cuCtxSynchronize(void) { NEEDS_CONTEXT; NO_CAPTURE; return 0; }

static Result take(Address *address, size_t size) {
  static Address next = 1ull << 44;
  void *block;
  if (is_set("STUB_EMPTY")) return *address = next, next += (size + 1023) / 512 * 512, 0;
  if (size > memory || posix_memalign(&block, 512, size + 512)) return OUT_OF_MEMORY;
  *address = (Address)block + (is_set("STUB_MISALIGN") ? 256 : 0);
  return 0;
}
Result cuMemAlloc(Address *address, size_t size) {
  NEEDS_CONTEXT;
  SAFE;
  return say("take %zu bytes\n", size), take(address, size);
}
Result cuMemFree(Address address) { NEEDS_CONTEXT; SAFE; return say("free %llx\n", address), 0; }
struct PoolProperties { int type, handles, location, device; };
static char pools[2];
Result cuMemPoolCreate(void **pool, const struct PoolProperties *properties) {
  SAFE;
  if (properties->type != 1 || properties->location != 1) return INVALID_VALUE;
  return *pool = &pools[properties->device], say("make a pool on device %d\n", properties->device), 0;
}
Result cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  return say("attribute %d of the pool is %llu\n", attribute, *(unsigned long long *)value), 0;
}
Result cuMemPoolTrimTo(void *pool, size_t size) { SAFE; return say("trim the pool to %zu bytes\n", size), 0; }
Result cuMemAllocFromPoolAsync(Address *address, size_t size, void *pool, void *stream) {
  NEEDS_CONTEXT;
  if (pool != &pools[stack[depth - 1] - contexts]) return INVALID_VALUE;
  return say("take %zu bytes on %p\n", size, stream), take(address, size);
}
Result cuMemFreeAsync(Address address, void *stream) { NEEDS_CONTEXT; return say("give back on %p\n", stream), 0; }

static char *pinned; /* the last memory that was pinned */
static size_t pinned_size;

Result cuMemHostAlloc(void **address, size_t size, unsigned flags) {
  NEEDS_CONTEXT;
  SAFE;
  if (posix_memalign(address, 4096, size)) return OUT_OF_MEMORY;
  return pinned = *address, pinned_size = size, 0;
}
Result cuMemFreeHost(void *address) { NEEDS_CONTEXT; SAFE; return say("free host memory\n"), free(address), 0; }
Result cuMemGetInfo(size_t *unused, size_t *total) { NEEDS_CONTEXT; return *unused = memory / 2, *total = memory, 0; }
Result cuMemcpyAsync(Address dst, Address src, size_t size, void *stream) {
  NEEDS_CONTEXT;
  count_node(stream);
  say("copy %zu bytes on %p\n", size, stream);
  return is_set("STUB_EMPTY") ? 0 : (memmove((void *)dst, (void *)src, size), 0);
}
Result cuMemsetD8Async(Address dst, unsigned char byte, size_t size, void *stream) {
  NEEDS_CONTEXT;
  count_node(stream);
  say("set %zu bytes to %d on %p\n", size, byte, stream);
  return is_set("STUB_EMPTY") ? 0 : (memset((void *)dst, byte, size), 0);
}
Result cuPointerGetAttribute(void *value, int attribute, Address address) {
  if (attribute != 9 || address == 4096) return INVALID_VALUE; /* the device's ordinal; memory that it does not know */
  if (is_set("STUB_PAGEABLE") && (size_t)(address - (Address)pinned) >= pinned_size) return INVALID_VALUE;
  return *(int *)value = 0, 0;
}

enum { FIRST_STREAM = 0x5010, NUM_STREAMS = 4096 };
static char devices[NUM_STREAMS]; /* of streams */

Result cuStreamCreate(void **stream, unsigned flags) {
  static int count;
  NEEDS_CONTEXT;
  if (count == NUM_STREAMS) return OUT_OF_MEMORY;
  devices[count] = stack[depth - 1] - contexts;
  return *stream = (void *)(FIRST_STREAM + 16ul * count++), say("stream %p flags %u\n", *stream, flags), 0;
}
static int device_of_stream(void *stream) {
  uintptr_t number = ((uintptr_t)stream - FIRST_STREAM) / 16;
  return number < NUM_STREAMS ? devices[number] : (uintptr_t)stream > 2 ? 0 : stack[depth - 1] - contexts;
}
Result cuStreamDestroy(void *stream) { NEEDS_CONTEXT; NO_CAPTURE_OF(stream); return say("destroy %p\n", stream), 0; }
Result cuStreamSynchronize(void *stream) {
  NEEDS_CONTEXT;
  NO_CAPTURE_OF(stream);
  say("wait for %p\n", stream);
  if (is_reached("STUB_DIE")) abort();
  while (is_reached("STUB_HANG")) pause();
  return is_reached("STUB_FAULT") ? ILLEGAL : 0;
}
Result cuStreamQuery(void *stream) { NEEDS_CONTEXT; NO_CAPTURE_OF(stream); return is_set("STUB_BUSY") ? NOT_READY : 0; }
Result cuStreamIsCapturing(void *stream, int *status) {
  NEEDS_CONTEXT;
  if (stream == (void *)1 && num_captured) return IMPLICIT;
  return *status = is_captured(stream) ? 1 + is_spoilt : is_set("STUB_CAPTURE"), 0;
}
Result cuStreamGetCaptureInfo(void *stream, int *status, uint64_t *number, void **graph, const void **dependencies,
                              const void **edges, size_t *count) {
  NEEDS_CONTEXT;
  if (dependencies) *dependencies = NULL;
  if (edges) *edges = NULL;
  if (count) *count = 0;
  return *status = is_captured(stream) ? 1 + is_spoilt : 0, *number = graph_number, *graph = (void *)0xa0, 0;
}
Result cuStreamGetDevice(void *stream, int *device) { return *device = device_of_stream(stream), 0; }

struct event { struct timespec time; int graph; };

Result cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  int graph = ((struct event *)event)->graph;
  NEEDS_CONTEXT;
  if (graph != (is_captured(stream) ? graph_number : 0)) {
    if (!graph) return is_spoilt = 1, ISOLATION;
    if (stream == (void *)1) return is_spoilt = 1, IMPLICIT;
    captured[num_captured++] = stream;
    say("%p is captured too\n", stream);
  }
  return say("%p waits\n", stream), 0;
}

Result cuEventCreate(void **event, unsigned flags) {
  NEEDS_CONTEXT;
  return *event = calloc(1, sizeof(struct event)), say("event flags %u\n", flags), 0;
}
Result cuEventDestroy(void *event) { NEEDS_CONTEXT; return free(event), 0; }
Result cuEventRecord(void *event, void *stream) {
  NEEDS_CONTEXT;
  if (stream == (void *)1 && num_captured) return is_spoilt = 1, IMPLICIT;
  ((struct event *)event)->graph = is_captured(stream) ? graph_number : 0;
  return say("record on %p\n", stream), clock_gettime(CLOCK_MONOTONIC, &((struct event *)event)->time);
}
Result cuEventQuery(void *event) { NEEDS_CONTEXT; return is_set("STUB_BUSY") ? NOT_READY : 0; }
Result cuEventSynchronize(void *event) { NEEDS_CONTEXT; return 0; }
Result cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  struct timespec *from = &((struct event *)start)->time, *to = &((struct event *)end)->time;
  NEEDS_CONTEXT;
  *milliseconds = (to->tv_sec - from->tv_sec) * 1e3 + (to->tv_nsec - from->tv_nsec) * 1e-6;
  return 0;
}

Result cuStreamBeginCapture(void *stream, int mode) {
  NEEDS_CONTEXT;
  captured[0] = stream, num_captured = 1, is_spoilt = num_nodes = 0, graph_number++;
  return say("capture %p mode %d\n", stream, mode), 0;
}
Result cuStreamEndCapture(void *stream, void **graph) {
  NEEDS_CONTEXT;
  num_captured = 0;
  return *graph = (void *)0xa0, say("captured %p\n", stream), is_spoilt ? INVALIDATED : 0;
}

struct object { void (*destroy)(void *); void *argument; int in_graph, in_executable; };
static struct object objects[64];
static int num_objects;

Result cuUserObjectCreate(void **object, void *argument, void (*destroy)(void *), unsigned count, unsigned flags) {
  objects[num_objects] = (struct object){destroy, argument, 0, 0};
  return *object = &objects[num_objects++], count == 1 && flags == 1 ? 0 : INVALID_VALUE;
}
Result cuGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags) {
  return ((struct object *)object)->in_graph = 1, count == 1 && flags == 1 ? 0 : INVALID_VALUE;
}
static void let_go(int graph, int executable) {
  for (struct object *one = objects; one < objects + num_objects; one++) {
    int was_held = one->in_graph || one->in_executable;
    if (graph) one->in_graph = 0;
    if (executable) one->in_executable = 0;
    if (was_held && !one->in_graph && !one->in_executable) one->destroy(one->argument), say("object destroyed\n");
  }
}
Result cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
  for (struct object *one = objects; one < objects + num_objects; one++) one->in_executable |= one->in_graph;
  return *executable = (void *)0xb0, say("instantiate %p flags %llu\n", graph, flags), 0;
}
Result cuGraphGetNodes(void *graph, void **nodes, size_t *count) { return *count = num_nodes, nodes ? INVALID_VALUE : 0; }
Result cuGraphLaunch(void *executable, void *stream) { return say("replay %p on %p\n", executable, stream), 0; }
Result cuGraphDestroy(void *graph) { return let_go(1, 0), say("destroy graph %p\n", graph), 0; }
Result cuGraphExecDestroy(void *executable) { return let_go(0, 1), say("destroy executable %p\n", executable), 0; }

Result cuThreadExchangeStreamCaptureMode(int *mode) {
  int former = mode_of_thread;
  return mode_of_thread = *mode, *mode = former, 0;
}

static struct kernel { int static_shared, registers, most_dynamic[2]; } kernels[1 << 16];
static int num_kernels;
#define KERNEL(handle) (&kernels[((uintptr_t)(handle) - 0x80) / 16]) /* of a library, a kernel or a function */

/* Read what a kernel takes, as nvJitLink writes it: .nv.shared.NAME has the reserved shared memory, too, from compute
 * capability 9.0 on, and .nv.info the registers (EIATTR_REGCOUNT: the function's symbol, then the number). */
static Result read_cubin(const char *code, struct kernel *kernel) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)code;
  const Elf64_Shdr *sections, *one;
  if (strncmp(code, ELFMAG "\2", 5) || header->e_machine != EM_CUDA) return INVALID_IMAGE;
  sections = (const Elf64_Shdr *)(code + header->e_shoff);
  for (one = sections; one < sections + header->e_shnum; one++) {
    const char *name = code + sections[header->e_shstrndx].sh_offset + one->sh_name, *at = code + one->sh_offset;
    if (!strncmp(name, ".nv.shared.ep_kernel", 20)) kernel->static_shared = one->sh_size;
    if (strcmp(name, ".nv.info")) continue;
    for (const char *end = at + one->sh_size; at < end; at += 4 + (at[0] == 4 ? *(uint16_t *)(at + 2) : 0))
      if (at[0] == 4 && at[1] == 0x2f && *(int *)(at + 8) > kernel->registers) kernel->registers = *(int *)(at + 8);
  }
  if (kernel->static_shared && (header->e_flags >> 8 & 0xff) >= 90) kernel->static_shared -= RESERVED_SHARED;
  return kernel->registers && kernel->static_shared <= BLOCK_SHARED ? 0 : INVALID_IMAGE;
}

Result cuLibraryLoadData(void **library, const void *code, void *a, void *b, unsigned n, void *c, void *d, unsigned m) {
  struct kernel kernel = {0};
  Result result = read_cubin(code, &kernel);
  if (result || num_kernels == sizeof kernels / sizeof *kernels) return result ? result : OUT_OF_MEMORY;
  kernel.most_dynamic[0] = kernel.most_dynamic[1] = BLOCK_SHARED - kernel.static_shared;
  kernels[num_kernels] = kernel;
  *library = (void *)(0x80ul + 16 * num_kernels++);
  return say("load %.4s, %u and %u options, %d registers, %d bytes shared\n", (const char *)code + 1, n, m,
             kernel.registers, kernel.static_shared), 0;
}
Result cuLibraryGetKernel(void **kernel, void *library, const char *name) {
  if (strcmp(name, "ep_kernel")) return NOT_FOUND;
  return *kernel = (char *)library + 8, 0;
}
Result cuKernelGetFunction(void **function, void *kernel) { NEEDS_CONTEXT; return *function = (char *)kernel + 1, 0; }
Result cuFuncLoad(void *function) { NEEDS_CONTEXT; return say("loaded %p\n", function), 0; }
Result cuKernelGetAttribute(int *value, int attribute, void *kernel, int device) {
  switch (attribute) {
    case STATIC_SHARED: *value = KERNEL(kernel)->static_shared; return 0;
    case REGISTERS: *value = KERNEL(kernel)->registers; return 0;
    case MOST_DYNAMIC_SHARED: *value = KERNEL(kernel)->most_dynamic[device]; return 0;
    default: return INVALID_VALUE;
  }
}
Result cuKernelSetAttribute(int attribute, int value, void *kernel, int device) {
  SAFE; /* the real one may load the function */
  say("attribute %d of %p on device %d is %d\n", attribute, kernel, device, value);
  if (attribute != MOST_DYNAMIC_SHARED || value < 0) return INVALID_VALUE;
  if (value + KERNEL(kernel)->static_shared > OPT_IN_SHARED) return INVALID_VALUE;
  return KERNEL(kernel)->most_dynamic[device] = value, 0;
}

/* The warps that the registers of a multiprocessor hold: each of its quarters allots 256 at a time, for whole warps. */
static int warps_by_registers(struct kernel *kernel) { return QUARTER_REGISTERS / ((kernel->registers + 7) / 8 * 256) * 4; }
static int least(int one, int other) { return one < other ? one : other; }

Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
  struct kernel *kernel = KERNEL(function);
  int warps = (threads + 31) / 32, taken = (kernel->static_shared + (int)shared + 127) / 128 * 128 + RESERVED_SHARED;
  NEEDS_CONTEXT;
  *blocks = least(least(ALL_BLOCKS, ALL_SHARED / taken), least(ALL_WARPS, warps_by_registers(kernel)) / warps);
  return 0;
}
Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **parameters, void **extra) {
  struct kernel *kernel = KERNEL(function);
  uint64_t threads = (uint64_t)bx * by * bz;
  int device;
  NEEDS_CONTEXT;
  device = device_of_stream(stream);
  if (!gx || !gy || !gz || gx > INT32_MAX || gy > 65535 || gz > 65535) return INVALID_VALUE;
  if (!threads || bx > 1024 || by > 1024 || bz > 64 || threads > BLOCK_THREADS) return INVALID_VALUE;
  if (shared > kernel->most_dynamic[device]) return INVALID_VALUE;
  if ((threads + 31) / 32 > warps_by_registers(kernel)) return OUT_OF_RESOURCES;
  num_launches++;
  if (is_reached("STUB_REFUSE")) return INVALID_VALUE;
  count_node(stream);
  say("launch %p (%u,%u,%u) (%u,%u,%u) shared %u stream %p words %lld %lld extra %p device %d\n", function, gx, gy, gz,
      bx, by, bz, shared, stream, *(long long *)parameters[0], *(long long *)parameters[1], (void *)extra,
      (int)(stack[depth - 1] - contexts));
  return 0;
}

static const struct { int error; const char *name, *meaning; } errors[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {ILLEGAL, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {0, "CUDA_ERROR_OF_THE_STUB", "the stub says no"}, /* any other one */
};
static int error_place(int error) {
  int place = 0;
  while (errors[place].error && errors[place].error != error) place++;
  return place;
}
Result cuGetErrorName(int error, const char **name) { return *name = errors[error_place(error)].name, 0; }
Result cuGetErrorString(int error, const char **meaning) { return *meaning = errors[error_place(error)].meaning, 0; }

Result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  Dl_info self;
  dladdr((void *)cuGetProcAddress_v2, &self);
  *function = dlsym(dlopen(self.dli_fname, RTLD_NOLOAD | RTLD_NOW), name);
  if (status) *status = *function == NULL;
  return *function ? 0 : NOT_FOUND;
}
Result cuGetProcAddress(const char *name, void **function, int version, uint64_t flags, int *status) {
  return cuGetProcAddress_v2(name, function, version, flags, status);
}
