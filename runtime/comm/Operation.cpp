#include "Operation.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/Device.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace tessera::runtime {

// Up to so many bytes an all_reduce sends everything to everyone: one round of messages instead of two.
static constexpr int64_t smallReduce = 8 << 10;

// The part of [0, n) that member `index` of `size` reduces: whole cache lines.
static ShardRange reducePart(int64_t n, int64_t size, int64_t index) {
  int64_t part = ((n + size - 1) / size + 31) / 32 * 32;
  return shardRange(n, part, index);
}

static size_t bytesOf(const Box &box, size_t width) {
  return size_t(std::accumulate(box.size.begin(), box.size.end(), int64_t(1), std::multiplies<int64_t>())) *
         width;
}

void Operation::setBlocks(const BlockCollective &collective, const RankGroup &group, uint32_t tag,
                          const void *src, void *dst) {
  form_ = Form::Blocks;
  collective_ = collective;
  blocks_ = blockRows(collective.kind, int64_t(group.members.size()), collective.elements, collective.rows,
                      collective.cut);
  group_ = &group;
  width_ = size_t(io::blockBytes(collective.type));
  tag_ = tag;
  src_ = static_cast<const char *>(src);
  dst_ = static_cast<char *>(dst);
}

void Operation::setTransfers(const Transfers &transfers, size_t elementBytes, uint32_t tag, const void *src,
                             void *dst) {
  form_ = Form::Transfers;
  transfers_ = &transfers;
  width_ = elementBytes;
  tag_ = tag;
  src_ = static_cast<const char *>(src);
  dst_ = static_cast<char *>(dst);
}

void Operation::setRows(const RowExchange &exchange, const RankGroup &group, uint32_t tag, const void *src,
                        const int32_t *counts, void *dst) {
  form_ = Form::Rows;
  exchange_ = exchange;
  group_ = &group;
  width_ = size_t(io::bytesOf(exchange.type, exchange.width));
  tag_ = tag;
  src_ = static_cast<const char *>(src);
  counts_ = counts;
  dst_ = static_cast<char *>(dst);
}

void Operation::setMessage(bool sends, int64_t peer, uint32_t tag, const void *src, void *dst, size_t bytes) {
  form_ = sends ? Form::Send : Form::Receive;
  peer_ = peer;
  tag_ = tag;
  bytes_ = bytes;
  src_ = static_cast<const char *>(src);
  dst_ = static_cast<char *>(dst);
}

std::vector<MemoryAccess> Operation::accesses() const {
  size_t read = bytes_, written = bytes_;
  if (form_ == Form::Blocks) {
    read = size_t(collective_.elements) * width_;
    written = size_t(resultElements(collective_.kind, int64_t(group_->members.size()), collective_.elements,
                                    collective_.cut)) *
              width_;
  } else if (form_ == Form::Transfers) {
    read = bytesOf(Box{{}, transfers_->src}, width_);
    written = bytesOf(Box{{}, transfers_->dst}, width_);
  } else if (form_ == Form::Rows) {
    read = size_t(exchange_.sent) * width_;
    written = size_t(exchange_.received) * width_;
  }
  std::vector<MemoryAccess> accesses;
  if (form_ == Form::Rows)
    accesses.push_back({counts_, 2 * group_->members.size() * sizeof(int32_t), MemoryAccess::Read});
  if (src_ && src_ == dst_)
    return {{src_, read, MemoryAccess::Update}};
  if (src_ && read > 0)
    accesses.push_back({src_, read, MemoryAccess::Read});
  if (dst_ && written > 0)
    accesses.push_back({dst_, written, MemoryAccess::Write});
  return accesses;
}

std::string Operation::name() const {
  return where >= 0 ? "collective " + std::to_string(where) : "a message";
}

const char *Operation::stable(const char *data, size_t bytes) {
  if (bytes > copied_)
    return data;
  copiedSource_ = true;
  copy_.assign(data, data + bytes);
  return copy_.data();
}

void Operation::begin(Device &device) {
  begun = true;
  const void *counts = form_ == Form::Rows ? counts_ : nullptr;
  for (const void *address : {static_cast<const void *>(src_), static_cast<const void *>(dst_), counts})
    if (address && !device.view(address))
      throw Error("cannot communicate", "device memory", "messages of the host cannot reach it",
                  "compile for another target, or start fewer ranks");
  src_ = src_ ? static_cast<const char *>(device.view(src_)) : nullptr;
  dst_ = dst_ ? static_cast<char *>(device.view(dst_)) : nullptr;
  switch (form_) {
  case Form::Rows:
    counts_ = static_cast<const int32_t *>(device.view(counts_));
    return beginRows();
  case Form::Blocks:
    return beginBlocks();
  case Form::Transfers:
    return beginTransfers();
  case Form::Send:
    return batch_->send(peer_, tag_, stable(src_, bytes_), bytes_);
  case Form::Receive:
    return batch_->receive(peer_, tag_, dst_, bytes_);
  }
}

void Operation::beginBlocks() {
  int64_t size = int64_t(group_->members.size()), self = group_->self;
  size_t total = size_t(collective_.elements) * width_, block = total / size_t(size);
  bool twoRounds = collective_.kind == CollectiveKind::AllReduce && total > smallReduce;
  const char *from = twoRounds ? src_ : stable(src_, total);
  auto eachPeer = [&](auto use) {
    // Members start at different peers.
    for (int64_t i = 1; i < size; ++i) {
      int64_t r = (self + i) % size;
      use(r, group_->members[r]);
    }
  };
  switch (collective_.kind) {
  case CollectiveKind::AllReduce:
    sources_.assign(size, nullptr);
    eachPeer([&](int64_t r, int64_t peer) {
      auto [begin, end] =
          twoRounds ? reducePart(collective_.elements, size, r) : ShardRange{0, collective_.elements};
      batch_->send(peer, tag_, from + begin * width_, size_t(end - begin) * width_);
    });
    // In group order: view(i) is that of the i-th other member.
    for (int64_t r = 0; r < size; ++r) {
      auto [begin, end] =
          twoRounds ? reducePart(collective_.elements, size, self) : ShardRange{0, collective_.elements};
      if (r != self)
        batch_->receiveView(group_->members[r], tag_, size_t(end - begin) * width_);
    }
    return;
  case CollectiveKind::ReduceScatter:
    sources_.assign(size, nullptr);
    eachPeer([&](int64_t r, int64_t peer) {
      batch_->sendRows(peer, tag_, from + r * blocks_.block * width_, blocks_.rows,
                       size_t(blocks_.whole) * width_, size_t(blocks_.part(r)) * width_);
    });
    for (int64_t r = 0; r < size; ++r)
      if (r != self)
        batch_->receiveRowViews(group_->members[r], tag_, blocks_.rows, size_t(blocks_.part(self)) * width_);
    return;
  case CollectiveKind::AllGather: {
    auto rowOf = [&](int64_t r, int64_t row) {
      return dst_ + (row * blocks_.whole + r * blocks_.block) * width_;
    };
    size_t own = size_t(blocks_.part(self)) * width_, pitch = size_t(blocks_.block) * width_;
    eachPeer([&](int64_t r, int64_t peer) {
      batch_->sendRows(peer, tag_, from, blocks_.rows, pitch, own);
      batch_->receiveRows(peer, tag_, rowOf(r, 0), blocks_.rows, size_t(blocks_.whole) * width_,
                          size_t(blocks_.part(r)) * width_);
    });
    for (int64_t row = 0; own > 0 && row < blocks_.rows; ++row)
      memcpy(rowOf(self, row), src_ + row * pitch, own);
    return;
  }
  case CollectiveKind::AllToAll:
    eachPeer([&](int64_t r, int64_t peer) {
      batch_->send(peer, tag_, from + r * block, block);
      batch_->receive(peer, tag_, dst_ + r * block, block);
    });
    if (block)
      memcpy(dst_ + self * block, src_ + self * block, block);
    return;
  default:
    throw Error("cannot communicate", collectiveName(collective_.kind), "it does not work on blocks",
                "compile the program again");
  }
}

void Operation::checkCounts() const {
  size_t size = group_->members.size(), self = size_t(group_->self);
  int64_t sent = 0, received = 0;
  bool negative = false;
  for (size_t r = 0; r < size; ++r) {
    sent += counts_[r];
    received += counts_[size + r];
    negative |= counts_[r] < 0 || counts_[size + r] < 0;
  }
  if (negative || sent > exchange_.sent || received > exchange_.received ||
      counts_[self] != counts_[size + self])
    throw Error("cannot communicate", name(),
                "its counts send " + std::to_string(sent) + " of " + std::to_string(exchange_.sent) +
                    " rows and receive " + std::to_string(received) + " of " +
                    std::to_string(exchange_.received) + ", or one is negative, or this rank's own differ",
                "compile the program again with this version of llm-compile");
}

// Members lie one after another on both sides, as long as their counts say.
void Operation::beginRows() {
  checkCounts();
  size_t size = group_->members.size(), self = size_t(group_->self);
  std::vector<size_t> from(size + 1, 0), to(size + 1, 0); // bytes
  for (size_t r = 0; r < size; ++r) {
    from[r + 1] = from[r] + size_t(counts_[r]) * width_;
    to[r + 1] = to[r] + size_t(counts_[size + r]) * width_;
  }
  const char *source = stable(src_, from[size]);
  for (size_t i = 1; i < size; ++i) {
    size_t r = (self + i) % size;
    batch_->send(group_->members[r], tag_, source + from[r], from[r + 1] - from[r]);
    batch_->receive(group_->members[r], tag_, dst_ + to[r], to[r + 1] - to[r]);
  }
  if (size_t own = from[self + 1] - from[self])
    memcpy(dst_ + to[self], src_ + from[self], own);
  memset(dst_ + to[size], 0, size_t(exchange_.received) * width_ - to[size]);
}

void Operation::beginTransfers() {
  const Transfers &t = *transfers_;
  size_t sent = 0, received = 0;
  for (const BoxTransfer &transfer : t.goes)
    sent += bytesOf(transfer.box, width_);
  for (const BoxTransfer &transfer : t.comes)
    received += bytesOf(transfer.box, width_);
  // Boxes travel packed, unless they are whole pieces. All is given to the transport before anybody waits.
  packed_.resize(sent + received);
  copiedSource_ = true;
  char *at = packed_.data();
  for (const BoxTransfer &transfer : t.goes) {
    size_t bytes = bytesOf(transfer.box, width_);
    if (transfer.box.size == t.src && bytes > copied_) {
      copiedSource_ = false;
      batch_->send(transfer.peer, tag_, src_, bytes);
      continue;
    }
    copyBox(src_, t.src, transfer.box.begin, at, transfer.box.size, Shape(t.src.size(), 0), transfer.box.size,
            width_);
    batch_->send(transfer.peer, tag_, at, bytes);
    at += bytes;
  }
  for (const BoxTransfer &transfer : t.comes) {
    size_t bytes = bytesOf(transfer.box, width_);
    if (transfer.box.size == t.dst)
      batch_->receive(transfer.peer, tag_, dst_, bytes);
    else
      batch_->receiveView(transfer.peer, tag_, bytes);
  }
  if (t.padded)
    memset(dst_, 0, bytesOf(Box{{}, t.dst}, width_));
  if (t.kept)
    copyBox(src_, t.src, t.kept->begin, dst_, t.dst, t.keptAt, t.kept->size, width_);
}

void Operation::reduceTo(void *dst, int64_t begin, int64_t elements, size_t view, size_t step) {
  for (size_t r = 0; r < sources_.size(); ++r) {
    sources_[r] = src_ + begin * width_;
    if (int64_t(r) == group_->self || elements == 0)
      continue;
    sources_[r] = static_cast<const char *>(batch_->view(view));
    view += step;
  }
  io::traits(collective_.type)
      .reduce(collective_.reduction, sources_.data(), int64_t(sources_.size()), dst, elements);
}

// Of what is cut off nobody has sums.
void Operation::finishReduceScatter() {
  int64_t part = blocks_.part(group_->self);
  for (int64_t row = 0; row < blocks_.rows; ++row) {
    char *into = dst_ + row * blocks_.block * width_;
    reduceTo(into, row * blocks_.whole + group_->self * blocks_.block, part, size_t(row),
             size_t(blocks_.rows));
    if (part < blocks_.block)
      memset(into + part * width_, 0, size_t(blocks_.block - part) * width_);
  }
  batch_->releaseViews();
}

// All messages of a round are here.
void Operation::afterArrival() {
  arrivedAll_ = true;
  if (form_ == Form::Transfers) {
    size_t view = 0;
    const Transfers &t = *transfers_;
    for (const BoxTransfer &transfer : t.comes)
      if (transfer.box.size != t.dst)
        copyBox(batch_->view(view++), transfer.box.size, Shape(t.dst.size(), 0), dst_, t.dst,
                transfer.box.begin, transfer.box.size, width_);
    batch_->releaseViews();
    return;
  }
  if (form_ != Form::Blocks)
    return;
  int64_t size = int64_t(group_->members.size()), self = group_->self, n = collective_.elements;
  if (collective_.kind == CollectiveKind::ReduceScatter)
    return finishReduceScatter();
  if (collective_.kind != CollectiveKind::AllReduce || round_ == 1)
    return;
  if (n * int64_t(width_) <= smallReduce) {
    reduceTo(dst_, 0, n);
    batch_->releaseViews();
    return;
  }
  // Every member has reduced its part; now all parts go to everybody. Who sends its sum has read its part of
  // all sources, so that dst may be src.
  auto [begin, end] = reducePart(n, size, self);
  reduceTo(dst_ + begin * width_, begin, end - begin);
  batch_->releaseViews();
  round_ = 1;
  arrivedAll_ = false;
  for (int64_t i = 1; i < size; ++i) {
    int64_t r = (self + i) % size;
    auto [theirs, theirEnd] = reducePart(n, size, r);
    batch_->send(group_->members[r], tag_ + 2, dst_ + begin * width_, size_t(end - begin) * width_);
    batch_->receive(group_->members[r], tag_ + 2, dst_ + theirs * width_, size_t(theirEnd - theirs) * width_);
  }
}

bool Operation::advance() {
  if (done_)
    return true;
  while (!arrivedAll_) {
    if (!batch_->arrived())
      return false;
    // In place, the sum may not be written while peers read what is sent (of two rounds only this rank's own
    // part is, which nobody else reads).
    bool inPlace =
        form_ == Form::Blocks && dst_ == src_ && collective_.elements * int64_t(width_) <= smallReduce;
    if (inPlace && peersReadSource())
      return false;
    afterArrival();
  }
  return done_ = !peersReadSource();
}

void Operation::reset() {
  batch_->clear();
  round_ = 0;
  open = begun = shown = arrivedAll_ = copiedSource_ = done_ = false;
}

} // namespace tessera::runtime
