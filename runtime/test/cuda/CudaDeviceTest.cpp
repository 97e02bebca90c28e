// The driver `cuda` on a device: a GPU, or the stand-in. What holds for every driver is in
// DriverConformance.cpp.
#include "CudaDevice.h"
#include "../ErrorLine.h"
#include "CudaKernels.h"
#include "CudaProduct.h"
#include "ProductChoices.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cuda/Driver.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {
namespace {

class Variable {
public:
  Variable(const char *name, const std::string &value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }

private:
  const char *name_;
};

struct Machine {
  explicit Machine(int64_t rank = 0, HostPlane *plane = nullptr)
      : pool(2), device(cudaDriver().open({rank, pool, entry, plane})),
        compute(device->createStream(StreamKind::Compute)) {}
  CudaDevice &cuda() { return static_cast<CudaDevice &>(*device); }
  std::vector<float> read(const void *address, size_t count) {
    std::vector<float> values(count);
    compute->download(values.data(), address, count * 4);
    compute->synchronize();
    return values;
  }
  void add(Module &module, void *from, void *to, int64_t what) {
    void *buffers[] = {from, to};
    int64_t scalars[] = {1, what};
    compute->launch(module, {AddKernel, buffers, scalars, kTestSize, 1});
  }
  BoardEntry entry;
  ThreadPool pool;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> compute;
};

TEST(CudaDevice, SaysWhatFillsItsMemory) {
  Machine m;
  Buffer arena = m.device->allocate(1000, "the arena of rank 0", MemoryUse::Arena);
  std::string line =
      errorOf([&] { m.device->allocate(size_t(1) << 60, "the weights of rank 0", MemoryUse::Weights); });
  expectParts(line, {"not enough memory on the GPU (the weights of rank 0, rank 0, GPU 0 (",
                     "it takes 1152921504606846976 bytes", " are free, the arena of rank 0 has 0.0 MB",
                     "; compile for a larger mesh"});
}

TEST(CudaDevice, KernelsHaveTheSharedMemoryTheyAskFor) {
  Machine m;
  std::unique_ptr<Module> module = m.device->load(cudaTestProgram());
  Buffer out = m.device->allocate(64 * 4, "a buffer", MemoryUse::Arena);
  void *buffers[] = {out.address()};
  m.compute->launch(*module, {ReverseKernel, buffers, nullptr, 64, 1});
  std::vector<float> held = m.read(out.address(), 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(held[size_t(i)], float(63 - i));
}

TEST(CudaDevice, ProgramsItCannotRun) {
  Machine m;
  ts_program program = cudaTestProgram();
  ts_kernel kernel = program.kernels[0];
  program.kernels = &kernel;
  program.num_kernels = 1;
  auto load = [&] { return errorOf([&] { m.device->load(program); }); };
  kernel.name = "subtract";
  expectParts(load(), {"cannot load kernel subtract (rank 0, GPU 0", "CUDA_ERROR_NOT_FOUND"});
  kernel = cudaTestProgram().kernels[0];
  kernel.function = [](void *const *, const int64_t *, int64_t, int64_t) {};
  expectParts(load(), {"cannot load kernel add", "it is code of the host"});
  kernel = cudaTestProgram().kernels[0];
  kernel.shared_bytes = 1 << 20;
  expectParts(load(), {"cannot load kernel add", "bytes of shared memory a block, and the GPU has"});
  kernel = cudaTestProgram().kernels[0];
  kernel.threads = 2048;
  expectParts(load(), {"cannot load kernel add", "its blocks have 2048 threads"});
  kernel = cudaTestProgram().kernels[0];
  ts_image image = {"sm_70", "", 0};
  program.images = &image;
  expectParts(load(), {"cannot run on this GPU", "its compute capability is ", "has kernels for sm_70"});
  image = {"compute_80", ".version 99.0\n", 14};
  expectParts(load(), {"cannot load the program's kernels", "its PTX needs a driver for CUDA 103.0"});
}

// --- Entries as graphs ---

class CudaEntries : public testing::Test {
protected:
  // Runs an entry that adds to the arena's first array, `times` times; returns what stands there.
  float run(int times, const std::vector<int64_t> &counts = {}) {
    for (int i = 0; i < times; ++i) {
      std::function<void()> enqueue = [&] {
        ++enqueued;
        // Two streams, as with a collective that is begun and waited for.
        char *first = arena.address(), *second = first + kTestSize * 4;
        m.add(*module, first, second, counts.empty() ? 1 : counts[0]);
        m.compute->record(*begun);
        other->wait(*begun);
        other->copy(first, second, kTestSize * 4);
        other->record(*joined);
        m.compute->wait(*joined);
      };
      m.device->call({0, arena.address(), counts, {}, enqueue}, *m.compute);
    }
    return m.read(arena.address(), kTestSize)[kTestSize - 1];
  }
  Machine m;
  std::unique_ptr<Module> module = m.device->load(cudaTestProgram());
  std::unique_ptr<Stream> other = m.device->createStream(StreamKind::Communication);
  std::unique_ptr<Stream> idle = m.device->createStream(StreamKind::Compute);
  std::unique_ptr<Event> begun = m.device->createEvent(), joined = m.device->createEvent();
  Buffer arena = m.device->allocate(2 * kTestSize * 4, "an arena", MemoryUse::Arena);
  int enqueued = 0;
};

TEST_F(CudaEntries, AreRecordedOnceForEachOfTheirCounts) {
  EXPECT_EQ(run(7), 7);
  EXPECT_EQ(enqueued, 2); // as it is, and recorded
  EXPECT_EQ(run(5, {10}), 57);
  EXPECT_EQ(enqueued, 4);
  EXPECT_EQ(run(1, {100}), 157);
  EXPECT_EQ(run(3), 160);
  EXPECT_EQ(enqueued, 5);
}

// The parts of an entry on its second stream come after what that stream was given before, whatever it was,
// and before what it is given later; events stand for places of other calls.
TEST_F(CudaEntries, KeepTheOrderOfTheirStreams) {
  char *first = arena.address(), *second = first + kTestSize * 4;
  std::unique_ptr<Event> last = m.device->createEvent();
  for (int turn = 1; turn <= 8; ++turn) {
    std::function<void()> enqueue = [&] {
      ++enqueued;
      other->wait(*last); // of the call before
      other->copy(first, second, kTestSize * 4);
      other->record(*joined);
      m.compute->wait(*joined);
      m.add(*module, first, second, 1);
      m.compute->record(*last);
    };
    m.device->call({3, arena.address(), {}, {}, enqueue}, *m.compute);
    // No event orders this and the graphs around it.
    if (turn > 5)
      other->fill(first, 0xff, kTestSize * 4);
    if (turn % 2)
      last->wait(); // a place within the graph
    EXPECT_EQ(m.read(second, 1)[0], float(turn));
  }
  EXPECT_EQ(enqueued, 2);
}

// What an entry leaves to its second stream is done when that stream is waited for.
TEST_F(CudaEntries, ThatEndOnAnotherStream) {
  HostBuffer host = m.device->allocateHost(kTestSize * 4, "a test's output");
  for (int turn = 1; turn <= 5; ++turn) {
    std::vector<float> values(kTestSize, float(turn));
    m.compute->upload(arena.address(), values.data(), kTestSize * 4);
    std::function<void()> enqueue = [&] {
      ++enqueued;
      m.compute->record(*begun);
      other->wait(*begun);
      other->download(host.as<float>(), arena.address(), kTestSize * 4);
    };
    m.device->call({4, arena.address(), {}, {}, enqueue}, *m.compute);
    other->synchronize();
    EXPECT_EQ(std::vector<float>(host.as<float>(), host.as<float>() + kTestSize), values);
  }
  EXPECT_EQ(enqueued, 2);
}

TEST_F(CudaEntries, ManyKindsOfCalls) {
  float want = 0;
  for (int turn = 0; turn < 2; ++turn)
    for (int64_t count = 1; count <= 70; ++count) {
      want += 3 * float(count);
      ASSERT_EQ(run(3, {count}), want);
    }
}

class HostNumber final : public StreamTask {
public:
  explicit HostNumber(int &number) : number_(number) {}
  bool advance(bool) override { return ++number_; }

private:
  int &number_;
};

TEST_F(CudaEntries, WithWorkOfTheHostRunAsTheyAre) {
  int number = 0;
  for (int i = 1; i <= 4; ++i) {
    std::function<void()> enqueue = [&] { m.compute->post(std::make_unique<HostNumber>(number)); };
    m.device->call({1, arena.address(), {}, {}, enqueue}, *m.compute);
    EXPECT_EQ(number, i);
  }
}

TEST_F(CudaEntries, ThatWaitWhileTheyAreRecordedRunAsTheyAre) {
  for (int i = 1; i <= 4; ++i) {
    std::function<void()> enqueue = [&] {
      m.add(*module, arena.address(), arena.address() + kTestSize * 4, 1);
      m.compute->synchronize();
      m.compute->copy(arena.address(), arena.address() + kTestSize * 4, kTestSize * 4);
    };
    m.device->call({2, arena.address(), {}, {}, enqueue}, *m.compute);
    EXPECT_EQ(m.read(arena.address(), 1)[0], float(i));
  }
}

TEST(CudaGraphs, CanBeTurnedOff) {
  Variable off("TESSERA_CUDA_GRAPHS", "0");
  Machine m;
  int enqueued = 0;
  std::function<void()> enqueue = [&] { ++enqueued; };
  for (int i = 0; i < 4; ++i)
    m.device->call({0, nullptr, {}, {}, enqueue}, *m.compute);
  EXPECT_EQ(enqueued, 4);
}

// --- Products ---

Buffer upload(Machine &m, io::DType type, const std::vector<float> &values) {
  std::vector<char> held(size_t(io::bytesOf(type, int64_t(values.size()))));
  io::traits(type).narrow(values.data(), int64_t(values.size()), held.data());
  Buffer buffer = m.device->allocate(held.size() + 16, "an operand", MemoryUse::Arena);
  m.compute->upload(buffer.address(), held.data(), held.size());
  m.compute->synchronize();
  return buffer;
}

std::vector<float> numbers(int64_t count, int64_t period) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[size_t(i)] = float((i * 7) % period - period / 2);
  return values;
}

// x [5, 24] by w [37, 24].
struct Operands {
  static constexpr int64_t m = 5, n = 37, k = 24;
  std::vector<float> x = numbers(m * k, 5), w = numbers(n * k, 7);
  float sum(int64_t i, int64_t j) const {
    float total = 0;
    for (int64_t l = 0; l < k; ++l)
      total += x[size_t(i * k + l)] * w[size_t(j * k + l)];
    return total;
  }
};

TEST(CudaProducts, OfNarrowTypes) {
  Machine m;
  Operands o;
  for (io::DType type : {io::DType::F32, io::DType::BF16, io::DType::F16})
    for (io::DType result : {type, io::DType::F32}) {
      MatmulSpec spec;
      spec.m = o.m, spec.n = o.n, spec.k = o.k, spec.x = spec.w = type, spec.y = result;
      std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr);
      Buffer x = upload(m, type, o.x), w = upload(m, type, o.w);
      Buffer y = m.device->allocate(size_t(io::bytesOf(result, o.m * o.n)), "a result", MemoryUse::Arena);
      m.compute->multiply(*product, x.address(), w.address(), y.address());
      std::vector<char> held(y.bytes());
      m.compute->download(held.data(), y.address(), held.size());
      m.compute->synchronize();
      std::vector<float> got(o.m * o.n);
      io::traits(result).widen(held.data(), o.m * o.n, got.data());
      for (int64_t i = 0; i < o.m; ++i)
        for (int64_t j = 0; j < o.n; ++j) // small whole numbers: exact in every type
          ASSERT_EQ(got[size_t(i * o.n + j)], o.sum(i, j)) << i << " " << j;
    }
}

TEST(CudaProducts, AtAddressesThatAreBarelyAligned) {
  Machine m;
  Operands o;
  MatmulSpec spec;
  spec.m = o.m, spec.n = o.n, spec.k = o.k;
  std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr);
  Buffer memory =
      m.device->allocate(size_t(o.n * o.k + o.m * o.k + o.m * o.n + 3) * 4, "operands", MemoryUse::Arena);
  char *x = memory.address() + 4, *w = x + o.m * o.k * 4, *y = w + o.n * o.k * 4;
  m.compute->upload(x, o.x.data(), o.x.size() * 4);
  m.compute->upload(w, o.w.data(), o.w.size() * 4);
  m.compute->multiply(*product, x, w, y);
  EXPECT_EQ(m.read(y, 1)[0], o.sum(0, 0));
  EXPECT_EQ(m.read(y, size_t(o.m * o.n)).back(), o.sum(o.m - 1, o.n - 1));
}

TEST(CudaProducts, WithEpilogues) {
  Machine m;
  Operands o;
  CudaProducts products(m.cuda());
  ProductShape shape;
  shape.m = o.m, shape.n = o.n, shape.k = o.k;
  shape.epilogue = {ProductEpilogue::Relu, /*bias=*/true, /*residual=*/true};
  CudaProduct product(products, shape);
  std::vector<float> bias = numbers(o.n, 9), before = numbers(o.m * o.n, 11);
  Buffer x = upload(m, io::DType::F32, o.x), w = upload(m, io::DType::F32, o.w),
         b = upload(m, io::DType::F32, bias), y = upload(m, io::DType::F32, before);
  cuda::CUstream stream = dynamic_cast<cuda::NativeStream &>(*m.compute).handle();
  product.run(stream, x.address(), w.address(), y.address(), b.address());
  std::vector<float> got = m.read(y.address(), size_t(o.m * o.n));
  for (int64_t i = 0; i < o.m; ++i)
    for (int64_t j = 0; j < o.n; ++j)
      ASSERT_EQ(got[size_t(i * o.n + j)],
                std::max(o.sum(i, j) + bias[size_t(j)] + before[size_t(i * o.n + j)], 0.0f));
}

TEST(CudaProducts, ByEveryAlgorithmThatIsProposed) {
  Machine m;
  Operands o;
  CudaProducts products(m.cuda());
  ProductShape shape;
  shape.m = o.m, shape.n = o.n, shape.k = o.k;
  CudaProduct product(products, shape);
  Buffer x = upload(m, io::DType::F32, o.x), w = upload(m, io::DType::F32, o.w);
  for (const ProductAlgorithm &candidate : product.candidates(8)) {
    ASSERT_TRUE(product.choose(candidate.algorithm));
    Buffer y = upload(m, io::DType::F32, numbers(o.m * o.n, 5));
    m.compute->multiply(product, x.address(), w.address(), y.address());
    std::vector<float> got = m.read(y.address(), size_t(o.m * o.n));
    for (int64_t i = 0; i < o.m * o.n; ++i)
      ASSERT_EQ(got[size_t(i)], o.sum(i / o.n, i % o.n));
  }
}

TEST(CudaProducts, OfTypesThatDoNotGoTogether) {
  Machine m;
  MatmulSpec spec;
  spec.m = spec.n = spec.k = 16;
  spec.w = io::DType::BF16;
  expectParts(errorOf([&] { m.device->createProduct(spec, nullptr); }),
              {"cannot multiply matrices (rank 0, GPU 0", "f32 bf16 f32 16x16x16"});
}

TEST(CudaProducts, AreMeasuredOnceAndKept) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / ("choices." + std::to_string(getpid()));
  Variable tuning("TESSERA_TUNING", folder.string());
  Operands o;
  for (int turn = 0; turn < 2; ++turn) {
    Machine m;
    Buffer arena = m.device->allocate(100000, "the arena", MemoryUse::Arena);
    Buffer weights = m.device->allocate(20000, "the weights", MemoryUse::Weights);
    MatmulSpec spec;
    spec.m = o.m, spec.n = o.n, spec.k = o.k;
    std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr),
                             same = m.device->createProduct(spec, nullptr);
    m.device->tuneProducts(arena, weights);
    EXPECT_EQ(m.read(arena.address(), 25000), std::vector<float>(25000, 0));
    EXPECT_FALSE(fs::is_empty(folder));
    Buffer x = upload(m, io::DType::F32, o.x), w = upload(m, io::DType::F32, o.w);
    m.compute->multiply(*same, x.address(), w.address(), arena.address());
    EXPECT_EQ(m.read(arena.address(), size_t(o.m * o.n)).back(), o.sum(o.m - 1, o.n - 1));
  }
  fs::remove_all(folder);
}

// --- Ranks ---

// Runs `body` on each of `ranks` threads.
void onRanks(int64_t ranks, const std::function<void(HostPlane &)> &body) {
  Board board(ranks);
  std::shared_ptr<HostWorld> world = createHostWorld(ranks, board);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::unique_ptr<HostPlane> plane = createHostPlane(world, rank);
      body(*plane);
    });
  for (std::thread &thread : threads)
    thread.join();
}

int deviceCount() {
  int count = 0;
  EXPECT_EQ(CudaLibrary::get().cuDeviceGetCount(&count), cuda::CUDA_SUCCESS);
  return count;
}

TEST(CudaRanks, EachHasItsOwnGpu) {
  int64_t ranks = deviceCount() + 1;
  onRanks(ranks, [&](HostPlane &plane) {
    expectParts(errorOf([&] { Machine m(plane.rank(), &plane); }),
                {"cannot give every rank a GPU (machine ", "it has " + std::to_string(ranks) + " ranks"});
  });
}

TEST(CudaRanks, ShareOneAndTheChoiceOfAlgorithms) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / ("shared." + std::to_string(getpid()));
  Variable device("TESSERA_CUDA_DEVICE", "0"), tuning("TESSERA_TUNING", folder.string());
  ProductShape shape;
  shape.m = Operands::m, shape.n = Operands::n, shape.k = Operands::k;
  // The library's last proposal was measured once: rank 0 finds it, and rank 1 is told.
  cuda::cublasLtMatmulAlgo_t before;
  {
    Machine m;
    CudaProducts products(m.cuda());
    before = CudaProduct(products, shape).candidates(8).back().algorithm;
    ProductChoices choices(products.machine());
    choices.add(shape.key(), before);
    choices.save();
  }
  onRanks(2, [&](HostPlane &plane) {
    Machine m(plane.rank(), &plane);
    EXPECT_EQ(m.cuda().number(), 0);
    MatmulSpec spec;
    spec.m = shape.m, spec.n = shape.n, spec.k = shape.k;
    std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr);
    m.device->tuneProducts(Buffer(), Buffer());
    auto own = static_cast<CudaProduct &>(*product).chosen().algorithm;
    EXPECT_EQ(memcmp(&before, &own, sizeof(own)), 0) << "rank " << plane.rank();
    plane.barrier();
  });
  fs::remove_all(folder);
}

TEST(CudaRanks, AGpuThatIsNotThere) {
  Variable device("TESSERA_CUDA_DEVICE", "77");
  expectParts(errorOf([] { Machine m; }),
              {"cannot use this GPU (TESSERA_CUDA_DEVICE=77): this process sees "});
}

// --- Faults: last, since they cost the device its context ---

// In a process of its own.
void faultIn(bool synchronous) {
  if (synchronous)
    setenv("TESSERA_CUDA_SYNC", "1", 1);
  std::string line = errorOf([] {
    Machine m;
    std::unique_ptr<Module> module = m.device->load(cudaTestProgram());
    Buffer out = m.device->allocate(2 * kTestSize * 4, "a buffer", MemoryUse::Arena);
    m.add(*module, out.address(), out.address() + kTestSize * 4, 1);
    void *buffers[] = {out.address()};
    m.compute->launch(*module, {FaultKernel, buffers, nullptr, 1, 1});
    m.compute->synchronize();
  });
  fprintf(stderr, "%s\n", line.c_str());
  _exit(3);
}

TEST(CudaFaultDeathTest, AreNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(faultIn(true), testing::ExitedWithCode(3), "kernel fault failed \\(rank 0, GPU 0.*ERROR");
  EXPECT_EXIT(faultIn(false), testing::ExitedWithCode(3),
              "a kernel of the GPU failed \\(rank 0, GPU 0.*latest first: fault, add; TESSERA_CUDA_SYNC=1");
}

} // namespace
} // namespace tessera::runtime
