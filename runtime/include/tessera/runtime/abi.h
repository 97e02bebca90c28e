/* What compiled code and the runtime owe each other. Plain C; no MLIR.
 *
 * An executable = one object from the compiler (exports `tessera_program`) + libtessera_runtime.a.
 * Every static fact is in the manifest (docs/Manifest.md); calls refer to it by index. */
#ifndef TESSERA_RUNTIME_ABI_H
#define TESSERA_RUNTIME_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_ABI_VERSION 8

/* One rank. Generated code reads only this field. */
typedef struct ts_rank {
  char *const *params; /* params[i]: base of the rank's plain (unpacked) parameter i, layer after layer; NULL
                          if there is no plain form */
} ts_rank;

/* The first bytes of an arena are what a stage of a pipeline keeps of one micro-batch: what it keeps from its
 * forward to the end of its backward, then what it has until `input_gradient` ends, then what it has from the
 * beginning of that on. Each has the bytes that "slot_bytes" of the manifest says. */
enum { TS_SLOT_WHOLE, TS_SLOT_UNTIL_INPUT_GRADIENT, TS_SLOT_FROM_INPUT_GRADIENT, TS_SLOTS };

/* What differs from call to call of an entry. Addresses of device memory are opaque to generated code: it
 * adds offsets to them and hands them on, and reads nothing there. */
typedef struct ts_call {
  char *base; /* base of the arena of this call, 64-byte aligned; every buffer is base + constant offset */
  const int64_t *counts; /* counts of loops whose length is data, in the order of the entry's "counts" in the
                            manifest; the caller has checked them against the bounds that stand there */
  char *slots[TS_SLOTS]; /* each 64-byte aligned: those bytes of this call's micro-batch, which stand in the
                            place of those of the arena. Where "slot_bytes" has none, anything */
} ts_call;

/* One entry of the manifest's "entries". Runs on the rank's main thread. */
typedef void (*ts_entry_fn)(ts_rank *rank, const ts_call *call);

/* One fused loop. Works on iterations [begin, end) of its parallel loop; any partition gives the same result.
 * buffers: base pointers in the order of the launch; scalars: i64 (layer index, shard indices). */
typedef void (*ts_kernel_fn)(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end);

/* What a kernel does with a buffer, from its base on. TS_WRITE: it writes all of it and reads nothing there.
 * TS_FLOATS beside it: the buffer's elements are floating-point numbers. */
enum { TS_READ = 1, TS_WRITE = 2, TS_UPDATE = 3, TS_FLOATS = 4 };
typedef struct ts_kernel_buffer {
  int64_t bytes;
  int64_t access;
} ts_kernel_buffer;

typedef struct ts_kernel {
  const char *name;      /* for messages and tables; ends with a zero. In images: the name of the function */
  ts_kernel_fn function; /* null: the code is in the program's images */
  const ts_kernel_buffer *buffers; /* in the order of the launch */
  int32_t num_buffers, num_scalars;
  /* Of a kernel in images. A block does iterations [b * per_block, (b + 1) * per_block) below `count`, b its
   * number; its parameters are the addresses of the buffers, the scalars (i64), and `count` (i64). */
  int32_t threads;      /* of a block */
  int32_t shared_bytes; /* that a block needs beside what the image declares */
  int64_t per_block;
} ts_kernel;

/* Another function that does the work of a kernel in images: the same parameters, a grid and blocks of its
 * own. Some images have it, others not. The driver takes it where it is there and faster, which it measures:
 * with pseudo-random floating-point numbers where it only reads, one buffer of i32 whose rows of `row`
 * numbers ascend from `first` on, zeros elsewhere, and scalars 0. Those of one key are measured once. */
typedef struct ts_sibling {
  const char *name; /* of the function; the kernel's, "$" and what form it is of: "attention$wgmma" */
  const char *key;  /* one line */
  int32_t kernel;   /* its number in the table */
  int32_t threads, shared_bytes;
  int32_t ascending; /* number of that buffer */
  int64_t row, first;
  int64_t count;  /* of the launches that it stands for; others are the kernel's */
  int64_t blocks; /* of its grid */
} ts_sibling;

/* Beside the kernels of the table an image for GPUs holds, for each type of a parameter, one that makes up
 * weights (`--init=random:SEED`) and that no entry launches: "tessera_random_bf16". A block of
 * TESSERA_RANDOM_THREADS threads makes row `block % rows` of layer `block / rows`: randomWeight()
 * (tessera/runtime/core/ShardReader.h) of element (r, c), whose global index is
 * global_rows[r] * tail + global_columns[c]; zero where one of them is negative. Its parameters: the
 * addresses of the weights, of global_rows and of global_columns (i64 each), then as i64 `rows`, `columns`,
 * `tail`, the distance of layers in elements, the parameter's seed, the bits of its randomScale() and of its
 * mean (f32), and the count of blocks. */
#define TESSERA_RANDOM_KERNEL "tessera_random_"
#define TESSERA_RANDOM_THREADS 256

/* Code for a device that the host cannot run. An image holds all kernels whose `function` is null. */
typedef struct ts_image {
  const char *architecture; /* ends with a zero: "sm_90a" is a cubin for that alone, "compute_80" PTX */
  const void *data;         /* PTX ends with a zero, which `bytes` does not count */
  uint64_t bytes;
} ts_image;

struct ts_program;
typedef struct ts_program ts_program;

/* The same program as code for one kind of machine (llm-compile --cpu=any). */
typedef struct ts_version {
  const char *name; /* ends with a zero: "x86-64-v3" */
  const ts_program *program;
} ts_version;

struct ts_program {
  uint32_t abi_version;
  uint32_t num_entries;
  uint32_t num_kernels;
  const char *manifest; /* JSON, not terminated */
  uint64_t manifest_bytes;
  const ts_entry_fn *entries; /* in the order of the manifest's "entries" */
  const ts_kernel *kernels;   /* ts_launch names them by index */
  const ts_image *images;     /* the same kernels for several machines */
  uint64_t num_images;
  const ts_sibling *siblings;
  uint64_t num_siblings;
  /* Of a pipeline: those of its stages, each with a manifest of its own; this one has no entries then. */
  const ts_program *const *programs;
  uint64_t num_programs;
  /* Of an executable with several versions, the plainest first: the runtime takes the last one that runs.
   * This one has nothing else then, not even a manifest. */
  const ts_version *versions;
  uint64_t num_versions;
};

extern const ts_program tessera_program;

/* Calls that take a `stream` give work to it (a number of manifest.streams; 0 computes), which it may run
 * later, in the order of its calls. Streams run side by side and wait for each other by events alone. */

/* Gives kernels[kernel] over [0, count). The arrays `buffers` and `scalars` are copied before it returns.
 * `grain`: least iterations worth a thread. */
void ts_launch(ts_rank *rank, int32_t stream, int32_t kernel, void *const *buffers, const int64_t *scalars,
               int64_t count, int64_t grain);

/* manifest.matmuls[id]: y[m,n] = x[m,k] . W^T with W = layer `layer` of the packed parameter (w == NULL), or
 * the plain buffer w[n,k]. Where the manifest says so, bias[n] and addend[m,n] are added, and a function is
 * applied, before the sums are rounded; else these two are null. y may be the addend's memory. */
void ts_matmul(ts_rank *rank, int32_t stream, int32_t id, int64_t layer, const void *x, const void *w,
               void *y, const void *bias, const void *addend);

/* manifest.matmuls[id], which is by group: rows starts[g] .. starts[g + 1] - 1 of x[m,k] are multiplied with
 * rows g * n .. (g + 1) * n - 1 of W[groups * n, k]. starts[groups + 1] ascends from 0 to m at most; rows of
 * y from starts[groups] on are 0. */
void ts_grouped_matmul(ts_rank *rank, int32_t stream, int32_t id, int64_t layer, const void *x, const void *w,
                       const int32_t *starts, void *y);

/* Rows of a packed parameter (matmul weight [N, K], N local): out[i, :] = W[ids[i] - base, :], 0 where that
 * is outside [0, N). */
void ts_gather_packed(ts_rank *rank, int32_t stream, int32_t param, int64_t layer, const int32_t *ids,
                      int64_t base, int64_t rows, void *out);

/* Makes the packed form of a variable again, from its plain one: of one layer, or (layer < 0) of all. */
void ts_pack(ts_rank *rank, int32_t stream, int32_t param, int64_t layer);

/* manifest.collectives[id]. */
void ts_collective(ts_rank *rank, int32_t stream, int32_t id, const void *src, void *dst);

/* The same, begun in the order of one stream and waited for by another or the same: between them it goes on
 * beside all streams, and the program neither writes src nor touches dst. Every token is waited for once, in
 * the call of the entry that began it. */
int64_t ts_collective_start(ts_rank *rank, int32_t stream, int32_t id, const void *src, void *dst);
void ts_collective_wait(ts_rank *rank, int32_t stream, int64_t token);

/* A message of `bytes` to, or from, member `index` of manifest.groups[group], which receives or sends as many
 * with the same tag (0 .. 2^20-1). Waited for with ts_collective_wait. Messages between two ranks with one
 * tag arrive in the order in which they were sent. */
int64_t ts_send(ts_rank *rank, int32_t stream, int32_t group, int64_t index, int64_t tag, const void *src,
                int64_t bytes);
int64_t ts_receive(ts_rank *rank, int32_t stream, int32_t group, int64_t index, int64_t tag, void *dst,
                   int64_t bytes);

/* manifest.collectives[id], which has a "width": an all_to_all of rows, of which data says how many go where.
 * With G ranks in the group, counts[i] rows of src go to member i, and counts[G + i] come from it; on both
 * sides they lie one member's after the other's, and rows of dst behind the last that came are 0. All ranks
 * of the group have counts that agree. */
void ts_exchange_rows(ts_rank *rank, int32_t stream, int32_t id, const void *src, const int32_t *counts,
                      void *dst);

/* Index of this rank within manifest.groups[group] (0 .. size-1): shard offsets are index * local size. */
int64_t ts_group_index(ts_rank *rank, int32_t group);

/* Waits until stream 0, to which it belongs, has done all that it was given, and returns 1 if the byte at
 * `flag` is not 0, else 0. The flag is the same on all ranks: what the caller does by it they do together. */
int64_t ts_read_flag(ts_rank *rank, int32_t stream, const void *flag);

/* dst = src, `bytes` long; non-overlapping. */
void ts_copy(ts_rank *rank, int32_t stream, void *dst, const void *src, int64_t bytes);

/* Event `event` (below manifest.events) stands for this place of the stream, until it is recorded again; what
 * a stream is given after a wait runs after the place that was recorded last. */
void ts_event_record(ts_rank *rank, int32_t stream, int32_t event);
void ts_event_wait(ts_rank *rank, int32_t stream, int32_t event);

#ifdef __cplusplus
}
#endif
#endif
