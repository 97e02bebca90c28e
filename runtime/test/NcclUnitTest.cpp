// Parts of the communicator over NCCL that need no GPU.
#include "../comm/nccl/DeviceBoxes.h"
#include "../comm/nccl/Matchings.h"
#include "../comm/nccl/NcclLibrary.h"
#include "../comm/nccl/TcpPlane.h"
#include "CommConformance.h"
#include "tessera/runtime/comm/ProgramCollectives.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {

// A port of this machine that nobody listens at.
static int freePort() {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), size), 0);
  getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
  close(listener);
  return ntohs(address.sin_port);
}

static std::string messageOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

// Of a list in any order, with channels named twice, every rank makes the same parts.
TEST(Matchings, NoRankStandsInAPartTwice) {
  std::vector<Channel> ring, star;
  for (int64_t r = 0; r < 9; ++r) {
    ring.push_back({r, (r + 1) % 9});
    ring.push_back({(r + 1) % 9, r});
    if (r)
      star.push_back({8, r - 1});
  }
  for (std::vector<Channel> channels : {std::vector<Channel>(), ring, star}) {
    std::vector<std::vector<Channel>> parts = matchings(channels);
    std::set<Channel> seen;
    size_t most = 0;
    for (const std::vector<Channel> &part : parts) {
      std::set<int64_t> ranks;
      for (const Channel &channel : part) {
        EXPECT_TRUE(ranks.insert(channel.from).second && ranks.insert(channel.to).second);
        EXPECT_TRUE(seen.insert(channel).second);
      }
    }
    EXPECT_EQ(seen.size(), channels.size());
    for (int64_t r = 0; r < 9; ++r)
      most = std::max(most, size_t(std::count_if(channels.begin(), channels.end(), [&](const Channel &one) {
                        return one.from == r || one.to == r;
                      })));
    EXPECT_LE(parts.size(), most ? 2 * most - 1 : 0);
    std::reverse(channels.begin(), channels.end());
    channels.insert(channels.end(), channels.begin(), channels.end());
    std::vector<std::vector<Channel>> again = matchings(channels);
    ASSERT_EQ(again.size(), parts.size());
    for (size_t i = 0; i < parts.size(); ++i)
      EXPECT_TRUE(std::equal(parts[i].begin(), parts[i].end(), again[i].begin(), again[i].end(),
                             [](const Channel &a, const Channel &b) { return !(a < b) && !(b < a); }));
  }
}

TEST(TcpPlane, CarriesWhatRanksGatherAndBroadcast) {
  for (int64_t ranks : {1, 2, 3, 5}) {
    MeetingPlace place{"127.0.0.1", freePort(), "run"};
    std::vector<std::thread> threads;
    for (int64_t r = ranks; r-- > 0;) // rank 0 comes last
      threads.emplace_back([&, r] {
        TcpPlane plane(place, r, ranks);
        checkPlane(plane);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

TEST(TcpPlane, StrangersAreSentAway) {
  MeetingPlace place{"127.0.0.1", freePort(), "run"};
  std::thread first([&] {
    TcpPlane plane(place, 0, 2);
    plane.barrier();
  });
  // Somebody of another run, and somebody who says something else: neither is taken for a rank.
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(place.port));
  int stranger = socket(AF_INET, SOCK_STREAM, 0);
  while (connect(stranger, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
    usleep(1000);
  EXPECT_EQ(send(stranger, "GET / HTTP/1.1, from somebody who got lost", 42, MSG_NOSIGNAL), 42);
  std::string why = messageOf([&] { TcpPlane({"127.0.0.1", place.port, "another run"}, 1, 2).barrier(); });
  EXPECT_NE(why.find("lost rank 0"), std::string::npos) << why;
  if (!why.empty()) { // else it was taken for rank 1, and nobody listens any more
    TcpPlane plane(place, 1, 2);
    plane.barrier();
  }
  first.join();
  close(stranger);
}

TEST(TcpPlane, TwoOfOneRankAreAnError) {
  MeetingPlace place{"127.0.0.1", freePort(), "run"};
  std::vector<std::thread> same;
  for (int i = 0; i < 2; ++i)
    same.emplace_back([&] { TcpPlane plane(place, 1, 3); });
  std::string why = messageOf([&] { TcpPlane(place, 0, 3); });
  EXPECT_NE(why.find("a process came as rank 1 of 3, which does not fit the others"), std::string::npos)
      << why;
  for (std::thread &one : same)
    one.join();
}

// A rank that does something else, or sends as much as nobody asked for, is found: not taken at its word.
TEST(TcpPlane, RanksThatDoDifferentThingsAreFound) {
  auto meet = [](const std::function<void(TcpPlane &)> &zero, const std::function<void(TcpPlane &)> &one) {
    MeetingPlace place{"127.0.0.1", freePort(), "run"};
    std::thread other([&] {
      TcpPlane plane(place, 1, 2);
      messageOf([&] { one(plane); });
    });
    std::string why = messageOf([&] {
      TcpPlane plane(place, 0, 2);
      zero(plane);
    });
    other.join();
    return why;
  };
  char data[64] = {};
  const char *different = "cannot communicate (rank 0): rank 1 does something else at start or end";
  std::string why = meet([&](TcpPlane &plane) { plane.gather(data, 0, data, 0); },
                         [](TcpPlane &plane) { plane.barrier(); });
  EXPECT_NE(why.find(different), std::string::npos) << why;
  why = meet([&](TcpPlane &plane) { plane.gather(data, 8, data, 0); },
             [&](TcpPlane &plane) { plane.gather(data, 4, data, 0); });
  EXPECT_NE(why.find(different), std::string::npos) << why;
}

TEST(TcpPlane, SaysWhatIsMissing) {
  double before = TcpPlane::patience;
  TcpPlane::patience = 0.1;
  MeetingPlace place{"127.0.0.1", freePort(), "run"};
  std::string why = messageOf([&] { TcpPlane(place, 0, 3); });
  EXPECT_NE(why.find("cannot start (127.0.0.1:" + std::to_string(place.port) + "): rank 1 has not come"),
            std::string::npos)
      << why;
  why = messageOf([&] { TcpPlane(place, 1, 3); });
  EXPECT_NE(why.find("rank 1 cannot reach rank 0 there: Connection refused"), std::string::npos) << why;
  // With patience for hours: a name that is none is no matter of time.
  TcpPlane::patience = 36000;
  why = messageOf([&] { TcpPlane({"no name", place.port, "run"}, 1, 3); });
  EXPECT_NE(why.find("the host 'no name' has no address: "), std::string::npos) << why;
  TcpPlane::patience = 0.1;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(place.port));
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  why = messageOf([&] { TcpPlane(place, 0, 3); });
  EXPECT_NE(why.find("rank 0 cannot listen there: Address already in use; choose another port with "
                     "TESSERA_MASTER_PORT"),
            std::string::npos)
      << why;
  close(listener);
  TcpPlane::patience = before;
}

TEST(TcpPlane, WhoIsGoneIsNamed) {
  MeetingPlace place{"127.0.0.1", freePort(), "run"};
  std::thread gone([&] { TcpPlane plane(place, 1, 2); });
  TcpPlane plane(place, 0, 2);
  gone.join();
  std::string why = messageOf([&] { plane.barrier(); });
  EXPECT_NE(why.find("lost rank 1"), std::string::npos) << why;
}

// Every box of small shapes, as the driver copies it and as copyBox moves it.
TEST(DeviceBoxes, CopiesAreWhatBoxesAre) {
  for (const Shape &from : {Shape{4, 3, 5}, Shape{7}, Shape{2, 6}, Shape{2, 2, 2, 3}, Shape{1, 4, 1}})
    for (int64_t pick = 0; pick < 400; ++pick) {
      Shape fromBegin, to, toBegin, size;
      uint64_t random = hashOf(uint64_t(pick), from.size(), uint64_t(from[0]));
      auto draw = [&](int64_t n) {
        random = hashOf(random, 1, 2);
        return int64_t(random % uint64_t(n));
      };
      for (int64_t n : from) {
        size.push_back(draw(4) == 0 ? n : 1 + draw(n));
        fromBegin.push_back(draw(n - size.back() + 1));
        to.push_back(size.back() + draw(2) * draw(3));
        toBegin.push_back(draw(to.back() - size.back() + 1));
      }
      auto elements = [](const Shape &shape) { return elementsOf(Box{{}, shape}); };
      std::vector<int16_t> src(size_t(elements(from))), want(size_t(elements(to)), -1), got = want;
      for (size_t i = 0; i < src.size(); ++i)
        src[i] = int16_t(i);
      copyBox(src.data(), from, fromBegin, want.data(), to, toBegin, size, 2);
      int64_t copies = 0;
      forEachCopy(from, fromBegin, to, toBegin, size, 2, [&](const BoxCopy &copy) {
        ++copies;
        EXPECT_TRUE(copy.srcPitch >= copy.bytes && copy.dstPitch >= copy.bytes);
        EXPECT_TRUE(copy.srcHeight >= copy.rows && copy.dstHeight >= copy.rows);
        for (size_t slice = 0; slice < copy.slices; ++slice)
          for (size_t row = 0; row < copy.rows; ++row)
            memcpy(reinterpret_cast<char *>(got.data()) + copy.dstOffset +
                       (slice * copy.dstHeight + row) * copy.dstPitch,
                   reinterpret_cast<const char *>(src.data()) + copy.srcOffset +
                       (slice * copy.srcHeight + row) * copy.srcPitch,
                   copy.bytes);
      });
      ASSERT_EQ(got, want) << toString(from) << toString(size) << toString(to);
      // Up to three dimensions are one copy, whatever cuts through them.
      ASSERT_LE(copies, from.size() < 4 ? 1 : size[0]) << toString(from) << toString(size) << toString(to);
      int64_t offset = -1;
      if (isContiguous(from, {fromBegin, size}, offset))
        EXPECT_EQ(std::vector<int16_t>(src.begin() + offset, src.begin() + offset + elements(size)), [&] {
          std::vector<int16_t> packed(size_t(elements(size)));
          copyBox(src.data(), from, fromBegin, packed.data(), size, Shape(size.size(), 0), size, 2);
          return packed;
        }());
    }
  int64_t offset = -1;
  EXPECT_TRUE(isContiguous({4, 6}, {{1, 0}, {2, 6}}, offset));
  EXPECT_EQ(offset, 6);
  EXPECT_FALSE(isContiguous({4, 6}, {{0, 0}, {2, 5}}, offset));
  EXPECT_TRUE(isContiguous({}, {{}, {}}, offset));
}

// What `info` says before there is a device: of three boxes of 3 rows a rank keeps one, and packs two.
TEST(DeviceBoxes, StagingIsKnownBefore) {
  Manifest manifest;
  manifest.mesh = Mesh({{"tp", 3}});
  AxisList tp = {{"tp", 1, 3}};
  manifest.groups = {tp};
  CollectiveSpec move;
  move.kind = CollectiveKind::GroupedSend;
  move.type = io::DType::F32;
  move.global = {9, 15};
  move.from = {tp, {}};
  move.to = {{}, tp};
  manifest.collectives = {move};
  for (int64_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(stagingBytes(manifest, rank, *findWorld("nccl", RanksFrom::Threads)), 2 * 3 * 5 * 4);
    EXPECT_EQ(stagingBytes(manifest, rank, *findWorld("host", RanksFrom::Threads)), 0);
  }
  std::swap(manifest.collectives[0].from, manifest.collectives[0].to); // they are unpacked now
  EXPECT_EQ(stagingBytes(manifest, 1, *findWorld("nccl", RanksFrom::Threads)), 2 * 3 * 5 * 4);
  manifest.collectives.push_back(move); // one after another in the same memory
  EXPECT_EQ(stagingBytes(manifest, 1, *findWorld("nccl", RanksFrom::Threads)), 2 * 3 * 5 * 4);
}

TEST(NcclLibrary, SaysWhatIsMissing) {
  EXPECT_EQ(ncclVersionText(21801), "2.18.1");
  EXPECT_EQ(ncclVersionText(2804), "2.8.4");
  setenv("TESSERA_NCCL", "/nowhere/libnccl.so.2", 1);
  std::string why = messageOf([] { NcclLibrary::open(); });
  unsetenv("TESSERA_NCCL");
  EXPECT_NE(why.find("NCCL"), std::string::npos) << why;
  EXPECT_NE(why.find("/nowhere/libnccl.so.2"), std::string::npos) << why;
}

// An NCCL for CUDA 13 does not run on a driver for CUDA 12.
TEST(NcclLibrary, NamesThePackageForTheDriver) {
  EXPECT_EQ(NcclLibrary::packageFor(12080), "nvidia-nccl-cu12");
  EXPECT_EQ(NcclLibrary::packageFor(13000), "nvidia-nccl-cu13");
  EXPECT_EQ(NcclLibrary::packageFor(0), "nvidia-nccl-cu13 (on a driver for CUDA 12: nvidia-nccl-cu12)");
}

} // namespace tessera::runtime
