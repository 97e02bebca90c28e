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
void mma_tf32(float *sums, const uint *a, const uint *b);
void mma_s8(int *sums, const uint *a, const uint *b);

// wgmma: D [64, 16] += A [64, 16] * B [16, 16]. ACROSS: neighbours in memory are rows of A, columns of B.
void wgmma_fence(void);
void wgmma_commit(void);
void wgmma_wait(int pending); // 0 or 1
void proxy_fence(void);       // fence.proxy.async
#define WGMMA_SUMS(d)                                                                                        \
  "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3]), "+f"((d)[4]), "+f"((d)[5]), "+f"((d)[6]),          \
      "+f"((d)[7])
#define WGMMA_NAME "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
#define wgmma(d, a, b, adds, across)                                                                         \
  __asm__ volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n" WGMMA_NAME "%8, %9, p, 1, 1, " across        \
                   ", " across ";\n}\n"                                                                      \
                   : WGMMA_SUMS(d)                                                                           \
                   : "l"(a), "l"(b), "r"(adds)                                                               \
                   : "memory")
#define wgmma_registers(d, a, b, across)                                                                     \
  __asm__ volatile(WGMMA_NAME "{%8, %9, %10, %11}, %12, 1, 1, 1, " across ";\n"                              \
                   : WGMMA_SUMS(d)                                                                           \
                   : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b)                              \
                   : "memory")
// What is computed with them stays on its side of this.
#define hold(d) __asm__ volatile("" : WGMMA_SUMS(d)::"memory")
#define hold_words(a) __asm__ volatile("" : "+r"((a)[0]), "+r"((a)[1]), "+r"((a)[2]), "+r"((a)[3])::"memory")

// The descriptor of a matrix in shared memory; mode 0: not swizzled, 1: by 128 bytes.
static inline ulong descriptor(SHARED const void *tile, uint leading, uint stride, uint mode) {
  uint start = (uint)(ulong)tile;
  return (start & 0x3ffff) >> 4 | (ulong)(leading >> 4) << 16 | (ulong)(stride >> 4) << 32 |
         (ulong)mode << 62;
}

#endif
