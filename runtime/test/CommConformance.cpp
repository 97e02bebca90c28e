#include "CommConformance.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
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

uint64_t hashOf(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t h = a * 0x9E3779B97F4A7C15ull + b * 0xC2B2AE3D27D4EB4Full + c * 0x165667B19E3779F9ull + 12345;
  h ^= h >> 29, h *= 0xBF58476D1CE4E5B9ull, h ^= h >> 32, h *= 0x94D049BB133111EBull;
  return h ^ h >> 29;
}

static float valueOf(uint64_t hash) {
  return (float(hash % 20001) - 10000.0f) * (hash & 1 << 20 ? 1.7e-3f : 3.1f);
}

template <typename T> static void put(std::vector<char> &data, int64_t i, T value) {
  memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
}
template <typename T> static T get(const std::vector<char> &data, int64_t i) {
  T value;
  memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}

std::vector<char> contents(DType type, int64_t elements, uint64_t seed, int64_t rank) {
  std::vector<char> data(size_t(io::bytesOf(type, elements)));
  for (int64_t i = 0; i < elements; ++i) {
    uint64_t hash = hashOf(seed, uint64_t(rank) + 1, uint64_t(i));
    switch (type) {
    case DType::F32:
      put(data, i, valueOf(hash));
      break;
    case DType::F16:
      put(data, i, io::floatToHalf(valueOf(hash) * 1e-3f));
      break;
    case DType::BF16:
      put(data, i, io::floatToBfloat16(valueOf(hash)));
      break;
    case DType::I32:
      put(data, i, int32_t(hash));
      break;
    default: // both halves matter: keys of arg max carry the value above and the id below
      put(data, i, int64_t(hash));
    }
  }
  return data;
}

// Element i of the sum (or maximum) of `sources`, in their order.
static void reduceElement(DType type, Reduction op, const std::vector<std::vector<char>> &sources, int64_t i,
                          std::vector<char> &result, int64_t at) {
  auto combine = [&](auto first, auto read, auto add) {
    auto total = first;
    for (size_t s = 1; s < sources.size(); ++s) {
      auto next = read(sources[s]);
      total = op == Reduction::Sum ? add(total, next) : std::max(total, next);
    }
    return total;
  };
  auto plus = [](float a, float b) { return a + b; };
  auto half = [&](const std::vector<char> &data) { return io::halfToFloat(get<uint16_t>(data, i)); };
  auto brain = [&](const std::vector<char> &data) { return io::bfloat16ToFloat(get<uint16_t>(data, i)); };
  auto single = [&](const std::vector<char> &data) { return get<float>(data, i); };
  auto integer = [&](const std::vector<char> &data) { return get<int32_t>(data, i); };
  auto wide = [&](const std::vector<char> &data) { return get<int64_t>(data, i); };
  switch (type) {
  case DType::F32:
    return put(result, at, combine(single(sources[0]), single, plus));
  case DType::F16:
    return put(result, at, io::floatToHalf(combine(half(sources[0]), half, plus)));
  case DType::BF16:
    return put(result, at, io::floatToBfloat16(combine(brain(sources[0]), brain, plus)));
  case DType::I32:
    return put(result, at, combine(integer(sources[0]), integer, [](int32_t a, int32_t b) {
                 return int32_t(uint32_t(a) + uint32_t(b));
               }));
  default:
    return put(result, at, combine(wide(sources[0]), wide, [](int64_t a, int64_t b) {
                 return int64_t(uint64_t(a) + uint64_t(b));
               }));
  }
}

Exchange blockExchange(CommUnderTest &rank, const BlockCollective &c, uint64_t seed, bool inPlace) {
  AxisList axes = conformanceGroups(rank.mesh)[c.group];
  std::vector<int64_t> members = rank.mesh.group(rank.comm.rank(), axes);
  int64_t self = rank.mesh.index(rank.comm.rank(), axes), size = int64_t(members.size()),
          block = c.elements / size;
  int64_t results = resultElements(c.kind, size, c.elements);
  size_t width = size_t(io::blockBytes(c.type));
  // A byte more than needed: it shows who writes too far, and pointers are never null.
  auto src = std::make_shared<std::vector<char>>(contents(c.type, c.elements, seed, rank.comm.rank()));
  auto dst = std::make_shared<std::vector<char>>(size_t(results) * width + 1, char(77));
  src->push_back(55);
  inPlace &= c.kind == CollectiveKind::AllReduce;
  Exchange exchange;
  exchange.what = std::string(collectiveName(c.kind)) + " " + reductionName(c.reduction) + " of " +
                  std::to_string(c.elements) + " " + io::dtypeName(c.type) + " on group " +
                  std::to_string(c.group) + (inPlace ? " in place" : "");
  exchange.order = c.group;
  exchange.start = [=, &rank] {
    return rank.comm.start(c, src->data(), inPlace ? src->data() : dst->data(), rank.stream, 3);
  };
  exchange.check = [=, &rank, what = exchange.what] {
    std::vector<std::vector<char>> sources;
    for (int64_t member : members)
      sources.push_back(contents(c.type, c.elements, seed, member));
    std::vector<char> want(size_t(results) * width);
    bool sums = reduces(c.kind);
    for (int64_t i = 0; sums && i < results; ++i)
      reduceElement(c.type, c.reduction, sources,
                    c.kind == CollectiveKind::ReduceScatter ? self * block + i : i, want, i);
    for (int64_t r = 0; !sums && r < size; ++r) {
      bool gathers = c.kind == CollectiveKind::AllGather;
      int64_t elements = gathers ? c.elements : block;
      if (elements > 0)
        memcpy(want.data() + r * elements * width, sources[r].data() + (gathers ? 0 : self * block * width),
               size_t(elements) * width);
    }
    const std::vector<char> &got = inPlace ? *src : *dst;
    ASSERT_TRUE(want.empty() || memcmp(got.data(), want.data(), want.size()) == 0)
        << what << " on rank " << rank.comm.rank();
    ASSERT_EQ(got.back(), inPlace ? 55 : 77) << what << " wrote beyond its result";
    if (!inPlace) {
      src->pop_back();
      ASSERT_EQ(*src, sources[self]) << what << " wrote to its source";
    }
  };
  return exchange;
}

// What a rank holds of a tensor whose element i (row-major over `global`) is contents(type, .., seed, -1)[i];
// padding is `padding`.
static std::vector<char> pieceOf(const Mesh &mesh, int64_t rank, const Shape &global,
                                 const Sharding &sharding, DType type, uint64_t seed, char padding) {
  Shape local = localShape(global, sharding);
  int64_t elements = std::accumulate(local.begin(), local.end(), int64_t(1), std::multiplies<int64_t>());
  int64_t all = std::accumulate(global.begin(), global.end(), int64_t(1), std::multiplies<int64_t>());
  size_t width = size_t(io::blockBytes(type));
  std::vector<char> whole = contents(type, all, seed, -1), piece(size_t(elements) * width, padding);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t at = 0, rest = i;
    bool inside = true;
    Shape index(local.size());
    for (size_t d = local.size(); d-- > 0;) {
      index[d] = rest % local[d] + mesh.index(rank, sharding[d]) * local[d];
      rest /= local[d];
    }
    for (size_t d = 0; d < local.size(); ++d) {
      inside &= index[d] < global[d];
      at = at * global[d] + index[d];
    }
    if (inside)
      memcpy(piece.data() + i * width, whole.data() + at * width, width);
  }
  return piece;
}

Exchange sendExchange(CommUnderTest &rank, int64_t group, const Shape &global, const Sharding &from,
                      const Sharding &to, DType type, uint64_t seed) {
  auto transfers = std::make_shared<Transfers>(groupedSend(rank.mesh, global, from, to, rank.comm.rank()));
  auto src =
      std::make_shared<std::vector<char>>(pieceOf(rank.mesh, rank.comm.rank(), global, from, type, seed, 99));
  std::vector<char> want = pieceOf(rank.mesh, rank.comm.rank(), global, to, type, seed, 0);
  auto dst = std::make_shared<std::vector<char>>(want.size() + 1, char(77));
  src->push_back(55);
  Exchange exchange;
  exchange.what = "grouped_send on group " + std::to_string(group);
  exchange.order = group;
  exchange.start = [=, &rank] {
    return rank.comm.start(*transfers, group, type, src->data(), dst->data(), rank.stream, 4);
  };
  exchange.check = [=, &rank, what = exchange.what] {
    std::fill(src->begin(), src->end(), char(33)); // ours again: nobody reads it any more
    ASSERT_TRUE(want.empty() || memcmp(dst->data(), want.data(), want.size()) == 0)
        << what << " on rank " << rank.comm.rank();
    ASSERT_EQ(dst->back(), 77) << what << " wrote beyond its result";
  };
  return exchange;
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
  }
}

// Every rank gets the piece that it needs, from one that has it, and no two from the same.
void checkPermutes(CommUnderTest &rank) {
  std::vector<AxisList> groups = conformanceGroups(rank.mesh);
  int64_t everybody = int64_t(groups.size()) - 2;
  const Mesh &mesh = rank.mesh;
  int64_t self = rank.comm.rank();
  auto run = [&](const Transfers &transfers, int64_t elements) {
    std::vector<int64_t> src(elements, self), dst(elements, -1);
    rank.comm.wait(rank.comm.start(transfers, everybody, DType::I64, src.data(), dst.data(), rank.stream, 5),
                   rank.stream);
    rank.stream.synchronize();
    for (int64_t value : dst)
      EXPECT_EQ(value, dst[0]);
    return dst[0];
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
  std::vector<std::vector<char>> sent, received;
  std::vector<CommToken> tokens;
  for (size_t i = 0; i < messages.size(); ++i) {
    sent.push_back(contents(DType::I64, int64_t(messages[i].bytes) / 8 + 1, seed + i, self));
    tokens.push_back(rank.comm.send(next, messages[i].tag, sent[i].data(), messages[i].bytes, rank.stream));
  }
  for (const Message &message : messages)
    received.emplace_back(message.bytes);
  for (size_t i : {2, 0, 4, 3, 1, 5})
    tokens.push_back(
        rank.comm.receive(previous, messages[i].tag, received[i].data(), messages[i].bytes, rank.stream));
  for (size_t i = 0; i < tokens.size(); ++i)
    rank.comm.wait(tokens[(i * 5 + 7) % tokens.size()], rank.stream);
  rank.stream.synchronize();
  for (size_t i = 0; i < messages.size(); ++i)
    EXPECT_EQ(memcmp(received[i].data(),
                     contents(DType::I64, int64_t(messages[i].bytes) / 8 + 1, seed + i, previous).data(),
                     messages[i].bytes),
              0)
        << "message " << i;
  seed += messages.size();
}

void checkErrors(CommUnderTest &rank) {
  int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2;
  float src = 1, dst = 0;
  BlockCollective collective{CollectiveKind::AllReduce, Reduction::Sum, DType::F32, everybody, 1};
  rank.comm.expectAllWaitedFor();
  CommToken token = rank.comm.start(collective, &src, &dst, rank.stream, 8);
  EXPECT_THROW(rank.comm.expectAllWaitedFor(), Error); // a wait taken out is found
  rank.comm.wait(token, rank.stream);
  rank.stream.synchronize();
  EXPECT_EQ(dst, float(rank.comm.ranks()));
  rank.comm.expectAllWaitedFor();
  EXPECT_THROW(rank.comm.wait(token, rank.stream), Error);
  // Nor does it stand for what has begun since, which may have taken its place.
  CommToken later = rank.comm.start(collective, &src, &dst, rank.stream, 8);
  EXPECT_THROW(rank.comm.wait(token, rank.stream), Error);
  rank.comm.wait(later, rank.stream);
  rank.stream.synchronize();
  EXPECT_THROW(rank.comm.wait(-1, rank.stream), Error);
  EXPECT_THROW(rank.comm.send(rank.comm.rank(), 0, &src, 4, rank.stream), Error);
  EXPECT_THROW(rank.comm.send(rank.comm.ranks(), 0, &src, 4, rank.stream), Error);
  EXPECT_THROW(rank.comm.receive(0, kLargestMessageTag + 1, &dst, 4, rank.stream), Error);
  if (rank.comm.ranks() > 1)
    EXPECT_THROW(rank.comm.start({CollectiveKind::AllToAll, Reduction::None, DType::F32, everybody,
                                  rank.comm.ranks() + 1},
                                 &src, &dst, rank.stream, 8),
                 Error);
  EXPECT_THROW(rank.comm.start({CollectiveKind::AllReduce, Reduction::Sum, DType::Bool, everybody, 1}, &src,
                               &dst, rank.stream, 8),
               Error);
}

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

} // namespace

void runConformance(CommUnderTest &rank) {
  uint64_t seed = 1;
  checkPlane(rank.plane);
  checkErrors(rank);
  checkBlocks(rank, seed);
  checkSends(rank, seed);
  checkPermutes(rank);
  checkOrders(rank, seed);
  checkMessages(rank, seed);
  rank.comm.expectAllWaitedFor();
  rank.plane.barrier();
}

} // namespace tessera::runtime
