#include "Launch.h"
#include "Terminal.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <mutex>
#include <thread>

namespace tessera::runtime {

static std::optional<int64_t> environmentNumber(const char *name) {
  const char *text = getenv(name);
  if (!text || !*text)
    return std::nullopt;
  char *end = nullptr;
  long long value = strtoll(text, &end, 10);
  if (*end || value < 0)
    throw Error("cannot tell how this program was started", std::string(name) + "=" + text, "it is no number",
                "start it alone, or with mpirun");
  return value;
}

Launcher Launcher::detect() {
  Launcher launcher;
  if (getenv("TORCHELASTIC_RUN_ID"))
    throw Error("cannot start", "torchrun",
                "this program was compiled for --target=cpu, which torchrun cannot start",
                "start it alone, or with mpirun");
  if (auto size = environmentNumber("OMPI_COMM_WORLD_SIZE")) {
    launcher.name = "mpirun";
    launcher.size = *size;
    launcher.rank = environmentNumber("OMPI_COMM_WORLD_RANK").value_or(0);
    launcher.localRanks = environmentNumber("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(1);
  } else if (auto tasks = environmentNumber("SLURM_STEP_NUM_TASKS"); tasks && getenv("SLURM_STEP_ID")) {
    if (*tasks > 1 && !getenv("PMIX_RANK"))
      throw Error("cannot start", "srun", "it started " + std::to_string(*tasks) + " tasks without PMIx",
                  "use srun --mpi=pmix");
    launcher.name = "srun";
    launcher.size = *tasks;
    launcher.rank = environmentNumber("PMIX_RANK").value_or(0);
    launcher.localRanks = environmentNumber("SLURM_NTASKS_PER_NODE").value_or(1);
  }
  if (launcher.name.empty() && environmentNumber("PMI_SIZE").value_or(1) > 1)
    throw Error("cannot start", "PMI_SIZE=" + std::string(getenv("PMI_SIZE")),
                "it was started by the launcher of another MPI than Open MPI", "use Open MPI's mpirun");
  if (launcher.size == 1) // a launcher of one: nothing to communicate with
    launcher.rank = 0;
  return launcher;
}

void Launcher::check(const Manifest &manifest) const {
  int64_t ranks = manifest.mesh.size();
  if (!name.empty() && size != ranks)
    throw Error("cannot start",
                name + " with " + std::to_string(size) + (size == 1 ? " process" : " processes"),
                "the program was compiled for the mesh " + manifest.mesh.describe() + ", which has " +
                    std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"),
                "start as many processes as ranks, or the program alone");
}

int threadsPerRank(const Manifest &manifest, const Launcher &launcher, std::optional<int64_t> threads) {
  int64_t ranks = launcher.size > 1 ? 1 : manifest.mesh.size();
  // Launchers either bind each process to its cores (then they are its share already) or leave all of them to
  // everyone.
  int64_t cores = availableCores(), machine = int64_t(std::thread::hardware_concurrency());
  int64_t share = cores < machine ? cores : std::max<int64_t>(1, cores / launcher.localRanks);
  return int(std::max<int64_t>(1, threads.value_or(share) / ranks));
}

static std::string megabytes(double bytes) {
  char text[32];
  snprintf(text, sizeof(text), "%.1f MB", bytes / 1e6);
  return text;
}

namespace {

// Loads with a progress bar at the rank that talks.
void loadWithProgress(Rank &rank, const WeightOrigin &origin, bool quiet) {
  if (rank.id() != 0 || quiet) {
    rank.loadWeights(origin);
    return;
  }
  auto start = std::chrono::steady_clock::now();
  {
    ProgressBar bar("loading weights", rank.plan().bytes());
    std::mutex mutex;
    rank.loadWeights(origin, [&](int64_t bytes) {
      std::lock_guard<std::mutex> lock(mutex);
      bar.advance(bytes);
    });
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char text[64];
  snprintf(text, sizeof(text), " of weights a rank in %.2f s", seconds);
  logLine((origin.model ? "loaded " : "made up ") + megabytes(double(rank.plan().bytes())) + text);
}

} // namespace

static CollectiveNames collectiveNames(const Manifest &manifest) {
  CollectiveNames names;
  for (size_t i = 0; i < manifest.collectives.size(); ++i) {
    const CollectiveSpec &c = manifest.collectives[i];
    std::string axes;
    for (const SubAxis &axis : manifest.groups[c.group])
      axes += (axes.empty() ? "" : ",") + axis.axis;
    names.names.push_back("collective " + std::to_string(i) + ", " + collectiveName(c.kind) + " over " +
                          (axes.empty() ? "nobody" : axes));
  }
  return names;
}

static void rankBody(const ts_program &program, const Manifest &manifest, const WeightPlan &plan,
                     Communicator &comm, HostPlane &plane, BoardEntry &entry, int threads,
                     const WeightOrigin &origin, bool quiet, const std::function<void(Rank &)> &body) {
  currentRank() = plane.rank();
  entry.activity = int32_t(Activity::Working);
  Rank rank(program, manifest, plan, comm, plane, entry, threads);
  entry.activity = int32_t(Activity::Outside); // files may lie on a slow disk or another machine
  loadWithProgress(rank, origin, quiet);
  entry.activity = int32_t(Activity::Working);
  plane.barrier();
  body(rank);
  entry.activity = int32_t(Activity::Finished);
}

void runRanks(const ts_program &program, const Manifest &manifest, const Launcher &launcher,
              const LaunchOptions &options, const std::function<void(Rank &)> &body) {
  // Few malloc arenas: their slack is memory nobody planned.
  mallopt(M_ARENA_MAX, 4);
  const Driver &driver = options.driver ? *options.driver : driverFor(manifest.target);
  driver.prepareProcess();
  WeightPlan plan(manifest, driver);
  CollectiveNames names = collectiveNames(manifest);
  int threads = threadsPerRank(manifest, launcher, options.threads);
  setBusyThreads(int(std::min<int64_t>(
      threads * std::max(manifest.mesh.size() / launcher.size, launcher.localRanks), 1 << 20)));
  auto guarded = [&](Communicator &comm, HostPlane &plane, BoardEntry &entry) {
    try {
      rankBody(program, manifest, plan, comm, plane, entry, threads, options.origin, options.quiet, body);
    } catch (const std::exception &e) {
      endRun(e);
    }
  };
  bool oneMachine = launcher.localRanks == launcher.size && !getenv("TESSERA_MACHINE");
  WorldOptions world{manifest.mesh, names, stallTimeout(), oneMachine, [&](Board &board) {
                       setCrashBoard(board, names);
                       installCrashHandlers();
                     }};
  worldFor(/*ranksAreProcesses=*/launcher.size > 1).run(world, guarded);
}

} // namespace tessera::runtime
