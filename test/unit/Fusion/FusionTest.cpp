// Which ops share a kernel, on programs that are data: rules and sizes, no IR.

#include "tessera/Analysis/Fusion/Fusion.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <string>

using namespace tessera;
using namespace tessera::fusion;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Writes programs op by op; a factor is a letter, its kind by default a pass-through one.
class Builder {
public:
  std::vector<Op> ops;

  int value() { return values++; }
  /// A tensor: its value and the letters of its dimensions; "hp" in one dimension: "(hp)".
  struct Tensor {
    int value;
    std::string dims;
  };
  int add(std::vector<Tensor> operands, std::string result, std::string reduced = "", std::string whole = "",
          std::string splittable = "", int64_t work = 0) {
    Op op;
    op.fusable = true;
    std::string letters;
    auto tensor = [&](const std::string &dims, auto &list, auto &shapes) {
      TensorFactors factors;
      SmallVector<int64_t, 4> shape;
      bool together = false;
      for (char letter : dims) {
        if (letter == '(' || letter == ')') {
          together = letter == '(';
          if (together) {
            factors.dims.emplace_back();
            shape.push_back(1);
          }
          continue;
        }
        size_t at = letters.find(letter);
        if (at == std::string::npos) {
          at = letters.size();
          letters += letter;
          FactorKind kind = reduced.find(letter) != std::string::npos ? FactorKind::Reduction
                            : whole.find(letter) != std::string::npos ? FactorKind::NeedReplication
                                                                      : FactorKind::PassThrough;
          op.rule.addFactor(sizes[size_t(letter)], kind);
          if (splittable.find(letter) != std::string::npos)
            op.splittable.push_back(int(at));
        }
        if (!together) {
          factors.dims.emplace_back();
          shape.push_back(1);
        }
        factors.dims.back().push_back(int(at));
        shape.back() *= sizes[size_t(letter)];
      }
      op.work += [&] {
        int64_t n = 1;
        for (int64_t size : shape)
          n *= size;
        return n;
      }();
      list.push_back(factors);
      shapes.push_back(shape);
    };
    op.work = 0;
    for (const Tensor &operand : operands) {
      op.operands.push_back(operand.value);
      tensor(operand.dims, op.rule.operands, op.operandShapes);
    }
    op.results.push_back(value());
    tensor(result, op.rule.results, op.resultShapes);
    if (work)
      op.work = work;
    ops.push_back(op);
    return op.results[0];
  }
  /// An op that is no tile: a call, the end of the block.
  int call(std::vector<int> operands) {
    Op op;
    op.operands.assign(operands.begin(), operands.end());
    op.results.push_back(value());
    ops.push_back(op);
    return op.results[0];
  }
  int linear(int x, std::string in, std::string out) {
    return add({{x, "s" + in}, {value(), out + in}}, "s" + out, in, "", out);
  }
  int norm(int x) { return add({{x, "sh"}, {value(), "h"}}, "sh", "", "h"); }

  std::map<size_t, int64_t> sizes;

private:
  int values = 0;
};

/// Kernels as ops of their bodies: "0 1+2 3", one of several bodies; a copy is marked.
std::string text(const std::vector<Kernel> &kernels) {
  std::vector<std::string> lines;
  for (const Kernel &kernel : kernels) {
    std::string line;
    for (const Body &body : kernel.bodies) {
      line += line.empty() ? "" : " + ";
      for (auto [i, op] : llvm::enumerate(body.ops))
        line += (i ? " " : "") + std::to_string(op) + (llvm::is_contained(body.copies, op) ? "'" : "");
    }
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return llvm::join(lines, "; ");
}

const Choices kMachine{/*tileElements=*/4096, /*smallElements=*/64, /*parallelIterations=*/64};

/// sizes: s rows, h hidden, f ffn, k heads, m and p: halves and pairs of a head's d elements.
Builder block(int64_t rows = 1) {
  Builder b;
  b.sizes = {{'s', rows}, {'h', 128}, {'f', 512}, {'k', 4}, {'d', 32}, {'m', 2}, {'p', 16}, {'t', 1}};
  return b;
}

TEST(Fusion, AProductTakesInWhatSurroundsIt) {
  Builder b = block();
  int x = b.value();
  int n = b.norm(x);                                 // 0
  int gate = b.linear(n, "h", "f");                  // 1
  int up = b.linear(n, "h", "f");                    // 2
  int silu = b.add({{gate, "sf"}}, "sf");            // 3
  int mul = b.add({{silu, "sf"}, {up, "sf"}}, "sf"); // 4
  int down = b.linear(mul, "f", "h");                // 5
  int sum = b.add({{x, "sh"}, {down, "sh"}}, "sh");  // 6
  b.call({sum});                                     // 7
  std::vector<Kernel> kernels = planFusion(b.ops, kMachine);
  EXPECT_EQ(text(kernels), "0 1 2 3 4; 5 6");
  for (const Kernel &kernel : kernels) {
    EXPECT_GE(kernel.bodies[0].iterations(), 64);
    // The rows of the weight are what the loop runs over: every one is read once.
    ASSERT_EQ(kernel.bodies[0].axes.size(), 1u);
  }
}

TEST(Fusion, ManyRowsOfAProductAreNoLoop) {
  // Every row would read the weight again.
  Builder b = block(/*rows=*/8);
  b.linear(b.value(), "h", "f");
  std::optional<Body> body = chooseLoop(b.ops, {0}, {}, {0, 0, 1 << 20});
  ASSERT_TRUE(body);
  ASSERT_EQ(body->axes.size(), 1u);
  EXPECT_EQ(body->axes[0].size, 512);
}

TEST(Fusion, WhatIsDearIsNotComputedAgain) {
  // The second product needs all of the first one's result in every iteration.
  Builder b = block();
  int first = b.linear(b.value(), "h", "f");
  int second = b.linear(first, "f", "h");
  b.call({second});
  EXPECT_EQ(text(planFusion(b.ops, kMachine)), "0; 1");
}

TEST(Fusion, WhatOthersNeedIsStoredByOne) {
  // The sum is read by the norm of two products and, much later, by an add.
  Builder b = block();
  int x = b.value();
  int sum = b.add({{x, "sh"}, {b.call({x}), "sh"}}, "sh");  // 0 the call, 1
  int n = b.norm(sum);                                      // 2
  int p = b.linear(n, "h", "f"), q = b.linear(n, "h", "f"); // 3 4
  int done = b.call({p, q});                                // 5
  int last = b.add({{sum, "sh"}, {done, "sh"}}, "sh");      // 6
  b.call({last});
  // One launch of two loops; the second computes sum and norm again and stores neither.
  EXPECT_EQ(text(planFusion(b.ops, kMachine)), "1 2 3 + 1' 2' 4; 6");
}

TEST(Fusion, NobodyStoresWhatItWaitsFor) {
  // The call reads the norm, and the product reads the call's result: one kernel would have to run twice.
  Builder b = block();
  int n = b.norm(b.value());                           // 0
  int called = b.call({n});                            // 1
  int both = b.add({{n, "sh"}, {called, "sh"}}, "sh"); // 2
  b.call({b.linear(both, "h", "f")});                  // 3
  EXPECT_EQ(text(planFusion(b.ops, kMachine)), "0; 2 3");
}

TEST(Fusion, PairsOfAHeadAreParts) {
  // rope: m needs replication, p passes; for the product they are one dimension d.
  Builder b = block();
  int q = b.linear(b.value(), "h", "kd");
  int rope = b.add({{q, "sk(mp)"}}, "sk(mp)", "", "m");
  b.call({rope});
  std::vector<Kernel> kernels = planFusion(b.ops, kMachine);
  ASSERT_EQ(text(kernels), "0 1");
  const Body &body = kernels[0].bodies[0];
  ASSERT_EQ(body.axes.size(), 2u);
  EXPECT_EQ(body.axes[0].size, 4);
  EXPECT_EQ(body.axes[1].size, 16);
  // The weight as the kernel sees it: [k, m, p, h].
  const Parts &weight = body.tiles[0].operands[1];
  ASSERT_EQ(weight.size(), 4u);
  EXPECT_EQ(weight[0], (Part{4, 0}));
  EXPECT_EQ(weight[1], (Part{2, -1}));
  EXPECT_EQ(weight[2], (Part{16, 1}));
  EXPECT_EQ(weight[3], (Part{128, -1}));
}

TEST(Fusion, AHeadThatNobodyCanCutStaysWhole) {
  // A norm of a head's elements before rope: the loop runs over heads alone.
  Builder b = block();
  int x = b.value();
  int norm = b.add({{x, "skd"}}, "skd", "", "d");
  b.call({b.add({{norm, "sk(mp)"}}, "sk(mp)", "", "m")});
  std::optional<Body> body = chooseLoop(b.ops, {0, 1}, {}, {0, 0, 1 << 20});
  ASSERT_TRUE(body);
  ASSERT_EQ(body->axes.size(), 1u);
  EXPECT_EQ(body->axes[0].size, 4);
  EXPECT_EQ(body->tiles[1].operands[0].size(), 3u);
}

TEST(Fusion, WhatIsUpdatedInPlaceIsReadByLaterKernels) {
  Builder b = block();
  b.sizes['c'] = 256;
  int k = b.linear(b.value(), "h", "kd");
  // cache[c, k, d] at positions that are data.
  int cache = b.add({{b.value(), "ckd"}, {k, "skd"}, {b.value(), "s"}}, "ckd", "", "", "d", 300);
  b.ops.back().updated = 0;
  b.call({b.add({{cache, "ckd"}}, "ckd")});
  std::vector<Kernel> kernels = planFusion(b.ops, kMachine);
  EXPECT_EQ(text(kernels), "0 1; 2");
  // Rows that are not the update's are nobody's to loop over.
  for (const Kernel &kernel : kernels)
    if (kernel.bodies[0].ops.size() == 2)
      for (const Part &part : kernel.bodies[0].tiles[1].results[0])
        EXPECT_TRUE(part.size != 256 || part.axis < 0);
}

TEST(Fusion, WhatALoopMakesIsUpdatedByALaterKernel) {
  Builder b = block();
  b.sizes['c'] = 256;
  int made = b.add({{b.value(), "ckd"}}, "ckd");
  int cache = b.add({{made, "ckd"}, {b.value(), "skd"}, {b.value(), "s"}}, "ckd", "", "", "d", 300);
  b.ops.back().updated = 0;
  b.call({cache});
  EXPECT_EQ(text(planFusion(b.ops, kMachine)), "0; 1");
}

TEST(Fusion, WhatIsUpdatedInPlaceIsUpdatedOnce) {
  // A product reads what is written to a cache: it may compute that again, but not write it again.
  Builder b = block();
  b.sizes['c'] = 256;
  int k = b.add({{b.value(), "skd"}}, "skd");                                                     // 0
  int cache = b.add({{b.value(), "ckd"}, {k, "skd"}, {b.value(), "s"}}, "ckd", "", "", "d", 300); // 1
  b.ops.back().updated = 0;
  int out = b.add({{k, "skd"}, {b.value(), "fkd"}}, "sf", "kd"); // 2
  b.call({cache, out});
  for (const Kernel &kernel : planFusion(b.ops, kMachine))
    for (const Body &body : kernel.bodies)
      EXPECT_TRUE(!llvm::is_contained(body.ops, 1) || !llvm::is_contained(body.ops, 2));
}

TEST(Fusion, ProductsOfOneInputShareALaunch) {
  // q, k and v have different rows: three loops, one launch; each has the norm.
  Builder b = block();
  b.sizes['g'] = 8;
  int n = b.norm(b.value());                                                               // 0
  int q = b.linear(n, "h", "kgd"), k = b.linear(n, "h", "kd"), v = b.linear(n, "h", "kd"); // 1 2 3
  b.call({q, k, v});
  std::vector<Kernel> kernels = planFusion(b.ops, kMachine);
  EXPECT_EQ(text(kernels), "0 1 + 0' 2 + 0' 3");
  // The largest has most of the iterations.
  EXPECT_GT(kernels[0].bodies[0].iterations(), kernels[0].bodies[1].iterations());
}

TEST(Fusion, ASmallReaderDoesNotTakeWhatAllRead) {
  // Four times fewer iterations would do for the small product, but then the large one has to wait for the
  // norm.
  Builder b = block();
  b.sizes['k'] = 2;
  b.sizes['d'] = 8;
  int n = b.norm(b.value());
  int small = b.linear(n, "h", "kd"), large = b.linear(n, "h", "f");
  b.call({small, large});
  EXPECT_EQ(text(planFusion(b.ops, {8192, 512, 64})), "0 1 + 0' 2");
}

TEST(Fusion, LaunchesThatWaitForEachOtherAreTwo) {
  // Both read x, and one reads the other's result through a call.
  Builder b = block();
  int x = b.value();
  int first = b.linear(x, "h", "f");
  int called = b.call({first});
  int second = b.add({{x, "sh"}, {called, "sh"}}, "sh");
  b.call({second});
  EXPECT_EQ(text(planFusion(b.ops, kMachine)), "0; 2");
}

TEST(Fusion, ALaunchWaitsForWhatAnyOfItsKernelsWaitsFor) {
  // 2 and 3 share a launch, which waits for 0; so 5, which reads 3's result, cannot run with 0.
  Builder b = block();
  int x = b.value(), y = b.value();
  int called = b.call({b.linear(y, "h", "f")});                  // 0, 1
  int waits = b.add({{x, "sh"}, {called, "sh"}}, "sh");          // 2
  int beside = b.linear(x, "h", "f");                            // 3
  int last = b.add({{y, "sh"}, {b.call({beside}), "sh"}}, "sh"); // 4, 5
  b.call({waits, last});
  EXPECT_EQ(text(planFusion(b.ops, kMachine)), "0; 2 + 3; 5");
}

TEST(Fusion, ATransposeIsNoLoopOfItsInput) {
  Builder b = block(/*rows=*/64);
  int t = b.add({{b.add({{b.value(), "sh"}}, "sh", "", ""), "sh"}}, "hs");
  b.call({t});
  // One kernel, its loop over both: what one iteration makes is what it reads.
  EXPECT_EQ(text(planFusion(b.ops, kMachine)), "0 1");
  // A sum of a value and its transpose has no loop at all.
  Builder c = block(/*rows=*/64);
  c.sizes['h'] = 64;
  int x = c.add({{c.value(), "sh"}}, "sh");
  int flipped = c.add({{x, "sh"}}, "hs");
  c.add({{x, "sh"}, {flipped, "sh"}}, "sh");
  std::optional<Body> body = chooseLoop(c.ops, {0, 1, 2}, {}, {0, 0, 1 << 20});
  ASSERT_TRUE(body);
  EXPECT_EQ(body->iterations(), 1);
}

TEST(Fusion, TilesDivideTheirAxis) {
  Builder b = block();
  b.sizes['f'] = 389;
  b.linear(b.value(), "h", "f");
  EXPECT_EQ(chooseLoop(b.ops, {0}, {}, kMachine)->axes[0].tile, 1);
  b = block();
  b.sizes['f'] = 390;
  b.linear(b.value(), "h", "f");
  // As large as leaves 64 iterations.
  EXPECT_EQ(chooseLoop(b.ops, {0}, {}, kMachine)->axes[0].tile, 6);
}

TEST(Fusion, TilesHaveRoomForWhatTheyKeep) {
  Builder b;
  b.sizes = {{'s', 64}, {'h', 128}};
  int norm = b.norm(b.value());
  b.add({{norm, "sh"}}, "sh", "", "h");
  Choices choices{/*tileElements=*/1 << 20, /*smallElements=*/1, /*parallelIterations=*/1};
  EXPECT_EQ(chooseLoop(b.ops, {0, 1}, {}, choices)->axes.size(), 0u); // all rows at once
  for (Op &op : b.ops)
    op.elementBytes = {4};
  // A row of 128 floats, of both: 1024 bytes, and as many again for what the first makes beside.
  b.ops[0].scratch.push_back({{0, 1}, 8});
  choices.keptBytes = 16 * 2048;
  std::optional<Body> body = chooseLoop(b.ops, {0, 1}, {}, choices);
  EXPECT_EQ(body->axes[0].tile, 16);
  EXPECT_EQ(body->keptBytes, 16 * 2048);
  choices.keptBytes -= 1;
  EXPECT_EQ(chooseLoop(b.ops, {0, 1}, {}, choices)->axes[0].tile, 8);
  // What is pointwise and read by none but such ops is no array.
  b.ops[1].pointwise = true;
  EXPECT_EQ(chooseLoop(b.ops, {0, 1}, {}, choices)->keptBytes, 16 * 1536);
  // Both rows in one iteration are more than there is room for: two kernels, as large as one is already.
  b.ops[1].pointwise = false;
  choices.keptBytes = 1600;
  EXPECT_EQ(text(planFusion(b.ops, choices)), "0; 1");
  choices.keptBytes = 2048;
  EXPECT_EQ(text(planFusion(b.ops, choices)), "0 1");
}

/// The op that `add` made last, split for a machine of 64 iterations of at least 64 elements.
std::pair<int, int64_t> splitOf(const Builder &b, int64_t launches = 1) {
  std::optional<Split> split = worthSplitting(b.ops.back(), kMachine, launches);
  return split ? std::make_pair(split->factor, split->parts) : std::make_pair(-1, int64_t(1));
}

TEST(Fusion, ALongReductionOfFewRowsIsWorthSplitting) {
  Builder b = block();
  b.sizes['v'] = 2048;
  b.add({{b.value(), "sv"}}, "s", "v");
  EXPECT_EQ(splitOf(b), std::make_pair(1, int64_t(32))); // parts of 64 elements
  b.sizes['v'] = 1 << 20;
  b.add({{b.value(), "sv"}}, "s", "v");
  EXPECT_EQ(splitOf(b), std::make_pair(1, int64_t(64))); // as many as the machine has
  // Rows are iterations already.
  b.sizes['s'] = 4;
  b.add({{b.value(), "sv"}}, "s", "v");
  EXPECT_EQ(splitOf(b), std::make_pair(1, int64_t(16)));
  b.sizes['s'] = 9;
  b.add({{b.value(), "sv"}}, "s", "v");
  EXPECT_EQ(splitOf(b).first, -1);
}

TEST(Fusion, PartsHaveToPayForTheirLaunches) {
  Builder b = block();
  b.sizes['v'] = 511;
  b.add({{b.value(), "sv"}}, "s", "v");
  EXPECT_EQ(splitOf(b).first, -1);
  b.sizes['v'] = 512;
  b.add({{b.value(), "sv"}}, "s", "v");
  EXPECT_EQ(splitOf(b), std::make_pair(1, int64_t(8)));
  EXPECT_EQ(splitOf(b, /*launches=*/2).first, -1);
  b.sizes['v'] = 1024;
  b.add({{b.value(), "sv"}}, "s", "v");
  EXPECT_EQ(splitOf(b, /*launches=*/2), std::make_pair(1, int64_t(16)));
}

TEST(Fusion, PartsDivideAndAreReadInWideAccesses) {
  Builder b = block();
  auto parts = [&](int64_t size) {
    b.sizes['v'] = size;
    b.add({{b.value(), "sv"}}, "s", "v");
    return splitOf(b).second;
  };
  EXPECT_EQ(parts(3 * 683), 1); // for about 32: the one too few, the other too many
  EXPECT_EQ(parts(23 * 89), 23);
  EXPECT_EQ(parts(8 * 257), 8);
  EXPECT_EQ(parts(30 * 72), 30); // not 36 of 60
  // A part of one element would be no dimension of its own.
  b.sizes['v'] = 16;
  b.sizes['w'] = 128;
  b.add({{b.value(), "svw"}}, "s", "vw");
  EXPECT_EQ(splitOf(b), std::make_pair(1, int64_t(8)));
}

TEST(Fusion, OnlyWhatCombinesIsSplit) {
  Builder b = block();
  b.sizes['v'] = 4096;
  int x = b.value();
  b.add({{x, "sv"}}, "sv", "", "v"); // needed whole
  EXPECT_EQ(splitOf(b).first, -1);
  b.add({{x, "sv"}}, "s", "v");
  Op reduced = b.ops.back(), lookup = reduced, opaque = reduced, inPlace = reduced;
  lookup.rule.lookedUp.push_back(1); // all parts would look everything up
  EXPECT_FALSE(worthSplitting(lookup, kMachine));
  opaque.rule.factors[1].combine = PartialKind::None;
  EXPECT_FALSE(worthSplitting(opaque, kMachine));
  inPlace.updated = 0;
  EXPECT_FALSE(worthSplitting(inPlace, kMachine));
  reduced.fusable = false;
  EXPECT_FALSE(worthSplitting(reduced, kMachine));
  // A part of a dimension is not contiguous.
  b.sizes['d'] = 2;
  b.add({{x, "s(vd)"}}, "sd", "v");
  EXPECT_EQ(splitOf(b).first, -1);
  b.add({{x, "sv"}, {x, "s(vd)"}}, "sd", "v"); // of one operand only
  EXPECT_EQ(splitOf(b).first, -1);
  // The longest of several.
  b.sizes['d'] = 3;
  b.add({{x, "sdv"}}, "s", "dv");
  EXPECT_EQ(splitOf(b).first, 2);
}

TEST(Fusion, PartsAreTheLoopOfWhatTheyRead) {
  // The product's rows stand in as many parts as the maximum over them has: one kernel.
  Builder b = block();
  b.sizes['q'] = 64, b.sizes['r'] = 8;
  int y = b.linear(b.value(), "h", "f");        // 0
  int parts = b.add({{y, "s(qr)"}}, "qs", "r"); // 1
  int whole = b.add({{parts, "qs"}}, "s", "q"); // 2
  b.call({whole});                              // 3
  std::vector<Kernel> kernels = planFusion(b.ops, kMachine);
  EXPECT_EQ(text(kernels), "0 1; 2");
  EXPECT_EQ(kernels[0].bodies[0].iterations(), 64);
}

TEST(Fusion, TilesInTurnShareWhatTheyCompute) {
  // The norm of a token is computed again by every iteration: so each takes as many tiles as leave enough.
  Builder b = block();
  b.sizes['f'] = 1 << 16;
  int n = b.norm(b.value());       // 0
  b.call({b.linear(n, "h", "f")}); // 1, 2
  std::vector<Kernel> kernels = planFusion(b.ops, kMachine);
  ASSERT_EQ(text(kernels), "0 1");
  const Body &body = kernels[0].bodies[0];
  EXPECT_TRUE(body.tiles[0].areWhole());
  EXPECT_FALSE(body.tiles[1].areWhole());
  EXPECT_GT(body.turns, 1);
  EXPECT_EQ(body.tileCount() % body.turns, 0);
  EXPECT_GE(body.iterations(), 64);
  EXPECT_LE(body.turns, 16);
  // Nothing to share: one tile each.
  Builder c = block();
  c.sizes['f'] = 1 << 16;
  c.call({c.linear(c.value(), "h", "f")});
  EXPECT_EQ(planFusion(c.ops, kMachine)[0].bodies[0].turns, 1);
  // None to spare.
  Builder d = block();
  int small = d.norm(d.value());
  d.call({d.linear(small, "h", "f")});
  EXPECT_EQ(planFusion(d.ops, kMachine)[0].bodies[0].turns, 1);
}

} // namespace
