// Grouped sends against their definition: every element of every new piece, looked for in the old pieces.
#include "../DrawSharding.h"

#include "tessera/Analysis/Sharding/GroupedSends.h"
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/Support/Shapes.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace tessera;

namespace {
struct Counted {
  double received = 0; ///< elements, by the busiest device
  double sent = 0;
  int64_t messages = 0; ///< most devices that one receives from, itself counted
  bool inGroups = true; ///< all of them differ from the receiver in the axes of sendAxes alone
};

Counted count(const Mesh &mesh, const SentPart &part, const Sharding &from, const Sharding &to) {
  Counted counted;
  llvm::ArrayRef<int64_t> shape = part.size;
  auto have = from.localShape(part.shape), want = to.localShape(shape);
  AxisList axes = sendAxes(mesh, part, from, to);
  std::vector<double> sent(size_t(mesh.numDevices()), 0);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    auto reach = groupOf(mesh, axes, device);
    std::set<int64_t> senders;
    double received = 0;
    int64_t elements = 1;
    for (int64_t n : shape)
      elements *= n;
    for (int64_t element = 0; element < elements; ++element) {
      // Digits of dimensions are independent: the sender has, for each, the digits of the piece that the
      // element lies in.
      int64_t rest = element;
      bool wanted = true;
      llvm::SmallVector<int64_t> index(shape.size());
      for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
        index[d] = rest % shape[d];
        rest /= shape[d];
        wanted &= index[d] / want[d] == groupIndex(mesh, to.dims[d].axes, device);
      }
      if (!wanted)
        continue;
      int64_t sender = device;
      for (size_t d = 0; d < shape.size(); ++d)
        sender = groupOf(mesh, from.dims[d].axes, sender)[(index[d] + part.beginOf(d)) / have[d]];
      senders.insert(sender);
      received += sender != device;
      sent[size_t(sender)] += sender != device;
      counted.inGroups &= llvm::is_contained(reach, sender);
    }
    counted.received = std::max(counted.received, received);
    counted.messages = std::max(counted.messages, int64_t(senders.size()));
  }
  counted.sent = *std::max_element(sent.begin(), sent.end());
  return counted;
}
} // namespace

TEST(GroupedSends, AreWhatTheElementsSay) {
  std::mt19937 random(5);
  int sent = 0, small = 0;
  for (int i = 0; i < 2000; ++i) {
    Mesh mesh;
    for (const char *name : {"x", "y"}) {
      const int64_t sizes[] = {1, 2, 3, 4, 6};
      mesh.axes.push_back({name, sizes[random() % 5]});
    }
    llvm::SmallVector<int64_t> shape;
    for (int d = 0, rank = 1 + int(random() % 2); d < rank; ++d)
      shape.push_back(1 + int64_t(random() % 14));
    Sharding from = drawSharding(random, mesh, int(shape.size())),
             to = drawSharding(random, mesh, int(shape.size()));
    // Every fourth time a part of it.
    llvm::SmallVector<int64_t> begin(shape.size(), 0), size(shape);
    for (size_t d = 0; i % 4 == 3 && d < shape.size(); ++d) {
      size[d] = 1 + int64_t(random() % uint64_t(shape[d]));
      begin[d] = int64_t(random() % uint64_t(shape[d] - size[d] + 1));
    }
    SentPart part(shape, begin, size);
    Counted counted = count(mesh, part, from, to);
    std::string what = shapeText(shape) + " " + toString(from, mesh) + " -> " + shapeText(size) + " at " +
                       shapeText(begin) + " " + toString(to, mesh);
    ASSERT_TRUE(counted.inGroups) << what;
    ASSERT_EQ(mostReceived(mesh, part, from, to), counted.received) << what;
    ASSERT_EQ(mostSent(mesh, part, from, to), counted.sent) << what;
    ASSERT_LE(someReceived(mesh, part, from, to, 5), counted.received) << what;
    ASSERT_GE(sendMessages(part, from, to), counted.messages) << what;
    AxisList axes = sendAxes(mesh, part, from, to);
    ASSERT_TRUE(!axes.empty() || counted.received == 0) << what;
    sent += counted.received > 0;
    small += !axes.empty() && axesSize(axes) < mesh.numDevices();
  }
  EXPECT_GT(sent, 1000);
  EXPECT_GT(small, 200);
}

TEST(GroupedSends, DevicesThatAgreeOnAMajorAxisSendAmongThemselves) {
  Mesh m = mesh("dp2 x2 y3");
  // 12 over dp are 6 and 6, whose parts over x and y lie within; of 10 they do not: 5 and 5 over dp, 3 3 3 1
  // over dp and x.
  EXPECT_EQ(sendAxes(m, {12}, sharding("[dp,x]", m), sharding("[dp,y]", m)), (AxisList{wholeAxis(m, 1)}));
  EXPECT_EQ(sendAxes(m, {10}, sharding("[dp,x]", m), sharding("[dp,y]", m)),
            (AxisList{{0, 1, 2}, {1, 1, 2}}));
  // A dimension that stays as it is takes no part, whether it divides or not.
  EXPECT_EQ(sendAxes(m, {5, 12}, sharding("[dp/x]", m), sharding("[dp/y]", m)), (AxisList{wholeAxis(m, 1)}));
}

TEST(GroupedSends, WhoHasWhatAllWantSendsItToAll) {
  Mesh m = mesh("x3 y2");
  EXPECT_EQ(mostReceived(m, {1, 6}, sharding("[x/-]", m), sharding("[-/-]", m)), 6);
  EXPECT_EQ(mostSent(m, {1, 6}, sharding("[x/-]", m), sharding("[-/-]", m)), 12);
  EXPECT_EQ(mostSent(m, {1, 6}, sharding("[x/-]", m), sharding("[-/x]", m)), 4);
  // Too many devices to look at each: no device sends more.
  Mesh large = mesh("x512 y512");
  EXPECT_GE(mostSent(large, {1, 6}, sharding("[x/-]", large), sharding("[-/-]", large)), 511 * 6);
  EXPECT_LE(mostSent(large, {1, 6}, sharding("[x/-]", large), sharding("[-/-]", large)), 512 * 6);
  EXPECT_LE(mostSent(large, {512, 512}, sharding("[x/-]", large), sharding("[x,y/-]", large)), 512);
}

TEST(GroupedSends, MessagesAreAsManyAsOldPiecesThatANewOneTouches) {
  Mesh m = mesh("x4 y3");
  EXPECT_EQ(sendMessages({12}, sharding("[x]", m), sharding("[y]", m)), 2); // 3 3 3 3 to 4 4 4
  EXPECT_EQ(sendMessages({12}, sharding("[y]", m), sharding("[x]", m)), 2);
  EXPECT_EQ(sendMessages({12}, sharding("[x]", m), sharding("[-]", m)), 4);
  EXPECT_EQ(sendMessages({2}, sharding("[x]", m), sharding("[-]", m)), 2); // two ranks have nothing
  EXPECT_EQ(sendMessages({12, 5}, sharding("[x/y]", m), sharding("[-/-]", m)), 12);
  EXPECT_EQ(sendMessages({0}, sharding("[x]", m), sharding("[-]", m)), 0);
}

// The middle half over two ranks lies where it belongs, over four it is one message of half a piece.
TEST(GroupedSends, WhatAPartLacksAlone) {
  Mesh m = mesh("x4 y2");
  Sharding x = sharding("[x]", m), y = sharding("[y]", m);
  const llvm::SmallVector<int64_t> whole = {16}, quarter = {4}, half = {8};
  SentPart middle(whole, quarter, half), last(whole, half, half);
  EXPECT_EQ(mostReceived(m, middle, y, y), 0);
  EXPECT_EQ(sendMessages(middle, y, y), 1);
  EXPECT_EQ(mostReceived(m, middle, x, x), 2);
  EXPECT_EQ(sendMessages(middle, x, x), 1);
  EXPECT_EQ(mostReceived(m, last, y, y), 4);
  EXPECT_EQ(sendAxes(m, middle, y, y), (AxisList{wholeAxis(m, 1)}));
  EXPECT_TRUE(sendAxes(m, SentPart({16}, {0}, {16}), y, y).empty());
}
