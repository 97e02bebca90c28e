// What kernels in C need of CUDA, without a toolkit: clang has most of the builtins, device.ll the rest.
#ifndef DEVICE_H
#define DEVICE_H

#define KERNEL __attribute__((nvptx_kernel)) void
#define SHARED __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))
#define NOINLINE __attribute__((noinline))
typedef unsigned uint;
typedef unsigned long ulong;
typedef unsigned short ushort;
typedef unsigned char byte;
typedef float float4v __attribute__((ext_vector_type(4)));
typedef uint uint4v __attribute__((ext_vector_type(4)));

#define tidx __nvvm_read_ptx_sreg_tid_x()
#define tidy __nvvm_read_ptx_sreg_tid_y()
#define bidx __nvvm_read_ptx_sreg_ctaid_x()
#define bdimx __nvvm_read_ptx_sreg_ntid_x()
#define gdimx __nvvm_read_ptx_sreg_nctaid_x()
#define lane() __nvvm_read_ptx_sreg_laneid()
#define barrier() __syncthreads()
#define ALL 0xffffffffu
#define shuffle_xor(value, step) __nvvm_shfl_sync_bfly_f32(ALL, value, step, 31)
#define warp_sync(mask) __nvvm_bar_warp_sync(mask)
#define fence() __nvvm_membar_gl()

// Relaxed, as CUDA's atomicAdd is.
static inline uint atomic_add(uint *at, uint value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

#define copy16(to, from) __nvvm_cp_async_cg_shared_global_16((SHARED void *)(to), (GLOBAL const void *)(from))
#define copy4(to, from) __nvvm_cp_async_ca_shared_global_4((SHARED void *)(to), (GLOBAL const void *)(from))
#define commit() __nvvm_cp_async_commit_group()
#define wait_pending(count) __nvvm_cp_async_wait_group(count)
#define wait_all() __nvvm_cp_async_wait_all()

void ldmatrix_x1(uint *words, SHARED const void *row);
void ldmatrix_x2(uint *words, SHARED const void *row);
void ldmatrix_x4(uint *words, SHARED const void *row);
void ldmatrix_x4_trans(uint *words, SHARED const void *row);
void stmatrix_x4(SHARED void *row, const uint *words);
void mma_bf16(float *sums, const uint *a, const uint *b);
void mma_f16(float *sums, const uint *a, const uint *b);
void mma_f16_f16(uint *sums, const uint *a, const uint *b);
void mma_tf32(float *sums, const uint *a, const uint *b);
void mma_s8(int *sums, const uint *a, const uint *b);

#endif
