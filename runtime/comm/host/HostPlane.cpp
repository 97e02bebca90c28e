// Ranks are threads. What is short is sent as a copy: the root goes on at once, as over MPI, and so does who
// has what it wants, else ranks that tell each other something now and then would march in step. For what is
// longer, who has data publishes its address, all meet, who wants it copies, all meet again.
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
    if (bytes == 0)
      return; // there is no address, and nothing to wait for
    if (bytes <= kNoteBytes) {
      if (rank_ == root)
        send(data, bytes);
      else
        receive(data, bytes, root);
      return;
    }
    const void *from = publish(data, root);
    if (rank_ != root)
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
  void send(const void *data, size_t bytes) {
    for (int64_t to = 0; to < ranks_; ++to) {
      if (to == rank_)
        continue;
      Note &note = world_->freeNote(rank_);
      memcpy(note.data, data, bytes);
      note.envelope.from = rank_;
      note.envelope.bytes = bytes;
      note.envelope.data = note.data;
      world_->notes[to].put(note.envelope);
    }
  }

  void receive(void *data, size_t bytes, int64_t root) {
    Mailbox &own = world_->notes[rank_];
    PostedReceive posted;
    posted.from = root;
    own.want(posted);
    Envelope *envelope;
    for (;;) {
      uint32_t seen = own.bell.load();
      envelope = posted.envelope.load(std::memory_order_acquire);
      if (envelope)
        break;
      own.bell.waitWhile(seen);
    }
    memcpy(data, envelope->data, bytes);
    envelope->taken.store(true, std::memory_order_release); // from here on the root may use it again
    world_->notes[root].bell.add(1);
  }

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
