// What kernels in C need of CUDA, without a toolkit: clang has the builtins.
#ifndef DEVICE_H
#define DEVICE_H

#define KERNEL __attribute__((nvptx_kernel)) void
#define SHARED __attribute__((address_space(3)))
#define GLOBAL __attribute__((address_space(1)))
#define NOINLINE __attribute__((noinline))
typedef unsigned uint;
typedef unsigned long ulong;
typedef unsigned short ushort;
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

#endif
