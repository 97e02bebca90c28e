#include "tessera/runtime/device/Weights.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/HeldBytes.h"

#include <algorithm>
#include <atomic>

namespace tessera::runtime {

void Device::storeBlocks(const WeightLayout &, io::DType type, void *, int64_t, int64_t, const BlockRows &) {
  throw Error("cannot load weights", io::dtypeName(type), "this device holds no weights in blocks",
              "compile it again with this version of llm-compile");
}

int64_t rowDims(const ParamSpec &spec) {
  return spec.packOutDims ? *spec.packOutDims : std::max<int64_t>(int64_t(spec.local.size()) - 1, 0);
}

// `spec` as it is held without a packed form.
static ParamSpec plainSpec(ParamSpec spec) {
  spec.packOutDims.reset();
  return spec;
}

static HeldWeight heldAs(const WeightPlan::Param &p) {
  HeldWeight held{p.layers, p.layout->bytes, p.layout->packed, p.spec->layerBytes,
                  p.plain ? p.plain->bytes : 0};
  if (p.layout->eachBytes.size() > 1)
    held.each = p.layout->eachBytes;
  return held;
}

WeightPlan::WeightPlan(const Manifest &manifest, const Driver &driver) : driver_(driver) {
  for (const ParamSpec &spec : manifest.params) {
    Param p;
    p.spec = &spec;
    p.layout = driver.layout(spec);
    p.layers = std::max<int64_t>(spec.layers, 1);
    if (p.layout->packed && spec.variable)
      p.plain = driver.layout(plainSpec(spec));
    const HeldWeight held = heldAs(p);
    for (int64_t layer = 0; layer <= p.layers; ++layer)
      p.layerOffsets.push_back(held.offset(layer));
    p.offset = bytes_;
    if (!p.layout->packed || p.plain)
      p.plainOffset = p.offset + (p.plain ? held.first() : 0);
    bytes_ += held.total();
    params_.push_back(std::move(p));
  }
}

int64_t WeightPlan::bytes(int64_t i) const { return heldAs(params_[size_t(i)]).total(); }

int64_t WeightPlan::bytes(const WeightOrigin &origin) const {
  int64_t sum = 0;
  for (int64_t i = 0; i < count(); ++i)
    if (origin.loads(*params_[size_t(i)].spec))
      sum += bytes(i);
  return sum;
}

namespace {
// Where a load goes.
struct Load {
  const Mesh &mesh;
  int64_t rank;
  const WeightOrigin &origin;
  Device &device;
  Module &module;
  ThreadPool &pool;
  const std::function<void(int64_t)> &onBytes;

  // One item of the work on a parameter that is held in blocks.
  void blocks(const ShardReader &reader, const WeightLayout &layout, io::DType type, int64_t layer,
              int64_t begin, int64_t count, char *held) const {
    std::vector<const uint8_t *> rows(static_cast<size_t>(count));
    std::vector<uint8_t> madeUp;
    reader.blockRows(type, layer, begin, count, rows.data(), madeUp);
    device.storeBlocks(layout, type, held, begin, count, {reader.chunks(), rows.data()});
  }

  // All layers of one form of a parameter, at `offsets` from `to`.
  void form(const ParamSpec &spec, const WeightLayout &layout, int64_t layers,
            const std::vector<int64_t> &offsets, char *to) const {
    int64_t rowDimensions = rowDims(spec);
    const io::ModelFile *model = spec.isState() ? origin.states.at(spec.state) : origin.model;
    ShardReader reader = model ? ShardReader(spec, rowDimensions, mesh, rank, *model)
                               : ShardReader(spec, rowDimensions, mesh, rank, origin.seed);
    bool beside = offsets.back() == layers * layout.bytes; // the few that lie apart come from here
    // Devices count layers from 0.
    if (!model && !layout.packed && beside && reader.random().firstLayer == 0 &&
        device.storeRandom(module, layout, layers, to, reader.random())) {
      if (onBytes)
        onBytes(io::bytesOf(spec.dtype, layers * reader.rows() * reader.columns()));
      return;
    }
    // Work items: blocks of rows of one layer, about 1 MiB each; packed ones in whole blocks of the layout.
    int64_t unit = layout.rowBlock;
    int64_t rowsPerItem =
        std::max<int64_t>(unit, (1 << 18) / std::max<int64_t>(reader.columns(), 1) / unit * unit);
    int64_t itemsPerLayer = (reader.rows() + rowsPerItem - 1) / rowsPerItem;
    std::atomic<int64_t> next{0};
    std::atomic<bool> failed{false};
    pool.parallel(pool.size(), [&](int part) {
      try {
        std::vector<float> scratch;
        for (int64_t item; !failed && (item = next.fetch_add(1)) < itemsPerLayer * layers;) {
          int64_t layer = item / itemsPerLayer, begin = item % itemsPerLayer * rowsPerItem;
          int64_t count = std::min(rowsPerItem, reader.rows() - begin);
          char *held = to + offsets[size_t(layer)];
          auto write = [&](int64_t first, int64_t rows, void *out) {
            reader.readAs(layout.type, layer, first, rows, out);
          };
          if (spec.isHeldInBlocks()) {
            blocks(reader, layout, spec.heldType(layer), layer, begin, count, held);
          } else if (!layout.packed && device.storeRows(layout, held, begin, count, write)) {
            // on its way
          } else if (float *inPlace = device.storeInPlace(layout, held, begin)) {
            reader.read(layer, begin, count, inPlace);
          } else {
            scratch.resize(count * reader.columns());
            reader.read(layer, begin, count, scratch.data());
            device.store(layout, held, begin, count, scratch.data());
          }
          if (onBytes)
            onBytes(spec.isHeldInBlocks()
                        ? (offsets[size_t(layer) + 1] - offsets[size_t(layer)]) * count / layout.rows
                        : io::bytesOf(spec.dtype, count * reader.columns()));
        }
      } catch (...) {
        failed = true;
        throw;
      }
    });
    for (int64_t layer = 0; layer < layers; ++layer)
      reader.release(layer);
  }
};
} // namespace

void loadWeights(const WeightPlan &plan, const Mesh &mesh, int64_t rank, const WeightOrigin &origin,
                 Device &device, Module &module, char *weights, ThreadPool &pool,
                 const std::function<void(int64_t)> &onBytes) {
  Load load{mesh, rank, origin, device, module, pool, onBytes};
  for (int64_t i = 0; i < plan.count(); ++i) {
    const WeightPlan::Param &p = plan.param(i);
    if (!origin.loads(*p.spec)) // zero, as the device gave it
      continue;
    load.form(*p.spec, *p.layout, p.layers, p.layerOffsets, weights + p.offset);
    if (!p.plain)
      continue;
    std::vector<int64_t> offsets;
    for (int64_t layer = 0; layer <= p.layers; ++layer)
      offsets.push_back(layer * p.plain->bytes);
    load.form(plainSpec(*p.spec), *p.plain, p.layers, offsets, weights + p.plainOffset);
  }
  device.finishStores();
}

} // namespace tessera::runtime
