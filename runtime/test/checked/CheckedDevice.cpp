#include "CheckedDevice.h"
#include "CheckedDriver.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/ShardReader.h"
#include "tessera/runtime/cpu/Driver.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>

namespace tessera::runtime {

namespace checked {

CheckedDevice::CheckedDevice(const DeviceOptions &options, uint64_t seed)
    : seed_(seed), ordering_(space_), pool_(options.pool.size(), [] { cpuDriver().prepareThread(); }),
      inner_(cpuDriver().open({options.rank, pool_, options.entry})),
      innerStream_(inner_->createStream(StreamKind::Compute)),
      executor_(seed, options.rank, options.entry, [] { cpuDriver().prepareThread(); }) {}

// For tests of what is allocated: TESSERA_CHECKED_ALLOCATIONS names a file that gets a line for each.
static void note(size_t bytes, const std::string &what) {
  const char *file = getenv("TESSERA_CHECKED_ALLOCATIONS");
  if (!file)
    return;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::ofstream(file, std::ios::app) << bytes << " " << what << "\n";
}

Buffer CheckedDevice::allocate(size_t bytes, const std::string &what, MemoryUse use) {
  note(bytes, what);
  return Buffer(*this, space_.allocate(bytes, what), bytes);
}

HostBuffer CheckedDevice::allocateHost(size_t bytes, const std::string &what) {
  return HostBuffer(*this, Memory(bytes, what).release(), bytes);
}

std::unique_ptr<Stream> CheckedDevice::createStream(StreamKind kind) {
  return std::make_unique<CheckedStream>(*this);
}

std::unique_ptr<Event> CheckedDevice::createEvent() { return std::make_unique<CheckedEvent>(*this); }

std::unique_ptr<Module> CheckedDevice::load(const ts_program &program) {
  auto module = std::make_unique<CheckedModule>();
  module->kernels = program.kernels;
  module->count = program.num_kernels;
  return module;
}

std::unique_ptr<Product> CheckedDevice::createProduct(const MatmulSpec &spec, const WeightLayout *layout) {
  auto product = std::make_unique<CheckedProduct>();
  product->inner = inner_->createProduct(spec, layout);
  product->spec = spec;
  product->weightBytes = layout ? layout->bytes : io::bytesOf(spec.w, spec.weightRows() * spec.k);
  for (int64_t pieces : spec.pieces)
    product->weightBytes *= pieces;
  return product;
}

void CheckedDevice::store(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
                          const float *rows) {
  unfinishedStores_ = true;
  inner_->store(layout, space_.find(weight, size_t(layout.bytes), "rows of a weight"), begin, count, rows);
}

void CheckedDevice::storeBlocks(const WeightLayout &layout, io::DType type, void *weight, int64_t begin,
                                int64_t count, const BlockRows &rows) {
  unfinishedStores_ = true;
  inner_->storeBlocks(layout, type, space_.find(weight, size_t(layout.bytes), "rows of a weight"), begin,
                      count, rows);
}

void CheckedDevice::call(const Call &call, Stream &compute) {
  for (ByteSpan span : call.dead)
    compute.fill(call.base + span.begin, 0xff, size_t(span.end - span.begin));
  call.enqueue();
}

CheckedStream::CheckedStream(CheckedDevice &device)
    : device_(device), ordered_(device.ordering_.addStream()), queue_(device.executor_.addStream()) {}

// Streams go once they are done; a failure has been thrown to whoever waited.
CheckedStream::~CheckedStream() {
  try {
    device_.executor_.waitForStream(queue_);
  } catch (const std::exception &) {
  }
}

void CheckedStream::give(const std::string &what, std::vector<MemoryAccess> accesses,
                         std::function<void(const std::vector<char *> &)> run) {
  if (device_.unfinishedStores_)
    throw Error("unordered access to device memory", what,
                "rows were stored, and finishStores() was not called", "call it when all rows are there");
  std::vector<char *> memory;
  for (const MemoryAccess &access : accesses)
    memory.push_back(device_.space_.find(access.address, access.bytes, what));
  device_.ordering_.task(ordered_, accesses, what);
  Task task;
  task.run = [memory = std::move(memory), run = std::move(run)] { run(memory); };
  device_.executor_.push(queue_, std::move(task));
}

// A random partition of [0, count), its pieces in random order.
static std::vector<Range> randomPieces(int64_t count, uint64_t seed) {
  std::vector<Range> pieces;
  for (int64_t begin = 0, i = 0; begin < count || i == 0; ++i) {
    int64_t left = count - begin;
    // The whole at once now and then; most often a few pieces of different sizes.
    int64_t most = randomBits(seed, 1, 0) % 8 == 0 ? left : left / 2 + 1;
    int64_t size = left == 0      ? 0
                   : most == left ? left
                                  : 1 + int64_t(randomBits(seed, 2, uint64_t(i)) % uint64_t(most));
    pieces.push_back({begin, begin + size});
    begin += size;
  }
  for (size_t i = pieces.size(); i > 1; --i)
    std::swap(pieces[i - 1], pieces[randomBits(seed, 3, i) % i]);
  return pieces;
}

bool CheckedStream::isFresh(const MemoryAccess &access, const std::vector<MemoryAccess> &all) {
  auto begin = [](const MemoryAccess &a) { return static_cast<const char *>(a.address); };
  bool fresh = access.kind == MemoryAccess::Write;
  for (const MemoryAccess &other : all)
    fresh &= &other == &access || begin(other) >= begin(access) + access.bytes ||
             begin(access) >= begin(other) + other.bytes;
  return fresh;
}

void CheckedStream::launch(Module &module, const Launch &launch) {
  auto &program = static_cast<CheckedModule &>(module);
  if (launch.kernel < 0 || uint32_t(launch.kernel) >= program.count)
    throw Error("wrong launch", "kernel " + std::to_string(launch.kernel), "the program has no such kernel");
  const ts_kernel &kernel = program.kernels[launch.kernel];
  std::vector<MemoryAccess> accesses;
  for (int32_t i = 0; i < kernel.num_buffers; ++i)
    accesses.push_back({launch.buffers[i], size_t(kernel.buffers[i].bytes),
                        MemoryAccess::Kind(kernel.buffers[i].access & TS_UPDATE)});
  std::vector<int64_t> scalars(launch.scalars, launch.scalars + kernel.num_scalars);
  std::vector<bool> fresh;
  for (const MemoryAccess &access : accesses)
    fresh.push_back(isFresh(access, accesses));
  uint64_t seed = randomBits(device_.seed_, uint64_t(launch.kernel), device_.launches_++);
  give(std::string("kernel ") + kernel.name, accesses,
       [=, function = kernel.function, count = launch.count](const std::vector<char *> &memory) {
         for (size_t i = 0; i < memory.size(); ++i)
           if (fresh[i])
             memset(memory[i], 0xff, accesses[i].bytes);
         std::vector<void *> buffers(memory.begin(), memory.end());
         for (Range piece : randomPieces(count, seed))
           function(buffers.data(), scalars.data(), piece.begin, piece.end);
       });
}

void CheckedStream::multiply(Product &product, const ProductOperands &operands) {
  auto &p = static_cast<CheckedProduct &>(product);
  auto yBytes = size_t(io::bytesOf(p.spec.y, p.spec.m * p.spec.n));
  bool inPlace = p.spec.addend && operands.addend == operands.y;
  std::vector<MemoryAccess> touched = {
      {operands.x, size_t(io::bytesOf(p.spec.x, p.spec.m * p.spec.k)), MemoryAccess::Read},
      {operands.w, size_t(p.weightBytes), MemoryAccess::Read},
      {operands.y, yBytes, inPlace ? MemoryAccess::Update : MemoryAccess::Write}};
  if (p.spec.bias)
    touched.push_back({operands.bias, size_t(io::bytesOf(p.spec.y, p.spec.n)), MemoryAccess::Read});
  if (p.spec.addend && !inPlace)
    touched.push_back({operands.addend, yBytes, MemoryAccess::Read});
  if (p.spec.groups) // which has neither of these
    touched.push_back({operands.starts, size_t(p.spec.groups + 1) * sizeof(int32_t), MemoryAccess::Read});
  give("a product", touched, [this, &p, yBytes, inPlace](const std::vector<char *> &at) {
    if (!inPlace)
      memset(at[2], 0xff, yBytes);
    device_.innerStream_->multiply(*p.inner,
                                   {at[0], at[1], at[2], p.spec.bias ? at[3] : nullptr,
                                    !p.spec.addend ? nullptr
                                    : inPlace      ? at[2]
                                                   : at[p.spec.bias ? 4 : 3],
                                    p.spec.groups ? reinterpret_cast<const int32_t *>(at[3]) : nullptr});
  });
}

void CheckedStream::gather(const WeightLayout &layout, const void *w, const int32_t *ids, int64_t base,
                           int64_t rows, void *out) {
  auto outBytes = size_t(io::bytesOf(layout.type, rows * layout.columns));
  give("a gather of rows",
       {{w, size_t(layout.bytes), MemoryAccess::Read},
        {ids, size_t(rows) * sizeof(int32_t), MemoryAccess::Read},
        {out, outBytes, MemoryAccess::Write}},
       [this, &layout, base, rows, outBytes](const std::vector<char *> &at) {
         memset(at[2], 0xff, outBytes);
         device_.innerStream_->gather(layout, at[0], reinterpret_cast<const int32_t *>(at[1]), base, rows,
                                      at[2]);
       });
}

void CheckedStream::pack(const WeightLayout &layout, const void *plain, void *packed) {
  give("a packing",
       {{plain, size_t(io::bytesOf(layout.type, layout.rows * layout.columns)), MemoryAccess::Read},
        {packed, size_t(layout.bytes), MemoryAccess::Write}},
       [this, &layout](const std::vector<char *> &at) { device_.innerStream_->pack(layout, at[0], at[1]); });
}

/// Nothing may have null for an address.
static void copyBytes(void *to, const void *from, size_t bytes) {
  if (bytes)
    memcpy(to, from, bytes);
}

void CheckedStream::copy(void *dst, const void *src, size_t bytes) {
  give("a copy", {{src, bytes, MemoryAccess::Read}, {dst, bytes, MemoryAccess::Write}},
       [bytes](const std::vector<char *> &at) { copyBytes(at[1], at[0], bytes); });
}

void CheckedStream::upload(void *dst, const void *host, size_t bytes) {
  give("an upload", {{dst, bytes, MemoryAccess::Write}},
       [host, bytes](const std::vector<char *> &at) { copyBytes(at[0], host, bytes); });
}

// Until the copy has run the host's memory holds nothing: whoever does not wait sees NaNs.
void CheckedStream::download(void *host, const void *src, size_t bytes) {
  if (bytes)
    memset(host, 0xff, bytes);
  give("a download", {{src, bytes, MemoryAccess::Read}},
       [host, bytes](const std::vector<char *> &at) { copyBytes(host, at[0], bytes); });
}

void CheckedStream::fill(void *dst, uint8_t byte, size_t bytes) {
  give("a fill", {{dst, bytes, MemoryAccess::Write}},
       [byte, bytes](const std::vector<char *> &at) { memset(at[0], byte, bytes); });
}

void CheckedStream::post(std::unique_ptr<StreamTask> posted) {
  std::string what = posted->name();
  std::vector<MemoryAccess> accesses = posted->accesses();
  std::vector<std::pair<char *, size_t>> fresh;
  for (const MemoryAccess &access : accesses) {
    char *memory = device_.space_.find(access.address, access.bytes, what);
    if (isFresh(access, accesses))
      fresh.emplace_back(memory, access.bytes);
  }
  Ordering &ordering = device_.ordering_;
  StreamTask::Flight flight = posted->flight();
  if (flight.begins) {
    std::vector<int64_t> &free = device_.freeFlights_;
    if (free.empty())
      free.push_back(ordering.addStream());
    int64_t number = device_.flights_[flight.begins] = free.back();
    free.pop_back();
    ordering.wait(number, ordering.record(ordered_));
    ordering.task(number, accesses, what);
  } else {
    ordering.task(ordered_, accesses, what);
  }
  if (auto ended = device_.flights_.find(flight.ends); flight.ends && ended != device_.flights_.end()) {
    ordering.wait(ordered_, ordering.record(ended->second));
    device_.freeFlights_.push_back(ended->second);
    device_.flights_.erase(ended);
  }
  Task task;
  task.run = [fresh = std::move(fresh)] {
    for (auto [memory, bytes] : fresh)
      memset(memory, 0xff, bytes);
  };
  task.post = std::move(posted);
  device_.executor_.push(queue_, std::move(task));
}

void CheckedStream::record(Event &event) {
  auto &place = static_cast<CheckedEvent &>(event);
  place.clock_ = device_.ordering_.record(ordered_);
  device_.executor_.pushRecord(queue_, place.state_);
}

void CheckedStream::wait(Event &event) {
  auto &place = static_cast<CheckedEvent &>(event);
  device_.ordering_.wait(ordered_, place.clock_);
  device_.executor_.pushWait(queue_, place.state_);
}

void CheckedStream::synchronize() {
  device_.ordering_.hostWait(device_.ordering_.record(ordered_));
  device_.executor_.waitForStream(queue_);
}

void CheckedEvent::wait() {
  device_.ordering_.hostWait(clock_);
  device_.executor_.waitForEvent(*state_);
}

namespace {

std::atomic<uint64_t> &seedSetting() {
  static std::atomic<uint64_t> seed{checkedSetting("TESSERA_CHECKED_SEED", 0)};
  return seed;
}

class CheckedDriver final : public Driver {
public:
  const char *name() const override { return "checked"; }
  const char *target() const override { return "cpu"; }
  void checkMachine(const Manifest &manifest) const override { cpuDriver().checkMachine(manifest); }
  std::string compiledFor(const Manifest &manifest) const override {
    return cpuDriver().compiledFor(manifest);
  }
  void prepareProcess() const override { cpuDriver().prepareProcess(); }
  void prepareThread() const override { cpuDriver().prepareThread(); }
  std::unique_ptr<WeightLayout> layout(const ParamSpec &spec) const override {
    return cpuDriver().layout(spec);
  }
  std::unique_ptr<Device> open(const DeviceOptions &options) const override {
    return std::make_unique<CheckedDevice>(options, seedSetting());
  }
};

} // namespace
} // namespace checked

uint64_t checkedSetting(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  if (!text || !*text)
    return otherwise;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text, text + strlen(text), value);
  if (*end || error != std::errc())
    throw Error("cannot read a setting", std::string(name) + "=" + text, "it is no number from 0 to 2^64 - 1",
                "unset it for the default of " + std::to_string(otherwise));
  return value;
}

const Driver &checkedDriver() {
  static const checked::CheckedDriver driver;
  return driver;
}

void setCheckedSeed(uint64_t seed) { checked::seedSetting() = seed; }

} // namespace tessera::runtime
