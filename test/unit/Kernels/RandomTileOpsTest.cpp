// Random tile ops (shapes, permutations, broadcasts, reductions, types) against their meaning, element by
// element.
#include "KernelHarness.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace tessera::test;

namespace {

struct Operand {
  std::vector<int> dims; // iteration dimension per tensor dimension
  std::vector<float> values;
};

struct Op {
  std::vector<int64_t> ranges;
  std::vector<bool> reduction;
  std::vector<Operand> inputs;
  Operand output;
  std::string combine; // of a reduction, or what meets the old output; empty: the output is overwritten
  bool isInteger = false;
  std::string type() const { return isInteger ? "i32" : "f32"; }
};

class Random {
public:
  explicit Random(unsigned seed) : generator(seed) {}
  int64_t below(int64_t n) { return int64_t(generator() % uint64_t(n)); }
  template <typename T> const T &pick(const std::vector<T> &from) { return from[below(from.size())]; }
  void shuffle(std::vector<int> &values) {
    for (size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[below(i)]);
  }

private:
  std::mt19937 generator;
};

size_t elements(const Op &op, const Operand &operand) {
  size_t n = 1;
  for (int d : operand.dims)
    n *= op.ranges[d];
  return n;
}

Op randomOp(Random &random) {
  Op op;
  int rank = 1 + random.below(4);
  for (int d = 0; d < rank; ++d) {
    op.ranges.push_back(random.pick<int64_t>(rank > 2
                                                 ? std::vector<int64_t>{1, 2, 3, 5, 8, 16, 19}
                                                 : std::vector<int64_t>{1, 2, 5, 8, 16, 31, 40, 64, 100}));
    op.reduction.push_back(random.below(3) == 0);
  }
  op.isInteger = random.below(4) == 0;
  bool reduces = std::count(op.reduction.begin(), op.reduction.end(), true) > 0;
  std::vector<std::string> combiners = {"add", "max", "min"};
  if (reduces || random.below(3) == 0)
    op.combine = random.pick(combiners);
  auto fill = [&](Operand &operand) {
    for (size_t i = 0, n = elements(op, operand); i < n; ++i)
      operand.values.push_back(op.isInteger ? float(random.below(200) - 100)
                                            : float(random.below(2000) - 1000) / 512);
  };
  for (int i = 0, n = 1 + random.below(3); i < n; ++i) {
    Operand input;
    for (int d = 0; d < rank; ++d)
      if (i == 0 || random.below(3)) // the first input has every dimension
        input.dims.push_back(d);
    if (random.below(2))
      random.shuffle(input.dims);
    fill(input);
    op.inputs.push_back(input);
  }
  for (int d = 0; d < rank; ++d)
    if (!op.reduction[d])
      op.output.dims.push_back(d);
  if (random.below(3) == 0)
    random.shuffle(op.output.dims);
  fill(op.output);
  return op;
}

std::string tensorType(const Op &op, const Operand &operand) {
  std::string text = "tensor<";
  for (int d : operand.dims)
    text += std::to_string(op.ranges[d]) + "x";
  return text + op.type() + ">";
}

std::string mapText(const Op &op, const Operand &operand) {
  std::string text = "affine_map<(";
  for (size_t d = 0; d < op.ranges.size(); ++d)
    text += (d ? ", d" : "d") + std::to_string(d);
  text += ") -> (";
  for (size_t i = 0; i < operand.dims.size(); ++i)
    text += (i ? ", d" : "d") + std::to_string(operand.dims[i]);
  return text + ")>";
}

std::string apply(const Op &op, const std::string &kind) {
  if (op.isInteger)
    return kind == "add"   ? "arith.addi"
           : kind == "max" ? "arith.maxsi"
           : kind == "min" ? "arith.minsi"
                           : "arith.subi";
  return kind == "add"   ? "arith.addf"
         : kind == "max" ? "arith.maximumf"
         : kind == "min" ? "arith.minimumf"
                         : "arith.subf";
}

/// The op as a kernel of one iteration.
std::string text(const Op &op, const std::string &name) {
  std::string args, maps, iterators, types, ins, blockArgs, body;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    std::string n = std::to_string(i), comma = i ? ", " : "";
    args += "%a" + n + ": " + tensorType(op, op.inputs[i]) + ", ";
    maps += mapText(op, op.inputs[i]) + ", ";
    types += comma + tensorType(op, op.inputs[i]);
    ins += comma + "%a" + n;
    blockArgs += "%x" + n + ": " + op.type() + ", ";
  }
  for (size_t d = 0; d < op.ranges.size(); ++d)
    iterators += std::string(d ? ", " : "") + (op.reduction[d] ? "\"reduction\"" : "\"parallel\"");
  std::string value = "%x0";
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    std::string next = "%t" + std::to_string(i);
    body +=
        next + " = " + apply(op, "sub") + " " + value + ", %x" + std::to_string(i) + " : " + op.type() + "\n";
    value = next;
  }
  if (!op.combine.empty()) {
    body += "%c = " + apply(op, op.combine) + " %acc, " + value + " : " + op.type() + "\n";
    value = "%c";
  }
  std::string out = tensorType(op, op.output);
  return "func.func @" + name + "(" + args + "%out: " + out + ", %begin: index, %end: index) -> " + out +
         " attributes {tessera.kernel} {\n%c1 = arith.constant 1 : index\n%r = scf.for %i = %begin to %end "
         "step %c1 "
         "iter_args(%o = %out) -> (" +
         out + ") {\n%y = linalg.generic {indexing_maps = [" + maps + mapText(op, op.output) +
         "], iterator_types = [" + iterators + "]} ins(" + ins + " : " + types + ") outs(%o : " + out +
         ") {\n^bb0(" + blockArgs + "%acc: " + op.type() + "):\n" + body + "linalg.yield " + value + " : " +
         op.type() + "\n} -> " + out + "\nscf.yield %y : " + out + "\n}\nreturn %r : " + out + "\n}\n";
}

size_t offset(const Op &op, const Operand &operand, const std::vector<int64_t> &at) {
  size_t result = 0;
  for (int d : operand.dims)
    result = result * op.ranges[d] + at[d];
  return result;
}

std::vector<double> reference(const Op &op) {
  std::vector<double> out(op.output.values.begin(), op.output.values.end());
  std::vector<int64_t> at(op.ranges.size(), 0);
  for (;;) {
    double value = op.inputs[0].values[offset(op, op.inputs[0], at)];
    for (size_t i = 1; i < op.inputs.size(); ++i)
      value -= op.inputs[i].values[offset(op, op.inputs[i], at)];
    double &acc = out[offset(op, op.output, at)];
    acc = op.combine.empty()    ? value
          : op.combine == "add" ? acc + value
          : op.combine == "max" ? std::max(acc, value)
                                : std::min(acc, value);
    size_t d = at.size();
    while (d-- > 0 && ++at[d] == op.ranges[d])
      at[d] = 0;
    if (d == size_t(-1))
      return out;
  }
}

class RandomTileOps : public ::testing::TestWithParam<const char *> {};

TEST_P(RandomTileOps, MeanWhatTheySay) {
  Random random(20240607);
  std::vector<Op> ops;
  std::string module;
  for (int i = 0; i < 120; ++i) {
    ops.push_back(randomOp(random));
    module += text(ops.back(), "k" + std::to_string(i));
  }
  auto kernels = CompiledKernels::fromText(module, GetParam());
  ASSERT_EQ(kernels.error, "");
  for (size_t i = 0; i < ops.size(); ++i) {
    const Op &op = ops[i];
    std::vector<Buffer<float>> floats;
    std::vector<Buffer<int32_t>> ints;
    auto add = [&](const Operand &operand) {
      floats.emplace_back(operand.values.size());
      ints.emplace_back(operand.values.size());
      for (size_t e = 0; e < operand.values.size(); ++e) {
        floats.back()[e] = operand.values[e];
        ints.back()[e] = int32_t(operand.values[e]);
      }
    };
    for (const Operand &input : op.inputs)
      add(input);
    add(op.output);
    std::vector<void *> buffers;
    for (size_t b = 0; b < floats.size(); ++b)
      buffers.push_back(op.isInteger ? static_cast<void *>(ints[b].data) : floats[b].data);
    kernels.run("k" + std::to_string(i), buffers, {}, 0, 1);
    std::vector<double> expected = reference(op);
    for (size_t e = 0; e < expected.size(); ++e) {
      double actual = op.isInteger ? ints.back()[e] : floats.back()[e];
      ASSERT_NEAR(actual, expected[e], 1e-4 * std::max(1.0, std::fabs(expected[e])))
          << "element " << e << " of\n"
          << text(op, "k");
    }
    EXPECT_TRUE(floats.back().guardIntact() && ints.back().guardIntact());
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RandomTileOps, ::testing::Values("native", "x86-64-v3", "x86-64"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
