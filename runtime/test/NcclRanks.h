// Ranks on GPUs for the tests of their communicator.
#ifndef TESSERA_RUNTIME_TEST_NCCLRANKS_H
#define TESSERA_RUNTIME_TEST_NCCLRANKS_H

#include "../comm/nccl/NcclCommunicator.h"
#include "CommConformance.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cuda/Driver.h"
#include "tessera/runtime/launch/Launch.h"

namespace tessera::runtime {

using RankTest = std::function<void(CommUnderTest &, Device &)>;

inline CollectiveNames testNames() {
  CollectiveNames names;
  for (int i = 0; i < 9; ++i)
    names.names.push_back("collective " + std::to_string(i));
  return names;
}

// Where the ranks of this process say what they do.
inline Board *theBoard = nullptr;

// `body` on every rank of this process.
inline void onGpus(const Mesh &mesh, const Launcher &launcher, double stallSeconds, const RankTest &body,
                   const std::vector<Channel> &channels = {}) {
  CollectiveNames names = testNames();
  WorldOptions options{mesh,
                       names,
                       stallSeconds,
                       /*oneMachine=*/true,
                       launcher.from(),
                       launcher.rank,
                       launcher.meeting,
                       [](Board *board) { theBoard = board; }};
  findWorld("nccl", launcher.from())
      ->run(options, [&](Communicator &comm, HostPlane &plane, BoardEntry &entry) {
        try {
          entry.activity = int32_t(Activity::Working);
          ThreadPool pool(1, [] {});
          std::unique_ptr<Device> device = cudaDriver().open({plane.rank(), pool, entry, &plane});
          auto stream = device->createStream(StreamKind::Compute);
          auto communication = device->createStream(StreamKind::Communication);
          CommUnderTest test{comm, plane, *stream, mesh, /*anyOrder=*/false, /*exactSums=*/false};
          setConformanceGroups(test);
          comm.setChannels(channels);
          comm.attach(*communication, plane);
          body(test, *device);
          stream->synchronize();
        } catch (const std::exception &e) {
          endRun(e);
        }
        entry.activity = int32_t(Activity::Finished);
      });
}

constexpr double kPatient = 1e6;

inline void onThreads(const Mesh &mesh, const RankTest &body, const std::vector<Channel> &channels = {}) {
  onGpus(mesh, Launcher(), kPatient, body, channels);
}
// Between any two ranks.
inline std::vector<Channel> allChannels(const Mesh &mesh) {
  std::vector<Channel> channels;
  for (int64_t from = 0; from < mesh.size(); ++from)
    for (int64_t to = 0; to < mesh.size(); ++to)
      if (from != to)
        channels.push_back({from, to});
  return channels;
}

} // namespace tessera::runtime
#endif
