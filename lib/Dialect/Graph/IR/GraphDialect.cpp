//===- GraphDialect.cpp - The graph dialect -------------------------------===//
#include "tessera/Dialect/Graph/IR/Branch.h"
#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Dialect/Graph/IR/Partial.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::graph;

#include "tessera/Dialect/Graph/IR/GraphDialect.cpp.inc"
#include "tessera/Dialect/Graph/IR/GraphEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Graph/IR/GraphAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// Attributes of arguments and results
//===----------------------------------------------------------------------===//

/// One attribute `graph.*` of `what`, a value of type `type` (docs/Architecture.md, "Program form").
static LogicalResult verifyValueAttr(Operation *op, const Twine &what, Type type, NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  auto text = dyn_cast<StringAttr>(attr.getValue());
  if (name == kKindAttr) {
    if (isa<KindAttr>(attr.getValue()))
      return success();
    return op->emitError() << what << " has graph.kind = " << attr.getValue()
                           << "; it is #graph.kind<input>, <parameter>, <state> or <output>";
  }
  if (name == kNameAttr || name == kHoldsAttr) {
    if (text && !text.getValue().empty())
      return success();
    return op->emitError() << what << " has " << name << " = " << attr.getValue() << ", which is no name";
  }
  if (name == kDimsAttr) {
    auto dims = dyn_cast<ArrayAttr>(attr.getValue());
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!dims || !llvm::all_of(dims, llvm::IsaPred<StringAttr>))
      return op->emitError() << what << " has graph.dims = " << attr.getValue()
                             << ", which is no list of names";
    if (!tensor || tensor.getRank() != int64_t(dims.size()))
      return op->emitError() << what << " has " << dims.size() << " names in graph.dims, its type is "
                             << type;
    return success();
  }
  if (name == kHeldAttr) {
    // From rung kernels on a cache in blocks is an array of bytes.
    auto tensor = dyn_cast<RankedTensorType>(type);
    bool isBytes = tensor && tensor.getRank() > 0 && tensor.getElementType().isInteger(8) &&
                   tensor.getShape().back() % kCacheBlockBytes == 0;
    if (text && text.getValue() == kCacheBlocks && tensor && (isBytes || fitsCacheBlocks(tensor)))
      return success();
    return op->emitError() << what << " has graph.held = " << attr.getValue() << " and the type " << type
                           << "; it is \"" << kCacheBlocks << "\", of rows of f32 that are whole blocks of "
                           << kCacheBlock;
  }
  // Each of these has an attribute of its own; which side of the function it belongs to is checked by those
  // who read it.
  bool known = name == kFillAttr || name == kGivesAttr || name == kClearAttr || name == kSlotAttr;
  if ((name == kFillAttr && isa<FillAttr>(attr.getValue())) ||
      (name == kGivesAttr && isa<GivesAttr>(attr.getValue())) ||
      (name == kClearAttr && isa<ClearAttr>(attr.getValue())) ||
      (name == kSlotAttr && isa<SlotAttr>(attr.getValue())))
    return success();
  if (known)
    return op->emitError() << what << " has " << name << " = " << attr.getValue() << ", which is no #"
                           << name;
  return op->emitError() << what << " has an unknown attribute " << attr.getName();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned argument,
                                                     NamedAttribute attr) {
  // A declaration has no block.
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? function.getArgumentTypes()[argument]
                       : op->getRegion(region).getArgument(argument).getType();
  return verifyValueAttr(op, "argument #" + Twine(argument), type, attr);
}

LogicalResult GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                        NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? function.getResultTypes()[result] : Type();
  return verifyValueAttr(op, "result #" + Twine(result), type, attr);
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  if (name == kRoleAttr && !(isa<RoleAttr>(attr.getValue()) && isa<FunctionOpInterface>(op)))
    return op->emitError() << "has graph.role = " << attr.getValue() << "; it is a #graph.role of a function";
  if (name == kGenerateAttr && !(isa<GenerateAttr>(attr.getValue()) && isa<ModuleOp>(op)))
    return op->emitError() << "has graph.generate = " << attr.getValue()
                           << "; it is a #graph.generate of a module";
  if (name == kTrainAttr && !(isa<TrainAttr>(attr.getValue()) && isa<ModuleOp>(op)))
    return op->emitError() << "has graph.train = " << attr.getValue() << "; it is a #graph.train of a module";
  if (name == kStateOfAttr && !(isa<StateOfAttr>(attr.getValue()) && isa<ParameterOp>(op)))
    return op->emitError() << "has graph.state_of = " << attr.getValue()
                           << "; it is a #graph.state_of of a graph.parameter";
  // On a graph.parameter it is a list, which those check who read it.
  if (auto update = dyn_cast<CacheUpdateOp>(op);
      name == kHeldAttr && update &&
      (attr.getValue() != StringAttr::get(op->getContext(), kCacheBlocks) ||
       !fitsCacheBlocks(cast<ShapedType>(update.getUpdate().getType()))))
    return op->emitError() << "has graph.held = " << attr.getValue() << " and writes rows of "
                           << update.getUpdate().getType() << "; it is \"" << kCacheBlocks
                           << "\", of rows of f32 that are whole blocks of " << kCacheBlock;
  auto number = dyn_cast<IntegerAttr>(attr.getValue());
  if (name == kCopyAttr &&
      !(number && number.getType().isInteger(64) && number.getInt() >= 0 && isa<ParameterOp>(op)))
    return op->emitError() << "has graph.copy = " << attr.getValue()
                           << "; it is an i64, which copy of a graph.parameter this is";
  if (name == kVocabAttr && !(number && number.getType().isInteger(64) && number.getInt() > 0))
    return op->emitError() << "has graph.vocab = " << attr.getValue() << "; it is an i64 above 0";
  if (auto site = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
      name == kDropSiteAttr &&
      !(site && site.size() == 2 && site[0] >= 0 && site[0] < site[1] && isa<DropSiteOpInterface>(op)))
    return op->emitError() << "has graph.drop_site = " << attr.getValue()
                           << "; it is array<i64: N, M>, number N of M ops that may drop elements";
  if (name == kMicroBatchesAttr && !(isa<UnitAttr>(attr.getValue()) && isa<RepeatOp>(op)))
    return op->emitError() << "has graph.micro_batches = " << attr.getValue()
                           << "; it is a unit, of a graph.repeat";
  auto gradient = dyn_cast<TypeAttr>(attr.getValue());
  if (name == kGradientAttr && !(gradient && isa<FloatType>(gradient.getValue()) && isa<CastOp>(op)))
    return op->emitError() << "has graph.gradient = " << attr.getValue()
                           << "; it is the float type of the gradient of a graph.cast";
  auto terms = dyn_cast<TypeAttr>(attr.getValue());
  if (name == kTermsAttr && !(terms && isa<FloatType>(terms.getValue()) && op->getNumResults() == 1 &&
                              getElementTypeOrSelf(op->getResult(0)) == terms.getValue()))
    return op->emitError() << "has graph.terms = " << attr.getValue()
                           << "; it is the float type of the op's one result";
  return success();
}

Attribute FillAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  StringAttr output;
  FlatSymbolRefAttr entry;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<FillSource> source = symbolizeFillSource(keyword);
  if (!source) {
    std::string known;
    for (unsigned i = 0; i <= getMaxEnumValForFillSource(); ++i)
      known += (i == 0 ? "'" : ", '") + stringifyFillSource(FillSource(i)).str() + "'";
    parser.emitError(loc) << "expected one of " << known;
    return {};
  }
  std::string name;
  if (succeeded(parser.parseOptionalString(&name))) {
    output = StringAttr::get(parser.getContext(), name);
    if (parser.parseKeyword("of") || parser.parseAttribute(entry))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<FillAttr>(loc, parser.getContext(), *source, output, entry);
}

void FillAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyFillSource(getSource());
  if (getOutput())
    printer << ' ' << getOutput() << " of " << getEntry();
  printer << '>';
}

LogicalResult FillAttr::verify(function_ref<InFlightDiagnostic()> emitError, FillSource source,
                               StringAttr output, FlatSymbolRefAttr entry) {
  if ((source == FillSource::Output) != bool(output) || bool(output) != bool(entry))
    return emitError() << "#graph.fill<" << stringifyFillSource(source) << "> "
                       << (source == FillSource::Output ? "must name an output and its entry"
                                                        : "names no output");
  return success();
}

LogicalResult GenerateAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t batch, int64_t chunk,
                                   int64_t maxSeqLen, int64_t vocab, int64_t rewind) {
  if (batch < 1 || chunk < 1 || vocab < 1 || maxSeqLen < chunk || rewind < -1)
    return emitError() << "#graph.generate needs positive sizes and a chunk within the context";
  return success();
}

LogicalResult TrainAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t batch, int64_t seq,
                                int64_t microBatches, int64_t vocab, FloatAttr lossScale,
                                int64_t flopsPerToken, StringAttr) {
  if (flopsPerToken < 0)
    return emitError() << "#graph.train has " << flopsPerToken << " flops_per_token; expected a count";
  if (lossScale && !(lossScale.getValueAsDouble() > 0))
    return emitError() << "#graph.train has a loss_scale of " << lossScale << "; expected a positive number";
  if (batch < 1 || seq < 1 || vocab < 1 || microBatches < 1 || microBatches > batch)
    return emitError() << "#graph.train needs positive sizes and at most as many micro-batches as rows";
  return success();
}

LogicalResult StateOfAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr state,
                                  FlatSymbolRefAttr) {
  bool isName =
      !state.empty() && llvm::all_of(state.getValue(), [](char c) { return c == '_' || llvm::isAlnum(c); });
  if (!isName) // a file is called so
    return emitError() << "#graph.state_of names the state " << state
                       << "; expected letters, digits and underscores";
  return success();
}

namespace tessera::graph {

std::optional<Kind> argumentKind(FunctionOpInterface function, unsigned i) {
  auto kind = function.getArgAttrOfType<KindAttr>(i, kKindAttr);
  return kind ? std::optional(kind.getValue()) : std::nullopt;
}

std::optional<Kind> resultKind(FunctionOpInterface function, unsigned i) {
  auto kind = function.getResultAttrOfType<KindAttr>(i, kKindAttr);
  return kind ? std::optional(kind.getValue()) : std::nullopt;
}

std::optional<Kind> argumentKind(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  auto function = arg ? dyn_cast<FunctionOpInterface>(arg.getOwner()->getParentOp()) : FunctionOpInterface();
  return function ? argumentKind(function, arg.getArgNumber()) : std::nullopt;
}

} // namespace tessera::graph

//===----------------------------------------------------------------------===//
// Source
//===----------------------------------------------------------------------===//

Attribute SourceAttr::parse(AsmParser &parser, Type) {
  std::string name;
  if (parser.parseLess() || parser.parseString(&name))
    return {};
  // Fields in this order; each after the first may be missing.
  constexpr StringLiteral keywords[] = {"file", "reshape", "slice", "permute"};
  SmallVector<int64_t> fields[4];
  for (int next = 0; succeeded(parser.parseOptionalComma());) {
    while (next < 4 && failed(parser.parseOptionalKeyword(keywords[next]))) {
      if (++next == 1) {
        parser.emitError(parser.getCurrentLocation(), "expected 'file'");
        return {};
      }
    }
    if (next == 4) {
      parser.emitError(parser.getCurrentLocation(),
                       "expected 'reshape', 'slice' or 'permute', each once and in this order");
      return {};
    }
    SmallVector<int64_t> &field = fields[next++];
    auto parseSize = [&]() { return parser.parseInteger(field.emplace_back()); };
    if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return SourceAttr::get(parser.getContext(), name, fields[0], fields[1], fields[2], fields[3]);
}

void SourceAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getName());
  auto print = [&](StringRef keyword, ArrayRef<int64_t> field, bool always) {
    if (field.empty() && !always)
      return;
    printer << ", " << keyword << " = [";
    llvm::interleaveComma(field, printer);
    printer << ']';
  };
  print("file", getFile(), true);
  print("reshape", getReshape(), false);
  print("slice", getSlice(), false);
  print("permute", getPermute(), false);
  printer << '>';
}

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tessera/Dialect/Graph/IR/GraphAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphElementwiseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphShapeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphNeuralOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphRandomOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphExpertOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphStructureOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphBranchOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Graph/IR/GraphPartialOp.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !isa<RankedTensorType>(type))
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
