// Kernels on matrices with one fault each, written like those of faults.c.
#include "device.h"

#define PARAMETERS (float *in, float *out, int n)

static SHARED float4v quads[64];

//: 1 16 0 quick a matrix operation in a warp of fewer than 32 lanes
KERNEL product_of_half_a_warp PARAMETERS {
  float c[4] = {0, 0, 0, 0};
  uint a[4] = {1, 2, 3, 4}, b[2] = {1, 2};
  mma_bf16(c, a, b);
  out[tidx] = c[0];
}

//: 1 32 0 quick cannot launch (kernel product_of_bytes): the stand-in does not know the intrinsic
KERNEL product_of_bytes PARAMETERS {
  int c[4] = {0, 0, 0, 0};
  uint a[4] = {1, 2, 3, 4}, b[2] = {1, 2};
  mma_s8(c, a, b);
  out[tidx] = c[0];
}

//: 1 32 0 quick misaligned access
KERNEL misaligned_matrix_row PARAMETERS {
  uint a[4];
  quads[tidx] = *(float4v *)(in + 4 * tidx);
  warp_sync(ALL);
  ldmatrix_x4(a, (SHARED char *)&quads[tidx % 16] + 8);
  out[tidx] = a[0] + a[1] + a[2] + a[3];
}

//: 1 32 0 quick a matrix operation outside shared memory
KERNEL matrix_in_global_memory PARAMETERS {
  uint a[4];
  ldmatrix_x4(a, (SHARED char *)(ulong)(in + 4 * tidx));
  out[tidx] = a[0] + a[1] + a[2] + a[3];
}

//: 1 32 0 races race
KERNEL matrix_read_without_sync PARAMETERS {
  uint a[4];
  quads[tidx] = *(float4v *)(in + 4 * tidx); //!
  ldmatrix_x4(a, &quads[tidx]);
  out[tidx] = a[0] + a[1] + a[2] + a[3];
}

// wgmma
// ------------------------------------------------------------------------------------------------------------------------

static SHARED __attribute__((aligned(1024))) ushort wide[64 * 64];
#define ZEROS {0, 0, 0, 0, 0, 0, 0, 0}
#define WIDE descriptor(wide, 1024, 1024, 1)

static inline void fill_wide(void) {
  for (uint i = tidx; i < 64 * 64; i += bdimx)
    wide[i] = 0x3f80 + i % 8;
}

static inline void filled(void) {
  fill_wide();
  proxy_fence();
  barrier();
}

static inline void start(float *d) {
  hold(d);
  wgmma_fence();
}

static inline void use(float *out, float *d) {
  for (uint i = 0; i < 8; ++i)
    out[tidx * 8 + i] = d[i];
}

// Sums of a product of the filled tile, which may begin.
#define BEGIN(d)                                                                                             \
  float d[8] = ZEROS;                                                                                        \
  filled();                                                                                                  \
  start(d)

// Waits for the products that came before as it has to be done.
static inline void finish(float *out, float *d) {
  wgmma_commit();
  wgmma_wait(0);
  hold(d);
  use(out, d);
}

//: 1 128 0 quick wgmma is not waited for
KERNEL wgmma_without_wait PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  wgmma_commit();
  hold(d); //!
  use(out, d);
}

//: 1 128 0 quick wgmma is not waited for
KERNEL wgmma_waits_for_too_few PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  wgmma_commit();
  wgmma_wait(1);
  hold(d); //!
  use(out, d);
}

//: 1 128 0 quick wgmma is not waited for
KERNEL wgmma_without_commit PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  wgmma_wait(0);
  hold(d); //!
  use(out, d);
}

//: 1 128 0 quick wgmma is given registers without a wgmma.fence
KERNEL wgmma_without_fence PARAMETERS {
  float d[8] = ZEROS;
  filled();
  hold(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  finish(out, d);
}

//: 1 128 0 quick wgmma is given registers without a wgmma.fence
KERNEL wgmma_registers_behind_fence PARAMETERS {
  float d[8] = ZEROS;
  uint a[4] = {tidx, tidx, tidx, tidx};
  filled();
  start(d);
  hold_words(a);
  wgmma_registers(d, a, WIDE, "0"); //!
  finish(out, d);
}

//: 1 128 0 races no fence.proxy.async between a write and wgmma
KERNEL wgmma_without_proxy_fence PARAMETERS {
  float d[8] = ZEROS;
  fill_wide(); //!
  barrier();
  start(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  finish(out, d);
}

//: 1 128 0 races no fence.proxy.async between a write and wgmma
KERNEL wgmma_proxy_fence_of_the_reader PARAMETERS {
  float d[8] = ZEROS;
  fill_wide(); //!
  barrier();
  proxy_fence();
  start(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  finish(out, d);
}

//: 1 128 0 races race
KERNEL wgmma_without_barrier PARAMETERS {
  float d[8] = ZEROS;
  fill_wide(); //!
  proxy_fence();
  start(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  finish(out, d);
}

//: 1 128 0 quick shared memory changes while wgmma reads it
KERNEL wgmma_overwritten PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  wgmma_commit();
  wide[tidx * 8] = 0;
  wgmma_wait(0);
  hold(d);
  use(out, d);
}

//: 1 128 0 races race | shared memory changes
KERNEL wgmma_overwritten_after_own_wait PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, WIDE, 1, "0"); //!
  wgmma_commit();
  wgmma_wait(0);
  hold(d);
  fill_wide();
  use(out, d);
}

//: 1 128 0 quick a bad matrix B of wgmma
KERNEL wgmma_tile_not_aligned PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, descriptor(wide + 64, 1024, 1024, 1), 1, "0"); //!
  finish(out, d);
}

//: 1 128 0 quick a bad matrix A of wgmma
KERNEL wgmma_stride_not_aligned PARAMETERS {
  BEGIN(d);
  wgmma(d, descriptor(wide, 1024, 1024 - 16, 1), WIDE, 1, "0"); //!
  finish(out, d);
}

//: 1 128 0 quick access out of bounds
KERNEL wgmma_beyond_shared_memory PARAMETERS {
  BEGIN(d);
  wgmma(d, descriptor(wide, 1024, 8192, 1), WIDE, 1, "0"); //!
  finish(out, d);
}

//: 1 128 0 quick a warp of a warpgroup has ended without the others
KERNEL wgmma_of_three_warps PARAMETERS {
  float d[8] = ZEROS;
  filled();
  if (tidx < 96) {
    start(d);
    wgmma(d, WIDE, WIDE, 1, "0");
    finish(out, d);
  }
}

//: 1 128 0 quick the warps of a warpgroup give different operands
KERNEL wgmma_of_different_tiles PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, descriptor((SHARED char *)wide + tidx / 64 * 1024, 1024, 1024, 1), 1, "0"); //!
  finish(out, d);
}

//: 1 64 0 quick a warpgroup of fewer than 4 warps
KERNEL wgmma_of_two_warps PARAMETERS {
  BEGIN(d);
  wgmma(d, WIDE, WIDE, 1, "0");
  finish(out, d);
}
