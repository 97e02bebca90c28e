// The parts of the driver `cuda` that need no GPU, and its errors before there is one. What runs on a device
// is in DriverConformance.cpp.
#include "../ErrorLine.h"
#include "CudaLibrary.h"
#include "CudaMemory.h"
#include "CudaModule.h"
#include "CudaPlacement.h"
#include "ProductChoices.h"
#include "SharedChoices.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cuda/Driver.h"

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {
namespace {

// --- Choices ---

// Ranks run other programs: of each key the lowest rank that has it decides, once; who has none takes part.
TEST(SharedChoices, TheLowestRankWithAKeyDecides) {
  const std::vector<std::set<std::string>> keys = {{}, {"a", "c"}, {"a", "b", "long key"}, {}, {"b", "c"}};
  const std::vector<Choices> wanted = {
      {}, {{"a", "1"}}, {{"a", "1"}, {"b", "2"}, {"long key", "2"}}, {}, {{"b", "2"}}};
  Board board(5);
  std::shared_ptr<HostWorld> world = createHostWorld(5, board);
  std::vector<std::thread> ranks;
  for (size_t rank = 0; rank < keys.size(); ++rank)
    ranks.emplace_back([&, rank] {
      std::unique_ptr<HostPlane> plane = createHostPlane(world, int64_t(rank));
      Choices choices = agree(plane.get(), keys[rank], [&](const std::set<std::string> &own) {
        Choices decided;
        for (const std::string &key : own)
          if (key != "c") // what cannot be measured has no choice
            decided[key] = std::to_string(rank);
        return decided;
      });
      EXPECT_EQ(choices, wanted[rank]) << rank;
      plane->barrier(); // nobody is a call behind
    });
  for (std::thread &rank : ranks)
    rank.join();
  EXPECT_EQ(agree(nullptr, {"a"}, [](const std::set<std::string> &) { return Choices{{"a", "x"}}; }),
            (Choices{{"a", "x"}}));
}

// --- Drivers that cannot be used ---

class CudaStart : public testing::Test {
protected:
  void SetUp() override { setenv("TESSERA_LIBCUDA", FAKE_CUDA, 1); }
  void TearDown() override {
    for (const char *name : {"TESSERA_LIBCUDA", "TESSERA_CUBLASLT", "FAKE_CUDA_VERSION", "FAKE_CUDA_INIT",
                             "FAKE_CUDA_DEVICES", "FAKE_CUDA_LACKS"})
      unsetenv(name);
  }
  std::string start() {
    return errorOf([] { CudaLibrary::open(); });
  }
};

TEST_F(CudaStart, ADriverThatWorks) {
  CudaLibrary library = CudaLibrary::open();
  EXPECT_EQ(library.version, 13000);
  EXPECT_EQ(library.describe(cuda::CUDA_ERROR_OUT_OF_MEMORY),
            "CUDA_ERROR_OUT_OF_MEMORY (2): what the driver says of it");
}

TEST_F(CudaStart, NoDriver) {
  setenv("TESSERA_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
  expectParts(start(), {"cannot open the CUDA driver (TESSERA_LIBCUDA=/nonexistent/libcuda.so.1): ", "; "});
}

TEST_F(CudaStart, AnOldDriver) {
  setenv("FAKE_CUDA_VERSION", "11080", 1);
  expectParts(start(), {"cannot use the CUDA driver", "it is for CUDA 11.8",
                        "; install a driver for CUDA 12.0 or newer"});
}

TEST_F(CudaStart, ADriverThatLacksAFunction) {
  setenv("FAKE_CUDA_LACKS", "cuGraphInstantiateWithFlags", 1);
  expectParts(start(), {"it lacks cuGraphInstantiateWithFlags of CUDA 11.4", "; install a driver"});
}

TEST_F(CudaStart, TheStubOfAToolkit) {
  setenv("FAKE_CUDA_INIT", "34", 1);
  expectParts(start(), {"cannot use a GPU", "CUDA_ERROR_STUB_LIBRARY", "; take the folder of stubs off"});
}

TEST_F(CudaStart, NoDevice) {
  setenv("FAKE_CUDA_INIT", "100", 1);
  expectParts(start(), {"cannot use a GPU", "CUDA_ERROR_NO_DEVICE", "nvidia-smi", "--target=cpu"});
  setenv("FAKE_CUDA_INIT", "0", 1);
  setenv("FAKE_CUDA_DEVICES", "0", 1);
  expectParts(start(), {"cannot use a GPU", "CUDA_ERROR_NO_DEVICE"});
}

TEST_F(CudaStart, NoCublasLt) {
  setenv("TESSERA_CUBLASLT", "/nonexistent", 1);
  expectParts(errorOf([] { CublasLtLibrary::open(13000); }),
              {"cannot open cuBLASLt (TESSERA_CUBLASLT=/nonexistent)"});
  // A library that is something else.
  setenv("TESSERA_CUBLASLT", FAKE_CUDA, 1);
  expectParts(errorOf([] { CublasLtLibrary::open(13000); }),
              {"cannot use cuBLASLt", "it lacks cublasLtCreate", "pip install nvidia-cublas"});
}

// --- What needs no device ---

Manifest manifestWith(const std::string &section) {
  Manifest manifest;
  manifest.target = "cuda";
  manifest.section = section;
  return manifest;
}

TEST(CudaDriver, SaysWhatItIsForWithoutALibrary) {
  setenv("TESSERA_LIBCUDA", "/nonexistent", 1);
  const Driver &driver = cudaDriver();
  Manifest manifest = manifestWith(R"({"architectures": ["sm_80", "sm_90a", "compute_80"]})");
  driver.checkMachine(manifest);
  EXPECT_EQ(driver.compiledFor(manifest), "sm_80, sm_90a, compute_80");
  EXPECT_EQ(driver.workspaceBytes(manifest), 0);
  manifest.matmuls.resize(1);
  EXPECT_EQ(driver.workspaceBytes(manifest), 32 << 20);
  manifest.streams = {StreamKind::Compute, StreamKind::Communication, StreamKind::Compute};
  EXPECT_EQ(driver.workspaceBytes(manifest), 64 << 20);
  for (const char *bad : {R"({"architectures": ["sm_x"]})", R"({"architectures": 80})", R"({"more": 1})"})
    EXPECT_THROW(driver.checkMachine(manifestWith(bad)), Error) << bad;
  unsetenv("TESSERA_LIBCUDA");
}

// Of a cubin what is loaded, with variables that have no contents in it; of PTX its text. Of several images
// the largest cubin: PTX is longer than the code that becomes of it.
TEST(CudaDriver, CodeIsCounted) {
  struct {
    Elf64_Ehdr header = {};
    Elf64_Shdr sections[3] = {};
  } cubin;
  memcpy(cubin.header.e_ident, ELFMAG, SELFMAG);
  cubin.header.e_shoff = sizeof(cubin.header);
  cubin.header.e_shentsize = sizeof(Elf64_Shdr);
  cubin.header.e_shnum = 3;
  cubin.sections[0] = {0, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, 4000};
  cubin.sections[1] = {0, SHT_PROGBITS, 0, 0, 0, 700000}; // names, line numbers
  cubin.sections[2] = {0, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 0, 1 << 20};
  std::string text(2 << 20, ' ');
  ts_image images[] = {{"sm_80", &cubin, sizeof(cubin)}, {"compute_80", text.data(), text.size()}};
  EXPECT_EQ(loadedBytes(images[0]), 4000 + (1 << 20));
  EXPECT_EQ(loadedBytes(images[1]), 2 << 20);
  images[0].bytes = sizeof(cubin.header) + sizeof(Elf64_Shdr) / 2; // cut off
  EXPECT_EQ(loadedBytes(images[0]), 0);
  images[0].bytes = sizeof(cubin);
  ts_program program = {};
  program.images = images;
  program.num_images = 2;
  EXPECT_EQ(cudaDriver().codeBytes(program), 4000 + (1 << 20));
  program.images = images + 1;
  program.num_images = 1;
  EXPECT_EQ(cudaDriver().codeBytes(program), 2 << 20);
  program.num_images = 0;
  EXPECT_EQ(cudaDriver().codeBytes(program), 0);
}

TEST(CudaDriver, WeightsLieAsTheyAre) {
  ParamSpec spec;
  spec.dtype = io::DType::BF16;
  spec.shape = spec.local = {6, 5};
  spec.sharding = {{}, {}};
  spec.packOutDims = 1;
  std::unique_ptr<WeightLayout> layout = cudaDriver().layout(spec);
  EXPECT_FALSE(layout->packed);
  EXPECT_EQ(layout->rows, 6);
  EXPECT_EQ(layout->columns, 5);
  EXPECT_EQ(layout->bytes, 60);
  EXPECT_EQ(layout->rowBlock, 1);
}

// --- Images ---

TEST(CudaImages, Architectures) {
  auto runs = [](const char *text, int major, int minor) {
    auto architecture = CudaArchitecture::parse(text);
    return architecture && architecture->runsOn(major, minor);
  };
  EXPECT_TRUE(runs("sm_80", 8, 0));
  EXPECT_TRUE(runs("sm_80", 8, 9));
  EXPECT_FALSE(runs("sm_86", 8, 0));
  EXPECT_FALSE(runs("sm_80", 9, 0));
  EXPECT_TRUE(runs("sm_90a", 9, 0));
  EXPECT_FALSE(runs("sm_90a", 10, 0));
  EXPECT_TRUE(runs("sm_100", 10, 3));
  EXPECT_FALSE(runs("sm_100", 12, 0));
  EXPECT_TRUE(runs("sm_100f", 10, 3));
  EXPECT_TRUE(runs("compute_80", 12, 1));
  EXPECT_FALSE(runs("compute_80", 7, 5));
  EXPECT_FALSE(runs("compute_90a", 10, 0));
  for (const char *bad : {"", "sm_", "sm_8", "sm_8x", "80", "sm_a", "sm_1000", "compute80"})
    EXPECT_FALSE(CudaArchitecture::parse(bad)) << bad;
}

TEST(CudaImages, CubinsComeBeforePtx) {
  const ts_image images[] = {{"compute_80", "", 0}, {"sm_80", "", 0}, {"sm_90a", "", 0},
                             {"sm_100", "", 0},     {"sm_86", "", 0}, {"compute_90", "", 0}};
  ts_program program = {};
  program.images = images;
  program.num_images = 6;
  EXPECT_EQ(fittingImages(program, 9, 0), (std::vector<size_t>{2, 5, 0}));
  EXPECT_EQ(fittingImages(program, 8, 9), (std::vector<size_t>{4, 1, 0}));
  EXPECT_EQ(fittingImages(program, 12, 0), (std::vector<size_t>{5, 0}));
  EXPECT_TRUE(fittingImages(program, 7, 5).empty());
  const ts_image unknown[] = {{"gfx90a", "", 0}};
  program.images = unknown;
  program.num_images = 1;
  EXPECT_THROW(fittingImages(program, 9, 0), Error);
}

TEST(CudaImages, WhatReadsPtx) {
  EXPECT_EQ(cudaVersionOfPtx("// made by us\n.version 7.0\n.target sm_80"), 11000);
  EXPECT_EQ(cudaVersionOfPtx(".version 8.3\n"), 12030);
  EXPECT_EQ(cudaVersionOfPtx(".version 8.6\n"), 12070);
  EXPECT_EQ(cudaVersionOfPtx(".version 9.0\n"), 13000);
  EXPECT_EQ(cudaVersionOfPtx("nothing"), 0);
}

// --- Which GPU ---

RankPlace place(const char *machine, char gpu, int shown) {
  RankPlace result;
  strcpy(result.machine, machine);
  result.gpu.bytes[0] = gpu;
  result.shown = shown;
  return result;
}

TEST(CudaPlacement, RanksOfAMachineAreCounted) {
  std::vector<RankPlace> places = {place("a", 0, 2), place("b", 0, 2), place("a", 1, 2), place("b", 1, 2)};
  EXPECT_EQ(localRank(places, 0), 0);
  EXPECT_EQ(localRank(places, 1), 0);
  EXPECT_EQ(localRank(places, 2), 1);
  EXPECT_EQ(localRank(places, 3), 1);
  checkNoneShared(places);
}

TEST(CudaPlacement, MoreRanksThanGpus) {
  std::vector<RankPlace> places = {place("a", 1, 2), place("a", 2, 2), place("b", 1, 2), place("a", 1, 2)};
  expectParts(errorOf([&] { checkNoneShared(places); }),
              {"cannot give every rank a GPU (machine a): it has 3 ranks, and rank 3 sees 2 GPUs",
               "share one with rank 0", "TESSERA_CUDA_DEVICE"});
}

// --- Choices of algorithms ---

TEST(CudaProductChoices, AreKept) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / ("tuning." + std::to_string(getpid())) / "below";
  setenv("TESSERA_TUNING", folder.c_str(), 1);
  cuda::cublasLtMatmulAlgo_t one = {{1, 2, 3, 4, 5, 6, 7, ~0ull}}, two = {{8}};
  {
    ProductChoices first("GPU X, library 1"), second("GPU X, library 1");
    EXPECT_FALSE(first.find("1x2x3"));
    first.add("1x2x3", one);
    second.add("4x5x6", two);
    first.save();
    second.save();
  }
  ProductChoices again("GPU X, library 1");
  auto found = again.find("1x2x3");
  ASSERT_TRUE(found);
  EXPECT_EQ(memcmp(&*found, &one, sizeof(one)), 0);
  ASSERT_TRUE(again.find("4x5x6"));
  EXPECT_FALSE(ProductChoices("GPU X, library 2").find("1x2x3"));
  // Another machine whose file has the same name.
  ProductChoices other("GPU-X, library 1");
  EXPECT_EQ(other.path(), again.path());
  EXPECT_FALSE(other.find("1x2x3"));
  // A file that somebody cut, and one that is none.
  fs::resize_file(again.path(), fs::file_size(again.path()) - 5);
  std::string said;
  auto remark = [&](const std::string &text) { said = text; };
  EXPECT_FALSE(ProductChoices("GPU X, library 1", remark).find("1x2x3"));
  expectParts(
      said, {"cannot read the choices of products (" + again.path(), "line 3 is damaged", "measured again"});
  fs::remove(again.path());
  said.clear();
  ProductChoices none("GPU X, library 1", remark);
  EXPECT_EQ(said, "");
  fs::create_directory(again.path());
  ProductChoices folderInstead("GPU X, library 1", remark);
  expectParts(said, {"cannot read the choices of products", "Is a directory"});
  folderInstead.add("1x2x3", one);
  folderInstead.save();
  expectParts(said, {"cannot keep the choices of products", "irectory", "TESSERA_TUNING"});
  // Turned off.
  setenv("TESSERA_TUNING", "", 1);
  EXPECT_EQ(ProductChoices("GPU X, library 1").path(), "");
  unsetenv("TESSERA_TUNING");
  fs::remove_all(folder.parent_path());
}

} // namespace
} // namespace tessera::runtime
