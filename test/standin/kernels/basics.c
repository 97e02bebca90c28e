// Kernels with nothing wrong in them: threads, shared memory, barriers, shuffles, atomics.
#include "device.h"

KERNEL add(const float *a, const float *b, float *out, int n) {
  int i = bidx * bdimx + tidx;
  if (i < n)
    out[i] = a[i] + b[i];
}

static float warp_sum(float value) {
  for (int step = 16; step; step /= 2)
    value += shuffle_xor(value, step);
  return value;
}

static SHARED float partial[32];

// One row a block.
KERNEL row_sums(const float *in, float *out, int columns) {
  float sum = 0;
  for (int i = tidx; i < columns; i += bdimx)
    sum += in[bidx * columns + i];
  sum = warp_sum(sum);
  if (lane() == 0)
    partial[tidx / 32] = sum;
  barrier();
  if (tidx < 32) {
    sum = tidx < bdimx / 32 ? partial[tidx] : 0;
    sum = warp_sum(sum);
    if (tidx == 0)
      out[bidx] = sum;
  }
}

extern SHARED float4v dynamic[];

// A tree in dynamic shared memory, 16 bytes at a time.
KERNEL tree_sum(const float4v *in, float4v *out) {
  dynamic[tidx] = in[bidx * bdimx + tidx];
  barrier();
  for (uint half = bdimx / 2; half; half /= 2) {
    if (tidx < half)
      dynamic[tidx] += dynamic[tidx + half];
    barrier();
  }
  if (tidx == 0)
    out[bidx] = dynamic[0];
}

struct Scale {
  float by;
  long offset;
};

KERNEL scale(float *data, struct Scale how, int n) {
  int i = bidx * bdimx + tidx;
  if (i < n)
    data[i] = data[i] * how.by + how.offset;
}

// A matrix times a vector, 16 bytes at a time, one row a block.
KERNEL gemv(const float4v *matrix, const float4v *vector, float *out, int columns) {
  float4v sums = 0;
  for (int i = tidx; i < columns / 4; i += bdimx)
    sums += matrix[bidx * (columns / 4) + i] * vector[i];
  float sum = warp_sum(sums.x + sums.y + sums.z + sums.w);
  if (lane() == 0)
    partial[tidx / 32] = sum;
  barrier();
  if (tidx == 0)
    out[bidx] = partial[0] + partial[1] + partial[2] + partial[3];
}
