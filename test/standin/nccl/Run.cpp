#include "Run.h"
#include "Reduce.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

using namespace tessera::nccl;

namespace standin::nccl {

// So long nothing moves before a circle of waits is taken for one: what the ranks show of themselves changes
// one after another.
constexpr std::chrono::seconds kPatience(2);

static uint64_t seed() {
  static const uint64_t value = [] {
    const char *text = getenv("TESSERA_STANDIN_SEED");
    return text ? strtoull(text, nullptr, 10) : 1;
  }();
  return value;
}

static const char *kindName(int32_t kind) {
  static const char *names[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBroadcast",
                                "ncclReduce",    "ncclSend",      "ncclRecv"};
  return names[kind];
}

std::string Run::describe(const Key &key) {
  std::string text = std::string(kindName(key.kind)) + " of " + std::to_string(key.count) + " " +
                     typeName(ncclDataType_t(key.type));
  Kind kind = Kind(key.kind);
  if (kind == Kind::AllReduce || kind == Kind::ReduceScatter || kind == Kind::Reduce)
    text += key.operation == int32_t(ncclSum) ? ", sum" : ", maximum";
  if (kind == Kind::Broadcast || kind == Kind::Reduce)
    text += (kind == Kind::Broadcast ? " from " : " to ") + std::to_string(key.root);
  return kind == Kind::Send ? text : text + " (its collective " + std::to_string(key.turn) + ")";
}

Run::Run(const Batch &batch)
    : batch_(batch), comm_(*batch.comm), out_(size_t(comm_.ranks())), in_(size_t(comm_.ranks())),
      come_(size_t(comm_.ranks())), since_(std::chrono::steady_clock::now()) {
  if (comm_.destroyed && !comm_.aborted)
    finding(batch.name + ": its communicator was destroyed before the stream came to it");
  std::vector<const Call *> messages;
  for (const Call &call : batch.calls) {
    if (call.isMessage())
      messages.push_back(&call);
    else
      steps_.push_back({&call});
  }
  if (!messages.empty())
    steps_.push_back(messages);
  comm_.enter(this);
}

Run::~Run() { comm_.leave(this); }

void Run::out(int peer, const Key &key, const char *src, size_t bytes) {
  Flow flow;
  flow.key = key;
  flow.src = src;
  flow.bytes = bytes;
  out_[size_t(peer)].push_back(flow);
}

void Run::in(int peer, const Key &key, char *dst, size_t bytes) {
  Flow flow;
  flow.key = key;
  flow.dst = dst;
  flow.bytes = bytes;
  in_[size_t(peer)].push_back(flow);
}

void Run::beginCall(const Call &call) {
  int self = comm_.rank(), ranks = comm_.ranks();
  size_t bytes = call.count * elementBytes(call.type);
  Key key{int32_t(call.kind), int32_t(call.type), int32_t(call.operation), call.peer, turn_, call.count};
  auto toAll = [&](auto &&use) {
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != self)
        use(peer);
  };
  switch (call.kind) {
  case Kind::AllReduce:
  case Kind::ReduceScatter:
    parts_.assign(size_t(ranks), std::vector<char>(bytes));
    return toAll([&](int peer) {
      out(peer, key, call.kind == Kind::AllReduce ? call.src : call.src + size_t(peer) * bytes, bytes);
      in(peer, key, parts_[size_t(peer)].data(), bytes);
    });
  case Kind::AllGather:
    return toAll([&](int peer) {
      out(peer, key, call.src, bytes);
      in(peer, key, call.dst + size_t(peer) * bytes, bytes);
    });
  case Kind::Broadcast:
    // All meet, so that who calls something else is found.
    return toAll([&](int peer) {
      out(peer, key, call.src, call.peer == self ? bytes : 0);
      in(peer, key, call.dst, call.peer == peer ? bytes : 0);
    });
  case Kind::Reduce:
    parts_.assign(size_t(ranks), std::vector<char>(call.peer == self ? bytes : 0));
    return toAll([&](int peer) {
      out(peer, key, call.src, call.peer == peer ? bytes : 0);
      in(peer, key, parts_[size_t(peer)].data(), parts_[size_t(peer)].size());
    });
  case Kind::Send:
    key = {int32_t(Kind::Send), int32_t(call.type), 0, 0, 0, call.count};
    return out(call.peer, key, call.src, bytes);
  case Kind::Recv:
    key = {int32_t(Kind::Send), int32_t(call.type), 0, 0, 0, call.count};
    return in(call.peer, key, call.dst, bytes);
  }
}

void Run::finishCall(const Call &call) {
  size_t bytes = call.count * elementBytes(call.type), self = size_t(comm_.rank());
  bool sums = call.kind == Kind::AllReduce || call.kind == Kind::ReduceScatter ||
              (call.kind == Kind::Reduce && call.peer == comm_.rank());
  if (sums) {
    bool scatters = call.kind == Kind::ReduceScatter;
    std::vector<const char *> sources;
    for (const std::vector<char> &part : parts_)
      sources.push_back(part.data());
    sources[self] = scatters ? call.src + self * bytes : call.src;
    reduce(call.type, call.operation, sources, call.dst, scatters ? self * call.count : 0, call.count,
           scatters ? call.count * size_t(comm_.ranks()) : call.count, seed() * 1000003 + turn_);
  }
  if (call.kind == Kind::AllGather && call.src != call.dst + self * bytes)
    memcpy(call.dst + self * bytes, call.src, bytes);
  if (call.kind == Kind::Broadcast && call.peer == comm_.rank() && call.src != call.dst)
    memcpy(call.dst, call.src, bytes);
}

void Run::check(int peer, const Key &expected, const Key &come) {
  if (memcmp(&expected, &come, sizeof(Key)) == 0)
    return;
  std::string mine = Kind(expected.kind) == Kind::Send ? "ncclRecv of " + std::to_string(expected.count) +
                                                             " " + typeName(ncclDataType_t(expected.type))
                                                       : describe(expected);
  finding("rank " + std::to_string(peer) + " of " + comm_.name() + " calls " + describe(come) +
          " where rank " + std::to_string(comm_.rank()) + " calls " + mine);
}

void Run::send(int peer) {
  Ring &ring = comm_.segment().ring(comm_.rank(), peer);
  std::deque<Flow> &flows = out_[size_t(peer)];
  while (!flows.empty()) {
    Flow &flow = flows.front();
    size_t head = sizeof(Key), whole = head + flow.bytes, before = flow.at;
    if (flow.at < head)
      flow.at += ring.put(reinterpret_cast<const char *>(&flow.key) + flow.at, head - flow.at);
    if (flow.at >= head && flow.at < whole)
      flow.at += ring.put(flow.src + (flow.at - head), whole - flow.at);
    moved_ |= flow.at != before;
    if (flow.at < whole)
      return;
    if (flow.end == 0)
      flow.end = ring.written.load();
    // A message may wait for who receives it; a program that counts on buffers is wrong.
    if (Kind(flow.key.kind) == Kind::Send && ring.read.load(std::memory_order_acquire) < flow.end)
      return;
    flows.pop_front();
    moved_ = true;
  }
}

void Run::receive(int peer) {
  Ring &ring = comm_.segment().ring(peer, comm_.rank());
  std::deque<Flow> &flows = in_[size_t(peer)];
  while (!flows.empty()) {
    Flow &flow = flows.front();
    size_t head = sizeof(Key), whole = head + flow.bytes, before = flow.at;
    if (flow.at < head) {
      flow.at += ring.take(reinterpret_cast<char *>(&come_[size_t(peer)]) + flow.at, head - flow.at);
      if (flow.at == head)
        check(peer, flow.key, come_[size_t(peer)]);
    }
    if (flow.at >= head && flow.at < whole)
      flow.at += ring.take(flow.dst + (flow.at - head), whole - flow.at);
    moved_ |= flow.at != before;
    if (flow.at < whole)
      return;
    flows.pop_front();
  }
}

bool Run::move() {
  bool done = true;
  for (int peer = 0; peer < comm_.ranks(); ++peer) {
    send(peer);
    receive(peer);
    done &= out_[size_t(peer)].empty() && in_[size_t(peer)].empty();
  }
  return done;
}

// The ranks of the world that have not come to what is on.
uint64_t Run::missing() {
  uint64_t ranks = 0;
  for (int peer = 0; peer < comm_.ranks(); ++peer) {
    const std::deque<Flow> &out = out_[size_t(peer)], &in = in_[size_t(peer)];
    bool waits = (!in.empty() && in.front().at < sizeof(Key)) ||
                 (!out.empty() && Kind(out.front().key.kind) == Kind::Send);
    if (waits && peer != comm_.rank())
      ranks |= uint64_t(1) << comm_.worldRank(peer);
  }
  return ranks;
}

bool Run::advance() {
  if (comm_.aborted)
    return true;
  if (!comm_.first(this))
    return false;
  moved_ = false;
  for (; step_ < steps_.size(); ++step_, begun_ = false) {
    if (!begun_) {
      begun_ = moved_ = true;
      if (!steps_[step_][0]->isMessage())
        turn_ = comm_.collectives++;
      for (const Call *call : steps_[step_])
        beginCall(*call);
    }
    if (!move())
      break;
    for (const Call *call : steps_[step_])
      finishCall(*call);
  }
  if (step_ == steps_.size())
    return true;
  auto now = std::chrono::steady_clock::now();
  if (moved_)
    since_ = now;
  if (!place_)
    place_ = std::make_unique<WaitingPlace>(comm_.world(), comm_.worldRank(comm_.rank()));
  uint64_t key = std::hash<std::string>()(comm_.name()) * 31 + turn_ * 2 + 2;
  if (steps_[step_][0]->isMessage())
    key = key * 64 + uint64_t(comm_.rank()) + 1001;
  place_->set(std::max<uint64_t>(key, 2), missing(), batch_.name);
  if (now - since_ > kPatience) {
    since_ = now - kPatience + std::chrono::milliseconds(300);
    std::string circle = place_->circle();
    if (!circle.empty())
      finding("ranks wait for each other: " + circle +
              "; communicators have to come in one order on all ranks, and messages in groups");
  }
  return false;
}

} // namespace standin::nccl
