// Ranks are threads: a collective publishes pointers, synchronizes, reads the peers' memory, synchronizes.
#include "tessera/runtime/comm/Blocks.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Sends.h"
#include "tessera/runtime/core/Wait.h"

#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

namespace tessera::runtime {

namespace {

// What the members of one group share.
class HostGroup {
public:
  explicit HostGroup(int64_t size) : slots_(size) {}

  struct alignas(64) Slot {
    const void *src = nullptr;
    void *dst = nullptr;
  };
  Slot &slot(int64_t index) { return slots_[index]; }
  int64_t size() const { return int64_t(slots_.size()); }

  // Everything written before it by any member is visible to every member after it.
  void synchronize() {
    uint32_t generation = generation_.load();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == slots_.size()) {
      arrived_.store(0, std::memory_order_relaxed); // ordered before the next arrivals by the generation
      generation_.add(1);
      return;
    }
    while (generation_.load() == generation)
      generation_.waitWhile(generation);
  }

private:
  std::vector<Slot> slots_;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  WaitWord generation_;
};

} // namespace

class HostWorld {
public:
  HostWorld(int64_t ranks, Board &board) : board(board), ranks(ranks), all(ranks) {}

  // One object for each distinct list of members; groups of the manifest with equal members share it.
  HostGroup &group(const std::vector<int64_t> &members) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto &group = groups_[members];
    if (!group)
      group = std::make_unique<HostGroup>(members.size());
    return *group;
  }

  Board &board;
  int64_t ranks;
  HostGroup all;

private:
  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::unique_ptr<HostGroup>> groups_;
};

namespace {

class HostCommunicator final : public Communicator {
public:
  HostCommunicator(std::shared_ptr<HostWorld> world, int64_t rank) : world_(std::move(world)) {
    rank_ = rank;
    ranks_ = world_->ranks;
  }

  void prepare(const Manifest &manifest) override {
    manifest_ = &manifest;
    for (const AxisList &axes : manifest.groups)
      groups_.push_back({&world_->group(manifest.mesh.group(rank_, axes)), manifest.mesh.index(rank_, axes)});
    for (const CollectiveSpec &spec : manifest.collectives)
      if (boxes_.emplace_back(); spec.kind == CollectiveKind::GroupedSend)
        boxes_.back() = boxesReceived(manifest.mesh, spec, rank_);
  }

  void run(int32_t id, const void *src, void *dst) override {
    const CollectiveSpec &spec = manifest_->collectives[id];
    auto [group, self] = groups_[spec.group];
    WaitingScope waiting(world_->board.entry(rank_), id);
    group->slot(self) = {src, dst};
    group->synchronize();
    if (spec.kind == CollectiveKind::GroupedSend)
      takeBoxes(spec, *group, boxes_[id], dst);
    else
      transfer(spec, *group, self, src, dst);
    group->synchronize(); // nobody overwrites what a peer still reads
  }

  void barrier() override {
    WaitingScope waiting(world_->board.entry(rank_), BarrierCollective);
    world_->all.synchronize();
  }

  void broadcast(void *data, size_t bytes, int64_t root) override {
    WaitingScope waiting(world_->board.entry(rank_), BroadcastCollective);
    world_->all.slot(rank_).src = data;
    world_->all.synchronize();
    if (rank_ != root)
      memcpy(data, world_->all.slot(root).src, bytes);
    world_->all.synchronize();
  }

  void gather(const void *src, size_t bytes, void *dst, int64_t root) override {
    WaitingScope waiting(world_->board.entry(rank_), GatherCollective);
    world_->all.slot(rank_).src = src;
    world_->all.synchronize();
    for (int64_t r = 0; rank_ == root && r < ranks_; ++r)
      memcpy(static_cast<char *>(dst) + r * bytes, world_->all.slot(r).src, bytes);
    world_->all.synchronize();
  }

private:
  struct Membership {
    HostGroup *group;
    int64_t index;
  };

  void transfer(const CollectiveSpec &spec, HostGroup &group, int64_t self, const void *src, void *dst) {
    int64_t size = group.size(), n = elementCount(spec.shape);
    int64_t width = io::blockBytes(spec.type);
    const void *sources[maxOnStack];
    std::vector<const void *> heap;
    const void **from = sources;
    if (size > maxOnStack)
      heap.resize(size), from = heap.data();

    switch (spec.kind) {
    case CollectiveKind::AllReduce: {
      // Each member reduces its own part and writes it to everybody: nobody else reads that part of any
      // source, so src and dst may be the same.
      auto [begin, end] = reducePart(n, size, self);
      if (begin == end)
        return;
      for (int64_t r = 0; r < size; ++r)
        from[r] = static_cast<const char *>(group.slot(r).src) + begin * width;
      char *mine = static_cast<char *>(dst) + begin * width;
      reduce(spec.op, spec.type, from, size, mine, end - begin);
      for (int64_t r = 0; r < size; ++r)
        if (r != self)
          memcpy(static_cast<char *>(group.slot(r).dst) + begin * width, mine, (end - begin) * width);
      return;
    }
    case CollectiveKind::AllGather: {
      Shape whole = spec.shape;
      whole[spec.dim] *= size;
      Strips strips(whole, spec.dim);
      for (int64_t i = 0; i < size; ++i) {
        int64_t r = (self + i) % size; // members start at different peers
        copyBlock(group.slot(r).src, contiguousBlock(n), dst, Block(strips, size, r), width);
      }
      return;
    }
    case CollectiveKind::ReduceScatter: {
      Block block(Strips(spec.shape, spec.dim), size, self);
      for (int64_t o = 0; o < block.outer; ++o) {
        for (int64_t r = 0; r < size; ++r)
          from[r] = static_cast<const char *>(group.slot(r).src) + (block.offset + o * block.stride) * width;
        reduce(spec.op, spec.type, from, size, static_cast<char *>(dst) + o * block.piece * width, block.piece);
      }
      return;
    }
    case CollectiveKind::AllToAll: {
      // Block `self` along dim of a peer's src becomes block `peer` along dim2 of dst.
      Shape result = spec.shape;
      result[spec.dim] /= size;
      result[spec.dim2] *= size;
      Strips given(spec.shape, spec.dim), wanted(result, spec.dim2);
      for (int64_t i = 0; i < size; ++i) {
        int64_t r = (self + i) % size;
        copyBlock(group.slot(r).src, Block(given, size, self), dst, Block(wanted, size, r), width);
      }
      return;
    }
    case CollectiveKind::CollectivePermute: {
      for (auto [sender, receiver] : spec.pairs)
        if (receiver == self) {
          memcpy(dst, group.slot(sender).src, n * width);
          return;
        }
      memset(dst, 0, n * width);
      return;
    }
    case CollectiveKind::GroupedSend:
      return; // takeBoxes
    }
  }

  void takeBoxes(const CollectiveSpec &spec, HostGroup &group, const std::vector<SentBox> &boxes, void *dst) {
    Shape shape = localShape(spec.global, spec.to);
    int64_t width = io::blockBytes(spec.type);
    clearPadding(boxes, shape, dst, width);
    for (const SentBox &box : boxes)
      copyBox(group.slot(manifest_->mesh.index(box.sender, manifest_->groups[spec.group])).src, spec.shape, withinPiece(box.begin, spec.shape),
              dst, shape, withinPiece(box.begin, shape), box.size, width);
  }

  static constexpr int64_t maxOnStack = 64;
  std::shared_ptr<HostWorld> world_;
  const Manifest *manifest_ = nullptr;
  std::vector<Membership> groups_;
  std::vector<std::vector<SentBox>> boxes_; // by collective; of grouped sends only
};

} // namespace

std::shared_ptr<HostWorld> createHostWorld(int64_t ranks, Board &board) {
  return std::make_shared<HostWorld>(ranks, board);
}

std::unique_ptr<Communicator> createHostCommunicator(std::shared_ptr<HostWorld> world, int64_t rank) {
  return std::make_unique<HostCommunicator>(std::move(world), rank);
}

} // namespace tessera::runtime
