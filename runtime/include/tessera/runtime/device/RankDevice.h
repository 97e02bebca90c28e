// What a rank has once, however many programs run on it: threads, the device with its streams, and the ways
// to the other ranks.
#ifndef TESSERA_RUNTIME_DEVICE_RANKDEVICE_H
#define TESSERA_RUNTIME_DEVICE_RANKDEVICE_H

#include "tessera/runtime/abi.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/comm/ProgramCollectives.h"
#include "tessera/runtime/device/Device.h"
#include "tessera/runtime/device/Weights.h"

#include <memory>
#include <vector>

namespace tessera::runtime {

// A program as a rank runs it. All of it must outlive the rank.
struct ProgramOfRank {
  const ts_program &program;
  const Manifest &manifest;
  const WeightPlan &plan;
  int32_t firstName = 0; // what the board shows of its collective 0 (CollectiveNames)
};

class RankDevice {
public:
  // Opens a device of the plans' driver with the streams that the programs need, and makes their groups known
  // to `comm`: first `ownGroups`, which every rank of the run has, then theirs, in the order of the programs.
  // `channels`: of the run (Communicator::setChannels). The members of a group must run the same programs.
  // `entry` is this rank's entry of the board. Runs on the rank's main thread, which is the only one that may
  // use the object later.
  RankDevice(std::vector<ProgramOfRank> programs, Communicator &comm, HostPlane &plane, BoardEntry &entry,
             int threads, const std::vector<RankGroup> &ownGroups = {},
             const std::vector<Channel> &channels = {});
  ~RankDevice();

  int64_t id() const { return plane_.rank(); }
  HostPlane &plane() { return plane_; }
  Communicator &comm() { return comm_; }
  ThreadPool &pool() { return pool_; }
  BoardEntry &entry() { return entry_; }
  Device &device() { return *device_; }

  size_t programs() const { return programs_.size(); }
  const ProgramOfRank &program(size_t number) const { return programs_[number]; }
  ProgramCollectives &collectives(size_t number) { return *collectives_[number]; }

  // The streams of a kind, which all programs share: as many as the one that needs most.
  Stream &stream(StreamKind kind, size_t number) {
    return *(kind == StreamKind::Compute ? compute_ : communication_).at(number);
  }
  // Where calls compute, and where the copies from and to their inputs and outputs run.
  Stream &compute() { return *compute_[0]; }
  // Where what is started and waited for runs.
  Stream &communication() { return *communication_[0]; }
  // The same, after all that `stream` was given so far.
  Stream &beginCommunication(Stream &stream);
  // From now on `stream` runs after all that was given to the stream of communication.
  void joinCommunication(Stream &stream);
  // Between two calls of a program: where nobody else goes on with its messages, this thread does.
  void progress() {
    if (drivesMessages_)
      comm_.progress();
  }
  // Waits until all is done that was given to the device: before memory that it uses goes. Ends the run if it
  // failed.
  void finish();

private:
  std::vector<ProgramOfRank> programs_;
  Communicator &comm_;
  HostPlane &plane_;
  BoardEntry &entry_;
  std::vector<std::unique_ptr<ProgramCollectives>> collectives_;
  ThreadPool pool_;
  bool drivesMessages_ = false;
  std::unique_ptr<Device> device_; // outlives what follows
  std::vector<std::unique_ptr<Stream>> compute_, communication_;
  std::unique_ptr<Event> begun_, joined_;
};

} // namespace tessera::runtime
#endif
