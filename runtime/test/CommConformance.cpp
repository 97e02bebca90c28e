#include "CommConformance.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace tessera::runtime {

using io::DType;

std::vector<AxisList> conformanceGroups(const Mesh &mesh) {
  std::vector<AxisList> groups = {{}}; // one member
  AxisList all, reversed;
  for (const MeshAxis &axis : mesh.axes()) {
    groups.push_back({{axis.name, 1, axis.size}});
    all.push_back({axis.name, 1, axis.size});
    reversed.insert(reversed.begin(), all.back());
    if (axis.size % 2 == 0 && axis.size > 2) {
      groups.push_back({{axis.name, 1, 2}});
      groups.push_back({{axis.name, 2, axis.size / 2}});
      groups.push_back({{axis.name, 2, axis.size / 2}, {axis.name, 1, 2}});
    }
  }
  groups.push_back(all);
  groups.push_back(reversed);
  return groups;
}

void setConformanceGroups(CommUnderTest &rank) {
  std::vector<RankGroup> groups;
  for (const AxisList &axes : conformanceGroups(rank.mesh))
    groups.push_back({rank.mesh.group(rank.comm.rank(), axes), rank.mesh.index(rank.comm.rank(), axes)});
  rank.comm.setGroups(std::move(groups));
}

namespace {

void runAlone(CommUnderTest &rank, const Exchange &exchange) {
  rank.comm.wait(exchange.start(), rank.stream);
  rank.stream.synchronize();
  exchange.check();
}

void checkBlocks(CommUnderTest &rank, uint64_t &seed) {
  std::vector<AxisList> groups = conformanceGroups(rank.mesh);
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t size = shardCount(groups[g]);
    for (DType type : {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64})
      // Odd sizes, one element, nothing at all, more than a cache line, around what is sent in one round,
      // more than an eager message.
      for (int64_t n : {7, 1, 0, 165, 1024, 2049, 4100, 18000}) {
        if (n > 5000 && type != DType::F32 && type != DType::BF16)
          continue; // slow to check
        for (Reduction op : {Reduction::Sum, Reduction::Max})
          for (bool inPlace : {false, true})
            runAlone(rank, blockExchange(rank, {CollectiveKind::AllReduce, op, type, int64_t(g), n}, ++seed,
                                         inPlace));
        runAlone(rank, blockExchange(rank, {CollectiveKind::AllGather, Reduction::None, type, int64_t(g), n},
                                     ++seed, false));
        int64_t blocks = (n + size - 1) / size * size;
        for (Reduction op : {Reduction::Sum, Reduction::Max})
          runAlone(rank, blockExchange(rank, {CollectiveKind::ReduceScatter, op, type, int64_t(g), blocks},
                                       ++seed, false));
        runAlone(rank,
                 blockExchange(rank, {CollectiveKind::AllToAll, Reduction::None, type, int64_t(g), blocks},
                               ++seed, false));
      }
  }
}

// Blocks of several rows, of which the last are cut off: a part of one, whole ones, all but the first.
void checkRows(CommUnderTest &rank, uint64_t &seed) {
  std::vector<AxisList> groups = conformanceGroups(rank.mesh);
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t size = shardCount(groups[g]);
    for (DType type : {DType::F32, DType::BF16, DType::I64})
      for (int64_t rows : {1, 2, 3})
        for (int64_t block : {1, 7, 2049}) {
          // Not all with all: eight ranks have many groups, and sanitizers little speed.
          if ((type != DType::F32 && block != 7) || (block != 7 && rows != 2))
            continue;
          std::vector<int64_t> cuts = {0, block / 2, block, block + 1, (size - 1) * block};
          std::sort(cuts.begin(), cuts.end());
          cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
          for (int64_t cut : cuts) {
            if (cut > (size - 1) * block)
              continue;
            runAlone(rank, blockExchange(rank,
                                         {CollectiveKind::AllGather, Reduction::None, type, int64_t(g),
                                          rows * block, rows, rows * cut},
                                         ++seed, false));
            for (Reduction op : {Reduction::Sum, Reduction::Max})
              runAlone(rank, blockExchange(rank,
                                           {CollectiveKind::ReduceScatter, op, type, int64_t(g),
                                            rows * (size * block - cut), rows, rows * cut},
                                           ++seed, false));
          }
        }
  }
}

// From pieces of the first dimension to whole tensors, to pieces of another dimension, to pieces of the same
// over axes in another order; rows that do not divide, fewer than ranks, none at all, more than a short
// message. And between any two of these.
void checkSends(CommUnderTest &rank, uint64_t &seed) {
  std::vector<AxisList> groups = conformanceGroups(rank.mesh);
  int64_t everybody = int64_t(groups.size()) - 2;
  const AxisList &all = groups[everybody], &reversed = groups[everybody + 1];
  for (const AxisList &from : groups) {
    AxisList turned(from.rbegin(), from.rend());
    for (Shape global : {Shape{7, 5}, Shape{2, 3}, Shape{1, 1}, Shape{0, 4}, Shape{13, 3000}}) {
      if (global[0] == 13 && from.size() != all.size())
        continue; // slow to check
      std::vector<Sharding> ends = {{{}, {}},     {from, {}}, {{}, from},
                                    {turned, {}}, {all, {}},  {{}, reversed}};
      for (const Sharding &before : ends)
        for (const Sharding &after : ends)
          runAlone(rank, sendExchange(rank, everybody, global, before, after, DType::F32, ++seed));
    }
    runAlone(rank, sendExchange(rank, everybody, {11}, {from}, {turned}, DType::I64, ++seed));
    runAlone(rank,
             sendExchange(rank, everybody, {5, 2, 3}, {from, {}, {}}, {{}, turned, {}}, DType::BF16, ++seed));
    runAlone(rank, sendExchange(rank, everybody, {}, {}, {}, DType::I32, ++seed));
    const Box part{{3, 1}, {6, 4}};
    runAlone(rank,
             sendExchange(rank, everybody, {11, 6}, {from, {}}, {turned, {}}, DType::F32, ++seed, &part));
  }
}

// Every rank gets the piece that it needs, from one that has it, and no two from the same.
void checkPermutes(CommUnderTest &rank) {
  std::vector<AxisList> groups = conformanceGroups(rank.mesh);
  int64_t everybody = int64_t(groups.size()) - 2;
  const Mesh &mesh = rank.mesh;
  int64_t self = rank.comm.rank();
  auto run = [&](const Transfers &transfers, int64_t elements) {
    std::vector<char> given, nothing(size_t(elements) * 8, char(-1));
    for (int64_t i = 0; i < elements * 8; ++i)
      given.push_back(reinterpret_cast<const char *>(&self)[i % 8]);
    DeviceData src(rank, given), dst(rank, nothing);
    rank.comm.wait(
        rank.comm.start(transfers, everybody, DType::I64, src.address(), dst.address(), rank.stream, 5),
        rank.stream);
    std::vector<char> got = dst.read();
    for (int64_t i = 0; i < elements; ++i)
      EXPECT_EQ(get<int64_t>(got, i), get<int64_t>(got, 0));
    return get<int64_t>(got, 0);
  };
  for (const AxisList &one : groups)
    for (const AxisList &other : groups) {
      if (shardCount(one) != shardCount(other))
        continue;
      std::vector<std::pair<Sharding, Sharding>> moves = {{{one}, {other}}, {{one, {}}, {other, {}}}};
      for (const auto &[from, to] : moves)
        for (int64_t elements : {1, 5000}) {
          int64_t sender = run(permute(mesh, elements, from, to, self), elements);
          for (size_t d = 0; d < from.size(); ++d)
            EXPECT_EQ(mesh.index(sender, from[d]), mesh.index(self, to[d]))
                << "rank " << self << " got the piece of rank " << sender;
          std::vector<int64_t> senders(rank.comm.ranks());
          rank.plane.gather(&sender, sizeof(sender), senders.data(), 0);
          std::sort(senders.begin(), senders.end());
          for (int64_t r = 0; self == 0 && r < rank.comm.ranks(); ++r)
            EXPECT_EQ(senders[r], r) << "somebody sends twice";
        }
    }
  for (const AxisList &axes : groups) {
    int64_t sender = run(mirror(mesh, 3, axes, self), 3);
    EXPECT_EQ(mesh.index(sender, axes), shardCount(axes) - 1 - mesh.index(self, axes));
    EXPECT_EQ(mesh.member(sender, axes, mesh.index(self, axes)), self);
  }
}

// Each rank starts one collective on every group, the groups in an order of its own, works, and waits in
// another order.
void checkOrders(CommUnderTest &rank, uint64_t &seed) {
  int64_t groups = int64_t(conformanceGroups(rank.mesh).size());
  for (int64_t turn = 0; turn < 4 * groups; ++turn) {
    std::vector<Exchange> exchanges;
    for (int64_t g = 0; g < groups; ++g)
      exchanges.push_back(blockExchange(
          rank, {CollectiveKind::AllReduce, Reduction::Sum, DType::F32, g, turn % 2 ? 9000 : 100}, ++seed,
          g % 2));
    if (rank.anyOrder)
      std::rotate(exchanges.begin(), exchanges.begin() + rank.comm.rank() % groups, exchanges.end());
    std::vector<CommToken> tokens;
    for (Exchange &exchange : exchanges)
      tokens.push_back(exchange.start());
    volatile float work = 0;
    for (int i = 0; i < 1000 * (rank.comm.rank() + 1); ++i)
      work = work + 1;
    for (int64_t i = groups; i-- > 0;)
      rank.comm.wait(tokens[(i + turn) % groups], rank.stream);
    rank.stream.synchronize();
    for (Exchange &exchange : exchanges)
      exchange.check();
  }
}

// To the next rank: tags received in another order than sent, two with one tag, lengths from a byte on.
void checkMessages(CommUnderTest &rank, uint64_t &seed) {
  int64_t ranks = rank.comm.ranks(), self = rank.comm.rank(), next = (self + 1) % ranks,
          previous = (self + ranks - 1) % ranks;
  ++seed;
  if (ranks == 1)
    return;
  struct Message {
    int64_t tag;
    size_t bytes;
  };
  std::vector<Message> messages = {{5, 1},  {0, 3000},  {kLargestMessageTag, 100000},
                                   {5, 17}, {7, 16384}, {7, 16385}};
  std::vector<std::unique_ptr<DeviceData>> sent, received;
  std::vector<CommToken> tokens;
  auto data = [&](const std::vector<char> &content) { return std::make_unique<DeviceData>(rank, content); };
  for (size_t i = 0; i < messages.size(); ++i) {
    sent.push_back(data(contents(DType::I64, int64_t(messages[i].bytes) / 8 + 1, seed + i, self)));
    tokens.push_back(
        rank.comm.send(next, messages[i].tag, sent[i]->address(), messages[i].bytes, rank.stream));
  }
  for (const Message &message : messages)
    received.push_back(data(std::vector<char>(message.bytes)));
  std::vector<size_t> order = {2, 0, 4, 3, 1, 5};
  if (!rank.anyOrder)
    std::sort(order.begin(), order.end());
  for (size_t i : order)
    tokens.push_back(
        rank.comm.receive(previous, messages[i].tag, received[i]->address(), messages[i].bytes, rank.stream));
  for (size_t i = 0; i < tokens.size(); ++i)
    rank.comm.wait(tokens[(i * 5 + 7) % tokens.size()], rank.stream);
  rank.stream.synchronize();
  for (size_t i = 0; i < messages.size(); ++i)
    EXPECT_EQ(memcmp(received[i]->read().data(),
                     contents(DType::I64, int64_t(messages[i].bytes) / 8 + 1, seed + i, previous).data(),
                     messages[i].bytes),
              0)
        << "message " << i;
  seed += messages.size();
}

// Who broadcasts something short goes on before the others take it: stages of a pipeline would march in step
// otherwise. Here the last rank takes it only when it has what the root sends behind it.
void checkBroadcastGoesOn(CommUnderTest &rank) {
  const int64_t last = rank.comm.ranks() - 1, self = rank.comm.rank();
  if (last == 0)
    return;
  int32_t value = self == 0 ? 41 : 0;
  DeviceData message(rank, std::vector<char>(8));
  if (self == last) {
    rank.comm.wait(rank.comm.receive(0, 3, message.address(), 8, rank.stream), rank.stream);
    rank.stream.synchronize();
  }
  rank.plane.broadcast(&value, sizeof value, 0);
  if (self == 0) {
    rank.comm.wait(rank.comm.send(last, 3, message.address(), 8, rank.stream), rank.stream);
    rank.stream.synchronize();
  }
  EXPECT_EQ(value, 41);
}

void checkErrors(CommUnderTest &rank) {
  int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2;
  DeviceData one(rank, {0, 0, char(0x80), 0x3f}), sum(rank, std::vector<char>(4)); // 1.0f
  char *src = one.address(), *dst = sum.address();
  BlockCollective collective{CollectiveKind::AllReduce, Reduction::Sum, DType::F32, everybody, 1};
  rank.comm.expectAllWaitedFor();
  CommToken token = rank.comm.start(collective, src, dst, rank.stream, 8);
  EXPECT_THROW(rank.comm.expectAllWaitedFor(), Error); // a wait taken out is found
  rank.comm.wait(token, rank.stream);
  rank.stream.synchronize();
  EXPECT_EQ(get<float>(sum.read(), 0), float(rank.comm.ranks()));
  rank.comm.expectAllWaitedFor();
  EXPECT_THROW(rank.comm.wait(token, rank.stream), Error);
  // Nor does it stand for what has begun since, which may have taken its place.
  CommToken later = rank.comm.start(collective, src, dst, rank.stream, 8);
  EXPECT_THROW(rank.comm.wait(token, rank.stream), Error);
  rank.comm.wait(later, rank.stream);
  rank.stream.synchronize();
  EXPECT_THROW(rank.comm.wait(-1, rank.stream), Error);
  EXPECT_THROW(rank.comm.send(rank.comm.rank(), 0, src, 4, rank.stream), Error);
  EXPECT_THROW(rank.comm.send(rank.comm.ranks(), 0, src, 4, rank.stream), Error);
  EXPECT_THROW(rank.comm.receive(0, kLargestMessageTag + 1, dst, 4, rank.stream), Error);
  if (rank.comm.ranks() > 1)
    EXPECT_THROW(rank.comm.start({CollectiveKind::AllToAll, Reduction::None, DType::F32, everybody,
                                  rank.comm.ranks() + 1},
                                 src, dst, rank.stream, 8),
                 Error);
  // Rows that are not alike; more cut off than all blocks but the first; a kind that has no rows.
  for (BlockCollective wrong :
       {BlockCollective{CollectiveKind::AllGather, Reduction::None, DType::F32, everybody, 3, 2, 0},
        BlockCollective{CollectiveKind::AllGather, Reduction::None, DType::F32, everybody, 4, 2, 1},
        BlockCollective{CollectiveKind::AllGather, Reduction::None, DType::F32, everybody, 4, 1,
                        4 * rank.comm.ranks() - 3},
        BlockCollective{CollectiveKind::AllReduce, Reduction::Sum, DType::F32, everybody, 4, 2, 0}})
    EXPECT_THROW(rank.comm.start(wrong, src, dst, rank.stream, 8), Error);
  EXPECT_THROW(rank.comm.start({CollectiveKind::AllReduce, Reduction::Sum, DType::Bool, everybody, 1}, src,
                               dst, rank.stream, 8),
               Error);
}

} // namespace

void checkPlane(HostPlane &plane) {
  plane.barrier();
  for (int64_t root = 0; root < plane.ranks(); ++root)
    for (size_t count : {0, 1, 3, 40000}) {
      std::vector<int32_t> data(count), all(plane.rank() == root ? count * plane.ranks() : 0);
      data.reserve(1);
      all.reserve(1);
      for (size_t i = 0; i < count; ++i)
        data[i] = int32_t(plane.rank() * 100000 + i);
      plane.gather(data.data(), count * 4, all.data(), root);
      for (size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(all[i], int32_t(i / count * 100000 + i % count));
      plane.broadcast(data.data(), count * 4, root);
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(data[i], int32_t(root * 100000 + i));
    }
  // What was given is the root's own again when the call returns. Counted: all ranks go through all turns.
  int wrong = 0;
  for (int32_t turn = 0; turn < 300; ++turn) {
    int32_t value = plane.rank() == turn % plane.ranks() ? turn : -1;
    plane.broadcast(&value, sizeof(value), turn % plane.ranks());
    wrong += value != turn;
    static_cast<volatile int32_t &>(value) = -2;
  }
  EXPECT_EQ(wrong, 0);
}

void runConformance(CommUnderTest &rank) {
  uint64_t seed = 1;
  checkPlane(rank.plane);
  checkErrors(rank);
  checkBlocks(rank, seed);
  checkRows(rank, seed);
  checkSends(rank, seed);
  checkPermutes(rank);
  checkOrders(rank, seed);
  checkMessages(rank, seed);
  checkBroadcastGoesOn(rank);
  rank.comm.expectAllWaitedFor();
  compareSums(rank);
  rank.plane.barrier();
}

} // namespace tessera::runtime
