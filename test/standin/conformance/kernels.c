// Kernels that the conformance suite and the planted faults launch.
#include "../kernels/device.h"

// words[i] += add for i < count
KERNEL add(uint *words, uint add, ulong count) {
  ulong i = (ulong)bidx * bdimx + tidx;
  if (i < count)
    words[i] += add;
}

// Parameters of every size; out[0] is their sum.
KERNEL sum_parameters(ulong *out, unsigned char a, ushort b, uint c, ulong d, float e) {
  out[0] = a + b + c + d + (ulong)e;
}

// Turns the words of each block round, by dynamic shared memory.
extern SHARED uint dynamic[];
KERNEL turn_round(uint *words) {
  dynamic[tidx] = words[bidx * bdimx + tidx];
  barrier();
  words[bidx * bdimx + tidx] = dynamic[bdimx - 1 - tidx];
}

// Adds up one block's threads in static shared memory.
static SHARED uint total[256];
KERNEL count_threads(uint *out) {
  total[tidx] = 1;
  barrier();
  if (tidx == 0) {
    uint sum = 0;
    for (uint i = 0; i < bdimx; ++i)
      sum += total[i];
    out[bidx] = sum;
  }
}

// Writes at any address.
KERNEL store_at(char *base, ulong offset) { *(volatile uint *)(base + offset) = 1; }

KERNEL trap(void) { __builtin_trap(); }

// to[i] = from[i]
KERNEL copy_words(uint *to, const uint *from, ulong count) {
  ulong i = (ulong)bidx * bdimx + tidx;
  if (i < count)
    to[i] = from[i];
}

// Counts launches in memory of the image, which stays from one to the next.
static uint arrivals[2];
KERNEL count_arrivals(uint *out, uint which) { *out = arrivals[which] = arrivals[which] + 1; }

KERNEL nothing(void) {}
