// A schedule run by the executor with given durations, and what the simulator says of it:
//
//   TESSERA_PIPELINE_DELAYS=FILE [mpirun -np P] run-schedule NAME P M [V]
//
// prints {"predicted_ms": ..., "measured_ms": ...}: from the moment when all ranks stand at the beginning to
// the end of the last action. Ranks are threads, or the processes of mpirun; they sleep, so they may be more
// than processors.
#include "../../runtime/test/PostingStream.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"
#include "tessera/runtime/pipeline/Executor.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Lower.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace tessera;
using namespace tessera::runtime;

namespace {
struct Sleeps final : StageWork {
  void compute(const schedule::Action &, const void *, void *, Stream &) override {}
};

int64_t nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
} // namespace

int main(int argc, char **argv) {
  try {
    if (argc < 4)
      throw Error("cannot run a schedule", "the command line", "arguments are missing",
                  "run-schedule NAME P M [V]");
    auto name = schedule::scheduleFromName(argv[1]);
    if (!name)
      throw Error("cannot run a schedule", argv[1], "no schedule is called so",
                  "take " + schedule::scheduleNames());
    schedule::Schedule lists =
        lower(take(schedule::generate(*name, atoi(argv[2]), atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 0)),
              schedule::Lowering::Eager);
    std::optional<schedule::Costs> delays = pipelineDelays(lists.numStages());
    if (!delays)
      throw Error("cannot run a schedule", "TESSERA_PIPELINE_DELAYS", "no file of durations is named",
                  "name one");
    double predicted = schedule::simulate(lists, *delays).makespan;
    int32_t buffers = std::max(1, schedule::leastSendBuffers(lists, *delays).withoutDelay);
    size_t edges = size_t(lists.numStages()) - 1;
    ValueSizes sizes{std::vector<size_t>(edges, 4096), std::vector<size_t>(edges, 4096)};
    std::vector<int64_t> ranks;
    for (int32_t r = 0; r < lists.numRanks(); ++r)
      ranks.push_back(r);

    const char *processes = getenv("OMPI_COMM_WORLD_SIZE");
    if (processes && atoi(processes) != lists.numRanks())
      throw Error("cannot run a schedule", "mpirun", "there are other ranks than the schedule has",
                  "start as many");
    setBusyThreads(1000);
    CollectiveNames names;
    Mesh mesh({{"pp", lists.numRanks()}});
    RanksFrom from = processes ? RanksFrom::Mpi : RanksFrom::Threads;
    WorldOptions options{mesh, names, /*stallSeconds=*/1e6, /*oneMachine=*/true, from, 0, {}, [](Board *) {}};
    findWorld("host", from)->run(options, [&](Communicator &comm, HostPlane &plane, BoardEntry &) {
      PostingStream stream;
      Sleeps work;
      PipelineExecutor executor(lists, int32_t(comm.rank()), ranks, sizes, buffers, comm, stream.device(), 0,
                                delays);
      plane.barrier();
      int64_t times[2] = {nanoseconds(), 0};
      executor.run(work, stream);
      times[1] = nanoseconds();
      std::vector<int64_t> all(2 * size_t(comm.ranks()));
      plane.gather(times, sizeof times, all.data(), 0);
      if (comm.rank() == 0) {
        int64_t begin = all[0], end = 0;
        for (size_t r = 0; r < all.size(); r += 2) {
          begin = std::max(begin, all[r]);
          end = std::max(end, all[r + 1]);
        }
        printf("{\"predicted_ms\": %.4f, \"measured_ms\": %.4f}\n", predicted, double(end - begin) / 1e6);
      }
    });
    return 0;
  } catch (const std::exception &e) {
    fprintf(stderr, "error: %s\n", messageOf(e).c_str());
    return 1;
  }
}
