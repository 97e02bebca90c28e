#include "tessera/runtime/device/RankDevice.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/DeviceMemory.h"

#include <algorithm>

namespace tessera::runtime {

// The rank's own thread comes first: what is missing is missing for all threads, and said once.
static int prepareOwnThread(const Driver &driver, int threads) {
  driver.prepareThread();
  return threads;
}

RankDevice::RankDevice(std::vector<ProgramOfRank> programs, Communicator &comm, HostPlane &plane,
                       BoardEntry &entry, int threads, const std::vector<RankGroup> &ownGroups,
                       const std::vector<Channel> &channels)
    : programs_(std::move(programs)), comm_(comm), plane_(plane), entry_(entry),
      pool_(prepareOwnThread(programs_.at(0).plan.driver(), threads),
            [&driver = programs_[0].plan.driver()] { driver.prepareThread(); }) {
  std::vector<RankGroup> groups = ownGroups;
  for (const ProgramOfRank &one : programs_) {
    collectives_.push_back(
        std::make_unique<ProgramCollectives>(one.manifest, comm, int64_t(groups.size()), one.firstName));
    for (RankGroup &group : ProgramCollectives::groups(one.manifest, comm.rank()))
      groups.push_back(std::move(group));
  }
  comm.setGroups(std::move(groups));
  comm.setChannels(channels);
  int64_t bytes = 0;
  for (const ProgramOfRank &one : programs_)
    bytes += deviceMemory(one.program, one.manifest, one.plan, plane.rank()).total();
  device_ = programs_[0].plan.driver().open({plane.rank(), pool_, entry, &plane, bytes});
  drivesMessages_ = device_->worksInCalls() && comm.ranks() > 1;
  // A program without a stream for communication starts it on one beside its own.
  auto create = [&](StreamKind kind, std::vector<std::unique_ptr<Stream>> &streams) {
    size_t most = 1;
    for (const ProgramOfRank &one : programs_)
      most =
          std::max(most, size_t(std::count(one.manifest.streams.begin(), one.manifest.streams.end(), kind)));
    while (streams.size() < most)
      streams.push_back(device_->createStream(kind));
  };
  create(StreamKind::Compute, compute_);
  create(StreamKind::Communication, communication_);
  comm.attach(compute(), plane);
  begun_ = device_->createEvent();
  joined_ = device_->createEvent();
}

RankDevice::~RankDevice() { finish(); }

void RankDevice::finish() {
  try {
    for (auto *streams : {&communication_, &compute_})
      for (size_t i = streams->size(); i-- > 0;)
        (*streams)[i]->synchronize();
  } catch (const std::exception &e) {
    endRun(e);
  }
}

Stream &RankDevice::beginCommunication(Stream &stream) {
  if (&stream != &communication()) {
    stream.record(*begun_);
    communication().wait(*begun_);
  }
  return communication();
}

void RankDevice::joinCommunication(Stream &stream) {
  if (&stream == &communication())
    return;
  communication().record(*joined_);
  stream.wait(*joined_);
}

} // namespace tessera::runtime
