#include "MpiCommunicator.h"
#include "tessera/runtime/comm/Blocks.h"
#include "tessera/runtime/core/Wait.h"

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <time.h>

namespace tessera::runtime {

static constexpr int dataTag = 1;
static constexpr size_t largestMessage = size_t(1) << 30; // counts are int
// Below this an all_reduce sends everything to everyone: one round trip instead of two.
static constexpr int64_t smallReduce = 8 << 10;

MpiCommunicator::MpiCommunicator(const MpiLibrary &mpi, int64_t rank, int64_t ranks) : mpi_(mpi) {
  rank_ = rank;
  ranks_ = ranks;
}

void MpiCommunicator::prepare(const Manifest &manifest) {
  manifest_ = &manifest;
  groups_.clear();
  for (const AxisList &axes : manifest.groups)
    groups_.push_back({manifest.mesh.group(rank_, axes), manifest.mesh.index(rank_, axes)});
  messages_.clear();
  for (const CollectiveSpec &spec : manifest.collectives) {
    Messages &messages = messages_.emplace_back();
    if (spec.kind != CollectiveKind::GroupedSend)
      continue;
    messages.comes = boxesReceived(manifest.mesh, spec, rank_);
    for (int64_t member : groups_[spec.group].members)
      for (SentBox &box : boxesReceived(manifest.mesh, spec, member))
        if (box.sender == rank_ && member != rank_) {
          messages.goes.push_back(std::move(box));
          messages.receivers.push_back(member);
        }
  }
}

void MpiCommunicator::send(int64_t rank, const void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += largestMessage) {
    requests_.push_back(nullptr);
    mpi_.expect(mpi_.Isend(static_cast<const char *>(data) + at, int(std::min(largestMessage, bytes - at)),
                           mpi_.byte, int(rank), dataTag, mpi_.world, &requests_.back()),
                "MPI_Isend");
  }
}

void MpiCommunicator::receive(int64_t rank, void *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += largestMessage) {
    requests_.push_back(nullptr);
    mpi_.expect(mpi_.Irecv(static_cast<char *>(data) + at, int(std::min(largestMessage, bytes - at)),
                           mpi_.byte, int(rank), dataTag, mpi_.world, &requests_.back()),
                "MPI_Irecv");
  }
}

void MpiCommunicator::exchange() {
  if (requests_.empty())
    return;
  // No blocking wait: MPI's would burn a core that another rank of this machine may need.
  for (int64_t turns = 0;; ++turns) {
    int done = 0;
    mpi_.expect(mpi_.Testall(int(requests_.size()), requests_.data(), &done, nullptr), "MPI_Testall");
    if (done)
      break;
    if (maySpin() && turns < 20000) {
      cpuRelax();
    } else if (turns < 25000) {
      sched_yield();
    } else {
      timespec pause = {0, 100000};
      nanosleep(&pause, nullptr);
    }
  }
  requests_.clear();
}

char *MpiCommunicator::scratch(size_t bytes) {
  if (scratch_.size() < bytes)
    scratch_.resize(bytes);
  return scratch_.data();
}

void MpiCommunicator::run(int32_t id, const void *src, void *dst) {
  const CollectiveSpec &spec = manifest_->collectives[id];
  const Membership &group = groups_[spec.group];
  WaitingScope waiting(*entry_, id);
  const char *from = static_cast<const char *>(src);
  char *to = static_cast<char *>(dst);
  switch (spec.kind) {
  case CollectiveKind::AllReduce:
    return allReduce(spec, group, from, to);
  case CollectiveKind::AllGather:
    return allGather(spec, group, from, to);
  case CollectiveKind::ReduceScatter:
    return reduceScatter(spec, group, from, to);
  case CollectiveKind::AllToAll:
    return allToAll(spec, group, from, to);
  case CollectiveKind::CollectivePermute:
    return permute(spec, group, from, to);
  case CollectiveKind::GroupedSend:
    return sendBoxes(spec, id, from, to);
  }
}

void MpiCommunicator::allReduce(const CollectiveSpec &spec, const Membership &group, const char *src,
                                char *dst) {
  int64_t size = int64_t(group.members.size()), n = elementCount(spec.shape);
  int64_t width = io::blockBytes(spec.type);
  std::vector<const void *> sources(size);
  if (n * width <= smallReduce) {
    char *blocks = scratch(size_t(size * n * width));
    for (int64_t r = 0; r < size; ++r) {
      sources[r] = r == group.self ? src : blocks + r * n * width;
      if (r != group.self) {
        receive(group.members[r], blocks + r * n * width, size_t(n * width));
        send(group.members[r], src, size_t(n * width));
      }
    }
    exchange();
    reduce(spec.op, spec.type, sources.data(), size, dst, n);
    return;
  }
  // Every member reduces its part, then all parts go to everybody.
  auto [begin, end] = reducePart(n, size, group.self);
  int64_t bytes = (end - begin) * width;
  char *blocks = scratch(size_t(size * bytes));
  for (int64_t r = 0; r < size; ++r) {
    sources[r] = r == group.self ? src + begin * width : blocks + r * bytes;
    if (r == group.self)
      continue;
    auto [theirs, theirEnd] = reducePart(n, size, r);
    receive(group.members[r], blocks + r * bytes, size_t(bytes));
    send(group.members[r], src + theirs * width, size_t((theirEnd - theirs) * width));
  }
  exchange();
  reduce(spec.op, spec.type, sources.data(), size, dst + begin * width, end - begin);
  for (int64_t r = 0; r < size; ++r) {
    if (r == group.self)
      continue;
    auto [theirs, theirEnd] = reducePart(n, size, r);
    receive(group.members[r], dst + theirs * width, size_t((theirEnd - theirs) * width));
    send(group.members[r], dst + begin * width, size_t(bytes));
  }
  exchange();
}

void MpiCommunicator::allGather(const CollectiveSpec &spec, const Membership &group, const char *src,
                                char *dst) {
  int64_t width = io::blockBytes(spec.type);
  int64_t size = int64_t(group.members.size()), n = elementCount(spec.shape);
  Shape whole = spec.shape;
  whole[spec.dim] *= size;
  Strips strips(whole, spec.dim);
  // Blocks along the first dimension are contiguous: they are received where they belong.
  bool inPlace = strips.outer == 1;
  char *blocks = inPlace ? dst : scratch(size_t(size * n * width));
  for (int64_t r = 0; r < size; ++r)
    if (r != group.self) {
      receive(group.members[r], blocks + r * n * width, size_t(n * width));
      send(group.members[r], src, size_t(n * width));
    }
  exchange();
  for (int64_t r = 0; r < size; ++r)
    if (!inPlace || r == group.self)
      copyBlock(r == group.self ? src : blocks + r * n * width, contiguousBlock(n), dst,
                Block(strips, size, r), width);
}

void MpiCommunicator::reduceScatter(const CollectiveSpec &spec, const Membership &group, const char *src,
                                    char *dst) {
  int64_t width = io::blockBytes(spec.type);
  int64_t size = int64_t(group.members.size());
  Strips strips(spec.shape, spec.dim);
  int64_t n = strips.elements() / size, bytes = n * width;
  char *received = scratch(size_t(2 * size * bytes)), *packed = received + size * bytes;
  std::vector<const void *> sources(size);
  for (int64_t r = 0; r < size; ++r) {
    copyBlock(src, Block(strips, size, r), packed + r * bytes, contiguousBlock(n), width);
    sources[r] = r == group.self ? packed + r * bytes : received + r * bytes;
    if (r == group.self)
      continue;
    receive(group.members[r], received + r * bytes, size_t(bytes));
    send(group.members[r], packed + r * bytes, size_t(bytes));
  }
  exchange();
  reduce(spec.op, spec.type, sources.data(), size, dst, n);
}

void MpiCommunicator::allToAll(const CollectiveSpec &spec, const Membership &group, const char *src,
                               char *dst) {
  int64_t width = io::blockBytes(spec.type);
  int64_t size = int64_t(group.members.size());
  Shape result = spec.shape;
  result[spec.dim] /= size;
  result[spec.dim2] *= size;
  Strips given(spec.shape, spec.dim), wanted(result, spec.dim2);
  int64_t n = given.elements() / size, bytes = n * width;
  char *received = scratch(size_t(2 * size * bytes)), *packed = received + size * bytes;
  for (int64_t r = 0; r < size; ++r) {
    copyBlock(src, Block(given, size, r), packed + r * bytes, contiguousBlock(n), width);
    if (r == group.self)
      continue;
    receive(group.members[r], received + r * bytes, size_t(bytes));
    send(group.members[r], packed + r * bytes, size_t(bytes));
  }
  exchange();
  for (int64_t r = 0; r < size; ++r)
    copyBlock(r == group.self ? packed + r * bytes : received + r * bytes, contiguousBlock(n), dst,
              Block(wanted, size, r), width);
}

void MpiCommunicator::permute(const CollectiveSpec &spec, const Membership &group, const char *src,
                              char *dst) {
  int64_t width = io::blockBytes(spec.type);
  size_t bytes = size_t(elementCount(spec.shape)) * width;
  bool receives = false;
  for (auto [from, to] : spec.pairs) {
    if (from == group.self && to == group.self) {
      memcpy(dst, src, bytes);
      receives = true;
    } else if (from == group.self) {
      send(group.members[to], src, bytes);
    } else if (to == group.self) {
      receive(group.members[from], dst, bytes);
      receives = true;
    }
  }
  exchange();
  if (!receives)
    memset(dst, 0, bytes);
}

void MpiCommunicator::sendBoxes(const CollectiveSpec &spec, int32_t id, const char *src, char *dst) {
  const Messages &messages = messages_[id];
  int64_t width = io::blockBytes(spec.type), bytes = 0;
  Shape shape = localShape(spec.global, spec.to);
  auto bytesOf = [&](const SentBox &box) { return elementCount(box.size) * width; };
  for (const std::vector<SentBox> *boxes : {&messages.comes, &messages.goes})
    for (const SentBox &box : *boxes)
      bytes += bytesOf(box);
  // Boxes travel packed. All is queued before anybody waits.
  char *packed = scratch(size_t(bytes)), *at = packed;
  Shape none(shape.size(), 0);
  for (const SentBox &box : messages.comes)
    if (box.sender != rank_) {
      receive(box.sender, at, size_t(bytesOf(box)));
      at += bytesOf(box);
    }
  for (size_t i = 0; i < messages.goes.size(); ++i) {
    const SentBox &box = messages.goes[i];
    copyBox(src, spec.shape, withinPiece(box.begin, spec.shape), at, box.size, none, box.size, width);
    send(messages.receivers[i], at, size_t(bytesOf(box)));
    at += bytesOf(box);
  }
  exchange();
  clearPadding(messages.comes, shape, dst, width);
  at = packed;
  for (const SentBox &box : messages.comes) {
    bool own = box.sender == rank_;
    copyBox(own ? src : at, own ? spec.shape : box.size, own ? withinPiece(box.begin, spec.shape) : none, dst, shape, withinPiece(box.begin, shape),
            box.size, width);
    at += own ? 0 : bytesOf(box);
  }
}

void MpiCommunicator::barrier() {
  WaitingScope waiting(*entry_, BarrierCollective);
  // Dissemination: after round k everyone has heard of 2^k others.
  for (int64_t distance = 1; distance < ranks_; distance *= 2) {
    char out = 0, in = 0;
    receive((rank_ + ranks_ - distance) % ranks_, &in, 1);
    send((rank_ + distance) % ranks_, &out, 1);
    exchange();
  }
}

void MpiCommunicator::broadcast(void *data, size_t bytes, int64_t root) {
  WaitingScope waiting(*entry_, BroadcastCollective);
  if (rank_ != root)
    receive(root, data, bytes);
  for (int64_t r = 0; rank_ == root && r < ranks_; ++r)
    if (r != root)
      send(r, data, bytes);
  exchange();
}

void MpiCommunicator::gather(const void *src, size_t bytes, void *dst, int64_t root) {
  WaitingScope waiting(*entry_, GatherCollective);
  if (rank_ != root)
    send(root, src, bytes);
  for (int64_t r = 0; rank_ == root && r < ranks_; ++r)
    if (r == root)
      memcpy(static_cast<char *>(dst) + r * bytes, src, bytes);
    else
      receive(r, static_cast<char *>(dst) + r * bytes, bytes);
  exchange();
}

} // namespace tessera::runtime
