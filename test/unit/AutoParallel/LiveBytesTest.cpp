// What a rank has at once of a program's values, moment by moment.
#include "LiveBytes.h"

#include "ProgramBuilder.h"

using namespace tessera;

namespace {
/// A program of matrices whose ops run as they are told to.
struct Told : Builder {
  static constexpr double kWhole = 64 * 64 * 4, kPiece = kWhole / 4;
  std::vector<PlacementDecision> told;
  Machine machine;

  Told() : Builder("x4") {}

  /// Reads each operand so, and makes its result so.
  int run(std::vector<std::pair<int, const char *>> operands, const char *result, int at = -1) {
    PlacementDecision decision;
    std::vector<int> values;
    std::string rule;
    for (auto &[value, text] : operands) {
      values.push_back(value);
      decision.operands.push_back(sharding(text, mesh));
      rule += rule.empty() ? "([i, j]" : ", [i, j]";
    }
    decision.results.push_back(sharding(result, mesh));
    told.push_back(decision);
    int made = op(rule + ") -> ([i, j])", values, "64x64");
    program.ops.back().at = at;
    return made;
  }
  void needAt(int value, const char *text, int at) {
    need(value, text);
    program.uses.back().at = at;
  }
  std::vector<double> bytes() const {
    std::vector<const PlacementDecision *> chosen;
    for (const PlacementDecision &decision : told)
      chosen.push_back(&decision);
    return LiveBytes(program, machine).of(chosen).vec();
  }
};
} // namespace

TEST(LiveBytes, ValuesAreThereUntilTheyWereReadLast) {
  Told p;
  const double whole = Told::kWhole, piece = Told::kPiece;
  int a = p.input("64x64", "[x/-]"); // given: only a copy counts, from its first reader to its last
  int y = p.run({{a, "[-/-]"}}, "[-/-]");
  int z = p.run({{y, "[-/-]"}}, "[x/-]");
  int v = p.run({{a, "[-/-]"}, {z, "[x/-]"}}, "[x/-]");
  p.need(v, "[-/x]");
  EXPECT_EQ(p.bytes(), (std::vector<double>{whole + whole, whole + whole + piece, whole + piece + piece,
                                            /*behind all*/ piece + piece}));
  // What is resharded is there until then.
  p.need(y, "[-/x]");
  EXPECT_EQ(p.bytes(), (std::vector<double>{whole + whole, whole + whole + piece,
                                            whole + whole + piece + piece, piece + piece + whole + piece}));
}

TEST(LiveBytes, OpsAndUsesHaveTheirTimes) {
  Told p;
  const double whole = Told::kWhole, piece = Told::kPiece;
  int a = p.input("64x64", "[x/-]");
  int y = p.run({{a, "[-/-]"}}, "[-/-]", /*at=*/1);
  int z = p.run({{y, "[-/-]"}}, "[x/-]", /*at=*/4);
  p.needAt(y, "[-/x]", 6);
  p.need(z, "[x/-]");
  EXPECT_EQ(p.bytes(), (std::vector<double>{0, whole + whole, whole, whole, whole + piece, whole + piece,
                                            whole + piece + piece, /*behind all*/ piece}));
  LiveBytes live(p.program, p.machine);
  auto life = [](int first, int last) { return std::make_pair(first, last); };
  EXPECT_EQ(live.lifeOf(a), life(1, 1));
  EXPECT_EQ(live.lifeOf(y), life(1, 6));
  EXPECT_EQ(live.lifeOf(z), life(4, 7));
}

// A weight in blocks is gathered as it is held, and cut as floats.
TEST(LiveBytes, PiecesOfBlocksAreFloats) {
  constexpr double kBlockBytes = 18.0 / 32;
  for (auto [held, needed, bytes] : {std::tuple("[x/-]", "[-/-]", Told::kWhole / 4 * kBlockBytes),
                                     std::tuple("[-/-]", "[x/-]", Told::kPiece)}) {
    Told p;
    int weight = p.input("64x64", held);
    p.program.values[size_t(weight)].elementBytes = kBlockBytes;
    p.program.values[size_t(weight)].plainBytes = 4;
    p.need(weight, needed);
    EXPECT_EQ(p.bytes(), std::vector<double>{bytes}) << held;
  }
}
