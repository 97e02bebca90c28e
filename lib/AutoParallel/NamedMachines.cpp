//===- NamedMachines.cpp - Nodes of GPUs, from what is published ----------===//
//
// docs/Machines.md says where each figure is from.
//
//===----------------------------------------------------------------------===//
#include "tessera/AutoParallel/Machine.h"

using namespace tessera;

namespace {
struct NodeOfGpus {
  const char *name;
  double f32, bf16; ///< FLOP/s of one GPU, dense; f16 as bf16
  double memory;    ///< bytes per second
  double nvlink;    ///< bytes per second into one GPU
  double network;   ///< of its InfiniBand port
};

constexpr NodeOfGpus kNodes[] = {
    {"a100", 19.5e12, 312e12, 2.039e12, 300e9, 25e9},
    {"h100", 67e12, 989e12, 3.35e12, 450e9, 50e9},
    {"h200", 67e12, 989e12, 4.8e12, 450e9, 50e9},
    {"b200", 75e12, 2250e12, 7.7e12, 900e9, 50e9},
};
constexpr int64_t kUsualGpus = 8;
/// Seconds of a message of a few bytes.
constexpr double kNvlinkLatency = 0.6e-6, kNetworkLatency = 2.7e-6;
} // namespace

std::string tessera::namesOfMachines() {
  std::string names;
  for (const NodeOfGpus &node : kNodes)
    names += (names.empty() ? "" : ", ") + std::string(node.name);
  return names;
}

std::optional<Machine> tessera::namedMachine(llvm::StringRef text, std::string &error) {
  auto [name, count] = text.split(':');
  for (const NodeOfGpus &node : kNodes) {
    if (name != node.name)
      continue;
    int64_t gpus = kUsualGpus;
    if (name != text && (count.getAsInteger(10, gpus) || gpus < 1 || gpus > kMaxRanks)) {
      error = "'" + count.str() + "' is no number of GPUs a node";
      return std::nullopt;
    }
    Machine machine;
    machine.name = name.str() + ":" + std::to_string(gpus);
    machine.flops = {node.f32, node.bf16, node.bf16};
    machine.memoryBandwidth = node.memory;
    machine.link = {kNvlinkLatency, node.nvlink};
    machine.ranksPerNode = gpus;
    machine.betweenNodes = {kNetworkLatency, node.network};
    return machine;
  }
  return std::nullopt;
}
