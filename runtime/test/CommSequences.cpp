// Random sequences of communication, as valid programs make them.
#include "CommConformance.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace tessera::runtime {

using io::DType;

namespace {

// The same program on all ranks, from one seed; each starts and waits in an order of its own.
class Sequence {
public:
  Sequence(CommUnderTest &rank, uint32_t seed)
      : rank_(rank), program_(seed), own_(seed * 1009 + uint32_t(rank.comm.rank())),
        seed_(uint64_t(seed) << 20) {}

  void run() {
    // All that belongs together is started before any of it is waited for; waits may come as late as they
    // like.
    for (int part = 0, parts = 1 + int(program_() % 4); part < parts; ++part) {
      std::vector<Exchange> exchanges;
      for (int i = 0, n = 1 + int(program_() % 5); i < n; ++i)
        add(exchanges);
      shuffle(exchanges);
      for (Exchange &exchange : exchanges) {
        CommToken token = exchange.start();
        open_.push_back({token, std::move(exchange)});
      }
      std::shuffle(open_.begin(), open_.end(), own_);
      wait(own_() % (open_.size() + 1));
    }
    wait(0);
    rank_.comm.expectAllWaitedFor();
  }

private:
  struct Open {
    CommToken token;
    Exchange exchange;
  };

  void wait(size_t left) {
    for (; open_.size() > left; open_.pop_back()) {
      rank_.comm.wait(open_.back().token, rank_.stream);
      rank_.stream.synchronize();
      open_.back().exchange.check();
    }
  }

  void add(std::vector<Exchange> &exchanges) {
    std::vector<AxisList> groups = conformanceGroups(rank_.mesh);
    int64_t group = int64_t(program_() % groups.size());
    DType type =
        std::vector<DType>{DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64}[program_() % 5];
    int64_t n = int64_t(program_() % (program_() % 4 ? 300 : 6000)), size = shardCount(groups[group]),
            blocks = (n + size - 1) / size * size;
    Reduction op = program_() % 2 ? Reduction::Sum : Reduction::Max;
    bool inPlace = program_() % 2;
    uint64_t seed = ++seed_;
    auto block = [&](CollectiveKind kind, Reduction reduction, int64_t elements) {
      exchanges.push_back(blockExchange(rank_, {kind, reduction, type, group, elements}, seed, inPlace));
    };
    switch (program_() % 7) {
    case 0:
    case 1:
      return block(CollectiveKind::AllReduce, op, n);
    case 2:
    case 3: {
      int64_t rows = 1 + int64_t(program_() % 3), one = n / size,
              cut = int64_t(program_() % 2) * (one > 0 ? int64_t(program_()) % ((size - 1) * one + 1) : 0);
      bool gathers = program_() % 2;
      BlockCollective collective{gathers ? CollectiveKind::AllGather : CollectiveKind::ReduceScatter,
                                 gathers ? Reduction::None : op,
                                 type,
                                 group,
                                 gathers ? rows * one : rows * (size * one - cut),
                                 rows,
                                 rows * cut};
      exchanges.push_back(blockExchange(rank_, collective, seed, inPlace));
      return;
    }
    case 4:
      return block(CollectiveKind::AllToAll, Reduction::None, blocks);
    case 5: {
      AxisList other = groups[program_() % groups.size()];
      Shape global = {int64_t(program_() % 9), int64_t(1 + program_() % 40)};
      Sharding from = {groups[group], {}}, to = program_() % 2 ? Sharding{other, {}} : Sharding{{}, other};
      exchanges.push_back(sendExchange(rank_, int64_t(groups.size()) - 2, global, from, to, type, seed));
      return;
    }
    default:
      return message(exchanges, seed);
    }
  }

  void message(std::vector<Exchange> &exchanges, uint64_t seed) {
    int64_t ranks = rank_.comm.ranks(), from = int64_t(program_() % ranks), to = int64_t(program_() % ranks),
            tag = int64_t(program_() % 3);
    size_t bytes = 8 * (1 + program_() % 5000);
    if (from == to || (rank_.comm.rank() != from && rank_.comm.rank() != to))
      return;
    Exchange exchange;
    exchange.what = "message";
    exchange.order = 1000 + (from * ranks + to) * 3 + tag;
    std::vector<char> want = contents(DType::I64, int64_t(bytes / 8), seed, from);
    auto data =
        std::make_shared<DeviceData>(rank_, rank_.comm.rank() == from ? want : std::vector<char>(bytes));
    if (rank_.comm.rank() == from) {
      exchange.start = [=] { return rank_.comm.send(to, tag, data->address(), bytes, rank_.stream); };
      exchange.check = [] {};
    } else {
      exchange.start = [=] { return rank_.comm.receive(from, tag, data->address(), bytes, rank_.stream); };
      exchange.check = [=] {
        ASSERT_EQ(data->read(), want) << "message from rank " << from << " with tag " << tag;
      };
    }
    exchanges.push_back(std::move(exchange));
  }

  // Another order, in which those of one group (or of one sender, receiver and tag) stay in theirs.
  void shuffle(std::vector<Exchange> &exchanges) {
    std::vector<size_t> order(exchanges.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    if (rank_.anyOrder)
      std::shuffle(order.begin(), order.end(), own_);
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        if (exchanges[order[i]].order == exchanges[order[j]].order && order[i] > order[j])
          std::swap(order[i], order[j]);
    std::vector<Exchange> shuffled;
    for (size_t i : order)
      shuffled.push_back(std::move(exchanges[i]));
    exchanges = std::move(shuffled);
  }

  CommUnderTest &rank_;
  std::mt19937 program_, own_;
  uint64_t seed_;
  std::vector<Open> open_;
};

} // namespace

void runRandomSequences(CommUnderTest &rank, uint32_t seed, int count) {
  for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
    SCOPED_TRACE("sequence " + std::to_string(seed + uint32_t(i)));
    Sequence(rank, seed + uint32_t(i)).run();
  }
  compareSums(rank);
  rank.plane.barrier();
}

} // namespace tessera::runtime
