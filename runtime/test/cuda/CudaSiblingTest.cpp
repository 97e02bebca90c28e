// Kernels of several forms on a device: which one runs.
#include "CudaMachine.h"
#include "CudaModule.h"
#include "TuningFile.h"

#include <filesystem>
#include <functional>
#include <unistd.h>
#include <utility>

namespace tessera::runtime {
namespace {

namespace fs = std::filesystem;

class CudaSiblings : public ::testing::Test {
protected:
  CudaSiblings() : program(cudaTestProgram()), sibling(cudaTestSibling()) {
    program.siblings = &sibling;
    program.num_siblings = 1;
  }
  ~CudaSiblings() override { fs::remove_all(folder); }

  // What `add` of 1 gives in place of 0, after the module was tuned.
  float result(Machine &m, Module &module, int64_t count = kTestSize) {
    Buffer memory = m.device->allocate(2 * kTestSize * 4, "a buffer", MemoryUse::Arena);
    void *buffers[] = {memory.address(), memory.address() + kTestSize * 4};
    int64_t scalars[] = {1, 1};
    m.compute->launch(module, {AddKernel, buffers, scalars, count, 1});
    std::vector<float> values = m.read(buffers[1], size_t(count));
    EXPECT_EQ(values, std::vector<float>(size_t(count), values[0]));
    return values[0];
  }
  // What a machine of its own, which ends with it, makes of them.
  float tuned() {
    Machine m;
    Buffer arena = m.device->allocate(1 << 16, "the arena", MemoryUse::Arena);
    std::unique_ptr<Module> module = m.device->load(program);
    module->tune(arena);
    // What was tried there has left nothing.
    EXPECT_EQ(m.read(arena.address(), 1 << 14), std::vector<float>(1 << 14));
    return result(m, *module);
  }
  void keep(const std::string &choice) {
    Machine m;
    const CudaProperties &gpu = m.cuda().properties();
    TuningFile file(
        "siblings",
        gpu.name + ", " + std::to_string(gpu.multiprocessors) + " multiprocessors, CUDA " +
            std::to_string(m.cuda().cuda().version),
        [](const std::string &) { return true; }, nullptr);
    file.add(sibling.key, choice);
    file.save();
  }

  fs::path folder = fs::path(testing::TempDir()) / ("siblings." + std::to_string(getpid()));
  Variable tuning{"TESSERA_TUNING", folder.string()};
  ts_program program;
  ts_sibling sibling;
};

TEST_F(CudaSiblings, AreMeasuredAndTheChoiceIsKept) {
  float first = tuned();
  EXPECT_TRUE(first == 1 || first == 1.5) << first;
  ASSERT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_EQ(tuned(), first);
}

TEST_F(CudaSiblings, ThatAreSlowerAreLeft) {
  sibling.name = "add$slow";
  EXPECT_EQ(tuned(), 1);
}

TEST_F(CudaSiblings, AreTakenAsMeasuredBefore) {
  keep("narrow");
  EXPECT_EQ(tuned(), 1.5);
  keep("none");
  EXPECT_EQ(tuned(), 1);
}

TEST_F(CudaSiblings, AreForcedByName) {
  {
    Variable form("TESSERA_SIBLING", "narrow");
    EXPECT_EQ(tuned(), 1.5);
  }
  keep("narrow");
  {
    Variable form("TESSERA_SIBLING", "none");
    EXPECT_EQ(tuned(), 1);
  }
  Variable form("TESSERA_SIBLING", "wide");
  expectParts(errorOf([&] { tuned(); }), {"cannot take the kernels that TESSERA_SIBLING asks for (wide)",
                                          "it may be one of narrow, none"});
  program.num_siblings = 0; // nothing to choose: a smaller program that is run beside need not have it
  EXPECT_NO_THROW(tuned());
}

TEST_F(CudaSiblings, AreLeftByADeterministicRun) {
  keep("narrow");
  Variable deterministic("TESSERA_DETERMINISTIC", "1");
  EXPECT_EQ(tuned(), 1);
}

// An image for another machine lacks it.
TEST_F(CudaSiblings, ThatTheImageLacksAreNotTaken) {
  keep("narrow");
  sibling.name = "add$absent";
  EXPECT_EQ(tuned(), 1);
  Variable form("TESSERA_SIBLING", "absent");
  EXPECT_EQ(tuned(), 1);
}

TEST_F(CudaSiblings, StandForLaunchesOfTheirCountAlone) {
  Variable form("TESSERA_SIBLING", "narrow");
  Machine m;
  std::unique_ptr<Module> module = m.device->load(program);
  module->tune(Buffer());
  EXPECT_EQ(result(m, *module), 1.5);
  EXPECT_EQ(result(m, *module, kTestSize - 1), 1);
}

// Buffers that find no room are not tried; nothing is kept.
TEST_F(CudaSiblings, WithoutRoomAreLeft) {
  Machine m;
  Buffer arena = m.device->allocate(4096, "the arena", MemoryUse::Arena);
  std::unique_ptr<Module> module = m.device->load(program);
  module->tune(arena);
  EXPECT_EQ(result(m, *module), 1);
  EXPECT_FALSE(fs::exists(folder));
}

// Does something once ranks agree.
class AgreeingPlane final : public HostPlane {
public:
  AgreeingPlane(HostPlane &plane, std::function<void()> act) : plane_(plane), act_(std::move(act)) {
    rank_ = plane.rank();
    ranks_ = plane.ranks();
  }
  void barrier() override { plane_.barrier(); }
  void gather(const void *src, size_t bytes, void *dst, int64_t root) override {
    plane_.gather(src, bytes, dst, root);
  }
  void broadcast(void *data, size_t bytes, int64_t root) override {
    plane_.broadcast(data, bytes, root);
    std::exchange(act_, [] {})();
  }

private:
  HostPlane &plane_;
  std::function<void()> act_;
};

// Rank 0 has no sibling, rank 1 finds a choice, rank 2 would have none: the file comes when they agree, and
// it has no room to measure.
TEST_F(CudaSiblings, AreTheSameOnAllRanks) {
  keep("narrow");
  const fs::path away = folder.string() + ".away";
  fs::rename(folder, away);
  Variable device("TESSERA_CUDA_DEVICE", "0");
  onRanks(3, [&](HostPlane &plane) {
    ts_program ownProgram = program;
    if (plane.rank() == 0)
      ownProgram.num_siblings = 0;
    Machine m(plane.rank(), &plane);
    std::unique_ptr<Module> module = m.device->load(ownProgram);
    AgreeingPlane agreeing(plane, [&] {
      if (plane.rank() == 1)
        fs::rename(away, folder);
    });
    static_cast<CudaModule &>(*module).takeFastest(Buffer(), &agreeing);
    EXPECT_EQ(result(m, *module), plane.rank() == 0 ? 1 : 1.5);
  });
}

TEST_F(CudaSiblings, WhoseTableIsDamagedAreRefused) {
  Machine m;
  auto load = [&] { return errorOf([&] { m.device->load(program); }); };
  sibling.kernel = 17;
  expectParts(load(), {"cannot load kernel add$narrow", "says what cannot be"});
  sibling = cudaTestSibling();
  sibling.ascending = 2;
  expectParts(load(), {"cannot load kernel add$narrow", "says what cannot be"});
  sibling = cudaTestSibling();
  sibling.shared_bytes = 1 << 20;
  expectParts(load(), {"cannot load kernel add$narrow", "bytes of shared memory a block, and the GPU has"});
}

} // namespace
} // namespace tessera::runtime
