// Kernels of the tests of the driver `cuda`, as the compiler's are: the addresses of the buffers, the
// scalars, and the count. Block b does iterations [b * per_block, (b + 1) * per_block).
#include "device.h"

#define PER_BLOCK 64 // two for each of its threads

// out[i] = in[i] + s0 * s1.
KERNEL add(const float *in, float *out, long s0, long s1, long count) {
  for (long i = (long)bidx * PER_BLOCK + tidx; i < (long)(bidx + 1) * PER_BLOCK && i < count; i += bdimx)
    out[i] = in[i] + (float)(s0 * s1);
}

// A sibling: 16 threads a block, one number each. It adds a half more, so that a test sees which one ran.
KERNEL add$narrow(const float *in, float *out, long s0, long s1, long count) {
  long i = (long)bidx * 16 + tidx;
  if (i < count)
    out[i] = in[i] + (float)(s0 * s1) + 0.5f;
}

// A sibling that takes its time.
KERNEL add$slow(const float *in, float *out, long s0, long s1, long count) {
  long i = (long)bidx * 16 + tidx;
  for (long turn = 0; turn < 2000 && i < count; ++turn)
    *(volatile float *)&out[i] = in[i] + (float)(s0 * s1) + 0.25f;
}

// Writes where nothing is.
KERNEL fault(float *out, long count) {
  if (tidx == 0)
    out[1l << 36] = (float)count;
}

// The sum of a block's numbers, through more shared memory than a kernel has without asking.
extern SHARED float room[];
#define FAR 14336 // the last of 56 KiB
KERNEL reverse(float *out, long count) {
  room[FAR - 1 - tidx] = (float)tidx;
  barrier();
  if (tidx < count)
    out[tidx] = room[FAR - bdimx + tidx];
}

// The same through shared memory of its own, 40 KiB that need not be asked for, and some that it is given.
static SHARED float own[10240];
KERNEL mirror(float *out, long count) {
  own[10239 - tidx] = (float)tidx;
  barrier();
  room[4095 - tidx] = own[10240 - bdimx + tidx];
  barrier();
  if (tidx < count)
    out[tidx] = room[4095 - tidx];
}
