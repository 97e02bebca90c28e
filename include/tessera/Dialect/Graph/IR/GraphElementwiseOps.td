#ifndef TESSERA_DIALECT_GRAPH_GRAPHELEMENTWISEOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHELEMENTWISEOPS_TD

include "tessera/Dialect/Graph/IR/GraphBase.td"

/// Elementwise op. Operands are aligned at their last dimension and broadcast (a missing dimension, or one of size 1) to the result's
/// shape. `expr` is the meaning over doubles x (and y, z), with context.inner(...) around what rounding inside spoils most; `flops` what one element costs.
class Graph_ElementwiseOp<string mnemonic, string expr, int flopsPerElement, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<ElementwiseScalarOpInterface, ["addsOperands"]>], traits)> {
  code linearGroups = "{}";
  code maxGroups = "{}";
  code unbounded = "false"; ///< ShardingRule::unbounded
  code addsOperands = "false";
  let extraClassDefinition = [{
    ::tessera::ShardingRule $cppClass::getShardingRule() {
      return ::tessera::graph::elementwiseRule(getOperation(), }] # linearGroups # ", " # maxGroups # ", " # unbounded # [{);
    }
    bool $cppClass::addsOperands() { return }] # addsOperands # [{; }
    ::tessera::OpCost $cppClass::getCost() {
      return ::tessera::streamingCost(getOperation(), }] # flopsPerElement # [{ * ::tessera::graph::numElements(getResult()));
    }
    ::llvm::LogicalResult $cppClass::evaluate(::llvm::ArrayRef<::tessera::ReferenceTensor> operands,
        const ::tessera::ReferenceContext &context, ::llvm::SmallVectorImpl<::tessera::ReferenceTensor> &results) {
      return ::tessera::graph::evaluateElementwise(getOperation(), operands, results,
          [&](::llvm::ArrayRef<double> v) -> double { [[maybe_unused]] double x = v[0]; [[maybe_unused]] double y = v.size() > 1 ? v[1] : 0;
            return }] # expr # [{; });
    }
  }];
  let hasVerifier = 1;
}

class Graph_UnaryOp<string mnemonic, string expr, int flops = 1> : Graph_ElementwiseOp<mnemonic, expr, flops, [SameOperandsAndResultType, Graph_Derivative]> {
  let summary = "Elementwise " # mnemonic;
  let arguments = (ins Graph_FloatTensor:$input);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

class Graph_BinaryOp<string mnemonic, string expr> : Graph_ElementwiseOp<mnemonic, expr, 1, [Graph_Derivative]> {
  let summary = "Elementwise " # mnemonic # " with trailing broadcast";
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def Graph_NegOp : Graph_UnaryOp<"neg", "-x"> { code linearGroups = "{{0}}"; }
def Graph_AbsOp : Graph_UnaryOp<"abs", "std::fabs(x)">;
def Graph_ExpOp : Graph_UnaryOp<"exp", "std::exp(x)"> { code maxGroups = "{{0}}"; code unbounded = "true"; }
def Graph_LogOp : Graph_UnaryOp<"log", "std::log(x)"> { code unbounded = "true"; }
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", "std::sqrt(x)"> { code unbounded = "true"; }
def Graph_RsqrtOp : Graph_UnaryOp<"rsqrt", "1.0 / std::sqrt(x)"> { code unbounded = "true"; }
def Graph_TanhOp : Graph_UnaryOp<"tanh", "std::tanh(x)"> { code maxGroups = "{{0}}"; }
def Graph_SinOp : Graph_UnaryOp<"sin", "std::sin(x)">;
def Graph_CosOp : Graph_UnaryOp<"cos", "std::cos(x)">;
def Graph_ErfOp : Graph_UnaryOp<"erf", "std::erf(x)"> {
  let summary = "Elementwise error function (what the slope of an exact GELU is made of)";
  code maxGroups = "{{0}}";
}
def Graph_SigmoidOp : Graph_UnaryOp<"sigmoid", "1.0 / (1.0 + std::exp(-x))", 3>;
def Graph_SiluOp : Graph_UnaryOp<"silu", "x / (1.0 + std::exp(-x))", 4>;
def Graph_ReluOp : Graph_UnaryOp<"relu", "std::fmax(x, 0.0)"> { code maxGroups = "{{0}}"; }
def Graph_GeluErfOp : Graph_UnaryOp<"gelu_erf", "0.5 * x * (1.0 + context.inner(std::erf(x * 0.70710678118654752440)))", 5> {
  let summary = "GELU, exact form: x * Phi(x) (arXiv 1606.08415)";
}
def Graph_GeluTanhOp : Graph_UnaryOp<"gelu_tanh",
    "0.5 * x * (1.0 + context.inner(std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))))", 9> {
  let summary = "GELU, tanh approximation (GPT-2's gelu_new)";
}

def Graph_AddOp : Graph_BinaryOp<"add", "x + y"> { code linearGroups = "{{0, 1}}"; code addsOperands = "true"; let hasCanonicalizer = 0; }
def Graph_SubOp : Graph_BinaryOp<"sub", "x - y"> { code linearGroups = "{{0, 1}}"; }
def Graph_MulOp : Graph_BinaryOp<"mul", "x * y"> { code linearGroups = "{{0}, {1}}"; }
/// An integer divided by zero is 0: padding is divided too, and must not trap.
def Graph_DivOp : Graph_BinaryOp<"div",
    "y == 0 && ::llvm::isa<::mlir::IntegerType>(::mlir::getElementTypeOrSelf(getResult().getType())) ? 0 : x / y"> { code linearGroups = "{{0}}"; code unbounded = "true"; }
def Graph_MaximumOp : Graph_BinaryOp<"maximum", "std::fmax(x, y)"> { code maxGroups = "{{0, 1}}"; }
def Graph_MinimumOp : Graph_BinaryOp<"minimum", "std::fmin(x, y)">;

def Graph_CastOp : Graph_ElementwiseOp<"cast", "x", 0, [Graph_Derivative]> {
  let summary = "The same numbers in another element type (float to integer truncates)";
  let description = [{
    Ranks may cast the terms of a sum in place of the sum where `graph.terms` says that rounded terms are wanted, gradients that are exchanged in 16 bits, and
    from such terms back to a wider type, which loses nothing.
  }];
  code linearGroups = "castsTerms() ? ::tessera::graph::OperandGroups{{0}} : ::tessera::graph::OperandGroups{}";
  let extraClassDeclaration = "bool castsTerms();";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

#endif
