// Ranks are threads: who has data publishes its address, all meet, who wants it copies, all meet again.
#include "tessera/runtime/comm/HostPlane.h"
#include "HostWorld.h"

#include <cstring>

namespace tessera::runtime {

namespace {
class Plane final : public HostPlane {
public:
  Plane(std::shared_ptr<HostWorld> world, int64_t rank) : world_(std::move(world)) {
    rank_ = rank;
    ranks_ = world_->ranks;
  }

  void barrier() override {
    WaitingScope waiting(world_->board.entry(rank_), BarrierCollective);
    world_->barrier.arrive();
  }

  void broadcast(void *data, size_t bytes, int64_t root) override {
    WaitingScope waiting(world_->board.entry(rank_), BroadcastCollective);
    const void *from = publish(data, root);
    if (rank_ != root && bytes) // of nothing there is no address
      memcpy(data, from, bytes);
    world_->barrier.arrive();
  }

  void gather(const void *src, size_t bytes, void *dst, int64_t root) override {
    WaitingScope waiting(world_->board.entry(rank_), GatherCollective);
    publish(src, root);
    for (int64_t r = 0; rank_ == root && bytes && r < ranks_; ++r)
      memcpy(static_cast<char *>(dst) + r * bytes, world_->barrier.given[r].data, bytes);
    world_->barrier.arrive();
  }

private:
  const void *publish(const void *data, int64_t root) {
    world_->barrier.given[rank_].data = data;
    world_->barrier.arrive();
    return world_->barrier.given[root].data;
  }
  std::shared_ptr<HostWorld> world_;
};
} // namespace

std::unique_ptr<HostPlane> createHostPlane(std::shared_ptr<HostWorld> world, int64_t rank) {
  return std::make_unique<Plane>(std::move(world), rank);
}

} // namespace tessera::runtime
