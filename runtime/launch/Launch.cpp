#include "tessera/runtime/launch/Launch.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <malloc.h>
#include <optional>
#include <thread>

namespace tessera::runtime {

static std::optional<int64_t> environmentNumber(const char *name, int64_t least,
                                                int64_t most = std::numeric_limits<int32_t>::max(),
                                                const char *hint = "start it alone, or with mpirun") {
  const char *text = getenv(name);
  if (!text || !*text)
    return std::nullopt;
  char *end = nullptr;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (*end || errno || value < least || value > most)
    throw Error("cannot tell how this program was started", std::string(name) + "=" + text,
                "it is no number from " + std::to_string(least) + " to " + std::to_string(most), hint);
  return value;
}

// What torchrun tells its processes. Its own store listens at MASTER_PORT; ours takes the port behind it.
static Launcher detectTorchrun() {
  auto number = [](const char *name, int64_t least) {
    if (auto value = environmentNumber(name, least))
      return *value;
    throw Error("cannot tell how this program was started", name, "torchrun sets it, and it is not there",
                "start it with torchrun --no-python");
  };
  Launcher launcher;
  launcher.name = "torchrun";
  launcher.rank = number("RANK", 0);
  launcher.size = number("WORLD_SIZE", 1);
  launcher.localRanks = number("LOCAL_WORLD_SIZE", 1);
  launcher.localRank = environmentNumber("LOCAL_RANK", 0);
  if (launcher.rank >= launcher.size || launcher.localRanks > launcher.size)
    throw Error("cannot tell how this program was started", "torchrun",
                "RANK=" + std::to_string(launcher.rank) +
                    " and LOCAL_WORLD_SIZE=" + std::to_string(launcher.localRanks) +
                    " do not fit WORLD_SIZE=" + std::to_string(launcher.size),
                "start it with torchrun --no-python");
  const char *host = getenv("MASTER_ADDR"), *restarts = getenv("TORCHELASTIC_RESTART_COUNT");
  auto port = [](const char *name) {
    return environmentNumber(name, 1, 65535, "set it to a port that is free");
  };
  int64_t master = port("MASTER_PORT").value_or(29500);
  launcher.meeting.host = host && *host ? host : "127.0.0.1";
  launcher.meeting.port = int(port("TESSERA_MASTER_PORT").value_or(master < 65535 ? master + 1 : master - 1));
  launcher.meeting.run = getenv("TORCHELASTIC_RUN_ID") + std::string(" ") + std::to_string(master) + " " +
                         (restarts ? restarts : "");
  return launcher;
}

RanksFrom Launcher::from() const {
  return size == 1 ? RanksFrom::Threads : name == "torchrun" ? RanksFrom::Torchrun : RanksFrom::Mpi;
}

Launcher Launcher::detect() {
  Launcher launcher;
  if (getenv("TORCHELASTIC_RUN_ID"))
    return detectTorchrun();
  if (auto size = environmentNumber("OMPI_COMM_WORLD_SIZE", 1)) {
    launcher.name = "mpirun";
    launcher.size = *size;
    launcher.rank = environmentNumber("OMPI_COMM_WORLD_RANK", 0).value_or(0);
    launcher.localRanks = environmentNumber("OMPI_COMM_WORLD_LOCAL_SIZE", 1).value_or(1);
    launcher.localRank = environmentNumber("OMPI_COMM_WORLD_LOCAL_RANK", 0);
  } else if (auto tasks = environmentNumber("SLURM_STEP_NUM_TASKS", 1); tasks && getenv("SLURM_STEP_ID")) {
    if (*tasks > 1 && !getenv("PMIX_RANK"))
      throw Error("cannot start", "srun", "it started " + std::to_string(*tasks) + " tasks without PMIx",
                  "use srun --mpi=pmix");
    launcher.name = "srun";
    launcher.size = *tasks;
    launcher.rank = environmentNumber("PMIX_RANK", 0).value_or(0);
    launcher.localRanks = environmentNumber("SLURM_NTASKS_PER_NODE", 1).value_or(1);
    launcher.localRank = environmentNumber("SLURM_LOCALID", 0);
  }
  if (launcher.name.empty() && environmentNumber("PMI_SIZE", 1).value_or(1) > 1)
    throw Error("cannot start", "PMI_SIZE=" + std::string(getenv("PMI_SIZE")),
                "it was started by the launcher of another MPI than Open MPI", "use Open MPI's mpirun");
  if (launcher.size == 1) // a launcher of one: nothing to communicate with
    launcher.rank = 0;
  return launcher;
}

void Launcher::check(const Manifest &manifest, const Driver &driver) const {
  if (name == "torchrun" && !findWorld(driver.fabric(), RanksFrom::Torchrun))
    throw Error("cannot start", name,
                "this program was compiled for --target=" + manifest.target +
                    ", whose ranks it cannot connect",
                "start it alone, or with mpirun");
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

void addCollectiveNames(CollectiveNames &names, const Manifest &manifest, const std::string &of) {
  for (size_t i = 0; i < manifest.collectives.size(); ++i) {
    const CollectiveSpec &c = manifest.collectives[i];
    std::string axes;
    for (const SubAxis &axis : manifest.groups[c.group])
      axes += (axes.empty() ? "" : ",") + axis.axis;
    names.names.push_back(of + "collective " + std::to_string(i) + ", " + collectiveName(c.kind) + " over " +
                          (axes.empty() ? "nobody" : axes));
  }
}

// FNV-1a, 64 bits.
static uint64_t digest(const std::vector<std::string_view> &texts) {
  uint64_t hash = 0xcbf29ce484222325;
  for (std::string_view text : texts)
    for (unsigned char c : text)
      hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

// Processes that compute different things would exchange numbers all the same, and nobody would see it.
static void checkSameRun(HostPlane &plane, const RunPlan &plan, const LaunchOptions &options) {
  constexpr size_t kinds = 3;
  static constexpr const char *why[kinds] = {"it runs another program than rank 0",
                                             "its arguments are not those of rank 0",
                                             "the data or the save that it reads are not those of rank 0"};
  const char *everywhere = "start the same executable with the same arguments everywhere";
  const uint64_t own[kinds] = {digest(plan.manifests), digest({options.terms}), digest({options.inputs})};
  std::vector<uint64_t> all(plane.rank() == 0 ? kinds * size_t(plane.ranks()) : 0);
  plane.gather(own, sizeof(own), all.data(), 0);
  for (size_t rank = 0; kinds * rank < all.size(); ++rank)
    for (size_t what = 0; what < kinds; ++what)
      if (all[kinds * rank + what] != own[what])
        throw Error("cannot start", "rank " + std::to_string(rank), why[what],
                    what == 2 ? "give all processes the same files" : everywhere);
}

static void rankBody(const RunPlan &plan, Communicator &comm, HostPlane &plane, BoardEntry &entry,
                     int threads, const LaunchOptions &options,
                     const std::function<void(RankPrograms &)> &body) {
  currentRank() = plane.rank();
  entry.activity = int32_t(Activity::Working);
  RankDevice device(plan.ofRank(plane.rank()), comm, plane, entry, threads, plan.ownGroups(plane.rank()),
                    plan.channels);
  RankPrograms programs;
  for (size_t number = 0; number < device.programs(); ++number)
    programs.push_back(std::make_unique<Rank>(device, number));
  entry.activity = int32_t(Activity::Outside); // files may lie on a slow disk or another machine
  if (options.load)
    options.load(programs, options.origin);
  else
    for (const std::unique_ptr<Rank> &one : programs)
      one->loadWeights(options.origin);
  entry.activity = int32_t(Activity::Working);
  plane.barrier();
  body(programs);
  entry.activity = int32_t(Activity::Finished);
}

void runRanks(const RunPlan &plan, const Launcher &launcher, const LaunchOptions &options,
              const std::function<void(RankPrograms &)> &body) {
  // Few malloc arenas: their slack is memory nobody planned.
  mallopt(M_ARENA_MAX, 4);
  const Manifest &manifest = plan.manifest;
  const Driver &driver = options.driver ? *options.driver : driverFor(manifest.target);
  driver.prepareProcess();
  int threads = threadsPerRank(manifest, launcher, options.threads);
  setBusyThreads(int(std::min<int64_t>(
      threads * std::max(manifest.mesh.size() / launcher.size, launcher.localRanks), 1 << 20)));
  auto guarded = [&](Communicator &comm, HostPlane &plane, BoardEntry &entry) {
    try {
      if (launcher.size > 1)
        checkSameRun(plane, plan, options);
      rankBody(plan, comm, plane, entry, threads, options, body);
    } catch (const std::exception &e) {
      endRun(e);
    }
  };
  bool oneMachine = launcher.localRanks == launcher.size && !getenv("TESSERA_MACHINE");
  const World *world = findWorld(driver.fabric(), launcher.from());
  if (!world)
    throw Error("cannot start the ranks", driver.name(), "this runtime has nothing that connects them",
                "compile the program again with this version of llm-compile");
  world->run({manifest.mesh, plan.names, stallTimeout(), oneMachine, launcher.from(), launcher.rank,
              launcher.meeting,
              [&](Board *board) {
                setCrashBoard(board, board ? &plan.names : nullptr);
                if (board)
                  installCrashHandlers();
              }},
             guarded);
}

void runRanks(const ts_program &program, const Manifest &manifest, const Launcher &launcher,
              const LaunchOptions &options, const std::function<void(Rank &)> &body) {
  const Driver &driver = options.driver ? *options.driver : driverFor(manifest.target);
  WeightPlan weights(manifest, driver);
  RunPlan plan{manifest, {}, {{program.manifest, size_t(program.manifest_bytes)}}, [&](int64_t) {
                 return std::vector<ProgramOfRank>{{program, manifest, weights}};
               }};
  addCollectiveNames(plan.names, manifest);
  runRanks(plan, launcher, options, [&](RankPrograms &programs) { body(*programs[0]); });
}

} // namespace tessera::runtime
