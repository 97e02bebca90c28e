#include "BenchMachine.h"
#include "MeasuredMachine.h"
#include "PeakFlops.h"
#include "Terminal.h"
#include "WrittenFile.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/OutputFile.h"

#include <algorithm>
#include <chrono>

namespace tessera::runtime {

namespace {
using Clock = std::chrono::steady_clock;
constexpr int kWindows = 3;

// The groups that are measured, each a group of every rank's.
enum GroupNumber : int64_t { AllRanks, NodeMates, Counterparts };

class MachineBench {
public:
  MachineBench(Rank &rank, const Launcher &launcher, bool hasNodes)
      : rank_(rank), launcher_(launcher), hasNodes_(hasNodes) {}

  MeasuredMachine run() {
    const int64_t ranks = rank_.plane().ranks();
    MeasuredMachine machine;
    machine.name = "measured with " + std::to_string(ranks) + " ranks";
    machine.cores = rank_.pool().size();
    machine.f32 = flops(io::DType::F32);
    machine.bf16 = flops(io::DType::BF16);
    machine.f16 = flops(io::DType::F16);
    machine.memoryBandwidth = memoryBandwidth();
    if (!hasNodes_) {
      machine.link = link(AllRanks, ranks);
      return machine;
    }
    machine.ranksPerNode = launcher_.localRanks;
    machine.betweenNodes = link(Counterparts, ranks / launcher_.localRanks);
    machine.link = launcher_.localRanks > 1 ? link(NodeMates, launcher_.localRanks) : *machine.betweenNodes;
    return machine;
  }

private:
  double flops(io::DType type) {
    return measureFlops(rank_, type, type, type) / double(rank_.plane().ranks());
  }

  // The least time of one of `calls`, of some windows, in which all ranks do the same.
  template <typename Work> double seconds(int calls, const Work &work) {
    work(); // whatever comes first is slower
    double least = 0;
    for (int window = 0; window < kWindows; ++window) {
      rank_.compute().synchronize();
      rank_.plane().barrier();
      const auto start = Clock::now();
      for (int call = 0; call < calls; ++call)
        work();
      rank_.compute().synchronize();
      const double each = std::chrono::duration<double>(Clock::now() - start).count() / calls;
      least = window == 0 ? each : std::min(least, each);
    }
    return least;
  }

  Buffer memory(size_t bytes) {
    Buffer made = rank_.device().allocate(bytes, "memory to measure", MemoryUse::Arena);
    rank_.compute().fill(made.address(), 0, bytes);
    return made;
  }

  // Of a weight that one row is multiplied with, which caches do not hold: what decoding waits for.
  double memoryBandwidth() {
    MatmulSpec row;
    row.m = 1;
    row.n = row.k = 4096;
    const auto bytes = size_t(io::bytesOf(row.w, row.n * row.k));
    std::unique_ptr<Product> product = rank_.device().createProduct(row, nullptr);
    Buffer x = memory(size_t(io::bytesOf(row.x, row.k))), w = memory(bytes),
           y = memory(size_t(io::bytesOf(row.y, row.n)));
    return double(bytes) /
           seconds(4, [&] { rank_.compute().multiply(*product, {x.address(), w.address(), y.address()}); });
  }

  MeasuredLink link(GroupNumber group, int64_t members) {
    constexpr int64_t nothing = 4, most = 4 << 20; // elements of a rank, and of all
    const int64_t elements = std::max<int64_t>(1024, most / members);
    Buffer src = memory(size_t(io::bytesOf(io::DType::F32, elements))),
           dst = memory(size_t(io::bytesOf(io::DType::F32, elements * members)));
    auto gather = [&](int64_t count, int calls) {
      const BlockCollective collective = {CollectiveKind::AllGather, Reduction::None, io::DType::F32, group,
                                          count};
      return seconds(calls, [&] {
        rank_.shared().comm().run(collective, src.address(), dst.address(), rank_.compute(),
                                  MessageCollective);
      });
    };
    const double empty = gather(nothing, 100);
    return linkOf(members, empty, double(io::bytesOf(io::DType::F32, elements)), gather(elements, 4));
  }

  Rank &rank_;
  const Launcher &launcher_;
  bool hasNodes_;
};

// Ranks that are `stride` apart, from `first` on.
RankGroup groupOf(int64_t first, int64_t stride, int64_t count, int64_t rank) {
  RankGroup group;
  for (int64_t i = 0; i < count; ++i)
    group.members.push_back(first + i * stride);
  group.self = (rank - first) / stride;
  return group;
}

void writeMachine(const std::string &json, const WrittenFile &file) {
  io::OutputFile out(file.path, file.what);
  check(out.open());
  const std::string line = json + "\n";
  check(out.write(line.data(), line.size()));
  check(out.finish());
}

void checkBenchMachine(const Manifest &manifest, const Options &options) {
  const std::string flag = "--machine=" + options.machineFile;
  for (auto [other, isGiven] : {std::pair("--prompt-len", options.promptLength.has_value()),
                                std::pair("--decode", options.decodeSteps.has_value()),
                                std::pair("--peak-flops", options.peakFlops.has_value())})
    if (isGiven)
      throw Error("cannot measure", flag,
                  std::string(other) + " is for measuring the program, not the machine",
                  "leave one of them out");
  if (manifest.pipeline)
    throw Error("cannot measure", flag, "the ranks of a pipeline's stages are measured by no common program",
                "compile the model without pp, for as many ranks");
  if (manifest.mesh.size() == 1)
    throw Error("cannot measure", flag, "this program has one rank, and links are between ranks",
                "compile the model with --mesh=tp=2, for example");
}
} // namespace

void benchMachine(const ts_program &program, const Manifest &manifest, const Options &options,
                  const Launcher &launcher) {
  checkBenchMachine(manifest, options);
  const WrittenFile file = {"cannot write machine", "--machine=", options.machineFile};
  if (launcher.rank == 0)
    checkCanBeWritten(file);
  const int64_t ranks = manifest.mesh.size(), onNode = launcher.localRanks;
  // Groups within nodes and between them are made of ranks that follow one another.
  if (launcher.size > 1 && (launcher.size % onNode != 0 ||
                            launcher.localRank.value_or(launcher.rank % onNode) != launcher.rank % onNode))
    throw Error("cannot measure", "--machine=" + options.machineFile,
                "the ranks of a node do not follow one another, or nodes have different numbers of them",
                "start as many on each, in their order: mpirun --map-by slot, srun --ntasks-per-node=N");
  const bool hasNodes = launcher.size > 1 && onNode < launcher.size;
  const WeightPlan weights(manifest, driverFor(manifest.target));
  RunPlan plan{manifest, {}, {{program.manifest, size_t(program.manifest_bytes)}}, [&](int64_t) {
                 return std::vector<ProgramOfRank>{{program, manifest, weights}};
               }};
  plan.ownGroups = [&](int64_t rank) {
    std::vector<RankGroup> groups = {groupOf(0, 1, ranks, rank)};
    if (hasNodes) {
      groups.push_back(groupOf(rank / onNode * onNode, 1, onNode, rank));
      groups.push_back(groupOf(rank % onNode, onNode, ranks / onNode, rank));
    }
    return groups;
  };
  addCollectiveNames(plan.names, manifest);
  LaunchOptions launch;
  launch.threads = options.threads;
  launch.terms = whatIsComputed(options) + " ranks a node: " + std::to_string(onNode);
  launch.load = [](RankPrograms &, const WeightOrigin &) {}; // nothing is computed with them
  runRanks(plan, launcher, launch, [&](RankPrograms &programs) {
    Rank &rank = *programs[0];
    const MeasuredMachine machine = MachineBench(rank, launcher, hasNodes).run();
    if (rank.id() != 0)
      return;
    const std::string json = toJson(machine);
    writeMachine(json, file);
    StandardOutput out(&rank.entry());
    if (options.json) {
      out.write(json + "\n");
    } else {
      char text[400];
      snprintf(text, sizeof text,
               "a rank  %8.4g FLOPs a second in float32, %.4g in bfloat16, %.4g in float16\n"
               "memory  %8.4g bytes a second\nlink    %8.4g bytes a second, %.3g s a message\n",
               machine.f32, machine.bf16, machine.f16, machine.memoryBandwidth, machine.link.bandwidth,
               machine.link.latency);
      out.write(text);
      if (machine.betweenNodes) {
        snprintf(text, sizeof text, "network %8.4g bytes a second, %.3g s a message\n",
                 machine.betweenNodes->bandwidth, machine.betweenNodes->latency);
        out.write(text);
      }
    }
    out.close();
  });
}

} // namespace tessera::runtime
