// Starting the ranks of a program: as threads of this process, or as the one rank that a launcher made this
// process.
#ifndef TESSERA_RUNTIME_LAUNCH_LAUNCH_H
#define TESSERA_RUNTIME_LAUNCH_LAUNCH_H

#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/device/Rank.h"

#include <functional>
#include <optional>
#include <string>

namespace tessera::runtime {

// What a launcher (mpirun, srun with PMIx, torchrun) says in the environment.
struct Launcher {
  std::string name; // "mpirun"; empty: started alone
  int64_t rank = 0, size = 1;
  int64_t localRanks = 1;           // processes of the run on this machine
  std::optional<int64_t> localRank; // the number of this one among them, where the launcher says it
  MeetingPlace meeting;             // of torchrun's processes

  RanksFrom from() const;
  // Throws Error for numbers that cannot be, and for launchers whose processes cannot find each other (srun
  // without PMIx).
  static Launcher detect();
  // Throws Error if the launcher cannot start the ranks of such a program (torchrun those on a CPU), or if
  // the number of processes is not that of the mesh's ranks.
  void check(const Manifest &manifest, const Driver &driver) const;
};

// The programs of one rank, in the order of RunPlan::ofRank: at least one.
using RankPrograms = std::vector<std::unique_ptr<Rank>>;

// What the ranks of a run run. All of it must outlive the run.
struct RunPlan {
  // Mesh and target of the run.
  const Manifest &manifest;
  // What the board shows, by ProgramOfRank::firstName and what is counted from it.
  CollectiveNames names;
  // The manifests, which all processes must have alike.
  std::vector<std::string_view> manifests;
  std::function<std::vector<ProgramOfRank>(int64_t rank)> ofRank;
  // Groups of the runtime's own that the rank is in: the same number of them on all (RankDevice).
  std::function<std::vector<RankGroup>(int64_t rank)> ownGroups = [](int64_t) {
    return std::vector<RankGroup>();
  };
  // The pairs of ranks along which the runtime sends messages (Communicator::setChannels).
  std::vector<Channel> channels = {};
};
// What the board shows of a program's collectives, by number; `of` comes first: "stage 1, ".
void addCollectiveNames(CollectiveNames &names, const Manifest &manifest, const std::string &of = "");

struct LaunchOptions {
  std::optional<int64_t> threads; // of this process in all; default: its share of the cores
  WeightOrigin origin;
  std::string terms;              // what all processes of a run must agree on, beside the program
  std::string inputs;             // and what of the files that they read
  const Driver *driver = nullptr; // default: the one for the manifest's target
  // Has a rank load its weights from `origin`; default: Rank::loadWeights of each. For whoever shows how far
  // it is.
  std::function<void(RankPrograms &, const WeightOrigin &)> load;
};

// Creates the ranks of a run that live in this process, loads their weights, runs `body` on each and ends
// them. Errors of any rank end the process through endRun.
void runRanks(const RunPlan &plan, const Launcher &launcher, const LaunchOptions &options,
              const std::function<void(RankPrograms &)> &body);
// The same of one program, which all ranks run.
void runRanks(const ts_program &program, const Manifest &manifest, const Launcher &launcher,
              const LaunchOptions &options, const std::function<void(Rank &)> &body);

// Threads each rank gets.
int threadsPerRank(const Manifest &manifest, const Launcher &launcher, std::optional<int64_t> threads);

// One line for a signal that would end the process silently (a crash in generated code, a model file cut
// short under us).
void installCrashHandlers();
// What the handlers may say of the ranks of this process; null once it is gone.
void setCrashBoard(Board *board, const CollectiveNames *names);

} // namespace tessera::runtime
#endif
