// Messages between threads: the receiver reads the sender's memory.
#include "../DelayedTransport.h"
#include "../MessageCommunicator.h"
#include "HostWorld.h"
#include "tessera/runtime/core/Error.h"

#include <cstring>
#include <deque>

namespace tessera::runtime {

namespace {

class HostBatch final : public MessageBatch {
public:
  HostBatch(HostWorld &world, int64_t rank) : world_(world), rank_(rank) {}

  void send(int64_t peer, uint32_t tag, const void *data, size_t bytes) override {
    if (bytes == 0)
      return;
    if (sent_ == envelopes_.size())
      envelopes_.emplace_back();
    Envelope &envelope = envelopes_[sent_++];
    envelope.from = rank_;
    envelope.tag = tag;
    envelope.data = data;
    envelope.bytes = bytes;
    world_.mailboxes[peer].put(envelope);
  }

  void receive(int64_t peer, uint32_t tag, void *into, size_t bytes) override {
    if (bytes > 0)
      ask(peer, tag, into, bytes);
  }

  size_t receiveView(int64_t peer, uint32_t tag, size_t bytes) override {
    views_.push_back(bytes > 0 ? &ask(peer, tag, nullptr, bytes) : nullptr);
    return views_.size() - 1;
  }
  const void *view(size_t number) override {
    return views_[number] ? views_[number]->envelope.load(std::memory_order_relaxed)->data : nullptr;
  }

  bool arrived() override {
    for (; arrived_ < asked_; ++arrived_) {
      PostedReceive &posted = posted_[arrived_];
      Envelope *envelope = posted.envelope.load(std::memory_order_acquire);
      if (!envelope)
        return false;
      if (envelope->bytes != posted.bytes)
        throw Error("cannot communicate",
                    "a message from rank " + std::to_string(posted.from) + " to rank " +
                        std::to_string(rank_),
                    "it has " + std::to_string(envelope->bytes) + " bytes where " +
                        std::to_string(posted.bytes) + " are expected",
                    "compile the program again with this version of llm-compile");
      if (posted.into) {
        memcpy(posted.into, envelope->data, posted.bytes);
        giveBack(posted.from, *envelope);
      }
    }
    return true;
  }

  void releaseViews() override {
    for (PostedReceive *posted : views_)
      if (posted)
        giveBack(posted->from, *posted->envelope.load(std::memory_order_relaxed));
    views_.clear();
  }

  bool delivered() override {
    for (; delivered_ < sent_; ++delivered_)
      if (!envelopes_[delivered_].taken.load(std::memory_order_acquire))
        return false;
    return true;
  }

  void clear() override {
    sent_ = delivered_ = asked_ = arrived_ = 0;
    views_.clear();
  }

private:
  PostedReceive &ask(int64_t peer, uint32_t tag, void *into, size_t bytes) {
    if (asked_ == posted_.size())
      posted_.emplace_back();
    PostedReceive &posted = posted_[asked_++];
    posted.from = peer;
    posted.tag = tag;
    posted.bytes = bytes;
    posted.into = into;
    world_.mailboxes[rank_].want(posted);
    return posted;
  }

  // After this the envelope may be gone; the sender's mailbox is the world's.
  void giveBack(int64_t sender, Envelope &envelope) {
    envelope.taken.store(true, std::memory_order_release);
    world_.mailboxes[sender].bell.add(1);
  }

  HostWorld &world_;
  int64_t rank_;
  std::deque<Envelope> envelopes_;
  std::deque<PostedReceive> posted_;
  std::vector<PostedReceive *> views_;
  size_t sent_ = 0, delivered_ = 0, asked_ = 0, arrived_ = 0;
};

class HostTransport final : public Transport {
public:
  HostTransport(std::shared_ptr<HostWorld> world, int64_t rank) : world_(std::move(world)), rank_(rank) {}
  std::unique_ptr<MessageBatch> makeBatch() override { return std::make_unique<HostBatch>(*world_, rank_); }
  // A copy is cheaper than waiting for the receiver's core.
  size_t copiedBytes() const override { return 16 << 10; }
  uint32_t news() override { return world_->mailboxes[rank_].bell.load(); }
  void idle(uint32_t seen, int64_t) override { world_->mailboxes[rank_].bell.waitWhile(seen); }

private:
  std::shared_ptr<HostWorld> world_;
  int64_t rank_;
};

} // namespace

std::unique_ptr<Communicator> createHostCommunicator(std::shared_ptr<HostWorld> world, int64_t rank) {
  int64_t ranks = world->ranks;
  BoardEntry &entry = world->board.entry(rank);
  return std::make_unique<MessageCommunicator>(
      delayedTransport(std::make_unique<HostTransport>(std::move(world), rank)), rank, ranks, entry);
}

} // namespace tessera::runtime
