// Kernels of a transformer on rows, against plain loops in float64.
#include "KernelHarness.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace tessera::test;

namespace {

constexpr int64_t kRows = 5;

/// A kernel over rows of `n` columns: `args` extra tensor arguments, `outs` outputs; `body` computes %y0..
/// from %x.
/// `$n` in the texts is the number of columns.
std::string rowKernel(int64_t n, const std::string &inputs, const std::string &body, int outs = 1) {
  std::string text = R"(
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
func.func @k(%a: tensor<$rx$nxf32>$inputs$outs, %begin: index, %end: index) -> ($types) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r:$count = scf.for %i = %begin to %end step %c1 iter_args($iters) -> ($types) {
    %x = tensor.extract_slice %a[%i, 0][1, $n][1, 1] : tensor<$rx$nxf32> to tensor<1x$nxf32>
    %e = tensor.empty() : tensor<1x$nxf32>
    $body
    $inserts
    scf.yield $yields : $types
  }
  return $results : $types
})";
  std::string outArgs, types, iters, inserts, yields, results;
  for (int o = 0; o < outs; ++o) {
    std::string i = std::to_string(o), comma = o ? ", " : "";
    outArgs += ", %out" + i + ": tensor<$rx$nxf32>";
    types += comma + "tensor<$rx$nxf32>";
    iters += comma + "%o" + i + " = %out" + i;
    inserts += "%n" + i + " = tensor.insert_slice %y" + i + " into %o" + i +
               "[%i, 0][1, $n][1, 1] : tensor<1x$nxf32> into tensor<$rx$nxf32>\n    ";
    yields += comma + "%n" + i;
    results += comma + "%r#" + i;
  }
  auto replace = [&](const std::string &what, const std::string &with) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  };
  replace("$inputs", inputs.empty() ? "" : ", " + inputs);
  replace("$outs", outArgs);
  replace("$types", types);
  replace("$iters", iters);
  replace("$body", body);
  replace("$inserts", inserts);
  replace("$yields", yields);
  replace("$results", results);
  replace("$count", std::to_string(outs));
  replace("$n", std::to_string(n));
  replace("$r", std::to_string(kRows));
  return text;
}

std::string elementwise(const std::string &name, const std::string &ins, const std::string &body,
                        const std::string &maps, const std::string &types, const std::string &args) {
  return name + " = linalg.generic {indexing_maps = [" + maps +
         "], iterator_types = [\"parallel\", \"parallel\"]} ins(" + ins + " : " + types +
         ") outs(%e : tensor<1x$nxf32>) {\n^bb0(" + args + ", %unused: f32):\n" + body +
         "\n} -> tensor<1x$nxf32>\n";
}

/// NAME = reduction of TENSOR over the columns with OP from %INIT.
std::string reduceRow(const std::string &name, const std::string &tensor, const std::string &init,
                      const std::string &combine, const std::string &prepare = "") {
  return name + "e = tensor.empty() : tensor<1xf32>\n" + name + "i = linalg.fill ins(" + init +
         " : f32) outs(" + name + "e : tensor<1xf32>) -> tensor<1xf32>\n" + name +
         " = linalg.generic {indexing_maps = [#id, #row], iterator_types = [\"parallel\", \"reduction\"]} "
         "ins(" +
         tensor + " : tensor<1x$nxf32>) outs(" + name + "i : tensor<1xf32>) {\n^bb0(%v: f32, %acc: f32):\n" +
         prepare + "%s = " + combine + " : f32\nlinalg.yield %s : f32\n} -> tensor<1xf32>\n";
}

std::string rmsNorm(const std::string &input, const std::string &output) {
  return reduceRow("%sum", input, "%zero", "arith.addf %acc, %sq", "%sq = arith.mulf %v, %v : f32\n") +
         elementwise(output, input + ", %sum, %w",
                     R"(%size = arith.constant $n.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %mean = arith.divf %ss, %size : f32
  %me = arith.addf %mean, %eps : f32
  %scale = math.rsqrt %me : f32
  %xs = arith.mulf %xv, %scale : f32
  %res = arith.mulf %xs, %wv : f32
  linalg.yield %res : f32)",
                     "#id, #row, #col, #id", "tensor<1x$nxf32>, tensor<1xf32>, tensor<$nxf32>",
                     "%xv: f32, %ss: f32, %wv: f32");
}

class Sizes : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Columns, Sizes, ::testing::Values(1, 5, 8, 16, 40, 64, 80, 389, 576, 1536));

TEST_P(Sizes, RmsNormMatchesReference) {
  int64_t n = GetParam();
  auto kernels = CompiledKernels::fromText(rowKernel(n, "%w: tensor<$nxf32>", rmsNorm("%x", "%y0")));
  ASSERT_EQ(kernels.error, "");
  EXPECT_EQ(kernels.calls, std::vector<std::string>()) << "a library call in a kernel";
  auto x = randomFloats(kRows * n, 1), w = randomFloats(n, 2);
  Buffer<float> y(kRows * n, -7);
  kernels.run("k", {x.data, w.data, y.data}, {}, 0, 2);
  kernels.run("k", {x.data, w.data, y.data}, {}, 2, kRows); // any split of the range
  std::vector<double> expected(kRows * n);
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += double(x[r * n + i]) * x[r * n + i];
    for (int64_t i = 0; i < n; ++i)
      expected[r * n + i] = x[r * n + i] / std::sqrt(sum / n + 1e-5) * w[i];
  }
  EXPECT_LT(maxRelativeError(y.data, expected), 1e-6);
  EXPECT_TRUE(y.guardIntact() && x.guardIntact());
}

#ifndef TESSERA_RANGES_BEGIN_AT_ZERO // a launch of blocks has no first iteration
TEST_P(Sizes, IterationsOutsideTheRangeAreUntouched) {
  int64_t n = GetParam();
  auto kernels = CompiledKernels::fromText(rowKernel(n, "%w: tensor<$nxf32>", rmsNorm("%x", "%y0")));
  ASSERT_EQ(kernels.error, "");
  auto x = randomFloats(kRows * n, 1), w = randomFloats(n, 2);
  Buffer<float> y(kRows * n, -7);
  kernels.run("k", {x.data, w.data, y.data}, {}, 1, 3);
  for (int64_t i = 0; i < kRows * n; ++i)
    if (i / n < 1 || i / n >= 3)
      ASSERT_EQ(y[i], -7) << i;
}
#endif

TEST_P(Sizes, SoftmaxMatchesReference) {
  int64_t n = GetParam();
  auto kernels =
      CompiledKernels::fromText(rowKernel(n, "",
                                          "%y0 = linalg.softmax dimension(1) ins(%x : tensor<1x$nxf32>) "
                                          "outs(%e : tensor<1x$nxf32>) -> tensor<1x$nxf32>"));
  ASSERT_EQ(kernels.error, "");
  auto x = randomFloats(kRows * n, 3, -30, 30);
  Buffer<float> y(kRows * n);
  kernels.run("k", {x.data, y.data}, {}, 0, kRows);
  std::vector<double> expected(kRows * n);
  for (int64_t r = 0; r < kRows; ++r) {
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i)
      top = std::max<double>(top, x[r * n + i]);
    for (int64_t i = 0; i < n; ++i)
      sum += expected[r * n + i] = std::exp(x[r * n + i] - top);
    for (int64_t i = 0; i < n; ++i)
      expected[r * n + i] /= sum;
  }
  EXPECT_LT(maxRelativeError(y.data, expected, 1e-6), 3e-6);
}

TEST_P(Sizes, LayerNormMatchesReference) {
  int64_t n = GetParam();
  std::string body =
      reduceRow("%sum", "%x", "%zero", "arith.addf %acc, %v") +
      elementwise(
          "%centered", "%x, %sum",
          "%size = arith.constant $n.0 : f32\n%m = arith.divf %ss, %size : f32\n%d = arith.subf %xv, %m : "
          "f32\nlinalg.yield %d : f32",
          "#id, #row, #id", "tensor<1x$nxf32>, tensor<1xf32>", "%xv: f32, %ss: f32") +
      reduceRow("%var", "%centered", "%zero", "arith.addf %acc, %sq", "%sq = arith.mulf %v, %v : f32\n") +
      elementwise("%y0", "%centered, %var, %w, %bias",
                  R"(%size = arith.constant $n.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %mean = arith.divf %ss, %size : f32
  %me = arith.addf %mean, %eps : f32
  %scale = math.rsqrt %me : f32
  %xs = arith.mulf %xv, %scale : f32
  %xw = arith.mulf %xs, %wv : f32
  %res = arith.addf %xw, %bv : f32
  linalg.yield %res : f32)",
                  "#id, #row, #col, #col, #id",
                  "tensor<1x$nxf32>, tensor<1xf32>, tensor<$nxf32>, tensor<$nxf32>",
                  "%xv: f32, %ss: f32, %wv: f32, %bv: f32");
  auto kernels = CompiledKernels::fromText(rowKernel(n, "%w: tensor<$nxf32>, %bias: tensor<$nxf32>", body));
  ASSERT_EQ(kernels.error, "");
  auto x = randomFloats(kRows * n, 1, 2, 4), w = randomFloats(n, 2), bias = randomFloats(n, 3);
  Buffer<float> y(kRows * n);
  kernels.run("k", {x.data, w.data, bias.data, y.data}, {}, 0, kRows);
  std::vector<double> expected(kRows * n);
  for (int64_t r = 0; r < kRows; ++r) {
    double mean = 0, var = 0;
    for (int64_t i = 0; i < n; ++i)
      mean += x[r * n + i] / double(n);
    for (int64_t i = 0; i < n; ++i)
      var += (x[r * n + i] - mean) * (x[r * n + i] - mean) / n;
    for (int64_t i = 0; i < n; ++i)
      expected[r * n + i] = (x[r * n + i] - mean) / std::sqrt(var + 1e-5) * w[i] + bias[i];
  }
  EXPECT_LT(maxAbsoluteError(y.data, expected), 2e-6);
}

TEST_P(Sizes, ResidualAddThenRmsNormInPlace) {
  int64_t n = GetParam();
  // %a += %b, out1 = rms_norm(%a): the first output is the buffer of the input.
  std::string body = elementwise("%y0", "%x, %xb", "%s = arith.addf %xv, %bv : f32\nlinalg.yield %s : f32",
                                 "#id, #id, #id", "tensor<1x$nxf32>, tensor<1x$nxf32>", "%xv: f32, %bv: f32");
  body = "%xb = tensor.extract_slice %b[%i, 0][1, $n][1, 1] : tensor<$rx$nxf32> to tensor<1x$nxf32>\n" +
         body + rmsNorm("%y0", "%y1");
  std::string text = rowKernel(n, "%b: tensor<$rx$nxf32>, %w: tensor<$nxf32>", body, 2);
  std::string out0 = "%out0: tensor<" + std::to_string(kRows) + "x" + std::to_string(n) + "xf32>";
  text.replace(text.find(out0), out0.size(), out0 + " {tessera.inplace = 0 : i64}");
  auto kernels = CompiledKernels::fromText(text);
  ASSERT_EQ(kernels.error, "");
  auto x = randomFloats(kRows * n, 1), b = randomFloats(kRows * n, 2), w = randomFloats(n, 3);
  std::vector<double> sums(kRows * n), expected(kRows * n);
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t i = r * n; i < (r + 1) * n; ++i) {
      sums[i] = double(x[i]) + b[i];
      sum += sums[i] * sums[i];
    }
    for (int64_t i = 0; i < n; ++i)
      expected[r * n + i] = sums[r * n + i] / std::sqrt(sum / n + 1e-5) * w[i];
  }
  Buffer<float> y(kRows * n);
  kernels.run("k", {x.data, b.data, w.data, x.data, y.data}, {}, 0, kRows);
  EXPECT_LT(maxAbsoluteError(x.data, sums), 3e-7);
  EXPECT_LT(maxAbsoluteError(y.data, expected), 2e-6);
  EXPECT_TRUE(x.guardIntact() && y.guardIntact());
}

TEST_P(Sizes, ReadingAnInputAfterItsBufferIsWritten) {
  int64_t n = GetParam();
  // y0 = softmax-like sum of x in place, y1 = x * 2 from the old x: the old row must survive.
  std::string body = elementwise("%y0", "%x", "%s = math.exp %xv : f32\nlinalg.yield %s : f32", "#id, #id",
                                 "tensor<1x$nxf32>", "%xv: f32") +
                     elementwise("%y1", "%x, %y0", "%s = arith.addf %xv, %yv : f32\nlinalg.yield %s : f32",
                                 "#id, #id, #id", "tensor<1x$nxf32>, tensor<1x$nxf32>", "%xv: f32, %yv: f32");
  std::string text = rowKernel(n, "", body, 2);
  std::string out0 = "%out0: tensor<" + std::to_string(kRows) + "x" + std::to_string(n) + "xf32>";
  text.replace(text.find(out0), out0.size(), out0 + " {tessera.inplace = 0 : i64}");
  auto kernels = CompiledKernels::fromText(text);
  ASSERT_EQ(kernels.error, "");
  auto x = randomFloats(kRows * n, 1);
  std::vector<double> first(kRows * n), second(kRows * n);
  for (int64_t i = 0; i < kRows * n; ++i) {
    first[i] = std::exp(x[i]);
    second[i] = x[i] + first[i];
  }
  Buffer<float> y(kRows * n);
  kernels.run("k", {x.data, x.data, y.data}, {}, 0, kRows);
  EXPECT_LT(maxRelativeError(x.data, first), 1e-6);
  EXPECT_LT(maxAbsoluteError(y.data, second), 1e-6);
}

TEST(RowKernels, RotaryEmbeddingOfTwoHalves) {
  constexpr int64_t kSeq = 7, kHeads = 3, kDim = 40;
  std::string text = R"(
#full = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#table = affine_map<(d0, d1, d2) -> (d2)>
func.func @rope(%q: tensor<7x3x40xf32>, %pos: tensor<7xi32>, %freq: tensor<20xf32>, %out: tensor<7x3x40xf32>,
                %begin: index, %end: index) -> tensor<7x3x40xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (tensor<7x3x40xf32>) {
    %p = tensor.extract %pos[%i] : tensor<7xi32>
    %pf = arith.sitofp %p : i32 to f32
    %te = tensor.empty() : tensor<20xf32>
    %angle = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%freq : tensor<20xf32>) outs(%te : tensor<20xf32>) {
      ^bb0(%f: f32, %u: f32):
        %a = arith.mulf %pf, %f : f32
        linalg.yield %a : f32 } -> tensor<20xf32>
    %x0 = tensor.extract_slice %q[%i, 0, 0][1, 3, 20][1, 1, 1] : tensor<7x3x40xf32> to tensor<1x3x20xf32>
    %x1 = tensor.extract_slice %q[%i, 0, 20][1, 3, 20][1, 1, 1] : tensor<7x3x40xf32> to tensor<1x3x20xf32>
    %e = tensor.empty() : tensor<1x3x20xf32>
    %y:2 = linalg.generic {indexing_maps = [#full, #full, #table, #full, #full], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%x0, %x1, %angle : tensor<1x3x20xf32>, tensor<1x3x20xf32>, tensor<20xf32>) outs(%e, %e : tensor<1x3x20xf32>, tensor<1x3x20xf32>) {
      ^bb0(%a: f32, %b: f32, %t: f32, %u: f32, %v: f32):
        %c = math.cos %t : f32
        %s = math.sin %t : f32
        %ac = arith.mulf %a, %c : f32
        %bs = arith.mulf %b, %s : f32
        %as = arith.mulf %a, %s : f32
        %bc = arith.mulf %b, %c : f32
        %lo = arith.subf %ac, %bs : f32
        %hi = arith.addf %bc, %as : f32
        linalg.yield %lo, %hi : f32, f32 } -> (tensor<1x3x20xf32>, tensor<1x3x20xf32>)
    %o0 = tensor.insert_slice %y#0 into %o[%i, 0, 0][1, 3, 20][1, 1, 1] : tensor<1x3x20xf32> into tensor<7x3x40xf32>
    %o1 = tensor.insert_slice %y#1 into %o0[%i, 0, 20][1, 3, 20][1, 1, 1] : tensor<1x3x20xf32> into tensor<7x3x40xf32>
    scf.yield %o1 : tensor<7x3x40xf32>
  }
  return %r : tensor<7x3x40xf32>
})";
  auto kernels = CompiledKernels::fromText(text);
  ASSERT_EQ(kernels.error, "");
  auto q = randomFloats(kSeq * kHeads * kDim, 5);
  Buffer<int32_t> pos(kSeq);
  Buffer<float> freq(kDim / 2), y(kSeq * kHeads * kDim);
  for (int64_t i = 0; i < kSeq; ++i)
    pos[i] = i < 5 ? i * 411 : 100000 + i;
  for (int64_t j = 0; j < kDim / 2; ++j)
    freq[j] = float(std::pow(10000.0, -2.0 * j / kDim));
  kernels.run("rope", {q.data, pos.data, freq.data, y.data}, {}, 0, kSeq);
  std::vector<double> expected(kSeq * kHeads * kDim);
  for (int64_t i = 0; i < kSeq; ++i)
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t j = 0; j < kDim / 2; ++j) {
        double angle = float(pos[i]) * freq[j]; // rounded to float32 as the model's definition says
        int64_t lo = (i * kHeads + h) * kDim + j, hi = lo + kDim / 2;
        expected[lo] = q[lo] * std::cos(angle) - q[hi] * std::sin(angle);
        expected[hi] = q[hi] * std::cos(angle) + q[lo] * std::sin(angle);
      }
  EXPECT_LT(maxAbsoluteError(y.data, expected), 1e-6);
}

TEST(RowKernels, CacheUpdateWritesOnlyActiveRows) {
  // Row i of k goes to cache[layer, pos[i]] unless pos[i] is -1. The cache is an output that is only partly
  // written.
  std::string text = R"(
func.func @update(%k: tensor<4x3x8xf32>, %pos: tensor<4xi32>, %cache: tensor<2x16x3x8xf32>, %layer: index,
                  %begin: index, %end: index) -> tensor<2x16x3x8xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %cache) -> (tensor<2x16x3x8xf32>) {
    %p = tensor.extract %pos[%i] : tensor<4xi32>
    %live = arith.cmpi sge, %p, %zero : i32
    %next = scf.if %live -> (tensor<2x16x3x8xf32>) {
      %j = arith.index_cast %p : i32 to index
      %row = tensor.extract_slice %k[%i, 0, 0][1, 3, 8][1, 1, 1] : tensor<4x3x8xf32> to tensor<1x1x3x8xf32>
      %w = tensor.insert_slice %row into %o[%layer, %j, 0, 0][1, 1, 3, 8][1, 1, 1, 1] : tensor<1x1x3x8xf32> into tensor<2x16x3x8xf32>
      scf.yield %w : tensor<2x16x3x8xf32>
    } else {
      scf.yield %o : tensor<2x16x3x8xf32>
    }
    scf.yield %next : tensor<2x16x3x8xf32>
  }
  return %r : tensor<2x16x3x8xf32>
})";
  text.replace(text.find("to tensor<1x1x3x8xf32>"), 22, "to tensor<1x3x8xf32>");
  text.replace(text.find("%w = tensor.insert_slice %row"), 29,
               "%wide = tensor.expand_shape %row [[0, 1], [2], [3]] output_shape [1, 1, 3, 8] : "
               "tensor<1x3x8xf32> into "
               "tensor<1x1x3x8xf32>\n%w = tensor.insert_slice %wide");
  auto kernels = CompiledKernels::fromText(text);
  ASSERT_EQ(kernels.error, "");
  auto k = randomFloats(4 * 24, 1);
  Buffer<int32_t> pos(4);
  int32_t places[] = {3, -1, 15, 0};
  std::copy_n(places, 4, pos.data);
  Buffer<float> cache(2 * 16 * 24, 9);
  kernels.run("update", {k.data, pos.data, cache.data}, {1}, 0, 4);
  for (int64_t layer = 0; layer < 2; ++layer)
    for (int64_t j = 0; j < 16; ++j)
      for (int64_t x = 0; x < 24; ++x) {
        float expected = 9;
        for (int64_t i = 0; i < 4; ++i)
          if (layer == 1 && places[i] == j)
            expected = k[i * 24 + x];
        ASSERT_EQ(cache[(layer * 16 + j) * 24 + x], expected) << layer << " " << j << " " << x;
      }
  EXPECT_TRUE(cache.guardIntact());
}

TEST(RowKernels, GatherOfRowsByIds) {
  std::string text = R"(
func.func @embed(%ids: tensor<6xi32>, %table: tensor<10x40xf32>, %out: tensor<6x40xf32>, %begin: index, %end: index)
    -> tensor<6x40xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (tensor<6x40xf32>) {
    %id = tensor.extract %ids[%i] : tensor<6xi32>
    %j = arith.index_cast %id : i32 to index
    %row = tensor.extract_slice %table[%j, 0][1, 40][1, 1] : tensor<10x40xf32> to tensor<1x40xf32>
    %n = tensor.insert_slice %row into %o[%i, 0][1, 40][1, 1] : tensor<1x40xf32> into tensor<6x40xf32>
    scf.yield %n : tensor<6x40xf32>
  }
  return %r : tensor<6x40xf32>
})";
  auto kernels = CompiledKernels::fromText(text);
  ASSERT_EQ(kernels.error, "");
  auto table = randomFloats(400, 1);
  Buffer<int32_t> ids(6);
  for (int i = 0; i < 6; ++i)
    ids[i] = (i * 7) % 10;
  Buffer<float> y(240);
  kernels.run("embed", {ids.data, table.data, y.data}, {}, 0, 6);
  for (int i = 0; i < 6; ++i)
    for (int x = 0; x < 40; ++x)
      ASSERT_EQ(y[i * 40 + x], table[ids[i] * 40 + x]);
}

} // namespace
