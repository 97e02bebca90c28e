//===- ExecOps.cpp - verifiers, effects and syntax of the exec dialect ------===//

#include "VerifyOps.h"

#include "tessera/Support/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

/// `modes(write, update, ...)`, if there are any.
static ParseResult parseModes(OpAsmParser &parser, DenseI32ArrayAttr &modes) {
  using tessera::exec::AccessKind;
  if (failed(parser.parseOptionalKeyword("modes")))
    return success();
  SmallVector<int32_t> kinds;
  auto parseOne = [&]() -> ParseResult {
    StringRef word;
    llvm::SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    for (AccessKind kind : {AccessKind::Write, AccessKind::Update, AccessKind::Layer})
      if (word == stringifyAccessKind(kind)) {
        kinds.push_back(int32_t(kind));
        return success();
      }
    return parser.emitError(at)
           << "unknown mode '" << word
           << "': an output is written (write), updated (update) or gets one layer (layer)";
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  modes = parser.getBuilder().getDenseI32ArrayAttr(kinds);
  return success();
}

static void printModes(OpAsmPrinter &printer, Operation *, DenseI32ArrayAttr modes) {
  if (!modes)
    return;
  printer << "modes(";
  llvm::interleaveComma(modes.asArrayRef(), printer, [&](int32_t kind) {
    printer << stringifyAccessKind(tessera::exec::AccessKind(kind));
  });
  printer << ")";
}

using namespace mlir;

// Kinds of collectives are written by their names (tessera/runtime/core/Collective.h).
template <typename T>
static ParseResult parseNamed(OpAsmParser &parser, IntegerAttr &attr, StringRef what,
                              std::optional<T> (*fromName)(std::string_view)) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<T> value = fromName(std::string_view(name.data(), name.size()));
  if (!value)
    return parser.emitError(loc) << "'" << name << "' is no " << what;
  attr = parser.getBuilder().getI32IntegerAttr(int32_t(*value));
  return success();
}
static ParseResult parseCollectiveKind(OpAsmParser &parser, IntegerAttr &kind) {
  return parseNamed(parser, kind, "kind of collective", tessera::collectiveFromName);
}
static void printCollectiveKind(OpAsmPrinter &printer, Operation *, IntegerAttr kind) {
  printer << tessera::collectiveName(tessera::CollectiveKind(kind.getInt()));
}
static ParseResult parseReduction(OpAsmParser &parser, IntegerAttr &reduction) {
  return parseNamed(parser, reduction, "way to combine", tessera::reductionFromName);
}
static void printReduction(OpAsmPrinter &printer, Operation *, IntegerAttr reduction) {
  printer << tessera::reductionName(tessera::Reduction(reduction.getInt()));
}

static ParseResult parseProductFunction(OpAsmParser &parser, IntegerAttr &function) {
  return parseNamed(parser, function, "function of a product", tessera::productFunctionFromName);
}
static void printProductFunction(OpAsmPrinter &printer, Operation *, IntegerAttr function) {
  printer << tessera::productFunctionName(tessera::ProductFunction(function.getInt()));
}

#define GET_OP_CLASSES
#include "tessera/Dialect/Exec/IR/ExecOps.cpp.inc"

namespace tessera::exec {

LogicalResult verifyOneRung(Operation *op) {
  bool tensors = false, buffers = false;
  for (Type type : op->getOperandTypes()) {
    tensors |= isa<RankedTensorType>(type);
    buffers |= isa<MemRefType>(type);
  }
  if (tensors && buffers)
    return op->emitOpError("mixes tensors (rung kernels) and memrefs (rung exec)");
  return success();
}

graph::ParameterOp lookupParameter(Operation *op, FlatSymbolRefAttr param, SymbolTableCollection &tables) {
  auto parameter = tables.lookupNearestSymbolFrom<graph::ParameterOp>(op, param);
  if (!parameter)
    op->emitOpError() << "names " << param << ", which is no graph.parameter";
  return parameter;
}

RankedTensorType heldType(graph::ParameterOp parameter) {
  auto local = parameter->getAttrOfType<TypeAttr>(kLocalTypeAttr);
  return cast<RankedTensorType>(local ? local.getValue() : parameter.getType());
}

PackedMatrix packedMatrix(graph::ParameterOp parameter) {
  ArrayRef<int64_t> layer = heldType(parameter).getShape();
  if (parameter.getStacked())
    layer = layer.drop_front();
  auto pack = parameter->getAttrOfType<IntegerAttr>(kPackAttr);
  size_t out = pack ? size_t(pack.getInt()) : layer.size() - std::min<size_t>(layer.size(), 1);
  return {product(layer.take_front(out)), product(layer.drop_front(out))};
}

LogicalResult verifyPacked(Operation *op, FlatSymbolRefAttr param, Value layer, int64_t elements,
                           SymbolTableCollection &tables) {
  graph::ParameterOp parameter = lookupParameter(op, param, tables);
  if (!parameter)
    return failure();
  RankedTensorType held = heldType(parameter);
  if (bool(layer) != parameter.getStacked())
    return op->emitOpError() << (layer ? "takes a layer of " : "needs the number of a layer of ") << param
                             << ", which is " << (layer ? "not stacked" : "stacked");
  int64_t inLayer = held.getNumElements() / (parameter.getStacked() ? held.getDimSize(0) : 1);
  if (elements >= 0 && elements != inLayer)
    return op->emitOpError() << "takes " << elements << " elements of " << param << ", which has " << inLayer
                             << (layer ? " a layer: " : ": ") << held;
  return success();
}

LogicalResult verifyProductType(Operation *op, StringRef what, Type element) {
  std::optional<io::DType> dtype = elementDType(element);
  if (dtype && io::traits(*dtype).pack)
    return success();
  return op->emitOpError() << what << " holds " << element << "; products take f32, bf16 and f16";
}

//===- Values ---------------------------------------------------------------===//

LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &tables) {
  graph::ParameterOp parameter = lookupParameter(*this, getParamAttr(), tables);
  if (!parameter)
    return failure();
  RankedTensorType held = heldType(parameter);
  auto seen = cast<ShapedType>(getType());
  if (RankedTensorType words = heldWords(parameter))
    return words.getElementType() == seen.getElementType() && words.getShape() == seen.getShape()
               ? success()
               : emitOpError() << "is " << Type(seen) << ", but " << getParamAttr()
                               << " is held in blocks, as " << words;
  if (held.getElementType() != seen.getElementType())
    return emitOpError() << "reads " << getParamAttr() << ", stored as " << held.getElementType() << ", as "
                         << Type(seen);
  if (parameter->hasAttr(kLocalTypeAttr) && held.getShape() != seen.getShape())
    return emitOpError() << "is " << Type(seen) << ", but a rank holds " << held << " of " << getParamAttr();
  return success();
}

LogicalResult PackOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto parameter = tables.lookupNearestSymbolFrom<graph::ParameterOp>(*this, getParamAttr());
  if (!parameter)
    return emitOpError() << "names " << getParamAttr() << ", which is no graph.parameter";
  if (!parameter.getVariable())
    return emitOpError() << "packs " << getParamAttr()
                         << ", which is no variable: nothing can have changed it";
  if (getLayer() && !parameter.getStacked())
    return emitOpError() << "packs a layer of " << getParamAttr() << ", which is not stacked";
  return success();
}

/// What every device of today takes.
template <typename OpT> static LogicalResult verifyBlock(OpT op) {
  if (int64_t(op.getThreads()) < 1 || op.getThreads() > 1024)
    return op.emitOpError() << "has " << op.getThreads() << " threads; a block has 1 to 1024";
  if (int64_t(op.getShared()) < 0 || int64_t(op.getShared()) > INT32_MAX)
    return op.emitOpError() << "shares " << int64_t(op.getShared()) << " bytes";
  return success();
}

LogicalResult DeviceSiblingOp::verify() {
  if (int64_t(getCount()) < 1 || int64_t(getBlocks()) < 1 || int64_t(getBlocks()) > INT32_MAX)
    return emitOpError() << "does " << int64_t(getCount()) << " iterations in " << int64_t(getBlocks())
                         << " blocks; both must be positive";
  if (int64_t(getAscending()) < 0 || int64_t(getRow()) < 1 || int64_t(getFirst()) < 0)
    return emitOpError() << "is tried on rows of " << int64_t(getRow()) << " numbers from "
                         << int64_t(getFirst()) << " on in buffer " << int64_t(getAscending());
  return verifyBlock(*this);
}

LogicalResult DeviceSiblingOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!tables.lookupNearestSymbolFrom<DeviceKernelOp>(*this, getKernelAttr()))
    return emitOpError() << "stands for " << getKernelAttr() << ", which is no exec.device_kernel";
  return success();
}

LogicalResult DeviceKernelOp::verify() {
  if (failed(verifyBlock(*this)))
    return failure();
  if (int64_t(getPerBlock()) < 1)
    return emitOpError() << "does " << int64_t(getPerBlock())
                         << " iterations in a block; it needs one at least";
  return success();
}

LogicalResult BufferOp::verify() {
  if (int64_t(getOffset()) < 0 || getOffset() % kBufferAlignment != 0)
    return emitOpError() << "has offset " << getOffset() << ", which is not a multiple of "
                         << kBufferAlignment;
  return success();
}

LogicalResult LayerOp::verify() {
  auto stack = cast<ShapedType>(getStack().getType()), result = cast<ShapedType>(getResult().getType());
  if (stack.getRank() == 0 || stack.getShape().drop_front() != result.getShape() ||
      stack.getElementType() != result.getElementType() || isa<MemRefType>(stack) != isa<MemRefType>(result))
    return emitOpError() << "takes one layer of " << Type(stack) << ", which is not " << Type(result);
  APInt index;
  if (matchPattern(getIndex(), m_ConstantInt(&index)) &&
      (index.isNegative() || index.getSExtValue() >= stack.getDimSize(0)))
    return emitOpError() << "takes layer " << index.getSExtValue() << " of " << Type(stack);
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (numElements(getResult()) > numElements(getInput()) ||
      elementType(getResult()) != elementType(getInput()) ||
      isa<MemRefType>(getInput().getType()) != isa<MemRefType>(getResult().getType()))
    return emitOpError() << "cannot see " << getInput().getType() << " as " << getResult().getType();
  return success();
}

//===- Work -----------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (getOutputs().empty())
    return emitOpError() << "writes nothing";
  if (int64_t(getCount()) < 1 || int64_t(getGrain()) < 1)
    return emitOpError() << "has count " << getCount() << " and grain " << getGrain()
                         << "; both must be positive";
  if (getModes()) {
    if (getModes()->size() != getOutputs().size())
      return emitOpError() << "has " << getModes()->size() << " modes for " << getOutputs().size()
                           << " outputs";
    for (unsigned i = 0; i < getOutputs().size(); ++i)
      if (getMode(i) == AccessKind::Layer &&
          (getScalars().empty() || cast<ShapedType>(getOutputs()[i].getType()).getRank() == 0))
        return emitOpError() << "writes a layer of output " << i << ", but "
                             << (getScalars().empty() ? "no scalar says which" : "that is no stack");
  }
  return verifyOneRung(*this);
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (tables.lookupNearestSymbolFrom<DeviceKernelOp>(*this, getKernelAttr())) // compiled already
    return success();
  auto kernel = tables.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "launches " << getKernelAttr() << ", which is no function";
  auto func = dyn_cast<func::FuncOp>(kernel.getOperation());
  if (!func) // lowered already: (buffers, scalars, begin, end)
    return success();
  FunctionType type = func.getFunctionType();
  size_t arrays = getInputs().size() + getOutputs().size();
  if (type.getNumInputs() != arrays + getScalars().size() + 2)
    return emitOpError() << "passes " << arrays << " arrays and " << getScalars().size() << " scalars to "
                         << getKernelAttr() << ", which takes " << type.getNumInputs()
                         << " arguments with its range";
  for (size_t i = 0; i < arrays; ++i) {
    Value array = i < getInputs().size() ? getInputs()[i] : getOutputs()[i - getInputs().size()];
    auto passed = cast<ShapedType>(array.getType()), taken = dyn_cast<ShapedType>(type.getInput(i));
    // Row-major arrays: a kernel may see one in another shape.
    if (!taken || passed.getNumElements() != taken.getNumElements() ||
        passed.getElementType() != taken.getElementType())
      return emitOpError() << "passes " << Type(passed) << " as argument " << i << " of " << getKernelAttr()
                           << ", which takes " << type.getInput(i);
  }
  for (Type scalar : type.getInputs().drop_front(arrays))
    if (!scalar.isIndex())
      return emitOpError() << "passes an index to " << getKernelAttr() << ", which takes " << scalar;
  return success();
}

LogicalResult CopyOp::verify() {
  if (getSource().getType() != getTarget().getType())
    return emitOpError() << "copies " << getSource().getType() << " to " << getTarget().getType();
  return success();
}

//===- Flag -----------------------------------------------------------------===//

LogicalResult ReadFlagOp::verify() {
  auto type = cast<ShapedType>(getFlag().getType());
  if (type.getNumElements() != 1 || !type.getElementType().isInteger(1))
    return emitOpError() << "reads " << type << ", expected one i1";
  if (getStreamNumber() != 0)
    return emitOpError() << "is given to stream " << getStreamNumber() << ", but the host waits for stream 0";
  return success();
}

//===- Loop -----------------------------------------------------------------===//

void ForOp::build(OpBuilder &builder, OperationState &state, TypeRange types, int64_t count, int64_t step,
                  ValueRange inits) {
  build(builder, state, types, builder.getI64IntegerAttr(count), builder.getI64IntegerAttr(step),
        /*call=*/IntegerAttr(), builder.getI64IntegerAttr(1), inits, /*number=*/Value());
}

/// COUNT, `call[N] in LEAST to COUNT`, or `number(%n) in LEAST to COUNT`.
static ParseResult parseCount(OpAsmParser &parser, OperationState &result,
                              std::optional<OpAsmParser::UnresolvedOperand> &given) {
  Builder &builder = parser.getBuilder();
  int64_t count = 0, number = 0, least = 1;
  auto parseBounds = [&] {
    return parser.parseKeyword("in") || parser.parseInteger(least) || parser.parseKeyword("to");
  };
  if (succeeded(parser.parseOptionalKeyword("call"))) {
    if (parser.parseLSquare() || parser.parseInteger(number) || parser.parseRSquare() || parseBounds())
      return failure();
    result.addAttribute(ForOp::getCallAttrName(result.name), builder.getI64IntegerAttr(number));
  } else if (succeeded(parser.parseOptionalKeyword("number"))) {
    if (parser.parseLParen() || parser.parseOperand(given.emplace()) || parser.parseRParen() || parseBounds())
      return failure();
  }
  if (parser.parseInteger(count))
    return failure();
  result.addAttribute(ForOp::getCountAttrName(result.name), builder.getI64IntegerAttr(count));
  result.addAttribute(ForOp::getLeastAttrName(result.name), builder.getI64IntegerAttr(least));
  return success();
}

ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument index;
  int64_t step = 1;
  Builder &builder = parser.getBuilder();
  std::optional<OpAsmParser::UnresolvedOperand> number;
  if (parser.parseArgument(index) || parser.parseEqual() || parseCount(parser, result, number) ||
      parser.parseKeyword("step") || parser.parseInteger(step))
    return failure();
  index.type = builder.getIndexType();
  SmallVector<OpAsmParser::Argument> args{index};
  if (succeeded(parser.parseOptionalKeyword("carry"))) {
    auto parseOne = [&]() -> ParseResult {
      OpAsmParser::Argument arg;
      OpAsmParser::UnresolvedOperand init;
      if (parser.parseArgument(arg) || parser.parseEqual() || parser.parseOperand(init) ||
          parser.parseColonType(arg.type) || parser.resolveOperand(init, arg.type, result.operands))
        return failure();
      result.addTypes(arg.type);
      args.push_back(arg);
      return success();
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
      return failure();
  }
  auto inits = int32_t(result.operands.size());
  if (number && parser.resolveOperand(*number, builder.getIndexType(), result.operands))
    return failure();
  result.addAttribute(getOperandSegmentSizeAttr(), builder.getDenseI32ArrayAttr({inits, number ? 1 : 0}));
  result.addAttribute(getStepAttrName(result.name), builder.getI64IntegerAttr(step));
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body, args))
    return failure();
  if (body->empty())
    return parser.emitError(parser.getCurrentLocation(), "the body of exec.for is empty");
  if (!body->back().mightHaveTerminator()) {
    OpBuilder bodyBuilder(builder.getContext());
    bodyBuilder.setInsertionPointToEnd(&body->back());
    YieldOp::create(bodyBuilder, result.location);
  }
  return success();
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getIndex() << " = ";
  if (getCall())
    printer << "call[" << *getCall() << "] in " << getLeast() << " to ";
  else if (getNumber())
    printer << "number(" << getNumber() << ") in " << getLeast() << " to ";
  printer << getCount() << " step " << getStep();
  if (!getInits().empty()) {
    printer << " carry(";
    llvm::interleaveComma(llvm::zip(getCarried(), getInits()), printer, [&](auto pair) {
      printer << std::get<0>(pair) << " = " << std::get<1>(pair) << " : " << std::get<1>(pair).getType();
    });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getCountAttrName(), getStepAttrName(), getCallAttrName(),
                                            getLeastAttrName(), getOperandSegmentSizeAttr()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
}

std::pair<ReadFlagOp, bool> ForOp::getFlag() {
  if (!getNumber())
    return {};
  auto rest = getNumber().getDefiningOp<IndexOffsetOp>();
  if (rest && (!rest.getReverse() || rest.getOffset() != 1))
    return {};
  return {(rest ? rest.getIndex() : getNumber()).getDefiningOp<ReadFlagOp>(), bool(rest)};
}

ForOp ForOp::getOther() {
  auto [flag, isElse] = getFlag();
  if (!flag || !isElse)
    return nullptr;
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (auto loop = dyn_cast<ForOp>(op); loop && loop.getFlag().first == flag)
      return loop.getFlag().second ? nullptr : loop;
  return nullptr;
}

LogicalResult ForOp::verify() {
  if (int64_t(getCount()) < 1 || int64_t(getStep()) < 1)
    return emitOpError() << "has count " << getCount() << " and step " << getStep()
                         << "; both must be positive";
  if (getCall() && int64_t(*getCall()) < 0)
    return emitOpError() << "takes count " << int64_t(*getCall()) << " of the call; they begin at 0";
  if (int64_t(getLeast()) < 0 || getLeast() > getCount())
    return emitOpError() << "runs for " << int64_t(getLeast()) << " to " << getCount()
                         << ", which is no range";
  if (getCall() && getNumber())
    return emitOpError("has two counts: one of the call, and a number");
  if (getNumber() && (!getFlag().first || getCount() != 1 || getLeast() != 0))
    return emitOpError("runs as often as a number says that is no flag; `number(%n) in 0 to 1` takes what "
                       "exec.read_flag gives, or what is left of that to 1");
  if (!hasVariableCount() && getLeast() != 1)
    return emitOpError("has a least count, but its count is fixed");
  Block &block = getBody().front();
  if (block.getNumArguments() != getInits().size() + 1 || !block.getArgument(0).getType().isIndex())
    return emitOpError("body must take the index and one argument for each carried value");
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("body must end with exec.yield");
  auto agree = [&](TypeRange types, StringRef what) -> LogicalResult {
    if (!llvm::equal(types, getInits().getTypes()))
      return emitOpError() << what << " have types (" << types << "), the initial values ("
                           << getInits().getTypes() << ")";
    return success();
  };
  if (failed(agree(TypeRange(block.getArgumentTypes()).drop_front(), "carried arguments")) ||
      failed(agree(block.back().getOperandTypes(), "yielded values")) ||
      failed(agree(getResultTypes(), "results")))
    return failure();
  return success();
}

} // namespace tessera::exec
