// The driver of the tests finds what it is there to find.
#include "CheckedDriver.h"
#include "ErrorLine.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <mutex>
#include <set>

namespace tessera::runtime {
namespace {

// Writes the first half of buffer 1 only.
void halfKernel(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i / 2] = static_cast<const float *>(buffers[0])[i / 2];
}

constexpr int64_t size = 64;
const ts_kernel_buffer halfBuffers[] = {{size * 4, TS_READ}, {size * 4, TS_WRITE}};
const ts_kernel kernels[] = {{"half", halfKernel, halfBuffers, 2, 0}};
const ts_program program = {TESSERA_ABI_VERSION, 0, 1, "", 0, nullptr, kernels};

struct Machine {
  explicit Machine(uint64_t seed = 1) : pool(1) {
    setCheckedSeed(seed);
    device = checkedDriver().open({0, pool, entry});
    a = device->createStream(StreamKind::Compute);
    b = device->createStream(StreamKind::Communication);
    memory = device->allocate(4 * size * 4, "the arena of rank 0", MemoryUse::Arena);
  }
  float *at(int64_t block) { return reinterpret_cast<float *>(memory.address() + block * size * 4); }
  BoardEntry entry;
  ThreadPool pool;
  std::unique_ptr<Device> device;
  Buffer memory;
  std::unique_ptr<Stream> a, b; // done before the memory goes
};

TEST(Checked, HostCannotTouchDeviceMemory) {
  Machine m;
  auto ends = [](int status) { return status != 0; }; // by a signal, or by a sanitizer that catches it
  EXPECT_EXIT(printf("%f", double(*static_cast<volatile float *>(m.at(0)))), ends, "");
  EXPECT_EXIT(*static_cast<volatile float *>(m.at(0)) = 1, ends, "");
}

// Whoever forgets finishStores reads rows that a device may still be copying.
TEST(Checked, StoresMustBeFinished) {
  Machine m;
  ParamSpec spec;
  spec.name = "w", spec.shape = spec.local = {1, size}, spec.sharding = {{}, {}};
  std::unique_ptr<WeightLayout> layout = checkedDriver().layout(spec);
  std::vector<float> row(size, 1);
  m.device->store(*layout, m.at(0), 0, 1, row.data());
  EXPECT_NE(errorOf([&] { m.a->copy(m.at(1), m.at(0), size * 4); }).find("finishStores() was not called"),
            std::string::npos);
  m.device->finishStores();
  m.a->copy(m.at(1), m.at(0), size * 4);
  m.a->synchronize();
}

TEST(Checked, AddressesMustBeOfDeviceMemory) {
  Machine m;
  float host[4] = {};
  EXPECT_NE(errorOf([&] { m.a->copy(m.at(0), host, 16); }).find("no address of device memory"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { m.a->fill(m.at(3), 0, size * 4 + 1); }).find("reach beyond the arena of rank 0"),
            std::string::npos);
}

TEST(Checked, MissingWaitsAreFoundWhateverTheOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Machine m(seed);
    m.a->fill(m.at(0), 0, size * 4);
    // Reads what a writes; writes what a writes; writes what b reads.
    EXPECT_NE(errorOf([&] { m.b->copy(m.at(1), m.at(0), size * 4); }).find("unordered access"),
              std::string::npos);
    EXPECT_NE(errorOf([&] { m.b->fill(m.at(0) + size - 1, 0, 4); }).find("which a fill writes"),
              std::string::npos);
    auto event = m.device->createEvent();
    m.a->record(*event);
    m.b->wait(*event);
    m.b->copy(m.at(1), m.at(0), size * 4);
    EXPECT_EQ(errorOf([&] { m.a->copy(m.at(2), m.at(0), size * 4); }), ""); // both read
    EXPECT_NE(errorOf([&] { m.a->fill(m.at(0), 1, 4); }).find("which a copy reads"), std::string::npos);
    m.b->synchronize(); // the host orders too
    EXPECT_EQ(errorOf([&] { m.a->fill(m.at(0), 1, 4); }), "");
    m.a->synchronize();
  }
}

// A wait is for the place that was recorded when it was given, not for later ones.
TEST(Checked, EventsStandForTheirLastPlace) {
  Machine m;
  auto event = m.device->createEvent();
  m.a->fill(m.at(0), 0, 4);
  m.a->record(*event);
  m.b->wait(*event);
  m.a->fill(m.at(1), 0, 4);
  m.a->record(*event);
  EXPECT_NE(errorOf([&] { m.b->fill(m.at(1), 0, 4); }), "");
  m.b->wait(*event);
  EXPECT_EQ(errorOf([&] { m.b->fill(m.at(1), 0, 4); }), "");
}

// Work beside a stream: begun by one task, waited for by another.
class Beside final : public StreamTask {
public:
  Beside(Flight flight, std::vector<MemoryAccess> accesses)
      : flight_(flight), accesses_(std::move(accesses)) {}
  bool advance(bool) override { return true; }
  Flight flight() const override { return flight_; }
  std::vector<MemoryAccess> accesses() const override { return accesses_; }
  std::string name() const override { return "collective 3"; }

private:
  Flight flight_;
  std::vector<MemoryAccess> accesses_;
};

TEST(Checked, WorkBesideAStreamIsOrderedByItsWaitOnly) {
  Machine m;
  int key;
  m.a->fill(m.at(0), 0, size * 4); // before: ordered
  m.a->post(std::make_unique<Beside>(StreamTask::Flight{&key, nullptr},
                                     std::vector<MemoryAccess>{{m.at(0), size * 4, MemoryAccess::Read},
                                                               {m.at(1), size * 4, MemoryAccess::Write}}));
  EXPECT_EQ(errorOf([&] { m.a->copy(m.at(2), m.at(0), size * 4); }), ""); // both read
  EXPECT_NE(errorOf([&] { m.a->copy(m.at(2), m.at(1), size * 4); }).find("which collective 3 writes"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { m.a->fill(m.at(0), 0, 4); }).find("which collective 3 reads"), std::string::npos);
  m.a->post(std::make_unique<Beside>(StreamTask::Flight{nullptr, &key}, std::vector<MemoryAccess>{}));
  EXPECT_EQ(errorOf([&] { m.a->copy(m.at(2), m.at(1), size * 4); }), "");
  EXPECT_EQ(errorOf([&] { m.a->fill(m.at(0), 0, 4); }), "");
}

struct Log {
  std::mutex mutex;
  std::string text;
};
class Note final : public StreamTask {
public:
  Note(Log &log, char what) : log_(log), what_(what) {}
  bool advance(bool) override {
    std::lock_guard<std::mutex> lock(log_.mutex);
    log_.text += what_;
    return true;
  }

private:
  Log &log_;
  char what_;
};

TEST(Checked, StreamsRunInManyOrdersEachInItsOwn) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Log log;
    Machine m(seed);
    for (char c : {'a', 'b', 'c'})
      m.a->post(std::make_unique<Note>(log, c));
    for (char c : {'x', 'y', 'z'})
      m.b->post(std::make_unique<Note>(log, c));
    m.a->synchronize();
    m.b->synchronize();
    std::string own[2];
    for (char c : log.text)
      own[c >= 'x'] += c;
    EXPECT_EQ(own[0], "abc");
    EXPECT_EQ(own[1], "xyz");
    orders.insert(log.text);
  }
  EXPECT_GE(orders.size(), 8u); // of 20
}

TEST(Checked, DeadMemoryHoldsNaNs) {
  Machine m;
  std::vector<float> ones(4 * size, 1), held(4 * size);
  m.a->upload(m.at(0), ones.data(), ones.size() * 4);
  std::vector<ByteSpan> dead = {{size * 4, 3 * size * 4}};
  std::function<void()> nothing = [] {};
  m.device->call({{0}, m.memory.address(), {}, dead, nothing}, *m.a);
  m.a->download(held.data(), m.at(0), held.size() * 4);
  m.a->synchronize();
  for (int64_t i = 0; i < 4 * size; ++i)
    EXPECT_EQ(std::isnan(held[i]), i >= size && i < 3 * size) << i;
}

// Holds up its stream until it is opened.
class Gate final : public StreamTask {
public:
  explicit Gate(std::atomic<bool> &open) : open_(open) {}
  bool advance(bool) override { return open_; }

private:
  std::atomic<bool> &open_;
};

TEST(Checked, DownloadsHoldNaNsUntilSomebodyWaits) {
  Machine m;
  std::atomic<bool> open{false};
  m.a->post(std::make_unique<Gate>(open));
  std::vector<float> held(size);
  m.a->download(held.data(), m.at(1), held.size() * 4);
  EXPECT_TRUE(std::isnan(held[0]));
  open = true;
  m.a->synchronize();
  EXPECT_EQ(held[0], 0);
}

TEST(Checked, OutputsHoldNaNsBeforeTheirKernel) {
  Machine m;
  std::unique_ptr<Module> module = m.device->load(program);
  std::vector<float> ones(2 * size, 1), held(size);
  m.a->upload(m.at(0), ones.data(), ones.size() * 4);
  void *buffers[] = {m.at(0), m.at(1)};
  m.a->launch(*module, {0, buffers, nullptr, size, 1});
  m.a->download(held.data(), m.at(1), held.size() * 4);
  m.a->synchronize();
  EXPECT_EQ(held[0], 1);
  EXPECT_TRUE(std::isnan(held[size - 1]));
}

} // namespace
} // namespace tessera::runtime
