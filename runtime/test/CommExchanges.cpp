// What the suite starts and checks: contents, what becomes of them, and how far sums may be off.
#include "CommConformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace tessera::runtime {

using io::DType;

DeviceData::DeviceData(CommUnderTest &rank, const std::vector<char> &content)
    : rank_(rank), buffer_(rank.stream.device().allocate(content.size(), "data of a test", MemoryUse::Arena)),
      bytes_(content.size()) {
  write(content);
}

void DeviceData::write(const std::vector<char> &content) {
  rank_.stream.upload(buffer_.address(), content.data(), content.size());
  rank_.stream.synchronize();
}

std::vector<char> DeviceData::read() const {
  std::vector<char> content(bytes_);
  rank_.stream.download(content.data(), buffer_.address(), bytes_);
  rank_.stream.synchronize();
  return content;
}

void compareSums(CommUnderTest &rank) {
  using Sum = CommUnderTest::Sum;
  std::sort(rank.sums.begin(), rank.sums.end(), [](const Sum &a, const Sum &b) { return a.seed < b.seed; });
  size_t count = rank.sums.size(), ranks = size_t(rank.comm.ranks());
  std::vector<Sum> all(rank.comm.rank() == 0 ? count * ranks : 0);
  rank.plane.gather(rank.sums.data(), count * sizeof(Sum), all.data(), 0);
  std::map<std::pair<uint64_t, int64_t>, uint64_t> digests; // by seed and group
  for (const Sum &sum : all)
    EXPECT_EQ(digests.emplace(std::make_pair(sum.seed, sum.group), sum.digest).first->second, sum.digest)
        << "another sum on another rank of the group that begins with rank " << sum.group;
  rank.sums.clear();
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

static bool isFloat(DType type) { return type == DType::F32 || type == DType::F16 || type == DType::BF16; }

static double floatAt(DType type, const std::vector<char> &data, int64_t i) {
  return type == DType::F32   ? double(get<float>(data, i))
         : type == DType::F16 ? double(io::halfToFloat(get<uint16_t>(data, i)))
                              : double(io::bfloat16ToFloat(get<uint16_t>(data, i)));
}

// How far a sum is off, in units of what rounding after every step, in any order, may make.
static double sumError(DType type, const std::vector<std::vector<char>> &sources, int64_t i,
                       const std::vector<char> &got, int64_t at) {
  double sum = 0, sizes = 0, step = type == DType::F32 ? 0x1p-24 : type == DType::F16 ? 0x1p-11 : 0x1p-8;
  for (const std::vector<char> &source : sources) {
    double value = floatAt(type, source, i);
    sum += value;
    sizes += std::fabs(value);
  }
  double off = std::fabs(floatAt(type, got, at) - sum), limit = double(sources.size()) * step * sizes + 1e-7;
  return std::isnan(off) ? 1e9 : off / limit;
}

Exchange blockExchange(CommUnderTest &rank, const BlockCollective &c, uint64_t seed, bool inPlace) {
  AxisList axes = conformanceGroups(rank.mesh)[c.group];
  std::vector<int64_t> members = rank.mesh.group(rank.comm.rank(), axes);
  int64_t self = rank.mesh.index(rank.comm.rank(), axes), size = int64_t(members.size()),
          block = c.elements / size;
  int64_t results = resultElements(c.kind, size, c.elements, c.cut);
  size_t width = size_t(io::blockBytes(c.type));
  // A byte more than needed: it shows who writes too far, and pointers are never null.
  std::vector<char> given = contents(c.type, c.elements, seed, rank.comm.rank());
  given.push_back(55);
  auto src = std::make_shared<DeviceData>(rank, given);
  auto dst = std::make_shared<DeviceData>(rank, std::vector<char>(size_t(results) * width + 1, char(77)));
  inPlace &= c.kind == CollectiveKind::AllReduce;
  Exchange exchange;
  exchange.what = std::string(collectiveName(c.kind)) + " " + reductionName(c.reduction) + " of " +
                  std::to_string(c.elements) + " " + io::dtypeName(c.type) + " in " + std::to_string(c.rows) +
                  " rows without " + std::to_string(c.cut) + " on group " + std::to_string(c.group) +
                  (inPlace ? " in place" : "");
  exchange.order = c.group;
  exchange.start = [=, &rank] {
    return rank.comm.start(c, src->address(), inPlace ? src->address() : dst->address(), rank.stream, 3);
  };
  exchange.check = [=, &rank, what = exchange.what] {
    std::vector<std::vector<char>> sources;
    for (int64_t member : members)
      sources.push_back(contents(c.type, c.elements, seed, member));
    std::vector<char> want(size_t(results) * width);
    bool sums = reduces(c.kind), scatters = c.kind == CollectiveKind::ReduceScatter;
    // Element by element: which of the sources' it is, or (-1) padding, and of which source.
    int64_t rowOfBlock = scatters ? results / c.rows : c.elements / c.rows;
    auto summed = [&](int64_t i) {
      if (!scatters)
        return i;
      int64_t at = self * rowOfBlock + i % rowOfBlock, whole = c.elements / c.rows;
      return at < whole ? i / rowOfBlock * whole + at : -1;
    };
    for (int64_t i = 0; sums && i < results; ++i)
      if (int64_t at = summed(i); at >= 0)
        reduceElement(c.type, c.reduction, sources, at, want, i);
    for (int64_t i = 0; c.kind == CollectiveKind::AllGather && i < results; ++i) {
      int64_t row = i / (results / c.rows), at = i % (results / c.rows);
      memcpy(want.data() + i * width,
             sources[at / rowOfBlock].data() + (row * rowOfBlock + at % rowOfBlock) * width, width);
    }
    for (int64_t r = 0; c.kind == CollectiveKind::AllToAll && r < size; ++r)
      if (block > 0)
        memcpy(want.data() + r * block * width, sources[r].data() + self * block * width,
               size_t(block) * width);
    std::vector<char> got = (inPlace ? src : dst)->read();
    if (!rank.exactSums && sums && c.reduction == Reduction::Sum && isFloat(c.type)) {
      for (int64_t i = 0; i < results; ++i)
        if (int64_t at = summed(i); at >= 0)
          ASSERT_LE(sumError(c.type, sources, at, got, i), 1)
              << what << ", element " << i << " on rank " << rank.comm.rank();
        else
          ASSERT_EQ(floatAt(c.type, got, i), 0)
              << what << ", padding " << i << " on rank " << rank.comm.rank();
      uint64_t digest = 0;
      for (size_t i = 0; c.kind == CollectiveKind::AllReduce && i + 1 < got.size(); ++i)
        digest = hashOf(digest, uint64_t(got[i]), i);
      if (c.kind == CollectiveKind::AllReduce)
        rank.sums.push_back({seed, digest, *std::min_element(members.begin(), members.end())});
    } else {
      ASSERT_TRUE(want.empty() || memcmp(got.data(), want.data(), want.size()) == 0)
          << what << " on rank " << rank.comm.rank();
    }
    ASSERT_EQ(got.back(), inPlace ? 55 : 77) << what << " wrote beyond its result";
    if (!inPlace)
      ASSERT_EQ(src->read(), given) << what << " wrote to its source";
  };
  return exchange;
}

// What a rank holds of the part `box` of a tensor whose element i (row-major over `global`) is
// contents(type, .., seed, -1)[i]; padding is `padding`.
static std::vector<char> pieceOf(const Mesh &mesh, int64_t rank, const Shape &global, const Box &box,
                                 const Sharding &sharding, DType type, uint64_t seed, char padding) {
  Shape local = localShape(box.size, sharding);
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
      inside &= index[d] < box.size[d];
      at = at * global[d] + box.begin[d] + index[d];
    }
    if (inside)
      memcpy(piece.data() + i * width, whole.data() + at * width, width);
  }
  return piece;
}

Exchange sendExchange(CommUnderTest &rank, int64_t group, const Shape &global, const Sharding &from,
                      const Sharding &to, DType type, uint64_t seed, const Box *part) {
  const Box whole{Shape(global.size(), 0), global}, &sent = part ? *part : whole;
  auto transfers =
      std::make_shared<Transfers>(groupedSend(rank.mesh, global, from, to, rank.comm.rank(), sent));
  std::vector<char> given = pieceOf(rank.mesh, rank.comm.rank(), global, whole, from, type, seed, 99);
  given.push_back(55);
  auto src = std::make_shared<DeviceData>(rank, given);
  std::vector<char> want = pieceOf(rank.mesh, rank.comm.rank(), global, sent, to, type, seed, 0);
  auto dst = std::make_shared<DeviceData>(rank, std::vector<char>(want.size() + 1, char(77)));
  Exchange exchange;
  exchange.what = "grouped_send on group " + std::to_string(group);
  exchange.order = group;
  exchange.start = [=, &rank] {
    return rank.comm.start(*transfers, group, type, src->address(), dst->address(), rank.stream, 4);
  };
  exchange.check = [=, &rank, what = exchange.what] {
    // Ours again: nobody reads it any more.
    src->write(std::vector<char>(given.size(), char(33)));
    std::vector<char> got = dst->read();
    ASSERT_TRUE(want.empty() || memcmp(got.data(), want.data(), want.size()) == 0)
        << what << " on rank " << rank.comm.rank();
    ASSERT_EQ(got.back(), 77) << what << " wrote beyond its result";
  };
  return exchange;
}

} // namespace tessera::runtime
