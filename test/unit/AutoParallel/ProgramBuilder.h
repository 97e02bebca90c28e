// Programs for placement, built line by line.
#ifndef TESSERA_TEST_UNIT_AUTOPARALLEL_PROGRAMBUILDER_H
#define TESSERA_TEST_UNIT_AUTOPARALLEL_PROGRAMBUILDER_H

#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/ProgramPlacement.h"
#include "tessera/Support/Shapes.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {

/// Builds programs line by line.
struct Builder {
  PlacementProgram program;
  Mesh mesh;

  explicit Builder(llvm::StringRef text) : mesh(tessera::mesh(text)) {}

  int value(llvm::StringRef shape, llvm::StringRef shardingText, bool fixed) {
    std::string error;
    ProgramValue value;
    value.shape = *parseShape(shape, error);
    value.sharding =
        shardingText.empty() ? Sharding(int64_t(value.shape.size())) : sharding(shardingText, mesh);
    value.fixed = fixed;
    program.values.push_back(std::move(value));
    return int(program.values.size()) - 1;
  }
  int input(llvm::StringRef shape, llvm::StringRef shardingText) { return value(shape, shardingText, true); }

  int op(llvm::StringRef ruleText, std::vector<int> operands, llvm::StringRef shape,
         llvm::StringRef hint = "") {
    int result = value(shape, hint, false);
    std::vector<Shape> shapes;
    double elements = 1;
    ProgramOp op;
    for (int operand : operands)
      shapes.push_back(program.values[operand].shape);
    std::string error;
    auto rule = parseShardingRule(ruleText, shapes, {program.values[result].shape}, error);
    EXPECT_TRUE(rule) << error;
    op.rule = *rule;
    for (const Factor &factor : op.rule.factors)
      elements *= double(factor.size);
    op.flops = 2 * elements;
    op.operands.assign(operands.begin(), operands.end());
    op.results = {result};
    program.ops.push_back(std::move(op));
    return result;
  }
  /// An annotation that propagation may not override: the value as asked for.
  int pin(int value, llvm::StringRef text) {
    need(value, text);
    std::string shape = shapeText(program.values[value].shape);
    return input(shape, text);
  }
  void need(int value, llvm::StringRef text) { program.uses.push_back({value, sharding(text, mesh)}); }
};

inline Machine fastLinks() {
  Machine machine;
  machine.link = {1e-7, 1e9};
  machine.flops.fill(1e12);
  machine.memoryBandwidth = 1e11;
  return machine;
}

inline constexpr const char *kLinear = "([b, s, h], [f, h]) -> ([b, s, f]) reduction={h} linear={0; 1}";
inline constexpr const char *kUnary = "([b, s, f]) -> ([b, s, f])";
inline constexpr const char *kMul = "([b, s, f], [b, s, f]) -> ([b, s, f]) linear={0; 1}";
inline constexpr const char *kAdd = "([b, s, f], [b, s, f]) -> ([b, s, f]) linear={0 1}";
inline constexpr const char *kNorm = "([b, s, h], [h]) -> ([b, s, h]) need_replication={h}";

/// One gated layer of a transformer around its attention.
inline Builder layer(llvm::StringRef mesh, llvm::StringRef residual, llvm::StringRef qkv,
                     llvm::StringRef heads, llvm::StringRef out, llvm::StringRef up, llvm::StringRef down,
                     const char *b, const char *s) {
  Builder p(mesh);
  std::string bs = std::string(b) + "x" + s + "x";
  int x = p.input(bs + "64", residual);
  int wq = p.input("8x8x64", qkv), wk = p.input("8x8x64", qkv), wv = p.input("8x8x64", qkv);
  int wo = p.input("64x8x8", out), w1 = p.input("256x64", up), w3 = p.input("256x64", up),
      w2 = p.input("64x256", down);
  int g1 = p.input("64", "[-]"), g2 = p.input("64", "[-]");
  const char *project = "([b, s, h], [k, d, h]) -> ([b, s, k, d]) reduction={h} linear={0; 1}";
  int n = p.op(kNorm, {x, g1}, bs + "64", residual);
  int q = p.op(project, {n, wq}, bs + "8x8", heads);
  int k = p.op(project, {n, wk}, bs + "8x8", heads);
  int v = p.op(project, {n, wv}, bs + "8x8", heads);
  int a = p.op("([b, s, k, d], [b, c, k, d], [b, c, k, d]) -> ([b, s, k, d]) need_replication={c, d}",
               {q, k, v}, bs + "8x8", heads);
  int o = p.op("([b, s, k, d], [h, k, d]) -> ([b, s, h]) reduction={k, d} linear={0; 1}", {a, wo}, bs + "64",
               residual);
  int r = p.pin(p.op(kAdd, {x, o}, bs + "64", residual), residual);
  int m = p.op(kNorm, {r, g2}, bs + "64", residual);
  int u = p.op(kLinear, {m, w1}, bs + "256");
  int t = p.op(kLinear, {m, w3}, bs + "256");
  int act = p.op(kUnary, {u}, bs + "256");
  int prod = p.op(kMul, {act, t}, bs + "256");
  int y = p.op(kLinear, {prod, w2}, bs + "64", residual);
  int z = p.op(kAdd, {r, y}, bs + "64", residual);
  p.need(z, residual);
  return p;
}

/// A softmax of the rows of 64x64 values, written out: over ranks that have parts of a row a maximum and a
/// sum.
inline int softmax(Builder &p, int value, llvm::StringRef hint = "") {
  Builder parts("x1");
  int x = parts.input("64x64", "[-/-]");
  int most = parts.op("([i, j]) -> ([i]) max_reduction={j}", {x}, "64");
  int e = parts.op("([i, j], [i]) -> ([i, j])", {x, most}, "64x64");
  int sum = parts.op("([i, j]) -> ([i]) reduction={j} linear={0}", {e}, "64");
  int y = parts.op("([i, j], [i]) -> ([i, j])", {e, sum}, "64x64");
  int result = p.op("([i, j]) -> ([i, j]) need_replication={j}", {value}, "64x64", hint);
  p.program.ops.back().decomposition =
      std::make_shared<Decomposition>(Decomposition{{1}, parts.program, {x}, {y}, ""});
  return result;
}

/// Distinct reshards of the program, as "from -> to" of each value.
inline std::vector<std::string> reshards(const Builder &p, const ProgramDecision &decision) {
  std::vector<std::string> result;
  for (int v = 0; v < int(p.program.values.size()); ++v) {
    Sharding made = p.program.values[v].sharding;
    std::vector<Sharding> needed;
    for (auto [i, op] : llvm::enumerate(p.program.ops)) {
      for (auto [r, value] : llvm::enumerate(op.results))
        if (value == v)
          made = decision.ops[i].results[r];
      for (auto [o, value] : llvm::enumerate(op.operands))
        if (value == v)
          needed.push_back(decision.ops[i].operands[o]);
    }
    for (const ProgramUse &use : p.program.uses)
      if (use.value == v)
        needed.push_back(use.sharding);
    std::vector<std::string> texts;
    for (const Sharding &sharding : needed)
      if (!made.samePlacement(sharding)) {
        auto plan = *planReshard(p.mesh, p.program.values[v].shape, made, sharding);
        std::string text = toString(made, p.mesh) + " -> " + toString(sharding, p.mesh);
        if (plan.received > 0 && !llvm::is_contained(texts, text))
          texts.push_back(text);
      }
    result.insert(result.end(), texts.begin(), texts.end());
  }
  return result;
}

} // namespace tessera
#endif
