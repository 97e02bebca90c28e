// Kernels with nothing wrong in them, one for each thing that threads do together. The test knows what they
// compute.
#include "device.h"

static SHARED float tile[256];
static SHARED float4v quads[128];
extern SHARED float dynamic[];
uint count, flag, tickets[8];

// out[32 k + i]: shuffles and votes of a warp.
KERNEL warp_operations(const float *in, float *out) {
  uint i = lane();
  float own = in[i];
  out[i] = __nvvm_shfl_sync_up_f32(ALL, own, 3, 0);
  out[32 + i] = __nvvm_shfl_sync_down_f32(ALL, own, 5, 31);
  out[64 + i] = __nvvm_shfl_sync_idx_f32(ALL, own, 7, 31);
  out[96 + i] = __nvvm_shfl_sync_bfly_f32(ALL, own, 9, 31);
  out[128 + i] = __nvvm_shfl_sync_idx_f32(ALL, own, 1, 0x1800 | 31); // segments of 8 lanes
  out[160 + i] = __nvvm_vote_ballot_sync(ALL, own > 0) >> i & 1;
  out[192 + i] = __nvvm_vote_any_sync(ALL, i == 4) + 2 * __nvvm_vote_all_sync(ALL, i < 32) +
                 4 * __nvvm_vote_uni_sync(ALL, i < 5);
  out[224 + i] = __builtin_popcount(__nvvm_match_any_sync_i32(ALL, i / 4));
  out[256 + i] = __nvvm_redux_sync_add(i, ALL) + __nvvm_redux_sync_umax(i, ALL);
  if (i < 8) // lanes that are elsewhere are not in the mask
    out[288 + i] = __nvvm_shfl_sync_bfly_f32(0xff, own, 1, 31);
  else
    out[288 + i] = __nvvm_shfl_sync_bfly_f32(0xffffff00, own, 3, 31);
}

// A transposition in shared memory within a warp.
KERNEL warp_exchange(const float *in, float *out) {
  for (int round = 0; round < 4; ++round) {
    tile[tidx] = in[tidx] + round;
    warp_sync(ALL);
    out[tidx] = tile[tidx ^ 31];
    warp_sync(ALL);
  }
}

// Two halves of a block with barriers of their own.
KERNEL named_barriers(const float *in, float *out) {
  uint half = tidx / 64;
  for (int round = 0; round < 3; ++round) {
    tile[tidx] = in[tidx] + round;
    __nvvm_barrier_sync_cnt(1 + half, 64);
    out[tidx] = tile[tidx ^ 63];
    __nvvm_barrier_sync_cnt(1 + half, 64);
  }
}

// How many elements are positive, by all three barriers that reduce.
KERNEL barrier_reductions(const float *in, float *out) {
  int population = __nvvm_bar0_popc(in[tidx] > 0);
  int all = __nvvm_bar0_and(in[tidx] > -100), any = __nvvm_bar0_or(in[tidx] > 100);
  out[tidx] = population * 4 + all * 2 + any;
}

// The last block sums up what the others left.
KERNEL last_block(const float *in, float *out, float *partial) {
  static SHARED uint last;
  float sum = in[bidx * bdimx + tidx];
  for (int step = 16; step; step /= 2)
    sum += shuffle_xor(sum, step);
  if (lane() == 0)
    tile[tidx / 32] = sum;
  barrier();
  if (tidx == 0) {
    partial[bidx] = tile[0] + tile[1] + tile[2] + tile[3];
    fence();
    last = atomic_add(&count, 1) % gdimx == gdimx - 1;
  }
  barrier();
  if (last) {
    fence();
    if (tidx == 0) {
      float total = 0;
      for (uint i = 0; i < gdimx; ++i)
        total += ((volatile float *)partial)[i];
      out[0] = total;
    }
  }
}

// Blocks that wait for the one before them.
KERNEL chain(const float *in, float *out) {
  if (tidx)
    return;
  if (bidx)
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != bidx)
      __nvvm_nanosleep(100);
  out[0] = out[0] * 2 + in[bidx];
  __atomic_store_n(&flag, (bidx + 1) % gdimx, __ATOMIC_RELEASE);
}

// A ring of two tiles, the next one on its way while this one is used.
KERNEL pipeline(const float *in, float *out, int tiles) {
  float sum = 0;
  copy16(&quads[tidx], in + 4 * tidx);
  commit();
  for (int i = 0; i < tiles; ++i) {
    if (i + 1 < tiles)
      copy16(&quads[(i + 1) % 2 * 64 + tidx], in + 256 * (i + 1) + 4 * tidx);
    commit();
    wait_pending(1);
    barrier();
    float4v quad = quads[i % 2 * 64 + (63 - tidx)];
    sum += quad.x + quad.y + quad.z + quad.w;
    barrier();
  }
  out[tidx] = sum;
}

// C = A * B^T with A [16, 16] and B [8, 16] of 16-bit numbers, by ldmatrix and mma.sync.
static void load16(const ushort *a, const ushort *b, uint *af, uint *bf) {
  SHARED ushort *tiles = (SHARED ushort *)quads;
  for (int i = 0; i < 8; ++i)
    tiles[tidx * 8 + i] = a[tidx * 8 + i];
  for (int i = 0; i < 4; ++i)
    tiles[256 + tidx * 4 + i] = b[tidx * 4 + i];
  warp_sync(ALL);
  ldmatrix_x4(af, tiles + (tidx % 16) * 16 + tidx / 16 * 8);
  ldmatrix_x2(bf, tiles + 256 + (tidx % 8) * 16 + tidx % 16 / 8 * 8);
}

static void store_sums(float *out, const float *c) {
  uint row = tidx / 4, column = tidx % 4 * 2;
  out[row * 8 + column] = c[0];
  out[row * 8 + column + 1] = c[1];
  out[(row + 8) * 8 + column] = c[2];
  out[(row + 8) * 8 + column + 1] = c[3];
}

KERNEL product_bf16(const ushort *a, const ushort *b, float *out) {
  uint af[4], bf[2];
  float c[4] = {1, 1, 1, 1};
  load16(a, b, af, bf);
  mma_bf16(c, af, bf);
  store_sums(out, c);
}

KERNEL product_f16(const ushort *a, const ushort *b, float *out) {
  uint af[4], bf[2];
  float c[4] = {1, 1, 1, 1};
  load16(a, b, af, bf);
  mma_f16(c, af, bf);
  store_sums(out, c);
}

// A [16, 8] and B [8, 8] of floats, rounded to TF32 by the instruction.
KERNEL product_tf32(const float *a, const float *b, float *out) {
  uint row = tidx / 4, column = tidx % 4;
  const uint *x = (const uint *)a, *y = (const uint *)b;
  uint af[4] = {x[row * 8 + column], x[(row + 8) * 8 + column], x[row * 8 + column + 4],
                x[(row + 8) * 8 + column + 4]};
  uint bf[2] = {y[row * 8 + column], y[row * 8 + column + 4]};
  float c[4] = {1, 1, 1, 1};
  mma_tf32(c, af, bf);
  store_sums(out, c);
}

// Transposed by ldmatrix, given back by stmatrix: out = in^T, 16 x 16 numbers of 16 bits.
KERNEL transpose(const ushort *in, ushort *out) {
  SHARED ushort *tiles = (SHARED ushort *)quads;
  for (int i = 0; i < 8; ++i)
    tiles[tidx * 8 + i] = in[tidx * 8 + i];
  warp_sync(ALL);
  uint words[4];
  ldmatrix_x4_trans(words, tiles + tidx % 16 * 16 + tidx / 16 * 8); // matrices (0,0) (1,0) (0,1) (1,1)
  stmatrix_x4(tiles + 256 + (tidx % 8 + tidx / 16 * 8) * 16 + tidx / 8 % 2 * 8, words);
  warp_sync(ALL);
  for (int i = 0; i < 8; ++i)
    out[tidx * 8 + i] = tiles[256 + tidx * 8 + i];
}

// Counters of all kinds.
KERNEL atomics(uint *out) {
  atomic_add(&out[0], 1);
  __atomic_fetch_max(&out[1], tidx, __ATOMIC_RELAXED);
  uint seen = __atomic_load_n(&out[2], __ATOMIC_RELAXED), next;
  do
    next = seen + 2;
  while (!__atomic_compare_exchange_n(&out[2], &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  __nvvm_atom_add_gen_f((float *)&out[3], 0.5f);
}

// Arithmetic that only the device has.
KERNEL arithmetic(const float *in, float *out) {
  float x = in[tidx];
  out[tidx] = __nvvm_ex2_approx_f(x);
  out[64 + tidx] = __nvvm_lg2_approx_f(x * x + 1);
  out[128 + tidx] = __nvvm_rcp_approx_ftz_f(x * x + 1);
  out[192 + tidx] = __nvvm_rsqrt_approx_f(x * x + 1);
  out[256 + tidx] = __nvvm_fma_rn_f(x, x, 0.25f);
  out[320 + tidx] = __nvvm_fmax_f(x, 0) + __nvvm_fmin_f(x, 0);
  uint bits = __nvvm_f2tf32_rna(x);
  out[384 + tidx] = *(float *)&bits;
  out[448 + tidx] = (float)(__bf16)x;
  out[512 + tidx] = (float)(_Float16)x;
  out[576 + tidx] = __builtin_bit_cast(uint, __nvvm_ff2bf16x2_rn(x, -x));
  out[640 + tidx] = __nvvm_prmt(0x33221100, 0x77665544, 0x6420) & 0xffff;
}

// What the host's back end calls a library for.
KERNEL library_calls(const float *in, float *out, ulong divisor) {
  float x = in[tidx];
  out[tidx] = __nvvm_sin_approx_f(x) * __nvvm_cos_approx_f(x);
  out[32 + tidx] = __builtin_powif(x, 3);
  out[64 + tidx] = (float)((((unsigned __int128)tidx << 64) + 5) / divisor);
  out[96 + tidx] = __builtin_fmodf(x, 0.75f);
}

NOINLINE static float helper(const float *from, float local[4], int i) {
  local[i % 4] += from[i];
  return local[(i + 1) % 4];
}

// Functions that stay, and local memory whose address goes around.
KERNEL calls(const float *in, float *out) {
  float local[4] = {1, 2, 3, 4}, sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += helper(in + tidx, local, i);
  out[tidx] = sum;
}

// Registers, kinds of memory, roundings; and threads that end in the middle.
KERNEL registers_and_rounding(const float *in, int *out) {
  float x = in[tidx];
  float *shared = (float *)(tile + tidx);
  out[tidx] =
      __nvvm_isspacep_shared(shared) + 2 * __nvvm_isspacep_global(in) + 4 * __nvvm_isspacep_shared(in);
  out[32 + tidx] = __nvvm_read_ptx_sreg_lanemask_lt() ^ __nvvm_read_ptx_sreg_lanemask_ge() ^ -1;
  out[64 + tidx] = __nvvm_f2i_rn(x);
  out[96 + tidx] = __nvvm_f2i_rz(x);
  out[128 + tidx] = __nvvm_f2i_rm(x);
  out[160 + tidx] = __nvvm_mulhi_i((int)(x * 1000), 1 << 24);
  out[192 + tidx] = __nvvm_read_ptx_sreg_warpsize() + __nvvm_read_ptx_sreg_nctaid_x();
  if (tidx & 1)
    __nvvm_exit();
  out[224 + tidx] = 1;
}

int vprintf(const char *format, void *arguments);

KERNEL prints(int n) {
  struct {
    int i;
    double d;
    const char *s;
  } arguments = {n, 0.5, "text"};
  vprintf("%d %.2f %s %%\n", &arguments);
}

// wgmma: out [64, 16] = a [64, 64] * b [16, 64]^T, twice, of bfloat16.
static SHARED __attribute__((aligned(1024))) ushort tileA[64 * 64], tileB[64 * 64];

// Where an element of a tile of 64 along k stands; bytes. `across`: rows are neighbours.
static inline uint place(uint row, uint k, int across, int swizzled) {
  uint outer = across ? k : row, inner = across ? row : k;
  if (swizzled) // 8 chunks of 16 bytes in 128
    return outer * 128 + (inner / 8 ^ outer % 8) * 16 + inner % 8 * 2;
  return row / 8 * 1024 + k / 8 * 128 + outer % 8 * 16 + inner % 8 * 2;
}

static inline void fill(SHARED ushort *tile, const ushort *from, uint rows, int across, int swizzled) {
  for (uint i = tidx; i < rows * 64; i += bdimx)
    tile[place(i / 64, i % 64, across, swizzled) / 2] = from[i];
}

static inline void store_wide(float *out, const float *d) {
  for (uint i = 0; i < 8; ++i)
    out[(tidx / 32 * 16 + lane() / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + lane() % 4 * 2 + i % 2] = d[i];
}

// mode: 0 plain, 1 swizzled, 2 plain across, 3 swizzled across.
KERNEL wgmma_layouts(const ushort *a, const ushort *b, float *out, int mode) {
  int across = mode / 2, swizzled = mode % 2;
  fill(tileA, a, 64, across, swizzled);
  fill(tileB, b, 16, across, swizzled);
  proxy_fence();
  barrier();
  // From 16 along k to the next: two columns of core matrices; 32 bytes; 16 rows of 128 bytes.
  uint step = !swizzled ? 256 : across ? 2048 : 32;
  uint leading = swizzled ? 8192 : 128, stride = 1024;
  float d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  hold(d);
  wgmma_fence();
  for (int k = 0; k < 8; ++k) { // the second round begins anew and adds nothing of the first
    ulong x = descriptor((SHARED char *)tileA + k % 4 * step, leading, stride, swizzled);
    ulong y = descriptor((SHARED char *)tileB + k % 4 * step, leading, stride, swizzled);
    if (across)
      wgmma(d, x, y, k % 4 != 0, "1");
    else
      wgmma(d, x, y, k % 4 != 0, "0");
    if (k == 3)
      wgmma_commit();
  }
  wgmma_commit();
  wgmma_wait(0);
  hold(d);
  store_wide(out, d);
}

// A in registers, tiles in turn in two places while the one before is multiplied, by cp.async.
KERNEL wgmma_pipeline(const ushort *a, const ushort *b, float *out) {
  float d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  const uint *words = (const uint *)a;
  for (uint k = 0; k < 4; ++k) {
    SHARED char *tile = (SHARED char *)tileB + k % 2 * 4096;
    if (tidx < 32) // 16 rows of 16 elements, not swizzled: chunks of 8 by 8
      copy16(tile + tidx % 16 / 8 * 256 + tidx / 16 * 128 + tidx % 8 * 16,
             b + tidx % 16 * 64 + k * 16 + tidx / 16 * 8);
    commit();
    wait_pending(0);
    proxy_fence();
    barrier();
    uint row = tidx / 32 * 16 + lane() / 4, column = lane() % 4 + k * 8;
    uint x[4] = {words[row * 32 + column], words[(row + 8) * 32 + column], words[row * 32 + column + 4],
                 words[(row + 8) * 32 + column + 4]};
    wgmma_wait(1); // the tile that is overwritten next
    hold_words(x);
    if (k == 0)
      hold(d);
    wgmma_fence();
    wgmma_registers(d, x, descriptor(tile, 128, 256, 0), "0");
    wgmma_commit();
    wgmma_wait(0);
    barrier();
  }
  hold(d);
  store_wide(out, d);
}
