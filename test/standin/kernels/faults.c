// Kernels with one fault each. The line above a kernel says how it is launched, and what the finding begins
// with:
//   //: GRID BLOCK DYNAMIC (quick | races) WORDS OF THE FINDING
// Every line marked with //! must be named by the finding.
#include "device.h"

#define PARAMETERS (float *in, float *out, int n)

static SHARED float tile[256];
static SHARED float sums[32];
static SHARED float4v quads[64];
extern SHARED float dynamic[];
static __attribute__((address_space(4))) const float table[4] = {1, 2, 3, 4};
uint count;
uint flag;

// Barriers
// ------------------------------------------------------------------------------------------------------------------------

//: 1 128 0 races race
KERNEL missing_barrier PARAMETERS {
  tile[tidx] = in[tidx];        //!
  out[tidx] = tile[127 - tidx]; //!
}

//: 1 128 0 races race
KERNEL missing_second_barrier PARAMETERS {
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[tidx] = in[i * 128 + tidx]; //!
    barrier();
    sum += tile[127 - tidx]; //!
  }
  out[tidx] = sum;
}

//: 1 64 0 races race
KERNEL partial_sums_reused PARAMETERS {
  float total = 0;
  for (int i = 0; i < 2; ++i) {
    if (lane() == 0)
      sums[tidx / 32] = in[i * 64 + tidx]; //!
    barrier();
    total += sums[0] + sums[1]; //!
  }
  out[tidx] = total;
}

//: 1 64 0 races race
KERNEL written_by_one_of_two_readers PARAMETERS { // its own read is not in its way
  if (lane() == 0)
    out[tidx] = in[0]; //!
  if (tidx == 0)
    in[0] = 1; //!
}

//: 1 64 0 quick barrier 0 is reached by 31 of 64 threads
KERNEL barrier_in_divergent_code PARAMETERS {
  if (tidx < 31)
    barrier(); //!
  out[tidx] = 1;
}

//: 1 64 0 quick barrier 0 is reached by 40 of 64 threads
KERNEL early_return PARAMETERS {
  if (tidx >= 40)
    return;
  tile[tidx] = in[tidx];
  barrier(); //!
  out[tidx] = tile[39 - tidx];
}

//: 1 32 0 quick lanes of a warp are at different barriers
KERNEL barriers_in_both_branches PARAMETERS {
  if (tidx & 1) {
    tile[tidx] = in[tidx];
    barrier(); //!
  } else {
    out[tidx] = in[tidx];
    barrier(); //!
  }
  out[tidx] += 1;
}

//: 1 64 0 quick barrier 1 is reached by 64 of 96 threads
KERNEL named_barrier_for_more_threads PARAMETERS {
  __nvvm_barrier_sync_cnt(1, 96); //!
  out[tidx] = 1;
}

//: 1 64 0 quick threads disagree about a barrier
KERNEL named_barrier_counts_differ PARAMETERS {
  if (tidx < 32)
    __nvvm_barrier_sync_cnt(1, 64); //!
  else
    __nvvm_barrier_sync_cnt(1, 96); //!
  out[tidx] = 1;
}

//: 1 64 0 quick bad number of threads for a barrier
KERNEL named_barrier_for_half_a_warp PARAMETERS {
  __nvvm_barrier_sync_cnt(1, 16); //!
  out[tidx] = 1;
}

//: 1 128 0 races race
KERNEL named_barrier_for_half_the_block PARAMETERS {
  tile[tidx] = in[tidx]; //!
  if (tidx < 64)
    __nvvm_barrier_sync_cnt(1, 64);
  else
    __nvvm_barrier_sync_cnt(2, 64);
  out[tidx] = tile[tidx ^ 64]; //!
}

// Warps
// ---------------------------------------------------------------------------------------------------------------------------

//: 1 32 0 races race
KERNEL missing_warp_sync PARAMETERS {
  tile[tidx] = in[tidx];       //!
  out[tidx] = tile[31 - tidx]; //!
}

//: 1 32 0 races race
KERNEL shuffle_orders_nothing PARAMETERS {
  tile[tidx] = in[tidx]; //!
  float other = shuffle_xor(in[tidx], 1);
  out[tidx] = tile[31 - tidx] + other; //!
}

//: 1 64 0 races race
KERNEL warp_sync_for_two_warps PARAMETERS {
  tile[tidx] = in[tidx]; //!
  warp_sync(ALL);
  out[tidx] = tile[63 - tidx]; //!
}

//: 1 32 0 races race
KERNEL warp_sync_for_half_the_warp PARAMETERS {
  tile[tidx] = in[tidx]; //!
  warp_sync(tidx < 16 ? 0xffff : 0xffff0000);
  out[tidx] = tile[31 - tidx]; //!
}

//: 1 32 0 quick a warp operation waits for a lane that has ended | a lane ends that others wait for
KERNEL mask_names_ended_lanes PARAMETERS {
  if (tidx < 16)
    out[tidx] = shuffle_xor(in[tidx], 1); //!
}

//: 1 32 0 quick a lane is not in the mask
KERNEL mask_lacks_lanes PARAMETERS {
  out[tidx] = __nvvm_shfl_sync_bfly_f32(0xffff, in[tidx], 1, 31); //!
}

//: 1 32 0 quick a shuffle reads a lane that takes no part
KERNEL shuffle_from_outside PARAMETERS {
  if (tidx < 16)
    out[tidx] = __nvvm_shfl_sync_idx_f32(0xffff, in[tidx], 20, 31); //!
}

//: 1 32 0 quick lanes of a warp wait | a warp operation is reached
KERNEL masks_differ PARAMETERS {
  uint mask = tidx == 3 ? 0x0000ffff : ALL;
  out[tidx] = __nvvm_shfl_sync_bfly_f32(mask, in[tidx], 1, 31); //!
}

//: 1 32 0 quick lanes of a warp meet in different operations
KERNEL operations_differ PARAMETERS {
  if (tidx < 8)
    out[tidx] = __nvvm_vote_ballot_sync(ALL, in[tidx] > 0); //!
  else
    out[tidx] = shuffle_xor(in[tidx], 1); //!
}

//: 1 32 0 quick a warp operation is reached | a lane ends | a warp operation waits
KERNEL trip_counts_differ PARAMETERS {
  float sum = 0;
  for (uint i = 0; i <= tidx / 8; ++i)
    sum += shuffle_xor(in[tidx], 1); //!
  out[tidx] = sum;
}

//: 1 32 0 quick barrier 0 is reached by 1 of 32 threads
KERNEL lane_waits_elsewhere PARAMETERS {
  if (tidx == 5)
    barrier();
  else
    warp_sync(ALL);
  barrier();
  out[tidx] = 1;
}

// Asynchronous copies
// -------------------------------------------------------------------------------------------------------------

//: 1 64 0 races an asynchronous copy is not waited for
KERNEL missing_wait PARAMETERS {
  copy16(&quads[tidx], in + 4 * tidx); //!
  commit();
  out[tidx] = quads[tidx].x; //!
}

//: 1 64 0 races an asynchronous copy is not waited for
KERNEL wait_for_too_few PARAMETERS {
  copy4(&tile[tidx], in + tidx);
  commit();
  copy4(&tile[64 + tidx], in + 64 + tidx); //!
  commit();
  wait_pending(1);
  out[tidx] = tile[tidx] + tile[64 + tidx]; //!
}

//: 1 64 0 races race
KERNEL wait_without_barrier PARAMETERS {
  copy16(&quads[tidx], in + 4 * tidx); //!
  wait_all();
  out[tidx] = quads[63 - tidx].x; //!
}

//: 1 64 0 races race
KERNEL copy_into_what_is_read PARAMETERS {
  float sum = 0;
  copy16(&quads[tidx], in + 4 * tidx);
  for (int i = 1; i < 4; ++i) {
    wait_all();
    barrier();
    sum += quads[63 - tidx].x;                     //!
    copy16(&quads[tidx], in + 256 * i + 4 * tidx); //!
  }
  wait_all();
  out[tidx] = sum;
}

//: 1 64 0 races race
KERNEL source_written_before_it_is_copied PARAMETERS {
  copy16(&quads[tidx], out + 1024 + 4 * tidx); //!
  out[1024 + 4 * (63 - tidx)] = in[tidx];      //!
  wait_all();
  out[tidx] = quads[tidx].x;
}

//: 1 64 0 quick misaligned access
KERNEL misaligned_copy PARAMETERS {
  copy16(&quads[tidx], in + 4 * tidx + 1); //!
  wait_all();
  out[tidx] = quads[tidx].x;
}

//: 1 64 0 quick access out of bounds
KERNEL copy_from_behind_the_end PARAMETERS {
  copy16(&quads[tidx], in + n - 4 + 4 * tidx); //!
  wait_all();
  out[tidx] = quads[tidx].x;
}

// Bounds and alignment
// ------------------------------------------------------------------------------------------------------------

//: 2 64 0 quick access out of bounds
KERNEL read_behind_the_end PARAMETERS {
  int i = n - 127 + bidx * 64 + tidx;
  out[tidx] = in[i]; //!
}

//: 1 64 0 quick access out of bounds
KERNEL write_before_the_begin PARAMETERS {
  out[(int)tidx - 1] = in[tidx]; //!
}

//: 1 64 0 quick access out of bounds
KERNEL vector_over_the_end PARAMETERS {
  typedef float4v __attribute__((aligned(4))) loose;
  *(float4v *)(out + 4 * tidx) = *(loose *)(in + n - 255 + 4 * tidx); //!
}

//: 1 64 0 quick access out of bounds
KERNEL shared_overflow PARAMETERS {
  sums[tidx] = in[tidx]; //!
  barrier();
  out[tidx] = sums[tidx];
}

//: 1 64 128 quick access out of bounds
KERNEL dynamic_overflow PARAMETERS {
  dynamic[tidx] = in[tidx]; //!
  barrier();
  out[tidx] = dynamic[63 - tidx];
}

//: 1 64 0 quick access out of bounds
KERNEL no_dynamic_memory PARAMETERS {
  dynamic[tidx] = in[tidx]; //!
  barrier();
  out[tidx] = dynamic[63 - tidx];
}

//: 1 32 0 quick access out of bounds
KERNEL null_pointer PARAMETERS {
  float *volatile nowhere = 0;
  out[tidx] = nowhere[tidx]; //!
}

//: 1 32 0 quick access out of bounds
KERNEL write_to_a_constant PARAMETERS {
  float *constant = (float *)table;
  *(volatile float *)(constant + tidx % 4) = in[tidx]; //!
  out[tidx] = table[tidx % 4];
}

//: 1 32 0 quick misaligned access
KERNEL misaligned_vector PARAMETERS {
  *(float4v *)(out + 4 * tidx) = *(float4v *)(in + 4 * tidx + 2); //!
}

//: 1 32 0 quick misaligned access
KERNEL misaligned_shared_vector PARAMETERS {
  tile[tidx] = in[tidx];
  barrier();
  SHARED float4v *volatile from = (SHARED float4v *)(tile + tidx); // or the compiler sees it
  *(float4v *)out = *from;                                         //!
}

// Memory that nobody wrote
// --------------------------------------------------------------------------------------------------------

//: 1 32 0 races read of what nobody wrote
KERNEL unwritten PARAMETERS {
  out[tidx] = tile[tidx]; //!
}

//: 1 64 0 races read of what nobody wrote
KERNEL last_partial_sum_unwritten PARAMETERS {
  if (lane() == 0)
    sums[tidx / 32] = in[tidx];
  barrier();
  out[tidx] = sums[tidx % 3]; //!
}

//: 2 32 128 races read of what nobody wrote
KERNEL another_blocks_shared_memory PARAMETERS {
  if (bidx == 0)
    dynamic[tidx] = in[tidx];
  barrier();
  out[32 * bidx + tidx] = dynamic[31 - tidx]; //!
}

// Blocks
// --------------------------------------------------------------------------------------------------------------------------

//: 4 32 0 races race
KERNEL blocks_write_one_place PARAMETERS {
  if (tidx == 0)
    out[0] = in[bidx]; //!
}

//: 4 32 0 races race
KERNEL block_reads_its_neighbour PARAMETERS {
  out[bidx * 32 + tidx] = in[tidx]; //!
  barrier();
  out[1024 + bidx * 32 + tidx] = out[(bidx + 1) % 4 * 32 + tidx]; //!
}

//: 4 32 0 races race
KERNEL last_block_without_fence PARAMETERS {
  if (tidx)
    return;
  out[bidx] = in[bidx]; //!
  if (atomic_add(&count, 1) % gdimx == gdimx - 1)
    out[100] = out[0] + out[1] + out[2] + out[3]; //!
}

// The back end writes `atom` without the order.
//: 4 32 0 races race
KERNEL last_block_ordered_by_an_update PARAMETERS {
  if (tidx)
    return;
  out[bidx] = in[bidx]; //!
  if (__atomic_fetch_add(&count, 1, __ATOMIC_ACQ_REL) % gdimx == gdimx - 1)
    out[100] = out[0] + out[1] + out[2] + out[3]; //!
}

//: 4 32 0 races race
KERNEL last_block_with_a_blocks_fence PARAMETERS {
  if (tidx)
    return;
  out[bidx] = in[bidx]; //!
  __nvvm_membar_cta();
  if (atomic_add(&count, 1) % gdimx == gdimx - 1) {
    __nvvm_membar_cta();
    out[100] = out[0] + out[1] + out[2] + out[3]; //!
  }
}

//: 4 32 0 races race
KERNEL fence_before_the_barrier PARAMETERS {
  fence();
  out[bidx * 32 + tidx] = in[tidx]; //!
  if (tidx == 0)
    sums[0] = atomic_add(&count, 1) % gdimx == gdimx - 1;
  barrier();
  if (sums[0]) {
    fence();
    float sum = 0;
    for (int i = 0; i < 4; ++i)
      sum += out[i * 32 + tidx]; //!
    out[1024 + tidx] = sum;
  }
}

//: 4 32 0 races race
KERNEL atomic_and_plain_write PARAMETERS {
  uint *sum = (uint *)out;
  if (tidx)
    return;
  if (bidx == 3)
    *sum = 0; //!
  else
    atomic_add(sum, 1); //!
}

//: 4 32 0 races race
KERNEL atomic_for_a_block_between_blocks PARAMETERS {
  __nvvm_atom_cta_add_gen_i((int *)out, 1); //!
}

//: 1 64 0 races race
KERNEL flag_without_fence PARAMETERS {
  if (tidx == 0) {
    tile[0] = in[0]; //!
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
  } else if (tidx == 32) {
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
      ;
    out[0] = tile[0]; //!
  }
}

//: 1 64 0 races race
KERNEL flag_read_without_acquire PARAMETERS {
  if (tidx == 0) {
    tile[0] = in[0]; //!
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  } else if (tidx == 32) {
    while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
      ;
    out[0] = tile[0]; //!
  }
}

//: 2 32 0 quick a wait that never ends
KERNEL waits_for_ever PARAMETERS {
  while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
    ;
  out[tidx] = 1;
}

// The kernel itself
// ---------------------------------------------------------------------------------------------------------------

//: 1 32 0 quick the kernel stops itself
KERNEL traps PARAMETERS {
  if (in[tidx] != 12345)
    __builtin_trap();
  out[tidx] = 1;
}

void __assertfail(const char *, const char *, uint, const char *, ulong);

//: 1 32 0 quick assertion failed
KERNEL asserts PARAMETERS {
  if (tidx == 7)
    __assertfail("in[tidx] > 0", "a.c", 12, "asserts", 1);
  out[tidx] = in[tidx];
}

//: 1 32 0 quick cannot launch (kernel unknown_assembly): the stand-in does not know the PTX text
KERNEL unknown_assembly PARAMETERS {
  uint bits;
  __asm__("brev.b32 %0, %1;" : "=r"(bits) : "r"(n));
  out[tidx] = bits;
}

//: 1 32 0 quick cannot launch (kernel unknown_intrinsic): the stand-in does not know the intrinsic
KERNEL unknown_intrinsic PARAMETERS {
  __nvvm_mbarrier_init_shared((SHARED long long *)tile, 1);
  out[tidx] = 1;
}

//: 1 32 0 quick cannot launch (kernel unknown_function): the stand-in does not know the function elsewhere
float elsewhere(float);
KERNEL unknown_function PARAMETERS { out[tidx] = elsewhere(in[tidx]); }

//: 1 2000 0 quick cannot launch (kernel too_many_threads): a block of 2000x1x1 threads
KERNEL too_many_threads PARAMETERS { out[tidx] = 1; }

//: 1 32 300000 quick cannot launch (kernel too_much_shared_memory): 0 static and 300000 dynamic bytes
KERNEL too_much_shared_memory PARAMETERS { out[tidx] = 1; }
