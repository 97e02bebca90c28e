// What every driver of a device must do (docs/Drivers.md): run for each driver of the list below. The driver
// of the tests runs it in many orders.
#include "CheckedDriver.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cpu/Driver.h"
#ifdef CONFORMANCE_OF_CUDA
#include "cuda/CudaKernels.h"
#include "tessera/runtime/cuda/Driver.h"
#endif

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

// buffers: in, out; scalars: what is added. out[i] = in[i] + scalar 0 * scalar 1.
void addKernel(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] =
        static_cast<const float *>(buffers[0])[i] + float(scalars[0] * scalars[1]);
}

constexpr int64_t size = 1000;
const ts_kernel_buffer addBuffers[] = {{size * 4, TS_READ}, {size * 4, TS_UPDATE}};
const ts_kernel kernels[] = {{"add", addKernel, addBuffers, 2, 2}};
const ts_program hostProgram = {TESSERA_ABI_VERSION, 0, 1, "", 0, nullptr, kernels, nullptr, 0};

struct Case {
  const Driver &(*driver)();
  uint64_t orders;           // how many seeds
  const ts_program *program; // its kernel 0 is addKernel
};

class DriverConformance : public testing::TestWithParam<Case> {
protected:
  // One device of the driver.
  struct Machine {
    explicit Machine(const Driver &driver)
        : pool(3, [&driver] { driver.prepareThread(); }), device(driver.open({0, pool, entry})) {
      driver.prepareThread();
      compute = device->createStream(StreamKind::Compute);
    }
    Buffer floats(const std::vector<float> &values) {
      Buffer buffer = device->allocate(values.size() * 4, "a test's buffer", MemoryUse::Arena);
      compute->upload(buffer.address(), values.data(), values.size() * 4);
      compute->synchronize();
      return buffer;
    }
    std::vector<float> read(const void *address, size_t count) {
      std::vector<float> values(count);
      compute->download(values.data(), address, count * 4);
      compute->synchronize();
      return values;
    }
    BoardEntry entry;
    ThreadPool pool;
    std::unique_ptr<Device> device;
    std::unique_ptr<Stream> compute;
  };

  template <typename F> void inEveryOrder(F &&test) {
    GetParam().driver().prepareProcess();
    for (uint64_t seed = 0; seed < GetParam().orders && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      setCheckedSeed(seed);
      Machine machine(GetParam().driver());
      test(machine);
    }
  }
};

std::vector<float> ramp(size_t count, float start = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = start + float(i);
  return values;
}

TEST_P(DriverConformance, MemoryIsZeroAndAligned) {
  inEveryOrder([](Machine &m) {
    std::vector<Buffer> buffers;
    for (size_t bytes : {1, 63, 64, 4096, 1000003})
      buffers.push_back(m.device->allocate(bytes, "a buffer", MemoryUse::Arena));
    for (Buffer &buffer : buffers) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.address()) % 64, 0u);
      std::vector<char> held(buffer.bytes(), 1);
      m.compute->download(held.data(), buffer.address(), held.size());
      m.compute->synchronize();
      EXPECT_EQ(held, std::vector<char>(buffer.bytes(), 0));
    }
    EXPECT_EQ(m.device->allocate(0, "nothing", MemoryUse::Weights).bytes(), 0u);
  });
}

TEST_P(DriverConformance, CopiesOfAnySize) {
  inEveryOrder([](Machine &m) {
    for (size_t bytes : {0, 1, 7, 64, 600001}) {
      Buffer a = m.device->allocate(bytes + 128, "a", MemoryUse::Arena);
      Buffer b = m.device->allocate(bytes + 128, "b", MemoryUse::Arena);
      HostBuffer host = m.device->allocateHost(bytes, "host memory");
      for (size_t i = 0; i < bytes; ++i)
        host.as<char>()[i] = char(i * 7 + 1);
      m.compute->upload(a.address() + 64, host.as<char>(), bytes);
      m.compute->copy(b.address() + 3, a.address() + 64, bytes);
      std::vector<char> held(bytes + 128);
      m.compute->download(held.data(), b.address(), held.size());
      m.compute->synchronize();
      std::vector<char> want(bytes + 128, 0);
      if (bytes)
        memcpy(want.data() + 3, host.as<char>(), bytes);
      EXPECT_EQ(held, want);
    }
  });
}

TEST_P(DriverConformance, AStreamKeepsItsOrder) {
  inEveryOrder([&](Machine &m) {
    std::unique_ptr<Module> module = m.device->load(*GetParam().program);
    Buffer a = m.floats(ramp(size)), b = m.floats(std::vector<float>(size));
    for (int turn = 0; turn < 5; ++turn) {
      // What a launch is given is its own once the call returned.
      void *buffers[] = {a.address(), b.address()};
      int64_t scalars[] = {3, turn};
      m.compute->launch(*module, {0, buffers, scalars, size, 10});
      buffers[0] = buffers[1] = nullptr;
      scalars[0] = scalars[1] = -100;
      m.compute->copy(a.address(), b.address(), size * 4);
      m.compute->fill(b.address(), 0xff, size * 4);
    }
    EXPECT_EQ(m.read(a.address(), size), ramp(size, 3 * (0 + 1 + 2 + 3 + 4)));
  });
}

TEST_P(DriverConformance, LaunchesOfAnyLength) {
  inEveryOrder([&](Machine &m) {
    std::unique_ptr<Module> module = m.device->load(*GetParam().program);
    for (int64_t count : {0, 1, 2, 7, 999, 1000})
      for (int64_t grain : {0, 1, 400, 100000}) {
        Buffer a = m.floats(ramp(size)), b = m.floats(std::vector<float>(size, -1));
        void *buffers[] = {a.address(), b.address()};
        int64_t scalars[] = {1, 1};
        m.compute->launch(*module, {0, buffers, scalars, count, grain});
        std::vector<float> want = ramp(size, 1);
        std::fill(want.begin() + count, want.end(), -1.0f);
        EXPECT_EQ(m.read(b.address(), size), want) << count << " " << grain;
      }
  });
}

TEST_P(DriverConformance, EventsOrderStreams) {
  inEveryOrder([&](Machine &m) {
    std::unique_ptr<Module> module = m.device->load(*GetParam().program);
    std::unique_ptr<Stream> streams[] = {m.device->createStream(StreamKind::Compute),
                                         m.device->createStream(StreamKind::Communication),
                                         m.device->createStream(StreamKind::Communication)};
    Buffer a = m.floats(ramp(size)), b = m.floats(std::vector<float>(size));
    // One after another, each stream waiting for the one before; one event for all.
    std::unique_ptr<Event> event = m.device->createEvent();
    streams[0]->wait(*event); // nothing was recorded: no wait
    for (int turn = 0; turn < 12; ++turn) {
      Stream &stream = *streams[turn % 3];
      stream.wait(*event);
      void *buffers[] = {turn % 2 ? b.address() : a.address(), turn % 2 ? a.address() : b.address()};
      int64_t scalars[] = {1, turn};
      stream.launch(*module, {0, buffers, scalars, size, 1});
      stream.record(*event);
    }
    // The host waits for the event alone.
    std::vector<float> held(size);
    m.compute->wait(*event);
    m.compute->download(held.data(), a.address(), size * 4);
    std::unique_ptr<Event> read = m.device->createEvent();
    read->wait(); // never recorded
    m.compute->record(*read);
    m.compute->fill(a.address(), 0, size * 4);
    read->wait();
    EXPECT_EQ(held, ramp(size, 66));
    m.compute->synchronize();
  });
}

TEST_P(DriverConformance, ProductsAndRowsOfWeights) {
  const Driver &driver = GetParam().driver();
  for (int64_t n : {1, 16, 37, 130})
    inEveryOrder([&](Machine &m) {
      int64_t rows = 5, k = 24;
      ParamSpec spec;
      spec.name = "w", spec.shape = spec.local = {n, k}, spec.sharding = {{}, {}}, spec.packOutDims = 1;
      std::unique_ptr<WeightLayout> layout = driver.layout(spec);
      ASSERT_EQ(layout->rows, n);
      ASSERT_EQ(layout->columns, k);
      // What lies behind it is another weight's.
      Buffer weight = m.device->allocate(size_t(2 * layout->bytes), "two weights", MemoryUse::Weights);
      m.compute->fill(weight.address() + layout->bytes, 0x3F, size_t(layout->bytes));
      m.compute->synchronize();
      std::vector<float> w(n * k), x(rows * k);
      for (size_t i = 0; i < w.size(); ++i)
        w[i] = float(int(i * 37 % 19) - 9);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = float(int(i * 11 % 7) - 3);
      // Blocks of rows from several threads, the last one first.
      int64_t blocks = (n + layout->rowBlock - 1) / layout->rowBlock;
      m.pool.parallel(3, [&](int part) {
        for (int64_t block = blocks - 1 - part; block >= 0; block -= 3) {
          int64_t begin = block * layout->rowBlock, count = std::min(layout->rowBlock, n - begin);
          m.device->store(*layout, weight.address(), begin, count, w.data() + begin * k);
        }
      });
      m.device->finishStores();
      MatmulSpec product;
      product.m = rows, product.n = n, product.k = k;
      std::unique_ptr<Product> packed = m.device->createProduct(product, layout.get()),
                               plain = m.device->createProduct(product, nullptr);
      Buffer input = m.floats(x), plainWeight = m.floats(w);
      Buffer output = m.floats(std::vector<float>(2 * rows * n, NAN));
      m.compute->multiply(*packed, {input.address(), weight.address(), output.address()});
      m.compute->multiply(*plain, {input.address(), plainWeight.address(), output.address() + rows * n * 4});
      std::vector<float> y = m.read(output.address(), size_t(2 * rows * n));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < n; ++j) {
          float want = 0;
          for (int64_t l = 0; l < k; ++l)
            want += x[i * k + l] * w[j * k + l];
          ASSERT_EQ(y[i * n + j], want) << i << " " << j;
          ASSERT_EQ(y[(rows + i) * n + j], want) << i << " " << j;
        }
      if (!layout->packed)
        return; // one form: kernels read its rows, and there is nothing to make again
      // The packed form of a variable, made again from its plain one.
      Buffer again = m.device->allocate(size_t(layout->bytes), "a packed form", MemoryUse::Weights);
      Buffer repeated = m.floats(std::vector<float>(rows * n, NAN));
      m.compute->pack(*layout, plainWeight.address(), again.address());
      m.compute->multiply(*packed, {input.address(), again.address(), repeated.address()});
      ASSERT_EQ(m.read(repeated.address(), size_t(rows * n)),
                std::vector<float>(y.begin(), y.begin() + rows * n));
      // Rows by number; those of other shards are zeros.
      int64_t base = 100;
      std::vector<int32_t> ids = {100, int32_t(99 + n), 99, int32_t(100 + n), 0, 100};
      Buffer idBuffer = m.device->allocate(ids.size() * 4, "ids", MemoryUse::Arena);
      m.compute->upload(idBuffer.address(), ids.data(), ids.size() * 4);
      Buffer picked = m.floats(std::vector<float>(ids.size() * k, NAN));
      m.compute->gather(*layout, weight.address(), reinterpret_cast<const int32_t *>(idBuffer.address()),
                        base, int64_t(ids.size()), picked.address());
      std::vector<float> got = m.read(picked.address(), ids.size() * k);
      for (size_t i = 0; i < ids.size(); ++i)
        for (int64_t l = 0; l < k; ++l) {
          int64_t row = ids[i] - base;
          ASSERT_EQ(got[i * k + l], row >= 0 && row < n ? w[row * k + l] : 0.0f) << i;
        }
    });
}

// Operands that lie the other way round, each alone and both, with and without an addend.
TEST_P(DriverConformance, ProductsOfTransposedOperands) {
  constexpr int64_t m = 6, n = 37, k = 24;
  std::vector<float> x(m * k), w(n * k), addend(m * n, 3);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(int(i * 11 % 7) - 3);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = float(int(i * 37 % 19) - 9);
  for (int choice = 0; choice < 8; ++choice)
    inEveryOrder([&](Machine &machine) {
      MatmulSpec spec;
      spec.m = m, spec.n = n, spec.k = k;
      spec.xTransposed = choice % 2, spec.wTransposed = choice / 2 % 2, spec.addend = choice / 4;
      SCOPED_TRACE(choice);
      std::unique_ptr<Product> product = machine.device->createProduct(spec, nullptr);
      Buffer xs = machine.floats(x), ws = machine.floats(w), y = machine.floats(addend);
      machine.compute->multiply(
          *product, {xs.address(), ws.address(), y.address(), nullptr, spec.addend ? y.address() : nullptr});
      std::vector<float> got = machine.read(y.address(), m * n);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          float want = spec.addend ? 3 : 0;
          for (int64_t l = 0; l < k; ++l)
            want += x[size_t(spec.xTransposed ? l * m + i : i * k + l)] *
                    w[size_t(spec.wTransposed ? l * n + j : j * k + l)];
          ASSERT_EQ(got[size_t(i * n + j)], want) << i << " " << j;
        }
    });
}

// What is added to the sums, and the function, before they are rounded; the addend apart or in y's place.
TEST_P(DriverConformance, ProductsWithEpilogues) {
  constexpr int64_t m = 5, n = 37, k = 24;
  auto numbers = [](int64_t count, int period) {
    std::vector<float> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      values[size_t(i)] = float(int(i * 7 % period) - period / 2) / 4; // exact in every type
    return values;
  };
  std::vector<float> x = numbers(m * k, 5), w = numbers(n * k, 7), bias = numbers(n, 9),
                     addend = numbers(m * n, 11);
  for (int choice = 0; choice < 12; ++choice)
    inEveryOrder([&](Machine &machine) {
      MatmulSpec spec;
      spec.m = m, spec.n = n, spec.k = k;
      spec.bias = choice % 2, spec.addend = choice / 2 % 2, spec.function = ProductFunction(choice / 4);
      SCOPED_TRACE("bias " + std::to_string(spec.bias) + ", addend " + std::to_string(spec.addend) + ", " +
                   productFunctionName(spec.function));
      std::unique_ptr<Product> product = machine.device->createProduct(spec, nullptr);
      Buffer xs = machine.floats(x), ws = machine.floats(w), b = machine.floats(bias),
             c = machine.floats(addend), apart = machine.floats(std::vector<float>(m * n, NAN));
      ProductOperands operands{xs.address(), ws.address(), apart.address(), spec.bias ? b.address() : nullptr,
                               spec.addend ? c.address() : nullptr};
      machine.compute->multiply(*product, operands);
      operands.y = c.address();
      machine.compute->multiply(*product, operands);
      std::vector<float> first = machine.read(apart.address(), m * n),
                         second = machine.read(c.address(), m * n);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          float want = (spec.bias ? bias[size_t(j)] : 0) + (spec.addend ? addend[size_t(i * n + j)] : 0);
          for (int64_t l = 0; l < k; ++l)
            want += x[size_t(i * k + l)] * w[size_t(j * k + l)];
          if (spec.function == ProductFunction::Relu)
            want = std::max(want, 0.0f);
          if (spec.function == ProductFunction::GeluTanh)
            want = 0.5f * want * (1 + std::tanh(0.797884561f * (want + 0.044715f * want * want * want)));
          // GPUs round tanh in their own way: on an H100 cuBLASLt's gelu was 1.7e-6 off.
          const double error = spec.function == ProductFunction::GeluTanh ? 4e-6 : 1e-6;
          ASSERT_NEAR(first[size_t(i * n + j)], want, error * (1 + std::fabs(want))) << i << " " << j;
          ASSERT_EQ(second[size_t(i * n + j)], first[size_t(i * n + j)]) << i << " " << j;
        }
    });
}

// A message in pieces: done once its partner has been asked fifty times, or is done; then it writes a number
// to device memory. One that is asked on and on while its partner stands gives up.
class Handshake final : public StreamTask {
public:
  Handshake(Device &device, void *out, std::atomic<int> &mine, std::atomic<int> &partner)
      : device_(device), out_(out), mine_(mine), partner_(partner) {}
  bool advance(bool) override {
    bool givesUp = ++mine_ == 5000;
    if (partner_ < 50 && !givesUp)
      return false;
    *static_cast<float *>(device_.view(out_)) = givesUp ? -1 : 42;
    mine_ = 50;
    return true;
  }
  std::vector<MemoryAccess> accesses() const override { return {{out_, 4, MemoryAccess::Write}}; }

private:
  Device &device_;
  void *out_;
  std::atomic<int> &mine_, &partner_;
};

TEST_P(DriverConformance, TasksOfTwoStreamsGoOnTogether) {
  inEveryOrder([](Machine &m) {
    Buffer out = m.floats({0, 0, 7});
    if (!m.device->view(out.address()))
      return; // the host cannot drive messages of this device
    std::unique_ptr<Stream> a = m.device->createStream(StreamKind::Communication),
                            b = m.device->createStream(StreamKind::Communication);
    for (bool firstWaitsForA : {true, false}) {
      std::atomic<int> turnsA{0}, turnsB{0};
      std::unique_ptr<Event> doneA = m.device->createEvent(), doneB = m.device->createEvent();
      a->post(std::make_unique<Handshake>(*m.device, out.address(), turnsA, turnsB));
      a->record(*doneA);
      b->post(std::make_unique<Handshake>(*m.device, out.address() + 4, turnsB, turnsA));
      b->record(*doneB);
      m.compute->fill(out.address() + 8, 0, 4); // between start and wait
      m.compute->wait(firstWaitsForA ? *doneA : *doneB);
      m.compute->wait(firstWaitsForA ? *doneB : *doneA);
      EXPECT_EQ(m.read(out.address(), 3), (std::vector<float>{42, 42, 0}));
    }
  });
}

// Done when it has been asked fifty times.
class Slow final : public StreamTask {
public:
  Slow(Device &device, void *out) : device_(device), out_(out) {}
  bool advance(bool) override {
    if (++turns_ < 50)
      return false;
    *static_cast<float *>(device_.view(out_)) = 42;
    return true;
  }
  std::vector<MemoryAccess> accesses() const override { return {{out_, 4, MemoryAccess::Write}}; }

private:
  Device &device_;
  void *out_;
  int turns_ = 0;
};

TEST_P(DriverConformance, AnEventIsWaitedForHoweverLongItTakes) {
  inEveryOrder([](Machine &m) {
    Buffer out = m.floats({0, 7});
    if (!m.device->view(out.address()))
      return;
    std::unique_ptr<Stream> a = m.device->createStream(StreamKind::Communication);
    std::unique_ptr<Event> done = m.device->createEvent();
    a->post(std::make_unique<Slow>(*m.device, out.address()));
    a->record(*done);
    m.compute->wait(*done);
    EXPECT_EQ(m.read(out.address(), 2), (std::vector<float>{42, 7}));
  });
}

class Failing final : public StreamTask {
  bool advance(bool) override { throw Error("cannot send", "a test", "it was told to fail"); }
};

TEST_P(DriverConformance, ErrorsReachWhoeverWaits) {
  inEveryOrder([](Machine &m) {
    std::string message;
    try {
      m.compute->post(std::make_unique<Failing>());
      m.compute->synchronize();
    } catch (const Error &e) {
      message = e.what();
    }
    EXPECT_NE(message.find("told to fail"), std::string::npos) << message;
  });
}

TEST_P(DriverConformance, MemoryThatIsNotThereIsAnError) {
  inEveryOrder([](Machine &m) {
    for (MemoryUse use : {MemoryUse::Arena, MemoryUse::Weights})
      try {
        m.device->allocate(size_t(1) << 60, "the arena of rank 3", use);
        ADD_FAILURE();
      } catch (const Error &e) {
        EXPECT_NE(std::string(e.what()).find("the arena of rank 3"), std::string::npos) << e.what();
      }
    EXPECT_THROW(m.device->allocateHost(size_t(1) << 60, "an input"), Error);
  });
}

TEST_P(DriverConformance, CallsRunTheirWorkInOrder) {
  inEveryOrder([&](Machine &m) {
    std::unique_ptr<Module> module = m.device->load(*GetParam().program);
    Buffer arena = m.device->allocate(3 * size * 4, "an arena", MemoryUse::Arena);
    std::vector<int64_t> counts;
    std::vector<ByteSpan> dead = {{size * 4, 3 * size * 4}};
    std::vector<float> input = ramp(size);
    m.compute->upload(arena.address(), input.data(), size * 4);
    for (int turn = 1; turn <= 3; ++turn) {
      std::function<void()> enqueue = [&] {
        void *first[] = {arena.address(), arena.address() + size * 4};
        void *second[] = {arena.address() + size * 4, arena.address() + 2 * size * 4};
        int64_t scalars[] = {1, 1};
        m.compute->launch(*module, {0, first, scalars, size, 1});
        m.compute->launch(*module, {0, second, scalars, size, 1});
      };
      m.device->call({{0}, arena.address(), counts, dead, enqueue}, *m.compute);
      m.compute->copy(arena.address(), arena.address() + 2 * size * 4, size * 4);
    }
    EXPECT_EQ(m.read(arena.address(), size), ramp(size, 6));
  });
}

#ifdef CONFORMANCE_OF_CUDA // a program of its own: it needs a GPU, or the stand-in
const auto drivers = testing::Values(Case{cudaDriver, 1, &cudaTestProgram()});
#else
const auto drivers = testing::Values(Case{cpuDriver, 1, &hostProgram}, Case{checkedDriver, 25, &hostProgram});
#endif
INSTANTIATE_TEST_SUITE_P(Drivers, DriverConformance, drivers,
                         [](const auto &info) { return std::string(info.param.driver().name()); });

} // namespace
} // namespace tessera::runtime
