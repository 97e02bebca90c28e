#include "CpuDevice.h"
#include "Bfloat16Unit.h"
#include "CpuFeatures.h"
#include "Dnnl.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/cpu/Driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <time.h>

namespace tessera::runtime {

CpuWeightLayout::CpuWeightLayout(const ParamSpec &spec) {
  type = spec.dtype;
  int64_t elements = elementCount(spec.local);
  rows = elementCount(Shape(spec.local.begin(), spec.local.begin() + rowDims(spec)));
  columns = rows ? elements / rows : 0;
  packed = spec.packOutDims.has_value();
  if (spec.isHeldInBlocks()) {
    auto inDims = [&](const Shape &shape) { return Shape(shape.begin() + *spec.packOutDims, shape.end()); };
    blocks.emplace(rows, io::BlockColumns(inDims(spec.shape), inDims(spec.local)));
    rowBlock = io::kUnitRows;
    for (io::DType held : spec.held) {
      eachBytes.push_back(std::max(spec.layerBytes, blocks->bytes(held)));
      if (spec.layerBytes > 0 && eachBytes.back() > spec.layerBytes)
        throw Error("cannot hold parameter " + spec.name, io::dtypeName(held),
                    "its layers are " + std::to_string(spec.layerBytes) + " bytes apart and have " +
                        std::to_string(eachBytes.back()),
                    "compile it again with this version of llm-compile");
    }
    shape = spec.shape, local = spec.local, outDims = *spec.packOutDims;
    bytes = *std::min_element(eachBytes.begin(), eachBytes.end());
    return;
  }
  if (packed) {
    pack.emplace(rows, columns, type);
    rowBlock = pack->block;
  }
  bytes = pack ? pack->bytes() : io::bytesOf(type, elements);
}

GatheredBlocks CpuWeightLayout::gathered(const Shape &pieces) const {
  return {shape, local, outDims, pieces};
}

Buffer CpuDevice::allocate(size_t bytes, const std::string &what, MemoryUse use) {
  Memory memory(bytes, what, /*isRead=*/use == MemoryUse::Weights);
  return Buffer(*this, memory.release(), bytes);
}

HostBuffer CpuDevice::allocateHost(size_t bytes, const std::string &what) {
  return HostBuffer(*this, Memory(bytes, what).release(), bytes);
}

void CpuDevice::release(void *address, size_t bytes) { Memory::free(address, bytes); }

std::unique_ptr<Stream> CpuDevice::createStream(StreamKind kind) {
  return std::make_unique<CpuStream>(*this, kind);
}

std::unique_ptr<Event> CpuDevice::createEvent() { return std::make_unique<CpuEvent>(); }

std::unique_ptr<Module> CpuDevice::load(const ts_program &program) {
  auto module = std::make_unique<CpuModule>();
  module->kernels = program.kernels;
  return module;
}

std::unique_ptr<Product> CpuDevice::createProduct(const MatmulSpec &spec, const WeightLayout *layout) {
  GemmTypes types{spec.x, spec.w, spec.y};
  auto *held = static_cast<const CpuWeightLayout *>(layout);
  const bool packed = layout && layout->packed;
  std::optional<GatheredBlocks> gathered;
  if (!spec.pieces.empty())
    gathered.emplace(held->gathered(spec.pieces));
  const BlockWeight *blocks = gathered ? &gathered->whole() : held && held->blocks ? &*held->blocks : nullptr;
  std::unique_ptr<CpuWeightProduct> product;
  if (spec.groups) {
    product = std::make_unique<CpuGroupedProduct>(
        blocks ? GroupedGemm(spec.groups, spec.m, *blocks, types, pool_)
               : GroupedGemm(spec.groups, spec.m, spec.n, spec.k, types, packed, pool_));
  } else {
    GemmEpilogue epilogue{spec.bias, spec.addend, spec.function};
    product =
        std::make_unique<CpuProduct>(blocks ? Gemm(spec.m, *blocks, types, pool_, epilogue, spec.xTransposed)
                                            : Gemm(spec.m, spec.n, spec.k, types, packed, pool_, epilogue,
                                                   {spec.xTransposed, spec.wTransposed}));
  }
  if (gathered) {
    product->stride = *std::max_element(held->eachBytes.begin(), held->eachBytes.end());
    product->gathered = std::move(gathered);
  }
  return product;
}

// Types of layers differ: as many bytes as the largest has.
static int64_t wholeBytes(const GatheredBlocks &gathered, const std::vector<io::DType> &types) {
  int64_t bytes = 0;
  for (io::DType type : types)
    bytes = std::max(bytes, gathered.whole().bytes(type));
  return bytes;
}

const void *CpuDevice::wholeWeight(const CpuWeightProduct &product, const void *given) {
  if (!product.gathered)
    return given;
  auto bytes = size_t(product.gathered->whole().bytes(io::DType(BlockWeight::header(given).type)));
  if (whole_.bytes() < bytes)
    whole_ = Memory(bytes, "a gathered weight in one");
  product.gathered->putTogether(given, product.stride, whole_.data(), pool_);
  return whole_.data();
}

void CpuDevice::store(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
                      const float *rows) {
  auto &held = static_cast<const CpuWeightLayout &>(layout);
  if (held.pack)
    held.pack->packRows(begin, count, rows, weight);
  else
    io::traits(layout.type)
        .narrow(rows, count * layout.columns,
                static_cast<char *>(weight) + io::bytesOf(layout.type, begin * layout.columns));
}

float *CpuDevice::storeInPlace(const WeightLayout &layout, void *weight, int64_t begin) {
  return layout.packed || layout.type != io::DType::F32
             ? nullptr
             : static_cast<float *>(weight) + begin * layout.columns;
}

void CpuDevice::storeBlocks(const WeightLayout &layout, io::DType type, void *weight, int64_t begin,
                            int64_t count, const BlockRows &rows) {
  const BlockWeight &held = *static_cast<const CpuWeightLayout &>(layout).blocks;
  if (begin == 0)
    held.writeHeader(type, rows.chunks, weight);
  held.writeRows(type, rows.chunks, begin, count, rows.rows, weight);
}

void CpuDevice::finish(CpuStream &stream, uint64_t place) {
  for (int64_t turns = 0; stream.done_ < place; ++turns) {
    if (busy_.size() == 1) { // nothing else to go on with
      stream.advance(/*mayBlock=*/true);
      continue;
    }
    uint64_t before = stream.done_;
    for (CpuStream *other : std::vector<CpuStream *>(busy_))
      other->advance(/*mayBlock=*/false);
    if (stream.done_ != before)
      continue;
    // Peers need this core more than we do.
    if (turns < 1000) {
      sched_yield();
    } else {
      timespec pause = {0, 50000};
      nanosleep(&pause, nullptr);
    }
  }
}

namespace {

class CpuDriver final : public Driver {
public:
  const char *name() const override { return "cpu"; }
  const char *target() const override { return "cpu"; }
  void checkMachine(const Manifest &manifest) const override { checkCpuFeatures(manifest); }
  std::string missing(const Manifest &manifest) const override { return missingCpuFeatures(manifest); }
  std::string compiledFor(const Manifest &manifest) const override { return readCpuSection(manifest).name; }
  std::string bfloat16Unit() const override { return unitName(runtime::bfloat16Unit()); }
  void prepareProcess() const override {
    setenv("OMP_NUM_THREADS", "1", 1); // read by libgomp when oneDNN is opened
  }
  void prepareThread() const override { keepDnnlSingleThreaded(); }
  std::unique_ptr<WeightLayout> layout(const ParamSpec &spec) const override {
    return std::make_unique<CpuWeightLayout>(spec);
  }
  // The largest weight that comes in pieces, put together.
  int64_t workspaceBytes(const Manifest &manifest) const override {
    int64_t most = 0;
    for (const MatmulSpec &spec : manifest.matmuls)
      if (!spec.pieces.empty()) {
        const ParamSpec &param = manifest.params[size_t(spec.param)];
        most = std::max(most, wholeBytes(CpuWeightLayout(param).gathered(spec.pieces), param.held));
      }
    return most;
  }
  std::unique_ptr<Device> open(const DeviceOptions &options) const override {
    return std::make_unique<CpuDevice>(options);
  }
};

} // namespace

const Driver &cpuDriver() {
  static const CpuDriver driver;
  return driver;
}

} // namespace tessera::runtime
