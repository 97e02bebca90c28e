// Kernels with one planted fault each: every one is found, and the finding names the kernel and the marked
// lines.
#include "KernelHarness.h"

#include <fstream>
#include <sstream>

namespace standin {
namespace {

struct Fault {
  std::string kernel;
  uint32_t grid, block, dynamic;
  bool races;
  std::vector<std::string> words; // one of them begins the finding
  std::vector<int> lines;
};

std::vector<Fault> readFaults(const std::string &name) {
  std::ifstream file(std::string(STANDIN_KERNEL_SOURCES) + "/" + name + ".c");
  std::vector<Fault> faults;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.rfind("//: ", 0) == 0) {
      std::istringstream words(line.substr(4));
      Fault fault;
      std::string how, rest;
      words >> fault.grid >> fault.block >> fault.dynamic >> how >> std::ws;
      fault.races = how == "races";
      std::getline(words, rest);
      for (size_t at = 0; at != std::string::npos;) {
        size_t bar = rest.find(" | ", at);
        fault.words.push_back(rest.substr(at, bar == std::string::npos ? bar : bar - at));
        at = bar == std::string::npos ? bar : bar + 3;
      }
      faults.push_back(fault);
    } else if (line.rfind("KERNEL ", 0) == 0 && !faults.empty() && faults.back().kernel.empty()) {
      faults.back().kernel = line.substr(7, line.find(' ', 7) - 7);
    }
    if (line.find("//!") != std::string::npos && line.rfind("//", 0) != 0)
      faults.back().lines.push_back(number);
  }
  return faults;
}

std::optional<Finding> launchFault(const std::shared_ptr<Image> &image, const Fault &fault, uint64_t seed) {
  std::vector<float> in(4096), out(4096);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i % 17) + 1;
  TestLaunch launch(image, fault.kernel);
  launch << in << out << int(in.size());
  launch.request.grid = {fault.grid};
  launch.request.block = {fault.block};
  launch.request.dynamicShared = fault.dynamic;
  launch.request.races = fault.races;
  launch.request.seed = seed;
  return launch.run();
}

void findAll(const std::string &name, size_t least) {
  std::vector<Fault> faults = readFaults(name);
  auto image = loadKernels(name);
  EXPECT_GE(faults.size(), least);
  for (const Fault &fault : faults)
    for (uint64_t seed = 0; seed < 20; ++seed) {
      // The flags that blocks leave behind must not help the next run.
      for (const DeviceGlobal &global : image->globals())
        if (!global.constant)
          std::memset(global.address, 0, global.bytes);
      std::optional<Finding> finding = launchFault(image, fault, seed);
      ASSERT_TRUE(finding) << fault.kernel << ", seed " << seed << ": nothing was found";
      bool begins = false;
      for (const std::string &words : fault.words)
        begins |= finding->text.rfind(words, 0) == 0;
      EXPECT_TRUE(begins) << fault.kernel << ", seed " << seed << ": " << finding->text;
      EXPECT_NE(finding->text.find("kernel " + fault.kernel), std::string::npos) << finding->text;
      EXPECT_EQ(finding->text.find('\n'), std::string::npos) << finding->text;
      for (int line : fault.lines)
        EXPECT_NE(finding->text.find(name + ".c:" + std::to_string(line)), std::string::npos)
            << "line " << line << ", seed " << seed << ": " << finding->text;
      if (seed == 0 && std::getenv("STANDIN_PRINT_FINDINGS"))
        printf("%s\n", finding->text.c_str());
    }
}

TEST(Faults, EachIsFoundAndNamed) { findAll("faults", 57); }
TEST(Faults, EachOfMatricesIsFoundAndNamed) { findAll("faults_matrices", 20); }

} // namespace
} // namespace standin
