// The functions that stand in the table of element types; see DTypeTraits for what they promise.
#ifndef TESSERA_RUNTIME_IO_DTYPEFUNCTIONS_H
#define TESSERA_RUNTIME_IO_DTYPEFUNCTIONS_H

#include "tessera/runtime/io/DType.h"

namespace tessera::io {

void widenF64(const void *src, int64_t n, float *dst);
void widenF32(const void *src, int64_t n, float *dst);
void widenF16(const void *src, int64_t n, float *dst);
void widenBF16(const void *src, int64_t n, float *dst);
void widenQ8_0(const void *src, int64_t n, float *dst);
void widenQ4_0(const void *src, int64_t n, float *dst);
void widenQ4_1(const void *src, int64_t n, float *dst);
void widenQ5_0(const void *src, int64_t n, float *dst);
void widenQ5_1(const void *src, int64_t n, float *dst);
void widenQ4_K(const void *src, int64_t n, float *dst);
void widenQ5_K(const void *src, int64_t n, float *dst);
void widenQ6_K(const void *src, int64_t n, float *dst);
void widenMXFP4(const void *src, int64_t n, float *dst);
void widenFP8(const void *src, int64_t n, float *dst);
void widenINT4_32(const void *src, int64_t n, float *dst);
void widenINT4_64(const void *src, int64_t n, float *dst);
void widenINT4_128(const void *src, int64_t n, float *dst);
void widenF8_E4M3(const void *src, int64_t n, float *dst);

void narrowF32(const float *src, int64_t n, void *dst);
void narrowF16(const float *src, int64_t n, void *dst);
void narrowBF16(const float *src, int64_t n, void *dst);

void narrowQ8_0(const float *src, int64_t n, void *dst);
void narrowQ4_0(const float *src, int64_t n, void *dst);
void narrowQ4_1(const float *src, int64_t n, void *dst);
void narrowQ5_0(const float *src, int64_t n, void *dst);
void narrowQ5_1(const float *src, int64_t n, void *dst);
void narrowQ4_K(const float *src, int64_t n, void *dst);
void narrowQ5_K(const float *src, int64_t n, void *dst);
void narrowQ6_K(const float *src, int64_t n, void *dst);
void narrowMXFP4(const float *src, int64_t n, void *dst);
void narrowFP8(const float *src, int64_t n, void *dst);
void narrowINT4_32(const float *src, int64_t n, void *dst);
void narrowINT4_64(const float *src, int64_t n, void *dst);
void narrowINT4_128(const float *src, int64_t n, void *dst);

void packF32(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block, void *dst);
void packF16(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block, void *dst);
void packBF16(const float *src, int64_t stride, int64_t rows, int64_t columns, int64_t block, void *dst);
void unpackRow32(const void *src, int64_t i, int64_t columns, int64_t block, void *dst);
void unpackRow16(const void *src, int64_t i, int64_t columns, int64_t block, void *dst);
void unpackRowPairs16(const void *src, int64_t i, int64_t columns, int64_t block, void *dst);

void reduceF32(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n);
void reduceF16(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n);
void reduceBF16(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n);
void reduceI32(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n);
void reduceI64(ReduceOp op, const void *const *sources, int64_t count, void *dst, int64_t n);

} // namespace tessera::io
#endif
