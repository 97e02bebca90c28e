#include "tessera/runtime/cpu/Rank.h"
#include "Dnnl.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

namespace tessera::runtime {

static_assert(std::is_standard_layout_v<ts_rank>);

WeightPlan::WeightPlan(const Manifest &manifest) {
  for (const ParamSpec &spec : manifest.params) {
    Param p;
    p.spec = &spec;
    // Plain parameters: rows are what is contiguous, one layer has product(all but the last) of them.
    p.outDims = spec.packOutDims ? *spec.packOutDims : std::max<int64_t>(int64_t(spec.local.size()) - 1, 0);
    p.layerElements = elementCount(spec.local);
    if (spec.packOutDims) {
      int64_t n = elementCount(Shape(spec.local.begin(), spec.local.begin() + p.outDims));
      p.packed.emplace(n, n ? p.layerElements / n : 0);
      p.layerElements = p.packed->elements();
    }
    p.layers = std::max<int64_t>(spec.layers, 1);
    p.offset = bytes_;
    bytes_ += (p.layers * p.layerElements * int64_t(sizeof(float)) + 63) / 64 * 64;
    params_.push_back(std::move(p));
  }
}

Rank::Rank(const ts_program &program, const Manifest &manifest, const WeightPlan &plan, Communicator &comm,
           BoardEntry &entry, int threads)
    : program_(program), manifest_(manifest), plan_(plan), comm_(comm), entry_(entry),
      pool_(threads, keepDnnlSingleThreaded),
      arena_(manifest.arenaBytes, "the arena of rank " + std::to_string(comm.rank())),
      weights_(plan.bytes(), "the weights of rank " + std::to_string(comm.rank()), /*dense=*/true) {
  keepDnnlSingleThreaded();
  for (int64_t i = 0; i < plan.count(); ++i)
    paramPointers_.push_back(plan.param(i).packed ? nullptr : weights_.data() + plan.param(i).offset);
  abi_ = {paramPointers_.data()};
  for (const MatmulSpec &spec : manifest.matmuls)
    gemms_.emplace_back(spec.m, spec.n, spec.k, spec.param >= 0, pool_);
  for (const AxisList &group : manifest.groups)
    groupIndex_.push_back(manifest.mesh.index(comm.rank(), group));
  comm.prepare(manifest);
}

void Rank::loadWeights(const WeightOrigin &origin, const std::function<void(int64_t)> &onBytes) {
  for (int64_t i = 0; i < plan_.count(); ++i) {
    const WeightPlan::Param &p = plan_.param(i);
    ShardReader reader = origin.model ? ShardReader(*p.spec, p.outDims, manifest_.mesh, id(), *origin.model)
                                      : ShardReader(*p.spec, p.outDims, manifest_.mesh, id(), origin.seed);
    // Work items: blocks of rows of one layer, about 1 MiB each; packed ones in whole blocks of the layout.
    int64_t unit = p.packed ? p.packed->block : 1;
    int64_t rowsPerItem =
        std::max<int64_t>(unit, (1 << 18) / std::max<int64_t>(reader.columns(), 1) / unit * unit);
    int64_t itemsPerLayer = (reader.rows() + rowsPerItem - 1) / rowsPerItem;
    std::atomic<int64_t> next{0};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    pool_.parallel(pool_.size(), [&](int part) {
      try {
        std::vector<float> scratch;
        for (int64_t item; !failed && (item = next.fetch_add(1)) < itemsPerLayer * p.layers;) {
          int64_t layer = item / itemsPerLayer, begin = item % itemsPerLayer * rowsPerItem;
          int64_t count = std::min(rowsPerItem, reader.rows() - begin);
          float *out = const_cast<float *>(weights(i, layer));
          if (p.packed) {
            scratch.resize(count * reader.columns());
            reader.read(layer, begin, count, scratch.data());
            p.packed->packRows(begin, count, scratch.data(), out);
          } else {
            reader.read(layer, begin, count, out + begin * reader.columns());
          }
          entry_.progress.fetch_add(1, std::memory_order_relaxed);
          if (onBytes)
            onBytes(count * reader.columns() * int64_t(sizeof(float)));
        }
      } catch (...) {
        if (!failed.exchange(true))
          failure = std::current_exception();
      }
    });
    if (failure)
      std::rethrow_exception(failure);
    for (int64_t layer = 0; layer < p.layers; ++layer)
      reader.release(layer);
  }
}

void Rank::call(int64_t entry, const std::vector<int64_t> &counts, char *base) {
  manifest_.entries[entry].checkCounts(counts);
  statesUsed_ = true;
  ts_call call{base, counts.data()};
  program_.entries[entry](&abi_, &call);
}

void Rank::clearStates() {
  if (!statesUsed_) // as zero as the system gave them, and not even touched
    return;
  statesUsed_ = false;
  for (const BufferSpec &state : manifest_.states) {
    pool_.parallel(pool_.size(), [&](int part) {
      Range range = splitRange(state.bytes, pool_.size(), part);
      memset(arena() + state.offset + range.begin, 0, size_t(range.end - range.begin));
    });
    progress();
  }
}

} // namespace tessera::runtime
