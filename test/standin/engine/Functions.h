// The engine's functions that generated code calls. Intrinsics*.cpp say which intrinsic becomes which.
#ifndef TESSERA_STANDIN_FUNCTIONS_H
#define TESSERA_STANDIN_FUNCTIONS_H

#include "Scheduler.h"

namespace standin {

enum BarrierKind : uint32_t { kBarrierSync, kBarrierArrive, kBarrierPopulation, kBarrierAnd, kBarrierOr };
enum ShuffleKind : uint32_t { kShuffleUp, kShuffleDown, kShuffleButterfly, kShuffleIndex };
enum VoteKind : uint32_t { kVoteAll, kVoteAny, kVoteUniform, kVoteBallot };
enum ReduceKind : uint32_t {
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceUnsignedMin,
  kReduceUnsignedMax,
  kReduceAnd,
  kReduceOr,
  kReduceXor
};

extern "C" {
// Access.cpp
void standin_access(Thread *thread, uintptr_t address, uint32_t site); // fills the site's range
void standin_access_bytes(Thread *thread, uintptr_t address, uint64_t bytes, uint32_t site); // memcpy, memset
void standin_turn(Thread *thread); // out of patience
// Barriers.cpp
uint32_t standin_barrier(Thread *thread, uint32_t id, uint32_t count, uint32_t predicate, uint32_t kind,
                         uint32_t aligned, uint32_t site);
// WarpOps.cpp
void standin_warp_sync(Thread *thread, uint32_t mask, uint32_t site);
uint64_t standin_shuffle(Thread *thread, uint32_t mask, uint32_t value, uint32_t lane, uint32_t clamp,
                         uint32_t kind,
                         uint32_t site); // the value; above it whether a lane gave it
uint32_t standin_vote(Thread *thread, uint32_t mask, uint32_t predicate, uint32_t kind, uint32_t site);
uint64_t standin_match(Thread *thread, uint32_t mask, uint64_t value, uint32_t all, uint32_t site);
uint32_t standin_reduce(Thread *thread, uint32_t mask, uint32_t value, uint32_t kind, uint32_t site);
uint64_t standin_elect(Thread *thread, uint32_t mask, uint32_t site);
// Async.cpp
void standin_cp_async(Thread *thread, char *to, const char *from, uint32_t taken, uint32_t site);
void standin_cp_async_commit(Thread *thread);
void standin_cp_async_wait(Thread *thread, uint32_t pending);
void standin_cp_async_wait_all(Thread *thread);
// Races.cpp
void standin_track(Thread *thread, uintptr_t address, uint32_t site);
void standin_track_bytes(Thread *thread, uintptr_t address, uint64_t bytes, uint32_t site);
void standin_fence(Thread *thread, uint32_t flags);
// System.cpp
uint64_t standin_clock(Thread *thread);
uint64_t standin_globaltimer(Thread *thread);
uint32_t standin_smid(Thread *thread);
[[noreturn]] void standin_exit(Thread *thread);
void standin_trap(Thread *thread, uint32_t site);
uint32_t standin_printf(Thread *thread, const char *format, const char *arguments);
void standin_assertfail(Thread *thread, const char *condition, const char *file, uint32_t line,
                        const char *function, uint64_t);
uint32_t standin_is_shared(Thread *thread, uintptr_t address);
uint32_t standin_is_local(Thread *thread, uintptr_t address);
// Only compute.
uint32_t standin_prmt(uint32_t a, uint32_t b, uint32_t selector);
// Matrix.cpp
void standin_ldmatrix(Thread *thread, char *row, uint32_t *words, uint32_t count, uint32_t transposed,
                      uint32_t site);
void standin_stmatrix(Thread *thread, char *row, const uint32_t *words, uint32_t count, uint32_t transposed,
                      uint32_t site);
void standin_mma(Thread *thread, const uint32_t *in, uint32_t *out, uint32_t shape, uint32_t site);
// Wgmma.cpp
void standin_wgmma(Thread *thread, const uint32_t *in, uint32_t *out, uint64_t a, uint64_t b, uint32_t adds,
                   uint32_t shape, uint32_t site);
void standin_wgmma_fence(Thread *thread, uint32_t site);
void standin_wgmma_commit(Thread *thread, uint32_t site);
void standin_wgmma_wait(Thread *thread, uint64_t pending, uint32_t site);
void standin_registers(Thread *thread, uint32_t *words, uint32_t count, uint32_t site);
void standin_proxy_fence(Thread *thread);
}

// Ends the launch when `bytes` at `address` may not be accessed, or `address` is no multiple of `align`.
void checkAccess(Thread &thread, uintptr_t address, uint64_t bytes, uint32_t align, uint32_t flags,
                 uint32_t site);

// Names and addresses of the functions above, and of what the host's back end calls.
struct EngineFunction {
  const char *name;
  void *address;
};
const std::vector<EngineFunction> &engineFunctions();

// One lane's way through a warp operation: true for the lane that came last, which computes for all and then
// lets them go on. The others are back when it has.
bool meet(Thread &thread, uint32_t mask, WarpOp op, bool aligned, uint32_t site, void *operands);
void release(Thread &thread, uint32_t mask);

} // namespace standin
#endif
