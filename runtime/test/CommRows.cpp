// Rows by counts: what every communicator that the host drives must do with them.
#include "CommConformance.h"
#include "tessera/runtime/core/Error.h"

#include <gtest/gtest.h>
#include <numeric>

namespace tessera::runtime {

namespace {

// Rows that member `from` sends member `to` in this turn: of one kind of routing each.
using Routing = std::function<int32_t(int64_t from, int64_t to)>;

char byteOf(uint64_t seed, int64_t from, int64_t to, size_t at) {
  return char(hashOf(seed * 64 + uint64_t(from), uint64_t(to), at) % 251 + 1); // not zero
}

void exchangeRows(CommUnderTest &rank, int64_t group, io::DType type, int64_t width, uint64_t seed,
                  const Routing &rows) {
  AxisList axes = conformanceGroups(rank.mesh)[size_t(group)];
  int64_t size = shardCount(axes), self = rank.mesh.index(rank.comm.rank(), axes);
  size_t bytes = size_t(io::bytesOf(type, width));
  std::vector<int32_t> counts(size_t(2 * size));
  std::vector<char> given, want;
  for (int64_t r = 0; r < size; ++r) {
    counts[size_t(r)] = rows(self, r);
    counts[size_t(size + r)] = rows(r, self);
    for (size_t i = 0; i < size_t(rows(self, r)) * bytes; ++i)
      given.push_back(byteOf(seed, self, r, i));
    for (size_t i = 0; i < size_t(rows(r, self)) * bytes; ++i)
      want.push_back(byteOf(seed, r, self, i));
  }
  // Room for more rows than there are: of src nobody reads them, in dst they become zero.
  const size_t spare = 3;
  given.resize(given.size() + spare * bytes, char(99));
  want.resize(want.size() + spare * bytes, 0);
  std::vector<char> number(counts.size() * sizeof(int32_t));
  memcpy(number.data(), counts.data(), number.size());
  // A byte more than needed: it shows who writes too far.
  want.push_back(77);
  DeviceData src(rank, given), dst(rank, std::vector<char>(want.size(), char(77))), numbers(rank, number);
  RowExchange exchange = {type, group, width, int64_t(given.size() / bytes), int64_t(want.size() / bytes)};
  rank.comm.wait(rank.comm.start(exchange, src.address(),
                                 reinterpret_cast<const int32_t *>(numbers.address()), dst.address(),
                                 rank.stream, 3),
                 rank.stream);
  rank.stream.synchronize();
  ASSERT_EQ(dst.read(), want) << "group " << group << ", rows of " << width << ", seed " << seed << ", rank "
                              << rank.comm.rank();
}

} // namespace

void runRowExchanges(CommUnderTest &rank) {
  std::vector<AxisList> groups = conformanceGroups(rank.mesh);
  uint64_t seed = 1;
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t size = shardCount(groups[g]);
    std::vector<Routing> routings = {
        [](int64_t, int64_t) { return 0; },                                     // nobody to nobody
        [](int64_t, int64_t) { return 2; },                                     // even
        [](int64_t, int64_t to) { return to == 0 ? 5 : 0; },                    // all to the first one
        [=](int64_t from, int64_t) { return from == size - 1 ? 4 : 0; },        // only the last one has any
        [](int64_t from, int64_t to) { return from == to ? 3 : 0; },            // nothing travels
        [](int64_t from, int64_t to) { return to == 0 && from != 0 ? 300 : 1; } // many, and few
    };
    for (const Routing &routing : routings)
      exchangeRows(rank, int64_t(g), io::DType::F32, 7, ++seed, routing);
    for (int turn = 0; turn < 12; ++turn) {
      ++seed;
      // Half of the pairs have none.
      Routing random = [seed](int64_t from, int64_t to) {
        uint64_t hash = hashOf(seed, uint64_t(from), uint64_t(to));
        return int32_t(hash % 2 ? hash / 2 % 40 : 0);
      };
      exchangeRows(rank, int64_t(g), turn % 3 == 0 ? io::DType::BF16 : io::DType::F32, 1 + turn * 37, seed,
                   random);
    }
  }
  rank.comm.expectAllWaitedFor();
  rank.plane.barrier();
}

} // namespace tessera::runtime
