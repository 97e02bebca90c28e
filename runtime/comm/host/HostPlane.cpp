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
    world_->meeting.meet();
  }

  void broadcast(void *data, size_t bytes, int64_t root) override {
    WaitingScope waiting(world_->board.entry(rank_), BroadcastCollective);
    const void *from = publish(data, root);
    if (rank_ != root)
      memcpy(data, from, bytes);
    world_->meeting.meet();
  }

  void gather(const void *src, size_t bytes, void *dst, int64_t root) override {
    WaitingScope waiting(world_->board.entry(rank_), GatherCollective);
    publish(src, root);
    for (int64_t r = 0; rank_ == root && r < ranks_; ++r)
      memcpy(static_cast<char *>(dst) + r * bytes, world_->meeting.given[r].data, bytes);
    world_->meeting.meet();
  }

private:
  const void *publish(const void *data, int64_t root) {
    world_->meeting.given[rank_].data = data;
    world_->meeting.meet();
    return world_->meeting.given[root].data;
  }
  std::shared_ptr<HostWorld> world_;
};
} // namespace

std::unique_ptr<HostPlane> createHostPlane(std::shared_ptr<HostWorld> world, int64_t rank) {
  return std::make_unique<Plane>(std::move(world), rank);
}

} // namespace tessera::runtime
