// Tile ops of other types, shapes and access patterns than rows of float32.
#include "KernelHarness.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace tessera::test;

namespace {

/// A kernel of one iteration: `body` computes %y, all of %out, from the arguments.
std::string whole(const std::string &inputs, const std::string &out, const std::string &body) {
  return R"(
func.func @k()" +
         inputs + ", %out: " + out + ", %begin: index, %end: index) -> " + out +
         R"( attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> ()" +
         out + ") {\n" + body + "\nscf.yield %y : " + out + "\n}\nreturn %r : " + out + "\n}\n";
}

const char *const kTargets[] = {"native", "x86-64-v4", "x86-64-v3", "x86-64"};

/// Code is made for all of them, and run where this CPU can.
bool runsHere(const std::string &cpu) {
#if defined(__x86_64__)
  const bool v3 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512cd");
  return cpu == "x86-64-v4" ? v4 : cpu == "x86-64-v3" ? v3 : true;
#else
  return cpu == "native";
#endif
}

CompiledKernels compile(const std::string &text, const char *cpu = "native") {
  return CompiledKernels::fromText(text, cpu);
}

uint16_t toBF16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
float fromBF16(uint16_t x) {
  uint32_t bits = uint32_t(x) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

TEST(TileOps, BFloat16IsRoundedToNearestEven) {
  auto text = whole("%a: tensor<3x37xbf16>, %b: tensor<3x37xbf16>", "tensor<3x37xbf16>", R"(
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<3x37xbf16>, tensor<3x37xbf16>) outs(%o : tensor<3x37xbf16>) {
  ^bb0(%x: bf16, %z: bf16, %u: bf16):
    %xf = arith.extf %x : bf16 to f32
    %zf = arith.extf %z : bf16 to f32
    %s = arith.addf %xf, %zf : f32
    %t = arith.truncf %s : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<3x37xbf16>)");
  for (const char *cpu : kTargets) {
    auto kernels = compile(text, cpu);
    ASSERT_EQ(kernels.error, "") << cpu;
    if (!runsHere(cpu))
      continue;
    Buffer<uint16_t> a(111), b(111), y(111);
    for (int i = 0; i < 111; ++i) {
      a[i] = toBF16(0.37f * float(i - 50));
      b[i] = toBF16(1.0f / float(i + 3));
    }
    kernels.run("k", {a.data, b.data, y.data}, {}, 0, 1);
    for (int i = 0; i < 111; ++i)
      ASSERT_EQ(y[i], toBF16(fromBF16(a[i]) + fromBF16(b[i]))) << cpu << " " << i;
    EXPECT_TRUE(y.guardIntact());
  }
}

TEST(TileOps, HalfPrecisionRoundTrip) {
  auto text = whole("%a: tensor<29xf16>", "tensor<29xf16>", R"(
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : tensor<29xf16>) outs(%o : tensor<29xf16>) {
  ^bb0(%x: f16, %u: f16):
    %xf = arith.extf %x : f16 to f32
    %s = arith.addf %xf, %xf : f32
    %t = arith.truncf %s : f32 to f16
    linalg.yield %t : f16
  } -> tensor<29xf16>)");
  for (const char *cpu : kTargets) {
    auto kernels = compile(text, cpu);
    ASSERT_EQ(kernels.error, "") << cpu;
    if (!runsHere(cpu))
      continue;
    Buffer<_Float16> a(29), y(29);
    for (int i = 0; i < 29; ++i)
      a[i] = _Float16(0.1f * float(i - 9));
    kernels.run("k", {a.data, y.data}, {}, 0, 1);
    for (int i = 0; i < 29; ++i)
      ASSERT_EQ(float(y[i]), float(_Float16(2 * float(a[i])))) << cpu;
    EXPECT_TRUE(y.guardIntact());
  }
}

TEST(TileOps, BooleansAreBytesInMemory) {
  auto text = whole("%a: tensor<21xf32>, %m: tensor<21xi1>", "tensor<21xi1>", R"(
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a, %m : tensor<21xf32>, tensor<21xi1>) outs(%o : tensor<21xi1>) {
  ^bb0(%x: f32, %k: i1, %u: i1):
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %x, %zero : f32
    %z = arith.andi %c, %k : i1
    linalg.yield %z : i1
  } -> tensor<21xi1>)");
  auto kernels = compile(text);
  ASSERT_EQ(kernels.error, "");
  auto a = randomFloats(21, 1);
  Buffer<uint8_t> m(21), y(21, 7);
  for (int i = 0; i < 21; ++i)
    m[i] = i % 3 != 0;
  kernels.run("k", {a.data, m.data, y.data}, {}, 0, 1);
  for (int i = 0; i < 21; ++i)
    ASSERT_EQ(y[i], uint8_t(a[i] > 0 && m[i]));
  EXPECT_TRUE(y.guardIntact());
}

TEST(TileOps, IntegersDivideWithoutTrapping) {
  auto text = whole("%a: tensor<37xi32>, %b: tensor<37xi32>", "tensor<37xi32>", R"(
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<37xi32>, tensor<37xi32>) outs(%o : tensor<37xi32>) {
  ^bb0(%x: i32, %z: i32, %u: i32):
    %q = arith.divsi %x, %z : i32
    linalg.yield %q : i32
  } -> tensor<37xi32>)");
  for (const char *cpu : kTargets) {
    auto kernels = compile(text, cpu);
    ASSERT_EQ(kernels.error, "") << cpu;
    if (!runsHere(cpu))
      continue;
    Buffer<int32_t> a(37), b(37), y(37);
    for (int i = 0; i < 37; ++i)
      a[i] = i * 1000 - 7000, b[i] = i % 5 + 1;
    kernels.run("k", {a.data, b.data, y.data}, {}, 0, 1);
    for (int i = 0; i < 37; ++i)
      ASSERT_EQ(y[i], a[i] / b[i]);
  }
}

TEST(TileOps, TransposeKeepsEveryElement) {
  auto text = whole("%a: tensor<7x21xf32>", "tensor<21x7xf32>", R"(
  %y = linalg.transpose ins(%a : tensor<7x21xf32>) outs(%o : tensor<21x7xf32>) permutation = [1, 0])");
  auto kernels = compile(text);
  ASSERT_EQ(kernels.error, "");
  auto a = randomFloats(147, 1);
  Buffer<float> y(147);
  kernels.run("k", {a.data, y.data}, {}, 0, 1);
  for (int r = 0; r < 7; ++r)
    for (int c = 0; c < 21; ++c)
      ASSERT_EQ(y[c * 7 + r], a[r * 21 + c]);
}

TEST(TileOps, ReductionsOfEveryDimension) {
  // 83: a block of vectors side by side, a vector alone and a masked one.
  auto a = randomFloats(6 * 5 * 83, 1);
  struct {
    const char *map, *iterators, *type;
    int keep;
  } const cases[] = {{"(d0, d1)", R"("parallel", "parallel", "reduction")", "tensor<6x5xf32>", 3},
                     {"(d0, d2)", R"("parallel", "reduction", "parallel")", "tensor<6x83xf32>", 5},
                     {"(d1, d2)", R"("reduction", "parallel", "parallel")", "tensor<5x83xf32>", 6},
                     {"(d1)", R"("reduction", "parallel", "reduction")", "tensor<5xf32>", 2},
                     {"()", R"("reduction", "reduction", "reduction")", "tensor<f32>", 0}};
  for (const auto &c : cases)
    for (bool maximum : {false, true}) {
      std::string combine = maximum ? "arith.maximumf" : "arith.addf";
      auto text = whole(
          "%a: tensor<6x5x83xf32>", c.type,
          std::string(
              R"(%y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> )") +
              c.map + ">], iterator_types = [" + c.iterators + "]} ins(%a : tensor<6x5x83xf32>) outs(%o : " +
              c.type + ") {\n^bb0(%x: f32, %acc: f32):\n%s = " + combine +
              " %acc, %x : f32\nlinalg.yield %s : f32\n} -> " + c.type);
      auto kernels = compile(text);
      ASSERT_EQ(kernels.error, "") << c.map;
      Buffer<float> y(6 * 83, 0.25f); // what is there takes part
      std::vector<double> expected(6 * 83, 0.25);
      size_t used = 0;
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 5; ++j)
          for (int k = 0; k < 83; ++k) {
            size_t at = c.keep == 3   ? i * 5 + j
                        : c.keep == 5 ? i * 83 + k
                        : c.keep == 6 ? j * 83 + k
                        : c.keep == 2 ? j
                                      : 0;
            double x = a[(i * 5 + j) * 83 + k];
            expected[at] = maximum ? std::max(expected[at], x) : expected[at] + x;
            used = std::max(used, at + 1);
          }
      expected.resize(used);
      kernels.run("k", {a.data, y.data}, {}, 0, 1);
      EXPECT_LT(maxAbsoluteError(y.data, expected), 8e-6) << c.map;
      if (used < y.size)
        EXPECT_EQ(y[used], 0.25f);
    }
}

TEST(TileOps, SmallMatrixProducts) {
  for (bool transposed : {false, true}) {
    std::string bType = transposed ? "tensor<19x23xf32>" : "tensor<23x19xf32>",
                bMap = transposed ? "(d1, d2)" : "(d2, d1)";
    auto text = whole(
        "%a: tensor<5x23xf32>, %b: " + bType, "tensor<5x19xf32>",
        "%zero = arith.constant 0.0 : f32\n%f = linalg.fill ins(%zero : f32) outs(%o : tensor<5x19xf32>) -> "
        "tensor<5x19xf32>\n%y = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
        "affine_map<(d0, d1, d2) -> " +
            bMap +
            ">, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = "
            "[\"parallel\", \"parallel\", \"reduction\"]} ins(%a, %b : tensor<5x23xf32>, " +
            bType +
            ") outs(%f : tensor<5x19xf32>) {\n^bb0(%x: f32, %w: f32, %acc: f32):\n%m = arith.mulf %x, %w : "
            "f32\n%s = arith.addf %acc, %m : f32\nlinalg.yield %s : f32\n} -> tensor<5x19xf32>");
    auto kernels = compile(text);
    ASSERT_EQ(kernels.error, "");
    auto a = randomFloats(5 * 23, 1), b = randomFloats(23 * 19, 2);
    Buffer<float> y(5 * 19, NAN);
    kernels.run("k", {a.data, b.data, y.data}, {}, 0, 1);
    std::vector<double> expected(5 * 19, 0);
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 19; ++j)
        for (int k = 0; k < 23; ++k)
          expected[i * 19 + j] += double(a[i * 23 + k]) * b[transposed ? j * 23 + k : k * 19 + j];
    EXPECT_LT(maxAbsoluteError(y.data, expected), 2e-6);
  }
}

TEST(TileOps, ArgMaxPrefersTheFirst) {
  // In one op (scalar loop) and as max, then first index of the max (vectors).
  std::string one = R"(
func.func @k(%a: tensor<3x389xf32>, %val: tensor<3xf32>, %id: tensor<3xi32>, %begin: index, %end: index) -> (tensor<3xf32>, tensor<3xi32>) attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %r:2 = scf.for %i = %begin to %end step %c1 iter_args(%o = %val, %p = %id) -> (tensor<3xf32>, tensor<3xi32>) {
    %x = tensor.extract_slice %a[%i, 0][1, 389][1, 1] : tensor<3x389xf32> to tensor<389xf32>
    %ve = tensor.empty() : tensor<f32>
    %ie = tensor.empty() : tensor<i32>
    %v0 = linalg.fill ins(%low : f32) outs(%ve : tensor<f32>) -> tensor<f32>
    %i0 = linalg.fill ins(%zero : i32) outs(%ie : tensor<i32>) -> tensor<i32>
    %m:2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<389xf32>) outs(%v0, %i0 : tensor<f32>, tensor<i32>) {
    ^bb0(%v: f32, %b: f32, %w: i32):
      %n = linalg.index 0 : index
      %ni = arith.index_cast %n : index to i32
      %g = arith.cmpf ogt, %v, %b : f32
      %nb = arith.select %g, %v, %b : f32
      %nw = arith.select %g, %ni, %w : i32
      linalg.yield %nb, %nw : f32, i32
    } -> (tensor<f32>, tensor<i32>)
    %best = tensor.extract %m#0[] : tensor<f32>
    %where = tensor.extract %m#1[] : tensor<i32>
    %o2 = tensor.insert %best into %o[%i] : tensor<3xf32>
    %p2 = tensor.insert %where into %p[%i] : tensor<3xi32>
    scf.yield %o2, %p2 : tensor<3xf32>, tensor<3xi32>
  }
  return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
})";
  std::string two = one;
  size_t from = two.find("    %m:2"), to = two.find("    %best");
  two.replace(from, to - from, R"(
    %m0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
        ins(%x : tensor<389xf32>) outs(%v0 : tensor<f32>) {
    ^bb0(%v: f32, %b: f32):
      %n = arith.maximumf %v, %b : f32
      linalg.yield %n : f32
    } -> tensor<f32>
    %far = arith.constant 2147483647 : i32
    %i1 = linalg.fill ins(%far : i32) outs(%ie : tensor<i32>) -> tensor<i32>
    %m1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
        ins(%x, %m0 : tensor<389xf32>, tensor<f32>) outs(%i1 : tensor<i32>) {
    ^bb0(%v: f32, %top: f32, %w: i32):
      %n = linalg.index 0 : index
      %ni = arith.index_cast %n : index to i32
      %g = arith.cmpf oeq, %v, %top : f32
      %c = arith.select %g, %ni, %far : i32
      %nw = arith.minsi %c, %w : i32
      linalg.yield %nw : i32
    } -> tensor<i32>
)");
  for (size_t at; (at = two.find("%m#0")) != std::string::npos;)
    two.replace(at, 4, "%m0");
  for (size_t at; (at = two.find("%m#1")) != std::string::npos;)
    two.replace(at, 4, "%m1");
  for (const std::string &text : {one, two}) {
    auto kernels = compile(text);
    ASSERT_EQ(kernels.error, "");
    auto a = randomFloats(3 * 389, 5);
    a[100] = a[200] = 2; // first of two equal
    a[389 + 388] = 3;    // in the masked remainder
    a[2 * 389] = 4;
    Buffer<float> value(3);
    Buffer<int32_t> id(3);
    kernels.run("k", {a.data, value.data, id.data}, {}, 0, 3);
    EXPECT_EQ(id[0], 100);
    EXPECT_EQ(id[1], 388);
    EXPECT_EQ(id[2], 0);
    EXPECT_EQ(value[1], 3);
  }
}

TEST(TileOps, GatherInsideOfATile) {
  auto text = whole("%table: tensor<50xf32>, %ids: tensor<21xi32>", "tensor<21xf32>", R"(
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%ids : tensor<21xi32>) outs(%o : tensor<21xf32>) {
  ^bb0(%x: i32, %u: f32):
    %n = arith.index_cast %x : i32 to index
    %z = tensor.extract %table[%n] : tensor<50xf32>
    linalg.yield %z : f32
  } -> tensor<21xf32>)");
  auto kernels = compile(text);
  ASSERT_EQ(kernels.error, "");
  auto table = randomFloats(50, 1);
  Buffer<int32_t> ids(21);
  for (int i = 0; i < 21; ++i)
    ids[i] = (i * 17) % 50;
  Buffer<float> y(21);
  kernels.run("k", {table.data, ids.data, y.data}, {}, 0, 1);
  for (int i = 0; i < 21; ++i)
    ASSERT_EQ(y[i], table[ids[i]]);
}

TEST(TileOps, TablesAndArithmeticOnTensors) {
  auto text = whole("%a: tensor<4xf32>", "tensor<4xf32>", R"(
  %t = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = arith.constant dense<0.5> : tensor<4xf32>
  %p = arith.mulf %a, %t : tensor<4xf32>
  %z = arith.addf %p, %s : tensor<4xf32>
  %y = tensor.insert_slice %z into %o[0][4][1] : tensor<4xf32> into tensor<4xf32>)");
  auto kernels = compile(text);
  ASSERT_EQ(kernels.error, "");
  auto a = randomFloats(4, 1);
  Buffer<float> y(4);
  kernels.run("k", {a.data, y.data}, {}, 0, 1);
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(y[i], std::fma(a[i], float(i + 1), 0.5f));
}

TEST(TileOps, LargeTemporariesLiveOnTheHeap) {
  auto text = whole("%a: tensor<200000xf32>", "tensor<200000xf32>", R"(
  %e = tensor.empty() : tensor<200000xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : tensor<200000xf32>) outs(%e : tensor<200000xf32>) {
  ^bb0(%x: f32, %u: f32):
    %q = arith.mulf %x, %x : f32
    linalg.yield %q : f32
  } -> tensor<200000xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (199999 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%z, %z : tensor<200000xf32>, tensor<200000xf32>) outs(%o : tensor<200000xf32>) {
  ^bb0(%x: f32, %w: f32, %u: f32):
    %q = arith.addf %x, %w : f32
    linalg.yield %q : f32
  } -> tensor<200000xf32>)");
  auto kernels = compile(text);
  ASSERT_EQ(kernels.error, "");
  auto a = randomFloats(200000, 1);
  Buffer<float> y(200000);
  kernels.run("k", {a.data, y.data}, {}, 0, 1);
  for (int i = 0; i < 200000; i += 997)
    ASSERT_NEAR(y[i], a[i] * a[i] + a[199999 - i] * a[199999 - i], 1e-6);
}

} // namespace
