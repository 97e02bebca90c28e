#include "NcclCommunicator.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>

namespace tessera::runtime {

using namespace cuda;
using namespace nccl;

NcclCommunicator::NcclCommunicator(int64_t rank, int64_t ranks, BoardEntry &entry) : entry_(entry) {
  rank_ = rank;
  ranks_ = ranks;
  if (ranks > 1)
    nccl_ = &NcclLibrary::get();
}

std::string NcclCommunicator::name(int32_t where) const {
  return where >= 0 ? "collective " + std::to_string(where)
                    : std::string(where == NoCollective ? "the start" : "a message");
}

void NcclCommunicator::check(ncclResult_t result) const { nccl_->expect(result, name(now_), rank_); }

void NcclCommunicator::check(CUresult result) const {
  if (result == CUDA_SUCCESS)
    return;
  const char *text = nullptr;
  cuda_->cuGetErrorName(result, &text);
  throw Error("cannot communicate", name(now_) + " of rank " + std::to_string(rank_),
              text ? text : "error " + std::to_string(result), "look at nvidia-smi");
}

void NcclCommunicator::setGroups(std::vector<RankGroup> groups) {
  groups_.clear();
  for (RankGroup &group : groups)
    groups_.push_back({std::move(group), nullptr});
}

void NcclCommunicator::announce(const Transfers &transfers, io::DType type) {
  stagingBytes_ = std::max(stagingBytes_, size_t(packedBytes(transfers, type)));
}

// Device memory cannot be had while a graph is recorded: that is what announce() is for.
void NcclCommunicator::reserveStaging(const Transfers &transfers, io::DType type, Stream &stream) {
  size_t bytes = size_t(packedBytes(transfers, type));
  if (bytes <= stagingBytes_)
    return;
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(cuda_->cuStreamIsCapturing(native(stream), &status));
  if (status != CU_STREAM_CAPTURE_STATUS_NONE)
    throw Error("cannot communicate", name(now_) + " of rank " + std::to_string(rank_),
                "its boxes were not announced before it was recorded",
                "compile the program again with this version of llm-compile");
  check(cuda_->cuStreamSynchronize(stream_));
  auto &owner = dynamic_cast<NativeStream &>(stream);
  if (staging_)
    owner.free(staging_);
  staging_ = 0;
  allocateStaging(owner, bytes);
  stagingBytes_ = bytes;
}

void NcclCommunicator::allocateStaging(NativeStream &owner, size_t bytes) {
  staging_ = owner.allocate(bytes, "the staging memory of collectives of rank " + std::to_string(rank_));
}

//===- The start -===//

void NcclCommunicator::attach(Stream &stream, HostPlane &plane) {
  auto *native = dynamic_cast<NativeStream *>(&stream);
  if (!native)
    throw Error("cannot communicate", "rank " + std::to_string(rank_),
                "NCCL needs a GPU, and the program's device is none", "compile the program again");
  cuda_ = &native->functions();
  device_ = native->deviceNumber();
  // The device may be closed before this object goes: its context must not.
  check(cuda_->cuDevicePrimaryCtxRetain(&context_, device_));
  int least = 0, greatest = 0;
  check(cuda_->cuCtxGetStreamPriorityRange(&least, &greatest));
  check(cuda_->cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, greatest));
  if (stagingBytes_ > 0)
    allocateStaging(*native, stagingBytes_);
  if (ranks_ == 1)
    return;
  auto marks = std::make_unique<CollectiveMarks>(*cuda_, entry_, rank_);
  auto waits = std::make_unique<CollectiveMarks>(*cuda_, entry_, rank_);
  WaitingScope waiting(entry_, BarrierCollective);
  ncclUniqueId id = {};
  if (rank_ == 0)
    check(nccl_->ncclGetUniqueId(&id));
  plane.broadcast(&id, sizeof(id), 0);
  ncclComm_t world = nullptr;
  check(nccl_->ncclCommInitRank(&world, int(ranks_), id, int(rank_)));
  {
    std::lock_guard<std::mutex> lock(watched_);
    world_ = world;
    marks_ = std::move(marks);
    waits_ = std::move(waits);
  }
  split(plane);
  openChannels(*native, greatest);
}

// One communicator for each list of members, of the groups that have several. All ranks split in one order,
// and would wait for each other for ever if they did not: so they say first what they are about to do.
void NcclCommunicator::split(HostPlane &plane) {
  std::vector<int64_t> world;
  for (int64_t r = 0; r < ranks_; ++r)
    world.push_back(r);
  std::map<std::vector<int64_t>, ncclComm_t> made = {{world, world_}};
  std::vector<const Group *> wanted;
  uint64_t digest = 0xcbf29ce484222325;
  auto mix = [&](uint64_t number) { digest = (digest ^ number) * 0x100000001b3; };
  for (const Group &group : groups_)
    if (group.ranks.members.size() > 1 && made.emplace(group.ranks.members, nullptr).second) {
      wanted.push_back(&group);
      mix(group.ranks.members.size());
    }
  for (const Channel &channel : channels_) {
    mix(uint64_t(channel.from));
    mix(uint64_t(channel.to));
  }
  std::vector<uint64_t> digests(size_t(rank_ == 0 ? ranks_ : 0));
  plane.gather(&digest, sizeof(digest), digests.data(), 0);
  for (size_t r = 0; r < digests.size(); ++r)
    if (digests[r] != digest)
      throw Error("cannot start", "rank " + std::to_string(r),
                  "its groups or channels are not those of rank 0", "start the same executable everywhere");
  plane.barrier();
  for (const Group *group : wanted) {
    const std::vector<int64_t> &members = group->ranks.members;
    int color = int(*std::min_element(members.begin(), members.end()));
    ncclComm_t comm = nullptr;
    check(nccl_->ncclCommSplit(world_, color, int(group->ranks.self), &comm, nullptr));
    made[members] = comm;
    std::lock_guard<std::mutex> lock(watched_);
    comms_.push_back(comm);
  }
  for (Group &group : groups_)
    if (group.ranks.members.size() > 1)
      group.comm = made[group.ranks.members];
}

NcclCommunicator::~NcclCommunicator() {
  if (!cuda_)
    return;
  cuda_->cuCtxSetCurrent(context_);
  cuda_->cuStreamSynchronize(stream_);
  for (const auto &[channel, end] : ends_)
    cuda_->cuStreamSynchronize(end.stream);
  std::lock_guard<std::mutex> lock(watched_);
  if (!aborted_) {
    for (ncclComm_t comm : comms_)
      nccl_->ncclCommDestroy(comm);
    if (world_) {
      nccl_->ncclCommFinalize(world_);
      nccl_->ncclCommDestroy(world_);
    }
    marks_.reset();
    waits_.reset();
    for (const auto &[channel, end] : ends_)
      cuda_->cuStreamDestroy(end.stream);
    for (const std::unique_ptr<Flight> &flight : flights_) {
      cuda_->cuEventDestroy(flight->begun);
      cuda_->cuEventDestroy(flight->done);
    }
    if (staging_)
      cuda_->cuMemFree(staging_);
    if (stream_)
      cuda_->cuStreamDestroy(stream_);
  }
  cuda_->cuDevicePrimaryCtxRelease(device_);
}

//===- What is started and waited for -===//

CUstream NcclCommunicator::native(Stream &stream) const {
  auto *native = dynamic_cast<NativeStream *>(&stream);
  if (!native || !cuda_)
    throw Error("cannot communicate", name(now_) + " of rank " + std::to_string(rank_),
                native ? "the communicator was given no device" : "its stream is not that of a GPU",
                "compile the program again with this version of llm-compile");
  return native->handle();
}

NcclCommunicator::Flight &NcclCommunicator::acquire(int32_t where) {
  now_ = where;
  if (free_.empty()) {
    auto flight = std::make_unique<Flight>();
    flight->number = int64_t(flights_.size());
    check(cuda_->cuEventCreate(&flight->begun, CU_EVENT_DISABLE_TIMING));
    check(cuda_->cuEventCreate(&flight->done, CU_EVENT_DISABLE_TIMING));
    free_.push_back(flight.get());
    flights_.push_back(std::move(flight));
  }
  Flight &flight = *free_.back();
  free_.pop_back();
  flight.open = true;
  flight.isMessage = false;
  flight.where = where;
  ++flight.uses;
  ++open_;
  return flight;
}

NcclCommunicator::Flight &NcclCommunicator::started(CommToken token) {
  size_t number = size_t(token & ((1 << 20) - 1));
  if (token < 0 || number >= flights_.size() || !flights_[number]->open ||
      tokenOf(*flights_[number]) != token)
    throw Error("cannot communicate", "token " + std::to_string(token),
                "the program waits for what it has not started, or waits twice",
                "compile the program again with this version of llm-compile");
  return *flights_[number];
}

void NcclCommunicator::begin(Flight &flight, Stream &stream) {
  check(cuda_->cuEventRecord(flight.begun, native(stream)));
  check(cuda_->cuStreamWaitEvent(stream_, flight.begun, CU_EVENT_WAIT_DEFAULT));
}

void NcclCommunicator::end(Flight &flight) { check(cuda_->cuEventRecord(flight.done, stream_)); }

void NcclCommunicator::wait(CommToken token, Stream &stream) {
  Flight &flight = started(token);
  now_ = flight.where;
  flushMessages();
  // Messages hold up who waits for them, not who started them. Of those of a call its group tells.
  const bool shows = flight.isMessage && !inCall_;
  if (shows)
    waits_->begin(native(stream), flight.where);
  check(cuda_->cuStreamWaitEvent(native(stream), flight.done, CU_EVENT_WAIT_DEFAULT));
  if (shows)
    waits_->end(native(stream));
  flight.open = false;
  free_.push_back(&flight);
  --open_;
}

void NcclCommunicator::expectAllWaitedFor() {
  if (open_ == 0)
    return;
  for (const std::unique_ptr<Flight> &flight : flights_)
    if (flight->open)
      throw Error("cannot go on", name(flight->where),
                  "rank " + std::to_string(rank_) + " started it and never waited for it",
                  "look for the exec.wait that is missing");
}

// A recording has what is given in between, and nothing of before: no message, no mark.
void NcclCommunicator::beginCall(Stream &stream) {
  flushMessages();
  if (marks_)
    marks_->join(native(stream));
  inCall_ = true;
}

void NcclCommunicator::endEntry(Stream &stream) {
  if (marks_)
    marks_->join(native(stream));
}

CommToken NcclCommunicator::start(const BlockCollective &collective, const void *src, void *dst,
                                  Stream &stream, int32_t where) {
  const Group &group = groups_.at(size_t(collective.group));
  checkBlocks(collective, int64_t(group.ranks.members.size()));
  flushMessages();
  Flight &flight = acquire(where);
  begin(flight, stream);
  if (group.comm && collective.elements > 0) {
    marks_->begin(stream_, where);
    giveBlocks(collective, group, static_cast<const char *>(src), static_cast<char *>(dst));
    marks_->end(stream_);
  } else {
    copy(static_cast<char *>(dst), static_cast<const char *>(src),
         size_t(io::bytesOf(collective.type, collective.elements)));
  }
  end(flight);
  return tokenOf(flight);
}

CommToken NcclCommunicator::start(const Transfers &transfers, int64_t group, io::DType type, const void *src,
                                  void *dst, Stream &stream, int32_t where) {
  flushMessages();
  Flight &flight = acquire(where);
  reserveStaging(transfers, type, stream);
  begin(flight, stream);
  bool talks = !transfers.goes.empty() || !transfers.comes.empty();
  if (talks)
    marks_->begin(stream_, where);
  giveTransfers(transfers, size_t(io::blockBytes(type)), static_cast<const char *>(src),
                static_cast<char *>(dst));
  if (talks)
    marks_->end(stream_);
  end(flight);
  return tokenOf(flight);
}

//===- The watch -===//

void NcclCommunicator::show() {
  std::lock_guard<std::mutex> lock(watched_);
  if (aborted_ || !marks_)
    return;
  const int32_t collective = marks_->look(), message = waits_->look();
  entry_.device.store(message ? message : collective, std::memory_order_relaxed);
  bool failed = false;
  ncclResult_t error = ncclSuccess;
  auto look = [&](ncclComm_t comm) {
    ncclResult_t one = ncclSuccess;
    if (nccl_->ncclCommGetAsyncError(comm, &one) == ncclSuccess && one != ncclSuccess &&
        one != ncclInProgress)
      failed = true, error = one;
  };
  look(world_);
  for (ncclComm_t comm : comms_)
    look(comm);
  failedTicks_ = failed ? failedTicks_ + 1 : 0;
  if (failedTicks_ >= 5)
    nccl_->expect(error, "the link", rank_);
}

void NcclCommunicator::abort() {
  std::lock_guard<std::mutex> lock(watched_);
  if (aborted_)
    return;
  aborted_ = true;
  for (ncclComm_t comm : comms_)
    nccl_->ncclCommAbort(comm);
  if (world_)
    nccl_->ncclCommAbort(world_);
}

} // namespace tessera::runtime
