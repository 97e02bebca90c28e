#include "Functions.h"
namespace standin {
extern "C" {
void standin_ldmatrix(Thread *thread, char *row, uint32_t *words, uint32_t count, uint32_t transposed,
                      uint32_t site) {}
void standin_stmatrix(Thread *thread, char *row, const uint32_t *words, uint32_t count, uint32_t transposed,
                      uint32_t site) {}
void standin_mma(Thread *thread, const uint32_t *in, uint32_t *out, uint32_t shape, uint32_t site) {}
void standin_track(Thread *thread, uintptr_t address, uint32_t site) {}
void standin_track_bytes(Thread *thread, uintptr_t address, uint64_t bytes, uint32_t site) {}
void standin_fence(Thread *thread, uint32_t flags) {}
}
} // namespace standin
