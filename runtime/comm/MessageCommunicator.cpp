#include "MessageCommunicator.h"
#include "Operation.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>

namespace tessera::runtime {

// Tags of the transport: 0 .. 2^20-1 times 2 + 1 are messages of the program; even ones are collectives, by
// group and by how many came before on it. Two rounds of one collective never have the same tag, nor have
// those near it in time.
static constexpr uint32_t groupBits = 12, sequenceBits = 13;
static uint32_t messageTag(int64_t tag) { return uint32_t(tag) << 1 | 1; }

// Runs operations in the order of a stream. A stream may drop tasks unrun when it ends: they own nothing.
class BeginTask final : public StreamTask {
public:
  BeginTask(MessageCommunicator &comm, Operation &operation, Device &device)
      : comm_(comm), operation_(operation), device_(device) {}
  bool advance(bool) override {
    std::lock_guard<std::mutex> lock(comm_.mutex_);
    operation_.begin(device_);
    comm_.running_.push_back(&operation_);
    comm_.begun_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  std::vector<MemoryAccess> accesses() const override { return operation_.accesses(); }
  Flight flight() const override { return {&operation_, nullptr}; }
  std::string name() const override { return operation_.name(); }

private:
  MessageCommunicator &comm_;
  Operation &operation_;
  Device &device_;
};

class EndTask final : public StreamTask {
public:
  EndTask(MessageCommunicator &comm, Operation &operation) : comm_(comm), operation_(operation) {}
  bool advance(bool mayBlock) override { return comm_.end(operation_, mayBlock); }
  Flight flight() const override { return {nullptr, &operation_}; }
  std::string name() const override { return "the wait for " + operation_.name(); }

private:
  MessageCommunicator &comm_;
  Operation &operation_;
};

namespace {
// Begins and ends at once.
class WholeTask final : public StreamTask {
public:
  WholeTask(MessageCommunicator &comm, Operation &operation, Device &device)
      : begin_(comm, operation, device), end_(comm, operation) {}
  bool advance(bool mayBlock) override {
    if (!begun_)
      begun_ = begin_.advance(mayBlock);
    return end_.advance(mayBlock);
  }
  std::vector<MemoryAccess> accesses() const override { return begin_.accesses(); }
  std::string name() const override { return begin_.name(); }

private:
  BeginTask begin_;
  EndTask end_;
  bool begun_ = false;
};
} // namespace

MessageCommunicator::MessageCommunicator(std::unique_ptr<Transport> transport, int64_t rank, int64_t ranks,
                                         BoardEntry &entry)
    : transport_(std::move(transport)), entry_(entry) {
  rank_ = rank;
  ranks_ = ranks;
}

MessageCommunicator::~MessageCommunicator() {
  // Others may still read copies of what was sent.
  for (Operation *operation : draining_)
    for (int64_t turn = 0;; ++turn) {
      uint32_t news = transport_->news();
      if (operation->drained())
        break;
      transport_->idle(news, turn);
    }
}

void MessageCommunicator::setGroups(std::vector<RankGroup> groups) {
  if (groups.size() >= (1u << groupBits))
    throw Error("cannot communicate", std::to_string(groups.size()) + " groups of ranks",
                "messages can tell " + std::to_string(1 << groupBits) + " apart",
                "compile for a mesh with fewer axes");
  groups_.clear();
  for (RankGroup &group : groups)
    groups_.push_back({std::move(group)});
}

Operation &MessageCommunicator::acquire(int32_t where) {
  if (free_.empty()) {
    // Copies that nobody reads any more.
    auto drained = std::partition(draining_.begin(), draining_.end(),
                                  [](Operation *operation) { return !operation->drained(); });
    for (auto it = drained; it != draining_.end(); ++it) {
      (*it)->reset();
      free_.push_back(*it);
    }
    draining_.erase(drained, draining_.end());
  }
  if (free_.empty()) {
    operations_.push_back(std::make_unique<Operation>(*transport_, int64_t(operations_.size())));
    free_.push_back(operations_.back().get());
  }
  Operation &operation = *free_.back();
  free_.pop_back();
  operation.open = true;
  operation.where = where;
  ++operation.uses;
  ++startedInAll_;
  return operation;
}

static CommToken tokenOf(const Operation &operation) { return operation.uses << 20 | operation.number; }

Operation &MessageCommunicator::started(CommToken token) {
  size_t number = size_t(token & ((1 << 20) - 1));
  if (token < 0 || number >= operations_.size() || !operations_[number]->open ||
      tokenOf(*operations_[number]) != token)
    throw Error("cannot communicate", "token " + std::to_string(token),
                "the program waits for what it has not started, or waits twice",
                "compile the program again with this version of llm-compile");
  return *operations_[number];
}

uint32_t MessageCommunicator::nextTag(int64_t group) {
  return (uint32_t(group) << sequenceBits | (groups_[group].started++ & ((1u << sequenceBits) - 1))) << 2;
}

Operation &MessageCommunicator::prepare(const BlockCollective &collective, const void *src, void *dst,
                                        Stream &stream, int32_t where) {
  std::lock_guard<std::mutex> lock(mutex_);
  const RankGroup &group = groups_.at(size_t(collective.group)).ranks;
  checkBlocks(collective, int64_t(group.members.size()));
  Operation &operation = acquire(where);
  operation.setBlocks(collective, group, nextTag(collective.group), src, dst);
  return operation;
}

CommToken MessageCommunicator::start(const BlockCollective &collective, const void *src, void *dst,
                                     Stream &stream, int32_t where) {
  Operation &operation = prepare(collective, src, dst, stream, where);
  stream.post(std::make_unique<BeginTask>(*this, operation, stream.device()));
  return tokenOf(operation);
}

CommToken MessageCommunicator::start(const Transfers &transfers, int64_t group, io::DType type,
                                     const void *src, void *dst, Stream &stream, int32_t where) {
  Operation *operation;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    operation = &acquire(where);
    operation->setTransfers(transfers, size_t(io::blockBytes(type)), nextTag(group), src, dst);
  }
  stream.post(std::make_unique<BeginTask>(*this, *operation, stream.device()));
  return tokenOf(*operation);
}

CommToken MessageCommunicator::start(const RowExchange &exchange, const void *src, const int32_t *counts,
                                     void *dst, Stream &stream, int32_t where) {
  Operation *operation;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const RankGroup &group = groups_.at(size_t(exchange.group)).ranks;
    operation = &acquire(where);
    operation->setRows(exchange, group, nextTag(exchange.group), src, counts, dst);
  }
  stream.post(std::make_unique<BeginTask>(*this, *operation, stream.device()));
  return tokenOf(*operation);
}

CommToken MessageCommunicator::send(int64_t peer, int64_t tag, const void *src, size_t bytes, Stream &stream,
                                    int32_t where) {
  return message(true, peer, tag, src, nullptr, bytes, stream, where);
}

CommToken MessageCommunicator::receive(int64_t peer, int64_t tag, void *dst, size_t bytes, Stream &stream,
                                       int32_t where) {
  return message(false, peer, tag, nullptr, dst, bytes, stream, where);
}

CommToken MessageCommunicator::message(bool sends, int64_t peer, int64_t tag, const void *src, void *dst,
                                       size_t bytes, Stream &stream, int32_t where) {
  checkMessage(peer, tag);
  Operation *operation;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    operation = &acquire(where);
    operation->setMessage(sends, peer, messageTag(tag), src, dst, bytes);
  }
  stream.post(std::make_unique<BeginTask>(*this, *operation, stream.device()));
  return tokenOf(*operation);
}

void MessageCommunicator::wait(CommToken token, Stream &stream) {
  Operation *operation;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    operation = &started(token);
    operation->open = false;
    ++waitedFor_;
  }
  stream.post(std::make_unique<EndTask>(*this, *operation));
}

size_t MessageCommunicator::waitForAny(const std::vector<CommToken> &tokens, Stream &stream, int32_t where) {
  // The place of one that is over, or as many as there are.
  auto look = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    for (Operation *other : running_)
      goOn(*other);
    return size_t(
        std::find_if(tokens.begin(), tokens.end(), [&](CommToken token) { return started(token).isDone(); }) -
        tokens.begin());
  };
  size_t number = look();
  if (number == tokens.size()) {
    WaitingScope waiting(entry_, where);
    for (int64_t turn = 0; number == tokens.size(); ++turn) {
      uint32_t news = transport_->news();
      number = look();
      if (number == tokens.size())
        transport_->idle(news, turn);
    }
  }
  wait(tokens[number], stream);
  return number;
}

void MessageCommunicator::run(const BlockCollective &collective, const void *src, void *dst, Stream &stream,
                              int32_t where) {
  Operation &operation = prepare(collective, src, dst, stream, where);
  operation.open = false;
  ++waitedFor_;
  stream.post(std::make_unique<WholeTask>(*this, operation, stream.device()));
}

bool MessageCommunicator::goOn(Operation &operation) {
  const bool before = operation.isDone();
  if (!operation.advance())
    return false;
  if (observer_ && !before)
    observer_->ended(tokenOf(operation));
  return true;
}

bool MessageCommunicator::advance(Operation &operation) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Operation *other : running_)
    goOn(*other);
  if (!operation.begun || !goOn(operation))
    return false;
  running_.erase(std::find(running_.begin(), running_.end(), &operation));
  draining_.push_back(&operation);
  begun_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void MessageCommunicator::progress() {
  if (begun_.load(std::memory_order_relaxed) == 0)
    return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (Operation *operation : running_)
    operation->advance();
}

bool MessageCommunicator::end(Operation &operation, bool mayBlock) {
  if (!operation.shown) {
    operation.shown = true;
    WaitingScope::begin(entry_, operation.where);
  }
  for (int64_t turn = 0;; ++turn) {
    uint32_t news = transport_->news();
    if (advance(operation))
      break;
    if (!mayBlock)
      return false;
    transport_->idle(news, turn);
  }
  WaitingScope::end(entry_);
  return true;
}

void MessageCommunicator::expectAllWaitedFor() {
  if (startedInAll_ == waitedFor_)
    return;
  for (const std::unique_ptr<Operation> &operation : operations_)
    if (operation->open)
      throw Error("cannot go on",
                  operation->where >= 0 ? "collective " + std::to_string(operation->where)
                                        : std::string("a message"),
                  "rank " + std::to_string(rank_) + " started it and never waited for it",
                  "look for the exec.wait that is missing");
}

} // namespace tessera::runtime
