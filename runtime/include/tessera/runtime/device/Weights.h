// The weights of one rank: how they lie in device memory, and where their numbers come from.
#ifndef TESSERA_RUNTIME_DEVICE_WEIGHTS_H
#define TESSERA_RUNTIME_DEVICE_WEIGHTS_H

#include "tessera/runtime/core/ShardReader.h"
#include "tessera/runtime/device/Device.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::runtime {

// Where weights come from: exactly one of the two.
struct WeightOrigin {
  const io::ModelFile *model = nullptr;
  uint64_t seed = 0;
  // Where optimizer states come from, by ParamSpec::state; those that are not here begin as zeros.
  std::map<std::string, const io::ModelFile *> states = {};
  bool loads(const ParamSpec &spec) const { return !spec.isState() || states.count(spec.state); }
};

// How the weights of one rank lie in one buffer. The same for every rank of a program; needs no device.
class WeightPlan {
public:
  WeightPlan(const Manifest &manifest, const Driver &driver);

  struct Param {
    const ParamSpec *spec;
    std::unique_ptr<WeightLayout> layout; // of one layer, as products and lookups read it
    // Of one layer as generated code reads and writes it: of variables whose `layout` is packed. Null
    // elsewhere: `layout` itself, unless it is packed.
    std::unique_ptr<WeightLayout> plain;
    int64_t layers;
    std::vector<int64_t> layerOffsets; // of each layer in `layout`, from `offset`; behind them the end of all
    int64_t offset;                    // bytes from the start of the weights, 64-byte aligned
    int64_t plainOffset = -1;          // the same for the plain form; -1: there is none
  };
  const Param &param(int64_t i) const { return params_[i]; }
  int64_t count() const { return int64_t(params_.size()); }
  int64_t bytes() const { return bytes_; } // of all weights of a rank, as held: both forms of a variable
  int64_t bytes(const WeightOrigin &origin) const; // of them those that are loaded from there
  int64_t bytes(int64_t i) const;                  // of one of them, as held; add up to all
  const Driver &driver() const { return driver_; }

private:
  const Driver &driver_;
  std::vector<Param> params_;
  int64_t bytes_ = 0;
};

// Fills `weights`, which lie as `plan` says, with the shards of `rank`; all threads of `pool` at work, or,
// where a device makes numbers up by itself, a kernel of `module`. `onBytes` is told the bytes read as they
// come (any thread).
void loadWeights(const WeightPlan &plan, const Mesh &mesh, int64_t rank, const WeightOrigin &origin,
                 Device &device, Module &module, char *weights, ThreadPool &pool,
                 const std::function<void(int64_t)> &onBytes);

} // namespace tessera::runtime
#endif
