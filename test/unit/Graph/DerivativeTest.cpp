// Gradients against central differences, in float64, over random shapes; and those of ops against those of
// what the ops are written out as.
#include "Gradients.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// A program of one op: `{a}` to `{e}` stand for sizes, `{A}` for an even one.
struct OpCase {
  const char *name, *arguments, *op, *types;
  bool positive = false; ///< floats are between 0.5 and 1.5, else between -1 and 1
};
void PrintTo(const OpCase &c, std::ostream *os) { *os << c.name; }

std::string withSizes(StringRef text, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string out = text.str();
  for (char letter : StringRef("abcdeA")) {
    std::string size = std::to_string(letter == 'A' ? 2 * (1 + random() % 3) : 1 + random() % 4);
    std::string place = {'{', letter, '}'};
    for (size_t at; (at = out.find(place)) != std::string::npos;)
      out.replace(at, 3, size);
  }
  return out;
}

std::string programOf(const OpCase &c, uint64_t seed) {
  return withSizes("func.func @f(" + std::string(c.arguments) + ") -> (" + c.types + ") {\n  " + c.op + "\n}",
                   seed);
}

class Derivative : public testing::TestWithParam<OpCase> {};
class WrittenOut : public testing::TestWithParam<OpCase> {};
} // namespace

TEST_P(Derivative, IsWhatDifferencesSay) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    std::string text = programOf(GetParam(), seed);
    Program program(text);
    ASSERT_TRUE(program.module);
    expectGradients(program.func(), seed, GetParam().positive, text);
  }
}

// One line of gradients for each op, its own or that of its decomposition.
TEST_P(WrittenOut, HasTheSameGradients) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    std::string text = programOf(GetParam(), seed);
    Program whole(text), apart(text);
    ASSERT_TRUE(whole.module);
    writeOut(*apart.module);
    expectSameGradients(whole.func(), apart.func(), seed, GetParam().positive, text);
  }
}

#define UNARY(NAME, ...)                                                                                     \
  OpCase {                                                                                                   \
    NAME, "%x: tensor<{a}x{b}xf32>",                                                                         \
        "%r = graph." NAME " %x : tensor<{a}x{b}xf32>\n  return %r : tensor<{a}x{b}xf32>",                   \
        "tensor<{a}x{b}xf32>", __VA_ARGS__                                                                   \
  }
#define BINARY(NAME, ...)                                                                                    \
  OpCase{NAME "_row", "%x: tensor<{a}x{b}xf32>, %y: tensor<{b}xf32>",                                        \
         "%r = graph." NAME " %x, %y : (tensor<{a}x{b}xf32>, tensor<{b}xf32>) -> tensor<{a}x{b}xf32>\n  "    \
         "return %r : tensor<{a}x{b}xf32>",                                                                  \
         "tensor<{a}x{b}xf32>", __VA_ARGS__},                                                                \
      OpCase {                                                                                               \
    NAME "_column", "%x: tensor<{c}x1xf32>, %y: tensor<{a}x{c}x{b}xf32>",                                    \
        "%r = graph." NAME " %x, %y : (tensor<{c}x1xf32>, tensor<{a}x{c}x{b}xf32>) -> "                      \
        "tensor<{a}x{c}x{b}xf32>\n  return %r : tensor<{a}x{c}x{b}xf32>",                                    \
        "tensor<{a}x{c}x{b}xf32>", __VA_ARGS__                                                               \
  }

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Derivative,
    testing::Values(
        UNARY("neg"), UNARY("abs"), UNARY("exp"), UNARY("log", true), UNARY("sqrt", true),
        UNARY("rsqrt", true), UNARY("tanh"), UNARY("sin"), UNARY("cos"), UNARY("erf"), UNARY("sigmoid"),
        UNARY("silu"), UNARY("relu"), UNARY("gelu_erf"), UNARY("gelu_tanh"), BINARY("add"), BINARY("sub"),
        BINARY("mul"), BINARY("div", true), BINARY("maximum"), BINARY("minimum"),
        OpCase{"mul_of_one", "%x: tensor<{a}xf32>",
               "%r = graph.mul %x, %x : (tensor<{a}xf32>, tensor<{a}xf32>) -> tensor<{a}xf32>\n  return %r : "
               "tensor<{a}xf32>",
               "tensor<{a}xf32>"},
        OpCase{"cast", "%x: tensor<{a}xf32>",
               "%r = graph.cast %x : (tensor<{a}xf32>) -> tensor<{a}xbf16>\n  return %r : tensor<{a}xbf16>",
               "tensor<{a}xbf16>"},
        OpCase{"select", "%c: tensor<{a}x1xi1>, %x: tensor<{a}x{b}xf32>, %y: tensor<{b}xf32>",
               "%r = graph.select %c, %x, %y : (tensor<{a}x1xi1>, tensor<{a}x{b}xf32>, tensor<{b}xf32>) -> "
               "tensor<{a}x{b}xf32>\n  return %r : tensor<{a}x{b}xf32>",
               "tensor<{a}x{b}xf32>"},
        OpCase{"from_integers", "%x: tensor<{a}xf32>, %i: tensor<{a}xi32>",
               "%f = graph.cast %i : (tensor<{a}xi32>) -> tensor<{a}xf32>\n  %r = graph.mul %x, %f : "
               "(tensor<{a}xf32>, tensor<{a}xf32>) -> tensor<{a}xf32>\n  return %r : tensor<{a}xf32>",
               "tensor<{a}xf32>"}),
    [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Shape, Derivative,
    testing::Values(
        OpCase{"reshape", "%x: tensor<{a}x2x3xf32>",
               "%r = graph.reshape %x : (tensor<{a}x2x3xf32>) -> tensor<{a}x6xf32>\n  return %r : "
               "tensor<{a}x6xf32>",
               "tensor<{a}x6xf32>"},
        OpCase{"transpose", "%x: tensor<{a}x{b}x{c}xf32>",
               "%r = graph.transpose %x [2, 0, 1] : (tensor<{a}x{b}x{c}xf32>) -> tensor<{c}x{a}x{b}xf32>\n  "
               "return %r : tensor<{c}x{a}x{b}xf32>",
               "tensor<{c}x{a}x{b}xf32>"},
        OpCase{"broadcast", "%x: tensor<{a}x{b}xf32>",
               "%r = graph.broadcast %x dims = [0, 2] : (tensor<{a}x{b}xf32>) -> tensor<{a}x{c}x{b}xf32>\n  "
               "return %r : tensor<{a}x{c}x{b}xf32>",
               "tensor<{a}x{c}x{b}xf32>"},
        OpCase{"slice", "%x: tensor<5x{a}x6xf32>",
               "%r = graph.slice %x at [1, 0, 2] : (tensor<5x{a}x6xf32>) -> tensor<2x{a}x4xf32>\n  return %r "
               ": tensor<2x{a}x4xf32>",
               "tensor<2x{a}x4xf32>"},
        OpCase{"reverse", "%x: tensor<{a}x{A}xf32>",
               "%r = graph.reverse %x dim = 1 : tensor<{a}x{A}xf32>\n  return %r : tensor<{a}x{A}xf32>",
               "tensor<{a}x{A}xf32>"},
        OpCase{"concat", "%x: tensor<{a}x2xf32>, %y: tensor<{a}x1xf32>, %z: tensor<{a}x3xf32>",
               "%r = graph.concat %x, %y, %z dim = 1 : (tensor<{a}x2xf32>, tensor<{a}x1xf32>, "
               "tensor<{a}x3xf32>) -> tensor<{a}x6xf32>\n  return %r : tensor<{a}x6xf32>",
               "tensor<{a}x6xf32>"},
        OpCase{"reduce_sum", "%x: tensor<{a}x{b}x{c}xf32>",
               "%r = graph.reduce sum %x dims = [0, 2] : (tensor<{a}x{b}x{c}xf32>) -> tensor<{b}xf32>\n  "
               "return %r : tensor<{b}xf32>",
               "tensor<{b}xf32>"},
        OpCase{"reduce_max", "%x: tensor<{a}x{b}x{c}xf32>",
               "%r = graph.reduce max %x dims = [1, 2] : (tensor<{a}x{b}x{c}xf32>) -> tensor<{a}xf32>\n  "
               "return %r : tensor<{a}xf32>",
               "tensor<{a}xf32>"},
        OpCase{"reduce_narrow", "%x: tensor<{a}x{b}xbf16>",
               "%r = graph.reduce sum %x dims = [1] : (tensor<{a}x{b}xbf16>) -> tensor<{a}xf32>\n  return %r "
               ": tensor<{a}xf32>",
               "tensor<{a}xf32>"},
        OpCase{"take", "%x: tensor<{a}x3x{b}xf32>, %i: tensor<{a}xi32>",
               "%r = graph.take %x, %i : (tensor<{a}x3x{b}xf32>, tensor<{a}xi32>) -> tensor<{a}x1x{b}xf32>\n "
               " return %r : tensor<{a}x1x{b}xf32>",
               "tensor<{a}x1x{b}xf32>"},
        OpCase{
            "layer_slice", "%x: tensor<3x{a}x{b}xf32>",
            "%i = graph.constant dense<1> : tensor<i32> : tensor<i32>\n  %r = graph.layer_slice %x[%i] : "
            "(tensor<3x{a}x{b}xf32>, tensor<i32>) -> tensor<{a}x{b}xf32>\n  return %r : tensor<{a}x{b}xf32>",
            "tensor<{a}x{b}xf32>"},
        OpCase{"mask_padding", "%x: tensor<{a}x{b}xf32>",
               "%r = graph.mask_padding %x dims = [1] value = 1.0 : tensor<{a}x{b}xf32>\n  return %r : "
               "tensor<{a}x{b}xf32>",
               "tensor<{a}x{b}xf32>"},
        OpCase{"dropout", "%x: tensor<{a}x{b}xf32>, %k: tensor<{a}x1xi64>, %c: tensor<{b}xi32>",
               "%p = graph.constant dense<0.4> : tensor<f32> : tensor<f32>\n  %r = graph.dropout %x keys %k "
               "columns %c probability %p : (tensor<{a}x{b}xf32>, tensor<{a}x1xi64>, tensor<{b}xi32>, "
               "tensor<f32>) -> tensor<{a}x{b}xf32>\n  return %r : tensor<{a}x{b}xf32>",
               "tensor<{a}x{b}xf32>"},
        OpCase{"name", "%x: tensor<{a}xf32>",
               "%r = graph.name %x \"residual\" : tensor<{a}xf32>\n  return %r : tensor<{a}xf32>",
               "tensor<{a}xf32>"}),
    [](const auto &info) { return std::string(info.param.name); });

// KEYS: what queries see, the last key alone or that and the first one.
#define ATTENTION(NAME, KEYS, ATTRS)                                                                         \
  OpCase{NAME,                                                                                               \
         "%q: tensor<{a}x{b}x{c}x{d}x{A}xf32>, %k: tensor<{a}x4x{c}x{A}xf32>, %v: "                          \
         "tensor<{a}x4x{c}x{e}xf32>, %p: tensor<{a}x{b}" KEYS "xi32>",                                       \
         "%r = graph.attention %q, %k, %v, %p scale = 0.7 " ATTRS                                            \
         " : (tensor<{a}x{b}x{c}x{d}x{A}xf32>, tensor<{a}x4x{c}x{A}xf32>, tensor<{a}x4x{c}x{e}xf32>, "       \
         "tensor<{a}x{b}" KEYS "xi32>) -> tensor<{a}x{b}x{c}x{d}x{e}xf32>\n  return %r : "                   \
         "tensor<{a}x{b}x{c}x{d}x{e}xf32>",                                                                  \
         "tensor<{a}x{b}x{c}x{d}x{e}xf32>"}

INSTANTIATE_TEST_SUITE_P(
    Neural, Derivative,
    testing::Values(
        OpCase{"embedding", "%t: tensor<3x{a}xf32>, %i: tensor<{b}x{c}xi32>",
               "%r = graph.embedding %t, %i : (tensor<3x{a}xf32>, tensor<{b}x{c}xi32>) -> "
               "tensor<{b}x{c}x{a}xf32>\n  return %r : tensor<{b}x{c}x{a}xf32>",
               "tensor<{b}x{c}x{a}xf32>"},
        OpCase{"scatter_add", "%x: tensor<{b}x{c}x{a}xf32>, %i: tensor<{b}x{c}xi32>",
               "%r = graph.scatter_add %x, %i : (tensor<{b}x{c}x{a}xf32>, tensor<{b}x{c}xi32>) -> "
               "tensor<3x{a}xf32>\n  return %r : tensor<3x{a}xf32>",
               "tensor<3x{a}xf32>"},
        OpCase{"linear", "%x: tensor<{a}x{b}x{c}xf32>, %w: tensor<{d}x{e}x{c}xf32>",
               "%r = graph.linear %x, %w contract = 1 : (tensor<{a}x{b}x{c}xf32>, tensor<{d}x{e}x{c}xf32>) "
               "-> tensor<{a}x{b}x{d}x{e}xf32>\n  return %r : tensor<{a}x{b}x{d}x{e}xf32>",
               "tensor<{a}x{b}x{d}x{e}xf32>"},
        OpCase{"linear_two", "%x: tensor<{a}x{b}x{c}xf32>, %w: tensor<{d}x{b}x{c}xf32>",
               "%r = graph.linear %x, %w contract = 2 : (tensor<{a}x{b}x{c}xf32>, tensor<{d}x{b}x{c}xf32>) "
               "-> tensor<{a}x{d}xf32>\n  return %r : tensor<{a}x{d}xf32>",
               "tensor<{a}x{d}xf32>"},
        OpCase{"linear_rows_alone", "%x: tensor<{a}x{c}xf32>, %w: tensor<{c}xf32>",
               "%r = graph.linear %x, %w contract = 1 : (tensor<{a}x{c}xf32>, tensor<{c}xf32>) -> "
               "tensor<{a}xf32>\n  return %r : tensor<{a}xf32>",
               "tensor<{a}xf32>"},
        OpCase{"linear_one_row", "%x: tensor<{c}xf32>, %w: tensor<{a}x{c}xf32>",
               "%r = graph.linear %x, %w contract = 1 : (tensor<{c}xf32>, tensor<{a}x{c}xf32>) -> "
               "tensor<{a}xf32>\n  return %r : tensor<{a}xf32>",
               "tensor<{a}xf32>"},
        OpCase{"linear_dot", "%x: tensor<{c}xf32>, %w: tensor<{c}xf32>",
               "%r = graph.linear %x, %w contract = 1 : (tensor<{c}xf32>, tensor<{c}xf32>) -> tensor<f32>\n  "
               "return %r : tensor<f32>",
               "tensor<f32>"},
        OpCase{"einsum", "%x: tensor<{a}x{b}x{c}xf32>, %y: tensor<{c}x{b}x{d}xf32>",
               "%r = graph.einsum \"abc,cbd->dab\" %x, %y : (tensor<{a}x{b}x{c}xf32>, "
               "tensor<{c}x{b}x{d}xf32>) -> tensor<{d}x{a}x{b}xf32>\n  return %r : tensor<{d}x{a}x{b}xf32>",
               "tensor<{d}x{a}x{b}xf32>"}),
    [](const auto &info) { return std::string(info.param.name); });

// Ids are drawn from -1 to 4: of three experts some are nobody, and some stand twice in a row.
INSTANTIATE_TEST_SUITE_P(
    Experts, Derivative,
    testing::Values(
        OpCase{"top_k", "%x: tensor<{a}x{b}x5xf32>",
               "%r, %i = graph.top_k %x : (tensor<{a}x{b}x5xf32>) -> (tensor<{a}x{b}x2xf32>, "
               "tensor<{a}x{b}x2xi32>)\n  return %r : tensor<{a}x{b}x2xf32>",
               "tensor<{a}x{b}x2xf32>"},
        OpCase{"top_k_of_one_row", "%x: tensor<5xf32>",
               "%r, %i = graph.top_k %x : (tensor<5xf32>) -> (tensor<3xf32>, tensor<3xi32>)\n  return %r : "
               "tensor<3xf32>",
               "tensor<3xf32>"},
        OpCase{"dispatch", "%x: tensor<{a}x{b}x{d}xf32>, %i: tensor<{a}x{b}x{c}xi32>",
               "%r = graph.dispatch %x, %i : (tensor<{a}x{b}x{d}xf32>, tensor<{a}x{b}x{c}xi32>) -> "
               "tensor<{a}x{b}x3x{d}xf32>\n  return %r : tensor<{a}x{b}x3x{d}xf32>",
               "tensor<{a}x{b}x3x{d}xf32>"},
        OpCase{"dispatch_weighed",
               "%x: tensor<{a}x{b}x{d}xf32>, %i: tensor<{a}x{b}x{c}xi32>, %w: tensor<{a}x{b}x{c}xf32>",
               "%r = graph.dispatch %x, %i weights %w : (tensor<{a}x{b}x{d}xf32>, tensor<{a}x{b}x{c}xi32>, "
               "tensor<{a}x{b}x{c}xf32>) -> tensor<{a}x{b}x3x{d}xf32>\n  return %r : "
               "tensor<{a}x{b}x3x{d}xf32>",
               "tensor<{a}x{b}x3x{d}xf32>"},
        OpCase{"expert_linear",
               "%x: tensor<{a}x{b}x3x{d}xf32>, %w: tensor<3x{e}x{d}xf32>, %i: tensor<{a}x{b}x{c}xi32>",
               "%r = graph.expert_linear %x, %w, %i : (tensor<{a}x{b}x3x{d}xf32>, tensor<3x{e}x{d}xf32>, "
               "tensor<{a}x{b}x{c}xi32>) -> tensor<{a}x{b}x3x{e}xf32>\n  return %r : "
               "tensor<{a}x{b}x3x{e}xf32>",
               "tensor<{a}x{b}x3x{e}xf32>"},
        OpCase{"expert_linear_transposed",
               "%x: tensor<{a}x{b}x3x{d}xf32>, %w: tensor<3x{d}x{e}xf32>, %i: tensor<{a}x{b}x{c}xi32>",
               "%r = graph.expert_linear %x, %w transposed, %i : (tensor<{a}x{b}x3x{d}xf32>, "
               "tensor<3x{d}x{e}xf32>, tensor<{a}x{b}x{c}xi32>) -> tensor<{a}x{b}x3x{e}xf32>\n  return %r : "
               "tensor<{a}x{b}x3x{e}xf32>",
               "tensor<{a}x{b}x3x{e}xf32>"},
        OpCase{"expert_outer",
               "%x: tensor<{a}x{b}x3x{d}xf32>, %y: tensor<{a}x{b}x3x{e}xf32>, %i: tensor<{a}x{b}x{c}xi32>",
               "%r = graph.expert_outer %x, %y, %i : (tensor<{a}x{b}x3x{d}xf32>, tensor<{a}x{b}x3x{e}xf32>, "
               "tensor<{a}x{b}x{c}xi32>) -> tensor<3x{d}x{e}xf32>\n  return %r : tensor<3x{d}x{e}xf32>",
               "tensor<3x{d}x{e}xf32>"},
        OpCase{"combine",
               "%x: tensor<{a}x{b}x3x{d}xf32>, %i: tensor<{a}x{b}x{c}xi32>, %w: tensor<{a}x{b}x{c}xf32>",
               "%r = graph.combine %x, %i, %w : (tensor<{a}x{b}x3x{d}xf32>, tensor<{a}x{b}x{c}xi32>, "
               "tensor<{a}x{b}x{c}xf32>) -> tensor<{a}x{b}x{d}xf32>\n  return %r : tensor<{a}x{b}x{d}xf32>",
               "tensor<{a}x{b}x{d}xf32>"},
        OpCase{"chosen_dot",
               "%x: tensor<{a}x{b}x{d}xf32>, %y: tensor<{a}x{b}x3x{d}xf32>, %i: tensor<{a}x{b}x{c}xi32>",
               "%r = graph.chosen_dot %x, %y, %i : (tensor<{a}x{b}x{d}xf32>, tensor<{a}x{b}x3x{d}xf32>, "
               "tensor<{a}x{b}x{c}xi32>) -> tensor<{a}x{b}x{c}xf32>\n  return %r : tensor<{a}x{b}x{c}xf32>",
               "tensor<{a}x{b}x{c}xf32>"}),
    [](const auto &info) { return std::string(info.param.name); });

// Ops that can be written out, too.
static const OpCase kDecomposable[] = {
    OpCase{"rms_norm", "%x: tensor<{a}x{A}xf32>, %w: tensor<{A}xf32>",
           "%r = graph.rms_norm %x, %w eps = 0.01 : (tensor<{a}x{A}xf32>, tensor<{A}xf32>) -> "
           "tensor<{a}x{A}xf32>\n  return %r : tensor<{a}x{A}xf32>",
           "tensor<{a}x{A}xf32>"},
    OpCase{"rms_norm_of_two_dimensions", "%x: tensor<2x{a}x{A}xf32>, %w: tensor<{a}x{A}xf32>",
           "%r = graph.rms_norm %x, %w eps = 0.01 : (tensor<2x{a}x{A}xf32>, tensor<{a}x{A}xf32>) -> "
           "tensor<2x{a}x{A}xf32>\n  return %r : tensor<2x{a}x{A}xf32>",
           "tensor<2x{a}x{A}xf32>"},
    OpCase{"layer_norm", "%x: tensor<{a}x{A}xf32>, %w: tensor<{A}xf32>, %b: tensor<{A}xf32>",
           "%r = graph.layer_norm %x, %w, %b eps = 0.01 : (tensor<{a}x{A}xf32>, tensor<{A}xf32>, "
           "tensor<{A}xf32>) -> tensor<{a}x{A}xf32>\n  return %r : tensor<{a}x{A}xf32>",
           "tensor<{a}x{A}xf32>"},
    OpCase{"softmax", "%x: tensor<{a}x{b}xf32>",
           "%r = graph.softmax %x : tensor<{a}x{b}xf32>\n  return %r : tensor<{a}x{b}xf32>",
           "tensor<{a}x{b}xf32>"},
    OpCase{"cross_entropy", "%x: tensor<{a}x{b}x3xf32>, %i: tensor<{a}x{b}xi32>",
           "%r, %s = graph.cross_entropy %x, %i : (tensor<{a}x{b}x3xf32>, tensor<{a}x{b}xi32>) -> "
           "(tensor<{a}x{b}xf32>, tensor<{a}x{b}xf32>)\n  return %r, %s : tensor<{a}x{b}xf32>, "
           "tensor<{a}x{b}xf32>",
           "tensor<{a}x{b}xf32>, tensor<{a}x{b}xf32>"},
    OpCase{"cross_entropy_loss_alone", "%x: tensor<{a}x3xf32>, %i: tensor<{a}xi32>",
           "%r, %s = graph.cross_entropy %x, %i : (tensor<{a}x3xf32>, tensor<{a}xi32>) -> (tensor<{a}xf32>, "
           "tensor<{a}xf32>)\n  return %r : tensor<{a}xf32>",
           "tensor<{a}xf32>"},
    OpCase{"rope_half", "%x: tensor<{a}x{b}x{c}x5xf32>, %p: tensor<{a}x{b}xi32>",
           "%r = graph.rope half %x, %p frequencies = [1.0, 0.3] {magnitude = 1.5 : f64} : "
           "(tensor<{a}x{b}x{c}x5xf32>, tensor<{a}x{b}xi32>) -> tensor<{a}x{b}x{c}x5xf32>\n  return %r : "
           "tensor<{a}x{b}x{c}x5xf32>",
           "tensor<{a}x{b}x{c}x5xf32>"},
    OpCase{"rope_adjacent", "%x: tensor<{a}x{b}x4xf32>, %p: tensor<{a}x{b}xi32>",
           "%r = graph.rope adjacent %x, %p frequencies = [1.0, 0.3] : (tensor<{a}x{b}x4xf32>, "
           "tensor<{a}x{b}xi32>) -> tensor<{a}x{b}x4xf32>\n  return %r : tensor<{a}x{b}x4xf32>",
           "tensor<{a}x{b}x4xf32>"},
    ATTENTION("attention", "", ""),
    ATTENTION("attention_first_key", "x2", ""),
    ATTENTION("attention_window", "", "{window = 2 : i64}"),
    ATTENTION("attention_softcap", "", "{softcap = 0.5 : f64}"),
    OpCase{"attention_dropout",
           "%q: tensor<{a}x{b}x{c}x{d}x{A}xf32>, %k: tensor<{a}x4x{c}x{A}xf32>, %v: "
           "tensor<{a}x4x{c}x{e}xf32>, %p: tensor<{a}x{b}xi32>, %keys: tensor<{a}x{b}x{c}x{d}xi64>",
           "%s = graph.constant dense<0.3> : tensor<f32> : tensor<f32>\n"
           "  %r = graph.attention %q, %k, %v, %p dropout %keys, %s scale = 0.7 {softcap = 0.5 : f64} "
           ": (tensor<{a}x{b}x{c}x{d}x{A}xf32>, tensor<{a}x4x{c}x{A}xf32>, tensor<{a}x4x{c}x{e}xf32>, "
           "tensor<{a}x{b}xi32>, tensor<{a}x{b}x{c}x{d}xi64>, tensor<f32>) -> "
           "tensor<{a}x{b}x{c}x{d}x{e}xf32>\n  return %r : tensor<{a}x{b}x{c}x{d}x{e}xf32>",
           "tensor<{a}x{b}x{c}x{d}x{e}xf32>"},
    OpCase{"attention_sinks",
           "%q: tensor<{a}x{b}x{c}x{d}x{A}xf32>, %k: tensor<{a}x4x{c}x{A}xf32>, %v: "
           "tensor<{a}x4x{c}x{e}xf32>, %p: tensor<{a}x{b}xi32>, %sinks: tensor<{c}x{d}xf32>",
           "%r = graph.attention %q, %k, %v, %p sinks %sinks scale = 0.7 {window = 2 : i64} "
           ": (tensor<{a}x{b}x{c}x{d}x{A}xf32>, tensor<{a}x4x{c}x{A}xf32>, tensor<{a}x4x{c}x{e}xf32>, "
           "tensor<{a}x{b}xi32>, tensor<{c}x{d}xf32>) -> tensor<{a}x{b}x{c}x{d}x{e}xf32>\n"
           "  return %r : tensor<{a}x{b}x{c}x{d}x{e}xf32>",
           "tensor<{a}x{b}x{c}x{d}x{e}xf32>"},
    OpCase{
        "attention_log_sum_exp",
        "%q: tensor<{a}x{b}x{c}x{d}x{A}xf32>, %k: tensor<{a}x4x{c}x{A}xf32>, %v: tensor<{a}x4x{c}x{e}xf32>",
        "%p = graph.constant dense<2> : tensor<{a}x{b}xi32> : tensor<{a}x{b}xi32>\n"
        "  %r, %s = graph.attention %q, %k, %v, %p scale = 0.7 : (tensor<{a}x{b}x{c}x{d}x{A}xf32>, "
        "tensor<{a}x4x{c}x{A}xf32>, tensor<{a}x4x{c}x{e}xf32>, tensor<{a}x{b}xi32>) -> "
        "(tensor<{a}x{b}x{c}x{d}x{e}xf32>, tensor<{a}x{b}x{c}x{d}xf32>)\n"
        "  return %r, %s : tensor<{a}x{b}x{c}x{d}x{e}xf32>, tensor<{a}x{b}x{c}x{d}xf32>",
        "tensor<{a}x{b}x{c}x{d}x{e}xf32>, tensor<{a}x{b}x{c}x{d}xf32>"}};
INSTANTIATE_TEST_SUITE_P(Decomposable, Derivative, testing::ValuesIn(kDecomposable),
                         [](const auto &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Decomposable, WrittenOut, testing::ValuesIn(kDecomposable),
                         [](const auto &info) { return std::string(info.param.name); });

// Of equal elements of a maximum each has an equal part: no difference says so, as there is a kink.
TEST(DerivativeOfMaximum, IsSharedByEqualElements) {
  Program program(
      "func.func @f(%x: tensor<4xf32>) -> tensor<f32> {\n"
      "  %r = graph.reduce max %x dims = [0] : (tensor<4xf32>) -> tensor<f32>\n  return %r : tensor<f32>\n}");
  ASSERT_TRUE(succeeded(graph::addVectorJacobianProduct(program.func())));
  ReferenceTensor x(cast<RankedTensorType>(program.func().getArgumentTypes()[0])),
      seed(cast<RankedTensorType>(program.func().getArgumentTypes()[1]));
  x.f = {2, 5, 5, 1};
  seed.f = {3};
  auto results = interpretGlobally(program.func(), {x, seed});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[1].f, (std::vector<double>{0, 1.5, 1.5, 0}));
}

// What the gradient ops are made of is their decomposition: second derivatives too.
TEST(DerivativeOfAttention, HasADerivativeItself) {
  Program program("func.func @f(%q: tensor<1x2x1x2x2xf32>, %k: tensor<1x3x1x2xf32>, %v: tensor<1x3x1x2xf32>, "
                  "%p: tensor<1x2xi32>) -> tensor<1x2x1x2x2xf32> {\n"
                  "  %r = graph.attention %q, %k, %v, %p scale = 0.7 : (tensor<1x2x1x2x2xf32>, "
                  "tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x2xi32>) -> tensor<1x2x1x2x2xf32>\n"
                  "  return %r : tensor<1x2x1x2x2xf32>\n}");
  ASSERT_TRUE(succeeded(graph::addVectorJacobianProduct(program.func())));
  expectGradients(program.func(), 3, false, "attention, twice");
}
