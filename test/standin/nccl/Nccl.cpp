// The functions of libnccl.so.2.
#include "../cuda/Work.h"
#include "Communicator.h"
#include "Reduce.h"
#include "Run.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

namespace tessera::nccl {
TESSERA_NCCL_DECLARE_FUNCTIONS
} // namespace tessera::nccl

using namespace tessera::nccl;
using namespace standin::nccl;

// Of the stand-in of libcuda, which unit tests do without.
extern "C" __attribute__((weak)) int cuStreamIsCapturing(CUstream stream, int *status);

namespace {

bool capturing(CUstream stream) {
  int status = 0;
  return cuStreamIsCapturing && cuStreamIsCapturing(stream, &status) == 0 && status != 0;
}

constexpr int kVersion = 22809; // what it behaves like

std::mutex handlesMutex;
// Handles stay known when they are destroyed: their use is a finding.
std::map<ncclComm_t, std::shared_ptr<Communicator>> &handles() {
  static auto *all = new std::map<ncclComm_t, std::shared_ptr<Communicator>>();
  return *all;
}

thread_local std::string lastError;
ncclResult_t fail(ncclResult_t result, const std::string &text) {
  lastError = text;
  return result;
}

std::shared_ptr<Communicator> known(ncclComm_t comm, const char *function) {
  std::lock_guard<std::mutex> lock(handlesMutex);
  auto it = handles().find(comm);
  if (it == handles().end())
    finding(std::string(function) + " is given what is no communicator");
  if (it->second->destroyed)
    finding(std::string(function) + " is given a communicator that was destroyed or aborted");
  return it->second;
}

ncclComm_t handleOf(std::shared_ptr<Communicator> comm) {
  std::lock_guard<std::mutex> lock(handlesMutex);
  auto handle = reinterpret_cast<ncclComm_t>(comm.get());
  handles()[handle] = std::move(comm);
  return handle;
}

//===- Groups -===//

struct Given {
  std::shared_ptr<Communicator> comm;
  CUstream stream;
  Call call;
};
// Making of communicators, in the steps that all of a group take together.
struct Making {
  std::function<void()> announce, meet;
  std::function<ncclResult_t()> complete;
};
struct Group {
  int depth = 0;
  std::vector<Given> calls;
  std::vector<Making> makings;
};
thread_local Group group;

void *beginBatch(void *context) { return new Run(*static_cast<Batch *>(context)); }

int advanceBatch(void *run) {
  if (!static_cast<Run *>(run)->advance())
    return 0;
  delete static_cast<Run *>(run);
  return 1;
}

void releaseBatch(void *context) {
  auto *batch = static_cast<Batch *>(context);
  if (!batch->captured)
    --batch->comm->given;
  delete batch;
}

const char *nameOf(Kind kind) {
  static const char *names[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBroadcast",
                                "ncclReduce",    "ncclSend",      "ncclRecv"};
  return names[int(kind)];
}

std::vector<StandinAccess> accessesOf(const Batch &batch) {
  std::vector<StandinAccess> accesses;
  size_t ranks = size_t(batch.comm->ranks());
  for (const Call &call : batch.calls) {
    size_t bytes = call.count * elementBytes(call.type);
    size_t from = bytes * (call.kind == Kind::ReduceScatter ? ranks : 1),
           to = bytes * (call.kind == Kind::AllGather ? ranks : 1);
    bool isRoot = call.peer == batch.comm->rank();
    bool reads = call.kind != Kind::Recv && (call.kind != Kind::Broadcast || isRoot);
    if (call.kind == Kind::Reduce && !isRoot) {
      accesses.push_back({call.src, from, 0});
      continue;
    }
    // In place: one access that writes.
    if (reads && (call.kind == Kind::Send || call.src + from <= call.dst || call.dst + to <= call.src))
      accesses.push_back({call.src, from, 0});
    if (reads && call.kind == Kind::ReduceScatter && call.src < call.dst + to && call.dst < call.src + from)
      accesses.push_back({call.src, from, 1});
    else if (call.kind != Kind::Send)
      accesses.push_back({call.dst, to, 1});
  }
  return accesses;
}

ncclResult_t enqueue(std::unique_ptr<Batch> batch, CUstream stream) {
  Communicator &comm = *batch->comm;
  batch->name = std::string(nameOf(batch->calls[0].kind)) + " of " + std::to_string(batch->calls[0].count) +
                " " + typeName(batch->calls[0].type) +
                (batch->calls.size() > 1 ? " and " + std::to_string(batch->calls.size() - 1) + " more" : "") +
                " (rank " + std::to_string(comm.rank()) + " of " + comm.name() + ")";
  std::vector<StandinAccess> accesses = accessesOf(*batch);
  StandinWork work{batch->name.c_str(), accesses.data(), accesses.size(), batch.get(),
                   beginBatch,          advanceBatch,    releaseBatch};
  batch->captured = capturing(stream);
  comm.given += !batch->captured;
  if (standinEnqueue(reinterpret_cast<CUstream_st *>(stream), &work) != 0) {
    comm.given -= !batch->captured;
    return fail(ncclUnhandledCudaError, batch->name + ": the stream does not take it");
  }
  batch.release();
  return ncclSuccess;
}

ncclResult_t endGroup() {
  Group ended;
  std::swap(ended, group);
  ncclResult_t result = ncclSuccess;
  for (Making &making : ended.makings)
    making.announce();
  for (Making &making : ended.makings)
    making.meet();
  // All that one thread makes meet at once: none may wait before the others have come.
  for (Making &making : ended.makings)
    if (ncclResult_t one = making.complete(); one != ncclSuccess)
      result = one;
  std::vector<Given> &calls = ended.calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].comm)
      continue;
    auto batch = std::make_unique<Batch>();
    batch->comm = calls[i].comm;
    for (size_t j = i; j < calls.size(); ++j) {
      if (calls[j].comm != batch->comm)
        continue;
      if (calls[j].stream != calls[i].stream)
        finding("a group gives one communicator to two streams: this is not carried out here");
      batch->calls.push_back(calls[j].call);
      calls[j].comm = nullptr;
    }
    if (ncclResult_t one = enqueue(std::move(batch), calls[i].stream); one != ncclSuccess)
      result = one;
  }
  return result;
}

void checkOverlap(const Call &call, size_t ranks, size_t rank) {
  size_t bytes = call.count * elementBytes(call.type);
  const char *src = call.src, *dst = call.dst;
  size_t from = bytes * (call.kind == Kind::ReduceScatter ? ranks : 1),
         to = bytes * (call.kind == Kind::AllGather ? ranks : 1);
  if (call.isMessage() || src + from <= dst || dst + to <= src)
    return;
  const char *inPlace = call.kind == Kind::ReduceScatter ? src + rank * bytes : src;
  const char *place = call.kind == Kind::AllGather ? dst + rank * bytes : dst;
  if (inPlace != place)
    finding(std::string(nameOf(call.kind)) +
            ": source and destination overlap, and not as in-place calls do");
}

ncclResult_t give(const char *function, ncclComm_t handle, CUstream stream, const Call &call) {
  std::shared_ptr<Communicator> comm = known(handle, function);
  if (comm->finalized)
    return fail(ncclInvalidUsage, std::string(function) + ": the communicator was finalized");
  if (int(call.type) < 0 || int(call.type) > int(ncclBfloat16))
    return fail(ncclInvalidArgument, std::string(function) + ": invalid type " + std::to_string(call.type));
  if (int(call.operation) < 0 || int(call.operation) > int(ncclAvg))
    return fail(ncclInvalidArgument,
                std::string(function) + ": invalid reduction operation " + std::to_string(call.operation));
  if (!canReduce(call.type, call.operation))
    finding(std::string(function) + ": reductions but ncclSum and ncclMax are not carried out here");
  if (call.peer < 0 || call.peer >= comm->ranks())
    return fail(ncclInvalidArgument, std::string(function) + ": invalid rank " + std::to_string(call.peer));
  if (call.count == 0)
    return ncclSuccess;
  if ((call.kind != Kind::Recv && !call.src) || (call.kind != Kind::Send && !call.dst))
    return fail(ncclInvalidArgument, std::string(function) + ": a buffer is null");
  checkOverlap(call, size_t(comm->ranks()), size_t(comm->rank()));
  // The library orders calls on several streams by events of its own; here none needs that.
  if (comm->given > 0 && comm->stream != stream && comm->stream)
    finding(std::string(function) + ": its communicator is still at work on another stream");
  comm->stream = stream;
  ++group.depth;
  group.calls.push_back({comm, stream, call});
  return ncclGroupEnd();
}

ncclResult_t make(Making making) {
  ++group.depth;
  group.makings.push_back(std::move(making));
  return ncclGroupEnd();
}

std::string commId() {
  const char *address = getenv("NCCL_COMM_ID");
  if (!address)
    return drawName();
  std::string name = "/standin-nccl-at-" + std::string(address);
  for (char &c : name)
    if (&c != name.data() && c == '/')
      c = '-';
  return name;
}

ncclResult_t complete(const std::shared_ptr<Communicator> &comm, ncclComm_t *handle) {
  std::string wrong = comm->complete();
  if (!wrong.empty())
    return fail(ncclInvalidUsage, wrong);
  *handle = handleOf(comm);
  return ncclSuccess;
}

// Until the streams are past what they were given.
void drain(Communicator &comm) {
  while (comm.given > 0 && !comm.aborted)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

} // namespace

namespace tessera::nccl {
extern "C" {

ncclResult_t ncclGetVersion(int *version) {
  const char *text = getenv("TESSERA_STANDIN_NCCL_VERSION"); // for tests of what old ones lack
  *version = text ? atoi(text) : kVersion;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  static const char *texts[] = {"no error",
                                "unhandled cuda error",
                                "unhandled system error",
                                "internal error",
                                "invalid argument",
                                "invalid usage",
                                "remote process exited or there was a network error",
                                "NCCL operation in progress"};
  return int(result) < 8 ? texts[int(result)] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::string name = commId();
  if (name.size() >= sizeof(id->internal))
    return fail(ncclInvalidArgument, "NCCL_COMM_ID is too long");
  memset(id, 0, sizeof(*id));
  memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *handle, int ranks, ncclUniqueId id, int rank) {
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return fail(ncclInvalidArgument, "invalid rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  if (ranks > kMostRanks)
    finding("ncclCommInitRank: more than " + std::to_string(kMostRanks) + " ranks are not carried out here");
  std::string name(id.internal, strnlen(id.internal, sizeof(id.internal)));
  if (name.rfind("/standin-nccl-", 0) != 0)
    finding("ncclCommInitRank is given an id that ncclGetUniqueId did not make");
  auto comm = std::make_shared<Communicator>(name, ranks, rank, nullptr);
  return make({[comm] { comm->arrive(); }, [] {}, [comm, handle] { return complete(comm, handle); }});
}

ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t *split, void *config) {
  std::shared_ptr<Communicator> parent = known(handle, "ncclCommSplit");
  if (config)
    finding("ncclCommSplit: a configuration is not carried out here");
  if (color < kNoColor)
    return fail(ncclInvalidArgument, "ncclCommSplit: invalid color " + std::to_string(color));
  auto made = std::make_shared<std::shared_ptr<Communicator>>();
  return make({[parent, color, key] { parent->announceSplit(color, key); },
               [parent, color, key, made] {
                 *made = Communicator::split(parent, color, key);
                 if (*made)
                   (*made)->arrive();
               },
               [made, split] {
                 *split = nullptr;
                 return *made ? complete(*made, split) : ncclSuccess;
               }});
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  std::shared_ptr<Communicator> comm = known(handle, "ncclCommFinalize");
  drain(*comm);
  comm->finalized = true;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  std::shared_ptr<Communicator> comm = known(handle, "ncclCommDestroy");
  drain(*comm);
  comm->destroyed = true;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  std::shared_ptr<Communicator> comm = known(handle, "ncclCommAbort");
  comm->aborted = true;
  comm->destroyed = true;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *error) {
  known(handle, "ncclCommGetAsyncError");
  *error = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *src, void *dst, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, CUstream stream) {
  return give(
      "ncclAllReduce", comm, stream,
      {Kind::AllReduce, static_cast<const char *>(src), static_cast<char *>(dst), count, type, operation, 0});
}

ncclResult_t ncclReduceScatter(const void *src, void *dst, size_t dstCount, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, CUstream stream) {
  return give("ncclReduceScatter", comm, stream,
              {Kind::ReduceScatter, static_cast<const char *>(src), static_cast<char *>(dst), dstCount, type,
               operation, 0});
}

ncclResult_t ncclAllGather(const void *src, void *dst, size_t srcCount, ncclDataType_t type, ncclComm_t comm,
                           CUstream stream) {
  return give("ncclAllGather", comm, stream,
              {Kind::AllGather, static_cast<const char *>(src), static_cast<char *>(dst), srcCount, type,
               ncclSum, 0});
}

ncclResult_t ncclBroadcast(const void *src, void *dst, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, CUstream stream) {
  return give("ncclBroadcast", comm, stream,
              {Kind::Broadcast, static_cast<const char *>(src), static_cast<char *>(dst), count, type,
               ncclSum, root});
}

ncclResult_t ncclReduce(const void *src, void *dst, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                        int root, ncclComm_t comm, CUstream stream) {
  return give(
      "ncclReduce", comm, stream,
      {Kind::Reduce, static_cast<const char *>(src), static_cast<char *>(dst), count, type, operation, root});
}

ncclResult_t ncclSend(const void *src, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      CUstream stream) {
  return give("ncclSend", comm, stream,
              {Kind::Send, static_cast<const char *>(src), nullptr, count, type, ncclSum, peer});
}

ncclResult_t ncclRecv(void *dst, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      CUstream stream) {
  return give("ncclRecv", comm, stream,
              {Kind::Recv, nullptr, static_cast<char *>(dst), count, type, ncclSum, peer});
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0)
    return fail(ncclInvalidUsage, "ncclGroupEnd: not in a group call");
  return --group.depth == 0 ? endGroup() : ncclSuccess;
}
}
} // namespace tessera::nccl
