// One rank on the CPU: its arena, weights, threads and products; what abi.h's ts_rank points to.
#ifndef TESSERA_RUNTIME_CPU_RANK_H
#define TESSERA_RUNTIME_CPU_RANK_H

#include "tessera/runtime/abi.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/core/ShardReader.h"
#include "tessera/runtime/core/ThreadPool.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::runtime {

// How the weights of one rank lie in memory. The same for every rank of a program.
class WeightPlan {
public:
  explicit WeightPlan(const Manifest &manifest);

  struct Param {
    const ParamSpec *spec;
    int64_t outDims;                    // local dims that make up the rows
    std::optional<PackedLayout> packed; // else plain row-major
    int64_t layers, layerElements;
    int64_t offset; // bytes from the start of the weights, 64-byte aligned
  };
  const Param &param(int64_t i) const { return params_[i]; }
  int64_t count() const { return int64_t(params_.size()); }
  int64_t bytes() const { return bytes_; } // of all weights of a rank, as held

private:
  std::vector<Param> params_;
  int64_t bytes_ = 0;
};

// Where weights come from: exactly one of the two.
struct WeightOrigin {
  const io::ModelFile *model = nullptr;
  uint64_t seed = 0;
};

class Rank {
public:
  // Allocates arena and weights and makes the products ready. Runs on the rank's main thread, which is the
  // only one that may use the object later. `entry` is this rank's entry of the board.
  Rank(const ts_program &program, const Manifest &manifest, const WeightPlan &plan, Communicator &comm,
       BoardEntry &entry, int threads);

  // Fills the weights, all threads of the rank at work. `onBytes` is told the packed bytes as they come (any
  // thread).
  void loadWeights(const WeightOrigin &origin, const std::function<void(int64_t)> &onBytes = nullptr);

  int64_t id() const { return comm_.rank(); }
  const Manifest &manifest() const { return manifest_; }
  Communicator &comm() { return comm_; }
  ThreadPool &pool() { return pool_; }
  char *arena() { return arena_.data(); }
  const WeightPlan &plan() const { return plan_; }
  const float *weights(int64_t param, int64_t layer) const {
    const WeightPlan::Param &p = plan_.param(param);
    return reinterpret_cast<const float *>(weights_.data() + p.offset) + layer * p.layerElements;
  }
  Gemm &gemm(int64_t id) { return gemms_[id]; }
  int64_t groupIndex(int64_t group) const { return groupIndex_[group]; }
  BoardEntry &entry() { return entry_; }

  // One more step of work done: the watch sees it.
  void progress() {
    entry_.progress.store(entry_.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  // Runs manifest.entries[entry] on the arena at `base`, its loops as often as `counts` says. Throws Error if a count is
  // missing, or outside the bounds that the manifest gives.
  void call(int64_t entry, const std::vector<int64_t> &counts, char *base);
  // The same on this rank's own arena.
  void call(int64_t entry, const std::vector<int64_t> &counts = {}) { call(entry, counts, arena()); }
  ts_kernel_fn kernel(int32_t index) const { return program_.kernels[index].function; }
  // Zeroes all states: before a new batch of prompts.
  void clearStates();

  static Rank &of(ts_rank *rank) { return *reinterpret_cast<Rank *>(rank); }

private:
  ts_rank abi_; // first: generated code is handed &abi_
  const ts_program &program_;
  const Manifest &manifest_;
  const WeightPlan &plan_;
  Communicator &comm_;
  BoardEntry &entry_;
  ThreadPool pool_;
  Memory arena_, weights_;
  bool statesUsed_ = false;
  std::vector<char *> paramPointers_;
  std::vector<Gemm> gemms_;
  std::vector<int64_t> groupIndex_;
};

} // namespace tessera::runtime
#endif
