// Which rows a step takes, and what of them a rank gets.
#include "tessera/runtime/data/TrainingData.h"
#include "TestFiles.h"
#include "tessera/runtime/data/RowPermutation.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <algorithm>

using namespace tessera;
using namespace tessera::data;
using runtime::shardRange;

namespace {

class TrainingDataTest : public io::test::ScratchFolder {
protected:
  // Row r holds 10 r, 10 r + 1, ..., cut to lengths[r] ids.
  std::unique_ptr<TrainingData> data(DataOptions options, int64_t rows, int64_t sequence = 4,
                                     const std::vector<int64_t> &lengths = {}) {
    std::vector<int32_t> ids;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c <= sequence; ++c)
        ids.push_back(lengths.empty() || c < lengths[size_t(r)] ? int32_t(10 * r + c) : -1);
    return of(options, ids, rows, sequence);
  }
  std::unique_ptr<TrainingData> of(DataOptions options, const std::vector<int32_t> &ids, int64_t rows,
                                   int64_t sequence) {
    EXPECT_TRUE(io::writeSafetensors(path("t.safetensors"),
                                     {{"tokens", io::DType::I32, {rows, sequence + 1}, ids.data()}}));
    auto opened = TokenRows::open(path("t.safetensors"), sequence, 100000);
    EXPECT_TRUE(opened) << opened.failure().message();
    auto made = TrainingData::make(opened.take(), options);
    EXPECT_TRUE(made) << made.failure().message();
    return made.take();
  }
  static MicroBatch whole(const TrainingData &data, int64_t step, int64_t micro) {
    MicroBatch batch;
    Status status = data.read(
        step, micro, {{0, data.microRows()}, {0, data.sequence()}, data.microRows(), data.sequence()}, batch);
    EXPECT_TRUE(status) << status.failure().message();
    return batch;
  }
  // The rows of a step, micro-batch after micro-batch.
  static std::vector<int64_t> rows(const TrainingData &data, int64_t step, int64_t microBatches) {
    std::vector<int64_t> rows;
    for (int64_t m = 0; m < microBatches; ++m)
      for (int64_t r = 0; r < data.microRows(); ++r)
        if (int64_t row = data.rowOf(step, m, r); row >= 0)
          rows.push_back(row);
    return rows;
  }
};
using Ids = std::vector<int32_t>;

TEST_F(TrainingDataTest, AStepTakesTheNextRowsWhateverItsMicroBatches) {
  for (int64_t micro : {1, 2, 3, 4, 8}) {
    auto d = data({8, micro}, 24);
    EXPECT_EQ(d->wholeSteps(), 3);
    EXPECT_EQ(rows(*d, 0, micro), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7})) << micro;
    EXPECT_EQ(rows(*d, 2, micro), (std::vector<int64_t>{16, 17, 18, 19, 20, 21, 22, 23})) << micro;
  }
  // 5 rows in 4 micro-batches: two, two, one and none.
  auto d = data({5, 4}, 10);
  EXPECT_EQ(d->microRows(), 2);
  EXPECT_EQ(d->rowOf(1, 1, 1), 8);
  EXPECT_EQ(d->rowOf(1, 2, 0), 9);
  EXPECT_EQ(d->rowOf(1, 2, 1), -1);
  EXPECT_EQ(d->rowOf(1, 3, 0), -1);
}

TEST_F(TrainingDataTest, PassesFollowOneAnother) {
  auto d = data({4, 2, /*epochs=*/2}, 6);
  EXPECT_EQ(d->wholeSteps(), 3);
  EXPECT_EQ(rows(*d, 1, 2), (std::vector<int64_t>{4, 5, 0, 1}));
  EXPECT_EQ(rows(*d, 2, 2), (std::vector<int64_t>{2, 3, 4, 5}));
  auto once = data({4, 2}, 6);
  EXPECT_EQ(once->wholeSteps(), 1);
  EXPECT_EQ(once->stepsToTheEnd(), 2);
  EXPECT_EQ(rows(*once, 1, 2), (std::vector<int64_t>{4, 5})); // the rest, for evaluation
  EXPECT_TRUE(rows(*once, 2, 2).empty());
}

TEST_F(TrainingDataTest, ShuffledPassesTakeEveryRowOnce) {
  DataOptions options{4, 2, 3};
  options.shuffle = 9;
  auto d = data(options, 6);
  std::vector<int64_t> order;
  for (int64_t step = 0; step < d->stepsToTheEnd(); ++step)
    for (int64_t row : rows(*d, step, 2))
      order.push_back(row);
  ASSERT_EQ(order.size(), 18u);
  std::vector<std::vector<int64_t>> passes;
  for (size_t pass = 0; pass < 3; ++pass) {
    passes.emplace_back(order.begin() + pass * 6, order.begin() + pass * 6 + 6);
    for (int64_t place = 0; place < 6; ++place)
      EXPECT_EQ(passes[pass][size_t(place)], RowPermutation(6, 9, int64_t(pass)).at(place));
    std::sort(passes[pass].begin(), passes[pass].end());
    EXPECT_EQ(passes[pass], (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  }
  EXPECT_FALSE(std::equal(order.begin(), order.begin() + 6, order.begin() + 6));
}

TEST_F(TrainingDataTest, StepsBeyondTheDataAreRefusedBeforeTheRun) {
  auto d = data({8, 1}, 159);
  EXPECT_TRUE(d->checkSteps(19));
  Status status = d->checkSteps(20);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().message(), "cannot train 20 steps (" + path("t.safetensors") +
                                            "): a step takes 8 rows, and 1 pass over the data has 159; use "
                                            "--epochs=2, or --steps=19");
  EXPECT_FALSE(d->checkSteps(INT64_MAX));
  auto few = data({8, 1}, 3);
  EXPECT_NE(few->checkSteps(1).failure().message().find("use --epochs=3"), std::string::npos);
  EXPECT_TRUE(data({8, 1, 3}, 3)->checkSteps(1));
  // As many passes as can be counted: of each the rows are those of the file.
  EXPECT_EQ(data({8, 1, INT64_MAX}, 3)->passRows(), 3);
}

TEST_F(TrainingDataTest, MoreMicroBatchesThanRowsAreRefused) {
  std::vector<int32_t> ids(5, 1);
  ASSERT_TRUE(io::writeSafetensors(path("m.safetensors"), {{"tokens", io::DType::I32, {1, 5}, ids.data()}}));
  auto made = TrainingData::make(TokenRows::open(path("m.safetensors"), 4, 10).take(), {2, 3});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.failure().message(), "cannot divide a step (3 micro-batches): a step has 2 rows; use a "
                                      "larger --batch or fewer --micro-batches");
}

TEST_F(TrainingDataTest, RowsWithoutATokenToPredictAreRefusedIfThereAreNoOthers) {
  const std::vector<int32_t> ids = {1, -1, -1, -1, -1, -1};
  ASSERT_TRUE(io::writeSafetensors(path("n.safetensors"), {{"tokens", io::DType::I32, {2, 3}, ids.data()}}));
  auto made = TrainingData::make(TokenRows::open(path("n.safetensors"), 2, 10).take(), {1, 1});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.failure().message(), "cannot use data (" + path("n.safetensors") +
                                          "): none of its rows has a token to predict; give it rows of at "
                                          "least two tokens");
}

TEST_F(TrainingDataTest, TargetsAreTheNextIds) {
  auto d = data({2, 1}, 2, 4, {5, 3});
  MicroBatch batch = whole(*d, 0, 0);
  EXPECT_EQ(batch.tokens, (Ids{0, 1, 2, 3, 10, 11, 12, 0}));
  EXPECT_EQ(batch.positions, (Ids{0, 1, 2, 3, 0, 1, 2, -1}));
  EXPECT_EQ(batch.targets, (Ids{1, 2, 3, 4, 11, 12, -1, -1}));
}

TEST_F(TrainingDataTest, CountsTheTokensOfAllRanksAndMicroBatches) {
  // Rows of 5, 3, 1 and 0 ids: 4 + 2 + 0 + 0 targets.
  for (int64_t micro : {1, 2, 3, 4}) {
    auto d = data({4, micro}, 4, 4, {5, 3, 1, 0});
    const int64_t count = d->countedTokens(0);
    EXPECT_EQ(count, 6);
    int64_t written = 0;
    for (int64_t m = 0; m < micro; ++m)
      for (int32_t target : whole(*d, 0, m).targets)
        written += target >= 0;
    EXPECT_EQ(written, count);
  }
  EXPECT_EQ(data({2, 1}, 4, 4, {5, 3, 1, 0})->countedTokens(1), 0);
}

TEST_F(TrainingDataTest, DocumentsStartOver) {
  DataOptions options;
  options.documents = true;
  options.endTokens = {7, 8};
  const std::vector<int32_t> ids = {1, 7, 2, 3, 8, 7, 4, 5};
  MicroBatch batch = whole(*of(options, ids, 1, 7), 0, 0);
  EXPECT_EQ(batch.positions, (Ids{0, 1, 0, 1, 2, 0, 0}));
  EXPECT_EQ(batch.targets, (Ids{7, 2, 3, 8, 7, 4, 5}));
  options.documents = false;
  EXPECT_EQ(whole(*of(options, ids, 1, 7), 0, 0).positions, (Ids{0, 1, 2, 3, 4, 5, 6}));
}

// Of data with more rows than are looked at, the first and the last are.
TEST_F(TrainingDataTest, DataAreKnownByTheirFirstAndLastRows) {
  Ids ids;
  for (int32_t i = 0; i < 100 * 5; ++i)
    ids.push_back(i);
  auto known = [&] { return *of({8, 1}, ids, 100, 4)->fingerprint(); };
  const uint64_t before = known();
  EXPECT_EQ(known(), before);
  for (size_t at : {size_t(0), ids.size() - 1}) {
    ids[at] ^= 1;
    EXPECT_NE(known(), before) << at;
    ids[at] ^= 1;
  }
}

// Rows over a ranks, columns over b: the pieces put together are the whole, whatever does not divide.
TEST_F(TrainingDataTest, PiecesOfAllRanksMakeTheWhole) {
  DataOptions options{5, 2, 2};
  options.shuffle = 3;
  options.documents = true;
  options.endTokens = {21, 42};
  auto d = data(options, 7, 6, {7, 2, 7, 0, 5, 1, 7});
  for (int64_t step = 0; step < d->wholeSteps(); ++step)
    for (int64_t micro = 0; micro < 2; ++micro) {
      MicroBatch expected = whole(*d, step, micro);
      for (int64_t a : {1, 2, 3, 4})
        for (int64_t b : {1, 2, 4}) {
          int64_t localRows = (d->microRows() + a - 1) / a, localColumns = (d->sequence() + b - 1) / b;
          for (int64_t rank = 0; rank < a * b; ++rank) {
            BatchPiece piece{shardRange(d->microRows(), localRows, rank / b),
                             shardRange(d->sequence(), localColumns, rank % b), localRows, localColumns};
            MicroBatch got;
            ASSERT_TRUE(d->read(step, micro, piece, got));
            ASSERT_EQ(int64_t(got.tokens.size()), localRows * localColumns);
            for (int64_t r = 0; r < localRows; ++r)
              for (int64_t c = 0; c < localColumns; ++c) {
                int64_t row = piece.rows.begin + r, column = piece.columns.begin + c;
                bool inside = row < piece.rows.end && column < piece.columns.end;
                size_t at = size_t(r * localColumns + c), of = size_t(row * d->sequence() + column);
                EXPECT_EQ(got.tokens[at], inside ? expected.tokens[of] : 0);
                EXPECT_EQ(got.positions[at], inside ? expected.positions[of] : -1);
                EXPECT_EQ(got.targets[at], inside ? expected.targets[of] : -1);
              }
          }
        }
    }
}

// A rank is not stopped by what is wrong in rows of others: it does not read them. (Files of this size are
// looked through when they are opened; here the fault comes later.)
TEST_F(TrainingDataTest, ARankReadsItsOwnRowsOnly) {
  auto d = data({4, 1}, 4);
  std::fstream file(path("t.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end); // the last id of row 3
  file.write("\xff\xff\xff\x7f", 4);
  file.close();
  MicroBatch out;
  EXPECT_TRUE(d->read(0, 0, {{0, 2}, {0, 4}, 2, 4}, out));
  Status other = d->read(0, 0, {{2, 4}, {0, 4}, 2, 4}, out);
  ASSERT_FALSE(other);
  EXPECT_NE(other.failure().message().find("row 3, column 4"), std::string::npos);
}

} // namespace
