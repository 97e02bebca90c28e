// The driver `cuda` on a device: a GPU, or the stand-in. What holds for every driver is in
// DriverConformance.cpp.
#include "CudaMachine.h"
#include "CudaMemory.h"
#include "CudaProduct.h"
#include "ProductChoices.h"

#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace tessera::runtime {
namespace {

TEST(CudaDevice, SaysWhatFillsItsMemory) {
  Machine m;
  Buffer arena = m.device->allocate(1000, "the arena of rank 0", MemoryUse::Arena);
  std::string line =
      errorOf([&] { m.device->allocate(size_t(1) << 60, "the weights of rank 0", MemoryUse::Weights); });
  expectParts(line, {"not enough memory on the GPU (the weights of rank 0, GPU 0 (",
                     "it takes 1152921504606846976 bytes", " are free: ", " are missing",
                     "; the rank holds 0.0 MB for the arena of rank 0", "; take a GPU with more memory, or",
                     "compile for a larger mesh"});
}

TEST(CudaDevice, ACopyOntoItselfIsNone) {
  Machine m;
  Buffer memory = upload(m, io::DType::F32, {1, 2, 3, 4});
  m.compute->copy(memory.address(), memory.address(), 16);
  EXPECT_EQ(m.read(memory.address(), 4), (std::vector<float>{1, 2, 3, 4}));
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

// The code's own shared memory and what it is given: more than is there without asking only together.
TEST(CudaDevice, KernelsHaveSharedMemoryOfTheirOwnToo) {
  Machine m;
  std::unique_ptr<Module> module = m.device->load(cudaTestProgram());
  Buffer out = m.device->allocate(64 * 4, "a buffer", MemoryUse::Arena);
  void *buffers[] = {out.address()};
  m.compute->launch(*module, {MirrorKernel, buffers, nullptr, 64, 1});
  std::vector<float> held = m.read(out.address(), 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(held[size_t(i)], float(63 - i));
  ts_program program = cudaTestProgram();
  ts_kernel kernel = program.kernels[MirrorKernel];
  program.kernels = &kernel;
  program.num_kernels = 1;
  kernel.shared_bytes = m.cuda().properties().sharedPerBlock - 1024;
  expectParts(errorOf([&] { m.device->load(program); }),
              {"cannot load kernel mirror", "bytes of shared memory a block, and the GPU has"});
}

// An image that the driver does not take gives way to the next.
TEST(CudaDevice, TakesTheNextImage) {
  Machine m;
  ts_program program = cudaTestProgram();
  ts_image images[] = {{"compute_90", ".version 99.0\n", 14}, program.images[0]};
  if (m.cuda().properties().major < 9)
    images[0].architecture = "compute_80";
  program.images = images;
  program.num_images = 2;
  std::unique_ptr<Module> module = m.device->load(program);
  Buffer memory = m.device->allocate(2 * kTestSize * 4, "a buffer", MemoryUse::Arena);
  m.add(*module, memory.address(), memory.address() + kTestSize * 4, 5);
  EXPECT_EQ(m.read(memory.address() + kTestSize * 4, kTestSize), std::vector<float>(kTestSize, 5));
}

// Rows and parts of weights that take many blocks of pinned memory, and rows that are longer than one.
TEST(CudaDevice, WeightsOfAnySize) {
  Machine m;
  for (int64_t rows : {3, 1300}) {
    int64_t columns = rows == 3 ? 700000 : 1777;
    WeightLayout layout;
    layout.type = io::DType::F32, layout.rows = rows, layout.columns = columns,
    layout.bytes = rows * columns * 4;
    Buffer weight = m.device->allocate(size_t(layout.bytes), "a weight", MemoryUse::Weights);
    std::vector<float> values(size_t(rows * columns));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i % 8191);
    bool byRows =
        m.device->storeRows(layout, weight.address(), 0, rows, [&](int64_t begin, int64_t count, void *to) {
          memcpy(to, values.data() + begin * columns, size_t(count * columns) * 4);
        });
    EXPECT_EQ(byRows, columns * 4 <= int64_t(StagingRing::kBlockBytes));
    if (!byRows)
      m.device->store(layout, weight.address(), 0, rows, values.data());
    m.device->finishStores();
    EXPECT_EQ(m.read(weight.address(), values.size()), values);
  }
}

// A block of pinned memory that could not be filled serves the next rows.
TEST(CudaDevice, WeightsThatCannotBeRead) {
  Machine m;
  WeightLayout layout;
  layout.type = io::DType::F32, layout.rows = 4, layout.columns = 100, layout.bytes = 1600;
  Buffer weight = m.device->allocate(size_t(layout.bytes), "a weight", MemoryUse::Weights);
  auto store = [&](bool readable) {
    m.device->storeRows(layout, weight.address(), 0, 4, [&](int64_t, int64_t count, void *to) {
      if (!readable)
        throw Error("cannot read", "weights.bin", "the file is cut off", "fetch it again");
      std::fill_n(static_cast<float *>(to), size_t(count) * 100, 7.0f);
    });
  };
  expectParts(errorOf([&] { store(false); }), {"the file is cut off"});
  store(true);
  m.device->finishStores();
  EXPECT_EQ(m.read(weight.address(), 400), std::vector<float>(400, 7));
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
      m.device->call({{0}, arena.address(), counts, {}, enqueue}, *m.compute);
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
    m.device->call({{3}, arena.address(), {}, {}, enqueue}, *m.compute);
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
    m.device->call({{4}, arena.address(), {}, {}, enqueue}, *m.compute);
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

// A graph holds addresses: another arena has one of its own.
TEST_F(CudaEntries, OfAnotherArena) {
  Buffer second = m.device->allocate(2 * kTestSize * 4, "another arena", MemoryUse::Arena);
  for (int turn = 1; turn <= 4; ++turn)
    for (char *base : {arena.address(), second.address()}) {
      std::function<void()> enqueue = [&] {
        m.add(*module, base, base + kTestSize * 4, 1);
        m.compute->copy(base, base + kTestSize * 4, kTestSize * 4);
      };
      m.device->call({{5}, base, {}, {}, enqueue}, *m.compute);
      EXPECT_EQ(m.read(base, 1)[0], float(turn));
    }
}

// Of too many kinds those not called for longest go.
TEST_F(CudaEntries, ThoseInUseAreKept) {
  run(3, {1});
  EXPECT_EQ(enqueued, 2);
  for (int64_t count = 2; count <= 100; ++count) {
    run(1, {count});
    run(1, {1});
  }
  EXPECT_EQ(enqueued, 2 + 99);
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
    m.device->call({{1}, arena.address(), {}, {}, enqueue}, *m.compute);
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
    m.device->call({{2}, arena.address(), {}, {}, enqueue}, *m.compute);
    EXPECT_EQ(m.read(arena.address(), 1)[0], float(i));
  }
}

TEST(CudaGraphs, CanBeTurnedOff) {
  Variable off("TESSERA_CUDA_GRAPHS", "0");
  Machine m;
  int enqueued = 0;
  std::function<void()> enqueue = [&] { ++enqueued; };
  for (int i = 0; i < 4; ++i)
    m.device->call({{0}, nullptr, {}, {}, enqueue}, *m.compute);
  EXPECT_EQ(enqueued, 4);
}

// --- Ranks ---

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
  // A deterministic choice asks nobody.
  Variable deterministic("TESSERA_DETERMINISTIC", "1");
  Machine m;
  CudaProducts products(m.cuda());
  CudaProduct product(products, shape);
  auto first = product.chosen().algorithm;
  tuneProducts(&products, m.cuda(), Buffer(), Buffer());
  auto own = product.chosen().algorithm;
  EXPECT_EQ(memcmp(&first, &own, sizeof(own)), 0);
  fs::remove_all(folder);
}

TEST(CudaRanks, AGpuThatIsNotThere) {
  {
    Variable device("TESSERA_CUDA_DEVICE", "77");
    expectParts(errorOf([] { Machine m; }),
                {"cannot use this GPU (TESSERA_CUDA_DEVICE=77): this process sees "});
  }
  Variable device("TESSERA_CUDA_DEVICE", "1st");
  expectParts(errorOf([] { Machine m; }),
              {"cannot use this GPU (TESSERA_CUDA_DEVICE=1st): it is no number of a GPU"});
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
