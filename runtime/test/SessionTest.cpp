// What a session gives its entries where a shard reaches beyond the batch or the chunk, and what it holds for
// them.
#include "Session.h"
#include "BenchGenerating.h"
#include "CheckedDriver.h"
#include "Generate.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/cpu/Driver.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <unistd.h>

namespace tessera::runtime {
namespace {

void nothing(ts_rank *, const ts_call *) {}

// A program on one of its ranks, whose thread this is, and its session. Nothing here communicates.
struct OneRank {
  OneRank(std::string manifestText, std::vector<ts_entry_fn> functions, const Driver &driver, int64_t id = 0,
          const std::vector<ts_kernel> &kernels = {})
      : text(std::move(manifestText)), entries(std::move(functions)), manifest(Manifest::parse(text)),
        program{TESSERA_ABI_VERSION,
                uint32_t(entries.size()),
                uint32_t(kernels.size()),
                text.data(),
                text.size(),
                entries.data(),
                kernels.data()},
        plan(manifest, driver), board(manifest.mesh.size()),
        world(createHostWorld(manifest.mesh.size(), board)), comm(createHostCommunicator(world, id)),
        plane(createHostPlane(world, id)),
        device({{program, manifest, plan}}, *comm, *plane, board.entry(id), 1), rank(device), session(rank) {}

  const std::string text;
  const std::vector<ts_entry_fn> entries;
  const Manifest manifest;
  const ts_program program;
  const WeightPlan plan;
  Board board;
  decltype(createHostWorld(1, std::declval<Board &>())) world;
  std::unique_ptr<Communicator> comm;
  std::unique_ptr<HostPlane> plane;
  RankDevice device;
  Rank rank;
  Session session;
};

// Three rows of one token, two of them on each of two ranks; the prompt's chunk is three tokens of three
// rows.
const char *const manifestText =
    R"({"version": 2, "task": "generate", "dtype": "f32", "target": "cpu", "model": "/m",
  "mesh": [["dp", 2]], "arena_bytes": 1024, "params": [], "states": [], "matmuls": [], "groups": [], "collectives": [],
  "generate": {"batch": 3, "chunk": 3, "max_seq_len": 8, "vocab": 5},
  "entries": [{"name": "first", "role": "prompt",
     "inputs": [{"name": "tokens", "dtype": "i32", "shape": [3, 3], "local": [2, 3], "sharding": [[["dp", 1, 2]], []], "offset": 0, "fill": "token_ids"},
       {"name": "positions", "dtype": "i32", "shape": [3, 3], "local": [3, 2], "sharding": [[], [["dp", 1, 2]]], "offset": 64, "fill": "positions"},
       {"name": "index", "dtype": "i32", "shape": [3], "local": [2], "sharding": [[["dp", 1, 2]]], "offset": 128, "fill": "last_index"}],
     "outputs": [{"name": "l", "dtype": "f32", "shape": [3, 1, 5], "local": [3, 1, 5], "sharding": [[], [], []], "offset": 192, "gives": "logits"},
       {"name": "n", "dtype": "i32", "shape": [3, 1], "local": [3, 1], "sharding": [[], []], "offset": 256, "gives": "next_tokens"}]},
   {"name": "then", "role": "next",
     "inputs": [{"name": "tokens", "dtype": "i32", "shape": [3, 1], "local": [2, 1], "sharding": [[["dp", 1, 2]], []], "offset": 512, "fill": "token_ids"},
       {"name": "positions", "dtype": "i32", "shape": [3, 1], "local": [2, 1], "sharding": [[["dp", 1, 2]], []], "offset": 576, "fill": "positions"}],
     "outputs": [{"name": "l", "dtype": "f32", "shape": [3, 1, 5], "local": [3, 1, 5], "sharding": [[], [], []], "offset": 192, "gives": "logits"},
       {"name": "n", "dtype": "i32", "shape": [3, 1], "local": [3, 1], "sharding": [[], []], "offset": 256, "gives": "next_tokens"}]}]})";

// The last of two ranks alone: nothing here communicates.
TEST(Session, PaddingIsInert) {
  OneRank one(manifestText, {nothing, nothing}, cpuDriver(), 1);
  Session &session = one.session;
  auto inputs = [&](int64_t entry) {
    std::vector<std::vector<int32_t>> all;
    for (const InputSpec &input : one.manifest.entries[entry].inputs) {
      all.emplace_back(size_t(input.bytes / 4));
      one.rank.read(all.back().data(), one.rank.arena() + input.offset, size_t(input.bytes));
    }
    return all;
  };
  using Inputs = std::vector<std::vector<int32_t>>;
  session.prompt({1, 2, 3, 4, 5, 6, 7, 8, 9}, {0, 1, 2, 0, 1, 2, 0, 1, -1}, {2, 2, 1});
  // Tokens and indices of the row that is not there are 0, its positions -1: no place of the context.
  EXPECT_EQ(inputs(0), (Inputs{{7, 8, 9, 0, 0, 0}, {2, -1, 2, -1, -1, -1}, {1, 0}}));
  session.advance({10, 11, 12}, {3, 3, 2});
  EXPECT_EQ(inputs(1), (Inputs{{12, 0}, {2, -1}}));
}

// Logits in 16 bits are widened for all rows, not for the first one only.
TEST(Session, ShortLogitsOfAllRows) {
  std::string text = manifestText;
  const std::string narrow = "\"bf16\"", of = "\"f32\", \"shape\": [3, 1, 5]";
  for (size_t at; (at = text.find(of)) != std::string::npos;)
    text.replace(at, 5, narrow);
  OneRank one(text, {nothing, nothing}, cpuDriver());
  one.session.advance({1, 2, 3}, {0, 0, 0});
  std::vector<float> wanted(15);
  std::iota(wanted.begin(), wanted.end(), 1.0f);
  std::vector<uint16_t> held(wanted.size());
  io::traits(io::DType::BF16).narrow(wanted.data(), int64_t(wanted.size()), held.data());
  const OutputSpec &logits = *one.manifest.entries[1].output(Gives::Logits);
  one.rank.write(one.rank.arena() + logits.offset, held.data(), held.size() * sizeof(held[0]));
  EXPECT_EQ(one.session.logits(), wanted);
}

// What a program of one row takes for a prompt of two tokens and for one more, and gives.
const std::string promptInputs =
    R"({"name": "tokens", "dtype": "i32", "shape": [1, 2], "local": [1, 2], "sharding": [[], []], "offset": 0, "fill": "token_ids"},
       {"name": "positions", "dtype": "i32", "shape": [1, 2], "local": [1, 2], "sharding": [[], []], "offset": 64, "fill": "positions"},
       {"name": "index", "dtype": "i32", "shape": [1], "local": [1], "sharding": [[]], "offset": 128, "fill": "last_index"})";
const std::string rowOutputs =
    R"({"name": "l", "dtype": "f32", "shape": [1, 1, 5], "local": [1, 1, 5], "sharding": [[], [], []], "offset": 192, "gives": "logits"},
       {"name": "n", "dtype": "i32", "shape": [1, 1], "local": [1, 1], "sharding": [[], []], "offset": 256, "gives": "next_tokens"})";

// One row. Logits of another position are made of what the prompt left.
const std::string twoPartsText =
    R"({"version": 2, "task": "generate", "dtype": "f32", "target": "cpu", "model": "/m",
  "mesh": [["dp", 1]], "arena_bytes": 1024, "params": [], "states": [], "matmuls": [], "groups": [], "collectives": [],
  "generate": {"batch": 1, "chunk": 2, "max_seq_len": 8, "vocab": 5},
  "entries": [{"name": "first", "role": "prompt",
     "inputs": [)" +
    promptInputs + R"(],
     "outputs": [{"name": "h", "dtype": "f32", "shape": [1, 2, 4], "local": [1, 2, 4], "sharding": [[], [], []], "offset": 320},
       )" +
    rowOutputs + R"(]},
   {"name": "then", "role": "next",
     "inputs": [{"name": "tokens", "dtype": "i32", "shape": [1, 1], "local": [1, 1], "sharding": [[], []], "offset": 0, "fill": "token_ids"},
       {"name": "positions", "dtype": "i32", "shape": [1, 1], "local": [1, 1], "sharding": [[], []], "offset": 64, "fill": "positions"}],
     "outputs": [)" +
    rowOutputs + R"(]},
   {"name": "again", "role": "logits",
     "inputs": [{"name": "h", "dtype": "f32", "shape": [1, 2, 4], "local": [1, 2, 4], "sharding": [[], [], []], "offset": 512, "fill": {"entry": 0, "output": 0}},
       {"name": "index", "dtype": "i32", "shape": [1], "local": [1], "sharding": [[]], "offset": 128, "fill": "last_index"}],
     "outputs": [)" +
    rowOutputs + R"(]}]})";

// Nobody waits for the last entry: the copies that fill its inputs may be as late as the end of the rank.
TEST(Session, WhatItHoldsOutlivesItsCopies) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    setCheckedSeed(seed);
    OneRank one(twoPartsText, {nothing, nothing, nothing}, checkedDriver());
    one.session.prompt({1, 2}, {0, 1}, {0});
    one.session.promptLogits({1});
  }
}

// Logits of another position are made of what the last prompt left, not the first.
TEST(Session, WhatItHoldsIsOfTheLastPrompt) {
  OneRank one(twoPartsText, {nothing, nothing, nothing}, cpuDriver());
  Session &session = one.session;
  Rank &rank = one.rank;
  for (float turn = 1; turn <= 3; ++turn) {
    session.prompt({1, 2}, {0, 1}, {0});
    std::vector<float> left(8, turn), taken(8);
    rank.write(rank.arena() + 320, left.data(), 32);
    for (int32_t position : {0, 1}) {
      session.promptLogits({position});
      rank.read(taken.data(), rank.arena() + 512, 32);
      EXPECT_EQ(taken, left);
      std::vector<float> none(8);
      rank.write(rank.arena() + 320, none.data(), 32); // what an entry in between may do
    }
  }
}

// One row, whose token and position are states: each step adds 1 to both.
const std::string keptText =
    R"({"version": 2, "task": "generate", "dtype": "f32", "target": "cpu", "model": "/m",
  "mesh": [["dp", 1]], "arena_bytes": 1024, "params": [], "matmuls": [], "groups": [], "collectives": [],
  "states": [{"name": "t", "dtype": "i32", "shape": [1, 1], "local": [1, 1], "sharding": [[], []], "offset": 512, "clear": "at_start", "fill": "token_ids"},
       {"name": "p", "dtype": "i32", "shape": [1, 1], "local": [1, 1], "sharding": [[], []], "offset": 576, "clear": "at_start", "fill": "positions"}],
  "generate": {"batch": 1, "chunk": 2, "max_seq_len": 8, "vocab": 5},
  "entries": [{"name": "first", "role": "prompt", "states": {"reads": [0, 1], "writes": [0, 1]},
     "inputs": [)" +
    promptInputs + R"(],
     "outputs": [)" +
    rowOutputs + R"(]},
   {"name": "then", "role": "next", "states": {"reads": [0, 1], "writes": [0, 1]}, "inputs": [],
     "outputs": [)" +
    rowOutputs + R"(]}]})";

// Both entries leave the rows of the next step, and nothing else says what they are.
TEST(Session, TheManifestSaysWhatIsKept) {
  Manifest manifest = Manifest::parse(keptText);
  EXPECT_EQ(manifest.generate->tokenState, 0);
  EXPECT_EQ(manifest.generate->positionState, 1);
  EXPECT_EQ(Manifest::parse(manifestText).generate->tokenState, -1);
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    std::string text = keptText;
    size_t at = text.find(piece);
    ASSERT_NE(at, std::string::npos) << piece;
    Status status = Manifest::check(text.replace(at, piece.size(), by));
    ASSERT_FALSE(bool(status)) << by;
    EXPECT_NE(status.failure().why.find(why), std::string::npos) << status.failure().why;
  };
  refused(R"("inputs": [],)",
          R"("inputs": [{"name": "tokens", "dtype": "i32", "shape": [1, 1], "local": [1, 1],
             "sharding": [[], []], "offset": 0, "fill": "token_ids"}],)",
          "takes its rows from states and from inputs");
  refused(R"("fill": "positions"}],)", R"("fill": null}],)", "one is a state, the other is not");
  refused(R"("fill": "positions"}],)", R"("fill": "token_ids"}],)", "is filled as state t is");
  refused(R"("fill": "positions"}],)", R"("fill": "last_index"}],)", "is no state");
  refused(R"("writes": [0, 1])", R"("writes": [0])", "does not leave state p");
  refused(R"("name": "t", "dtype": "i32")", R"("name": "t", "dtype": "i64")", "is not i32 [batch, 1]");
}

// The same with the ids that end a row, which lie behind the others.
std::string endingText() {
  std::string text = keptText;
  auto replaceAll = [&](const std::string &piece, const std::string &by) {
    for (size_t at = 0; (at = text.find(piece, at)) != std::string::npos; at += by.size())
      text.replace(at, piece.size(), by);
  };
  replaceAll(R"("fill": "positions"}],)", R"("fill": "positions"},
       {"name": "e", "dtype": "i32", "shape": [3], "local": [3], "sharding": [[]], "offset": 640, "clear": "at_start", "fill": "end_tokens"}],)");
  replaceAll(R"({"reads": [0, 1],)", R"({"reads": [0, 1, 2],)");
  return text;
}

TEST(Session, TheManifestSaysWhatEndsRows) {
  EXPECT_EQ(Manifest::parse(endingText()).state(Fill::EndTokens)->name, "e");
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    std::string text = endingText();
    size_t at = text.find(piece);
    ASSERT_NE(at, std::string::npos) << piece;
    Status status = Manifest::check(text.replace(at, piece.size(), by));
    ASSERT_FALSE(bool(status)) << by;
    EXPECT_NE(status.failure().why.find(why), std::string::npos) << status.failure().why;
  };
  refused(R"("reads": [0, 1, 2])", R"("reads": [0, 1])", "does not read state e");
  refused(R"("writes": [0, 1])", R"("writes": [0, 1, 2])", "or writes it");
  refused(R"("fill": "end_tokens")", R"("fill": "drawn_end_tokens")",
          "of chosen or of drawn tokens are no state");
  refused(R"("shape": [3], "local": [3])", R"("shape": [3], "local": [4])", "is no list of ids");
  refused(R"("name": "e", "dtype": "i32")", R"("name": "e", "dtype": "i64")", "does not hold the end tokens");
}

// States begin as zeros, which would be an id: none end a row before somebody says so. What tokens end that
// are drawn ends none that are chosen. There may be more than the program looks for.
TEST(Session, EndTokensAreOfOneKind) {
  OneRank one(endingText(), {nothing, nothing}, cpuDriver());
  auto held = [&] {
    std::vector<int32_t> ids(3);
    one.rank.read(ids.data(), one.rank.arena() + 640, 12);
    return ids;
  };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(held(), (Ids{-1, -1, -1}));
  one.session.setEndTokens({0, 4}, false);
  EXPECT_EQ(held(), (Ids{0, 4, -1}));
  one.session.clear();
  EXPECT_EQ(held(), (Ids{0, 4, -1}));
  one.session.setEndTokens({1, 2, 3, 4}, false);
  EXPECT_EQ(held(), (Ids{1, 2, 3}));
  one.session.setEndTokens({0, 4}, true);
  EXPECT_EQ(held(), (Ids{-1, -1, -1}));
}

// A group of rows that notes how many prompts it gets, round by round.
struct CountedGroup final : TextSession {
  bool isRoot() const override { return false; }
  int64_t batch() const override { return 2; }
  int64_t chunk() const override { return 1; }
  int64_t vocab() const override { return 5; }
  bool hasPromptLogits() const override { return false; }
  void clear() override {}
  void prompt(const std::vector<int32_t> &, const std::vector<int32_t> &positions,
              const std::vector<int32_t> &) override {
    prompts.push_back(std::count(positions.begin(), positions.end(), 0));
  }
  void advance(const std::vector<int32_t> &, const std::vector<int32_t> &positions) override {
    EXPECT_EQ(underWay, 0) << "its token was not taken";
    advanced.push_back(std::count_if(positions.begin(), positions.end(), [](int32_t p) { return p >= 0; }));
    if (order)
      order->push_back(this);
  }
  void advance() override {}
  bool goesOn() const override { return false; }
  int64_t stepsAhead() const override { return 2; }
  bool draws() const override { return false; }
  void setDrawing(const Drawing &) override {}
  void setDrawnRows(const std::vector<int32_t> &, const std::vector<int32_t> &) override {}
  void setSeenTokens(size_t, const std::vector<int32_t> &) override {}
  void draw(const std::vector<int32_t> &) override {}
  void advanceDrawing() override {}
  void setEndTokens(const std::vector<int32_t> &, bool) override {}
  void hold(const std::vector<size_t> &) override {}
  void promptLogits(const std::vector<int32_t> &) override {}
  void sendNext() override { ++underWay; }
  std::vector<int32_t> takeNext() override { return --underWay, std::vector<int32_t>{1, 1}; }
  void dropNext() override { underWay = 0; }
  const std::vector<float> &logits() override { return none; }

  std::vector<int64_t> prompts, advanced;
  int underWay = 0;                                   // tokens that were sent and not taken
  std::vector<const CountedGroup *> *order = nullptr; // of the groups' steps
  const std::vector<float> none;
};

// Of eight prompts five come first and three behind them; four groups all have work wherever
// there are as many prompts, though two rows a group could hold the five in three.
TEST(Session, GroupsShareWhatIsLeftEvenly) {
  OneRank one(keptText, {nothing, nothing}, cpuDriver());
  GenerateJob job;
  job.prompts.assign(8, {1});
  job.limits.assign(8, 2);
  CountedGroup groups[4];
  generateOnRank(one.rank, {&groups[0], &groups[1], &groups[2], &groups[3]}, 5, job);
  EXPECT_EQ(groups[0].prompts, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(groups[1].prompts, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(groups[2].prompts, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(groups[3].prompts, (std::vector<int64_t>{1}));
}

// What is measured is what generating does: the batch shared out evenly, and a step of each group before the
// next one of any.
TEST(Session, GroupsAreMeasuredTogether) {
  OneRank one(keptText, {nothing, nothing}, cpuDriver());
  CountedGroup groups[2];
  std::vector<const CountedGroup *> order, wanted;
  for (CountedGroup &group : groups)
    group.order = &order;
  benchOnRank(one.rank, {&groups[0], &groups[1]}, {3, 4, 3}, false);
  for (int round = 0; round < 4; ++round) // of prompts, of which the first chunk has position 0
    for (size_t g = 0; g < 2; ++g)
      EXPECT_EQ(groups[g].prompts[size_t(3 * round)], int64_t(2 - g));
  EXPECT_EQ(groups[0].prompts.size(), 12u);
  EXPECT_EQ(groups[0].advanced, std::vector<int64_t>(7, 2)); // three to warm up, and four
  EXPECT_EQ(groups[1].advanced, std::vector<int64_t>(7, 1));
  for (int step = 0; step < 7; ++step)
    wanted.insert(wanted.end(), {&groups[0], &groups[1]});
  EXPECT_EQ(order, wanted);
}

// The host looks for end tokens, too: what is printed does not say whether the program knows them.
TEST(Session, GeneratingTellsTheProgramWhatEndsRows) {
  OneRank one(endingText(), {nothing, nothing}, cpuDriver());
  GenerateJob job;
  job.prompts = {{1}};
  job.limits = {2};
  job.endTokens = {3, 4};
  int output = dup(STDOUT_FILENO); // the root closes its own when it has printed all
  Session session(one.rank);
  generateOnRank(one.rank, {&session}, session.batch(), job);
  dup2(output, STDOUT_FILENO);
  close(output);
  std::vector<int32_t> ids(3);
  one.rank.read(ids.data(), one.rank.arena() + 640, 12);
  EXPECT_EQ(ids, (std::vector<int32_t>{3, 4, -1}));
}

// The three rows of manifestText, two of them on each of two ranks, as states.
std::string heldText() {
  std::string text = manifestText;
  auto replace = [&](const std::string &from, const std::string &to, const std::string &by) {
    const size_t begin = text.find(from), end = text.find(to, begin);
    text.replace(begin, end - begin, by);
  };
  const std::string both = R"("states": {"reads": [0, 1], "writes": [0, 1]}, )";
  auto state = [](const std::string &name, const std::string &fill, int offset) {
    return R"({"name": ")" + name + R"(", "dtype": "i32", "shape": [3, 1], "local": [2, 1],
       "sharding": [[["dp", 1, 2]], []], "offset": )" +
           std::to_string(offset) + R"(, "clear": "at_start", "fill": ")" + fill + "\"}";
  };
  replace(R"("states": [], "matmuls")", R"("matmuls")",
          R"("states": [)" + state("t", "token_ids", 512) + ", " + state("p", "positions", 576) + "], ");
  replace(R"("role": "prompt",)", "\n", R"("role": "prompt", )" + both);
  replace(R"("role": "next",)", R"("outputs")", R"("role": "next", )" + both + R"("inputs": [], )");
  return text;
}

// Rows are held by those that have them: of the last rank's two the second is nobody's.
TEST(Session, RowsAreHeldWhereTheyLie) {
  for (int64_t rank : {0, 1}) {
    OneRank one(heldText(), {nothing, nothing}, cpuDriver(), rank);
    const StateSpec &positions = one.manifest.states[1];
    const int32_t before[] = {7, 8};
    one.rank.write(one.rank.arena() + positions.offset, before, sizeof(before));
    one.session.hold({0, 2});
    int32_t after[2];
    one.rank.read(after, one.rank.arena() + positions.offset, sizeof(after));
    EXPECT_EQ(after[0], -1);
    EXPECT_EQ(after[1], 8);
  }
}

void addOne(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<int32_t *>(buffers[0])[i] += 1;
}
const ts_kernel_buffer addOneBuffers[] = {{4, TS_UPDATE}};
const std::vector<ts_kernel> addOneKernels = {{"add_one", addOne, addOneBuffers, 1, 0}};

void addOneToRow(ts_rank *rank, const ts_call *call) {
  for (int64_t at : {512, 576}) {
    void *row[] = {call->base + at};
    ts_launch(rank, 0, 0, row, nullptr, 1, 1);
  }
  ts_copy(rank, 0, call->base + 256, call->base + 512, 4);
}

// Steps that are given before earlier ones are read take what those left, in all orders of the streams.
TEST(Session, StepsGoOnByThemselves) {
  int64_t mostAhead = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    setCheckedSeed(seed);
    OneRank one(keptText, {nothing, addOneToRow}, checkedDriver(), 0, addOneKernels);
    Session &session = one.session;
    Rank &rank = one.rank;
    ASSERT_TRUE(session.goesOn());
    session.clear();
    auto position = [&] {
      int32_t at = 0;
      rank.read(&at, rank.arena() + 576, sizeof(at));
      return at;
    };
    EXPECT_EQ(position(), -1); // inert until a prompt comes
    // The host says what the row is, and the steps go on from there.
    session.advance({40}, {7});
    session.sendNext();
    int32_t expected = 41;
    int64_t sent = 1, ahead = session.stepsAhead();
    mostAhead = std::max(mostAhead, ahead);
    for (int step = 0; step < 10; ++step) {
      if (sent > ahead) {
        EXPECT_EQ(session.takeNext(), std::vector<int32_t>{expected++});
        --sent;
      }
      session.advance();
      session.sendNext();
      ++sent;
    }
    EXPECT_EQ(position(), 18);
    // What is on its way is forgotten with the text that it belongs to.
    session.dropNext();
    session.advance({3}, {0});
    EXPECT_EQ(session.next(), std::vector<int32_t>{4});
  }
  EXPECT_GT(mostAhead, 0);
}

} // namespace
} // namespace tessera::runtime
