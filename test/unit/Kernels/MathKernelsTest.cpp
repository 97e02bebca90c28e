// Accuracy of the functions that kernels compute, against libm in float64, and tile ops of other types and
// shapes.
#include "KernelHarness.h"

#include "gtest/gtest.h"

using namespace tessera::test;

namespace {

constexpr int64_t kCount = 4096;

/// y = FUNCTION(x) on 4096 numbers.
std::string unary(const std::string &body) {
  return R"(
#m = affine_map<(d0) -> (d0)>
func.func @k(%a: tensor<4096xf32>, %out: tensor<4096xf32>, %begin: index, %end: index) -> tensor<4096xf32> attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (tensor<4096xf32>) {
    %z = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]}
      ins(%a : tensor<4096xf32>) outs(%o : tensor<4096xf32>) {
    ^bb0(%x: f32, %u: f32):
      )" +
         body + R"(
      linalg.yield %y : f32
    } -> tensor<4096xf32>
    scf.yield %z : tensor<4096xf32>
  }
  return %r : tensor<4096xf32>
})";
}

struct Function {
  const char *name;
  std::string body;
  double (*reference)(double);
  float low, high;
  double relative, floor; // bound on |error| / max(|y|, floor)
};

void PrintTo(const Function &f, std::ostream *os) { *os << f.name; }

class Accuracy : public ::testing::TestWithParam<Function> {};

TEST_P(Accuracy, StaysWithinItsBound) {
  const Function &f = GetParam();
  for (const char *cpu : {"native", "x86-64-v3"}) {
    auto kernels = CompiledKernels::fromText(unary(f.body), cpu);
    ASSERT_EQ(kernels.error, "");
    EXPECT_EQ(kernels.calls, std::vector<std::string>()) << "a library call in a kernel";
    auto x = randomFloats(kCount, 11, f.low, f.high);
    x[0] = f.low, x[1] = f.high, x[2] = 0.5f * (f.low + f.high);
    Buffer<float> y(kCount);
    kernels.run("k", {x.data, y.data}, {}, 0, 1);
    std::vector<double> expected(kCount);
    for (int64_t i = 0; i < kCount; ++i)
      expected[i] = f.reference(x[i]);
    double error = maxRelativeError(y.data, expected, f.floor);
    EXPECT_LT(error, f.relative);
    RecordProperty(std::string("error_") + (cpu[0] == 'n' ? "native" : "v3"),
                   std::to_string(error * 1e9) + "e-9");
    printf("%-10s %-10s error %.3g\n", f.name, cpu, error);
  }
}

double silu(double x) { return x / (1 + std::exp(-x)); }
double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
double geluErf(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double rsqrtReference(double x) { return 1 / std::sqrt(x); }

const std::string kSilu = R"(%one = arith.constant 1.0 : f32
      %n = arith.negf %x : f32
      %e = math.exp %n : f32
      %d = arith.addf %one, %e : f32
      %y = arith.divf %x, %d : f32)";
const std::string kGeluTanh = R"(%one = arith.constant 1.0 : f32
      %half = arith.constant 0.5 : f32
      %c = arith.constant 0.044715 : f32
      %k = arith.constant 0.7978845608 : f32
      %x2 = arith.mulf %x, %x : f32
      %x3 = arith.mulf %x2, %x : f32
      %cx = arith.mulf %c, %x3 : f32
      %in = arith.addf %x, %cx : f32
      %ks = arith.mulf %k, %in : f32
      %t = math.tanh %ks : f32
      %t1 = arith.addf %one, %t : f32
      %hx = arith.mulf %half, %x : f32
      %y = arith.mulf %hx, %t1 : f32)";
const std::string kGeluErf = R"(%one = arith.constant 1.0 : f32
      %half = arith.constant 0.5 : f32
      %k = arith.constant 0.70710678118 : f32
      %ks = arith.mulf %k, %x : f32
      %t = math.erf %ks : f32
      %t1 = arith.addf %one, %t : f32
      %hx = arith.mulf %half, %x : f32
      %y = arith.mulf %hx, %t1 : f32)";

INSTANTIATE_TEST_SUITE_P(
    Functions, Accuracy,
    ::testing::Values(Function{"exp", "%y = math.exp %x : f32", std::exp, -87, 88, 3e-7, 1e-37},
                      Function{"exp2", "%y = math.exp2 %x : f32", std::exp2, -10, 10, 2e-6, 1e-37},
                      Function{"tanh", "%y = math.tanh %x : f32", std::tanh, -10, 10, 5e-7, 1e-6},
                      Function{"erf", "%y = math.erf %x : f32", std::erf, -5, 5, 5e-7, 1e-3},
                      Function{"log", "%y = math.log %x : f32", std::log, 1e-3f, 1e3f, 3e-7, 1},
                      Function{"log1p", "%y = math.log1p %x : f32", std::log1p, 0, 10, 5e-7, 1e-2},
                      Function{"sin", "%y = math.sin %x : f32", std::sin, -1e5f, 1e5f, 2e-7, 1},
                      Function{"cos", "%y = math.cos %x : f32", std::cos, -1e5f, 1e5f, 2e-7, 1},
                      Function{"sin_small", "%y = math.sin %x : f32", std::sin, -1, 1, 3e-7, 1e-6},
                      Function{"rsqrt", "%y = math.rsqrt %x : f32", rsqrtReference, 1e-3f, 1e3f, 2e-7, 1e-6},
                      Function{"silu", kSilu, silu, -20, 20, 5e-7, 1e-6},
                      Function{"gelu_tanh", kGeluTanh, geluTanh, -6, 6, 1e-6, 1},
                      Function{"gelu_erf", kGeluErf, geluErf, -6, 6, 1e-6, 1}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
