//===- DistAttrs.cpp - Text form of shardings, and their plain data -------===//
//
// One sharding reads  <@mesh, [{"dp"}, {"tp":(1)2, ?}p1], replicated={"x"}, partial=sum{"y"}, global=[8,
// 16]>. An attribute stores a whole axis with size 0, so that equal placements are equal attributes.
//
//===----------------------------------------------------------------------===//
#include "AxisText.h"

#include "tessera/Dialect/Dist/IR/Dist.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

#include "tessera/Dialect/Dist/IR/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Dist/IR/DistAttrs.cpp.inc"

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tessera/Dialect/Dist/IR/DistAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// `"a"` or `"a":(pre)size`.
static FailureOr<AxisRefAttr> parseAxisRef(AsmParser &parser) {
  std::string name;
  int64_t pre = 1, size = 0;
  if (parser.parseString(&name))
    return failure();
  if (succeeded(parser.parseOptionalColon())) {
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseInteger(pre) || parser.parseRParen() || parser.parseInteger(size))
      return failure();
    // No axis has more than kMaxRanks; products of what passes here cannot overflow.
    if (pre > kMaxRanks || size > kMaxRanks)
      return parser.emitError(loc, "sub-axis of \"") << name << "\": no axis is larger than " << kMaxRanks;
    if (pre < 1 || size < 2)
      return parser.emitError(loc, "sub-axis of \"")
             << name << "\": the part before must be at least 1, the size at least 2";
  }
  return AxisRefAttr::get(parser.getContext(), name, pre, size);
}

static void printAxisRef(AsmPrinter &printer, AxisRefAttr axis) {
  printer.printString(axis.getName());
  if (axis.getSize() != 0)
    printer << ":(" << axis.getPre() << ')' << axis.getSize();
}

ParseResult tessera::dist::parseAxisSet(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes, bool *open) {
  if (parser.parseLBrace())
    return failure();
  if (succeeded(parser.parseOptionalRBrace()))
    return success();
  do {
    if (open && succeeded(parser.parseOptionalQuestion())) {
      *open = true;
      break;
    }
    auto axis = parseAxisRef(parser);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRBrace();
}

void tessera::dist::printAxisSet(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes, bool open) {
  printer << '{';
  llvm::interleaveComma(axes, printer, [&](AxisRefAttr axis) { printAxisRef(printer, axis); });
  if (open)
    printer << (axes.empty() ? "?" : ", ?");
  printer << '}';
}

ParseResult tessera::dist::parseAxes(OpAsmParser &parser, ArrayAttr &axes) {
  SmallVector<AxisRefAttr> list;
  if (parseAxisSet(parser, list))
    return failure();
  axes = ArrayAttr::get(parser.getContext(), SmallVector<Attribute>(list.begin(), list.end()));
  return success();
}

void tessera::dist::printAxes(OpAsmPrinter &printer, Operation *, ArrayAttr axes) {
  SmallVector<AxisRefAttr> list;
  for (Attribute attr : axes) // what is no axis reference does not verify
    if (auto axis = dyn_cast<AxisRefAttr>(attr))
      list.push_back(axis);
  printAxisSet(printer, list);
}

static FailureOr<DimShardingAttr> parseDim(AsmParser &parser) {
  SmallVector<AxisRefAttr> axes;
  bool open = false;
  int64_t priority = -1;
  if (parseAxisSet(parser, axes, &open))
    return failure();
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&word)))
    if (!word.consume_front("p") || word.getAsInteger(10, priority) || priority < 0)
      return parser.emitError(loc, "expected a priority: p and a number");
  return DimShardingAttr::get(parser.getContext(), axes, open, priority);
}

static void printDim(AsmPrinter &printer, DimShardingAttr dim) {
  printAxisSet(printer, dim.getAxes(), dim.getOpen());
  if (dim.getPriority() >= 0)
    printer << 'p' << dim.getPriority();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  auto axis = parseAxisRef(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAxisRef(printer, *this);
  printer << '>';
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  auto dim = parseDim(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printDim(printer, *this);
  printer << '>';
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
      return failure();
    axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return MeshAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), axes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printer.printString(axis.getName());
    printer << '=' << axis.getSize();
  });
  printer << "]>";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<MeshAxisAttr> axes) {
  llvm::StringSet<> names;
  int64_t ranks = 1;
  for (MeshAxisAttr axis : axes) {
    if (axis.getName().empty())
      return emitError() << "mesh has an axis without a name";
    if (!names.insert(axis.getName()).second)
      return emitError() << "mesh axis \"" << axis.getName() << "\" stands twice";
    if (axis.getSize() < 1)
      return emitError() << "mesh axis \"" << axis.getName() << "\" has size " << axis.getSize()
                         << ", less than 1";
    if (axis.getSize() > kMaxRanks / ranks)
      return emitError() << "mesh has more than " << kMaxRanks << " ranks";
    ranks *= axis.getSize();
  }
  return success();
}

Mesh MeshAttr::toMesh() const {
  Mesh mesh;
  for (MeshAxisAttr axis : getAxes())
    mesh.axes.push_back({axis.getName().str(), axis.getSize()});
  return mesh;
}

MeshAttr MeshAttr::get(MLIRContext *context, const Mesh &mesh) {
  SmallVector<MeshAxisAttr> axes;
  for (const MeshAxis &axis : mesh.axes)
    axes.push_back(MeshAxisAttr::get(context, axis.name, axis.size));
  return get(context, axes);
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, partial;
  PartialKindEnum kind = PartialKindEnum::none;
  DenseI64ArrayAttr global;
  auto parseOneDim = [&]() -> ParseResult {
    auto dim = parseDim(parser);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    return success();
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOneDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return {};
    if (word == "replicated" && replicated.empty()) {
      if (parseAxisSet(parser, replicated))
        return {};
    } else if (word == "partial" && kind == PartialKindEnum::none) {
      StringRef kindWord;
      loc = parser.getCurrentLocation();
      if (parser.parseKeyword(&kindWord))
        return {};
      auto parsed = symbolizePartialKindEnum(kindWord);
      if (!parsed || *parsed == PartialKindEnum::none) {
        parser.emitError(loc, "a partial value is a sum or a max, not '") << kindWord << "'";
        return {};
      }
      kind = *parsed;
      if (parseAxisSet(parser, partial))
        return {};
      if (partial.empty()) {
        parser.emitError(loc, "partial without axes");
        return {};
      }
    } else if (word == "global" && !global) {
      SmallVector<int64_t> sizes;
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                         [&] { return parser.parseInteger(sizes.emplace_back()); }))
        return {};
      global = DenseI64ArrayAttr::get(parser.getContext(), sizes);
    } else {
      parser.emitError(loc, "expected replicated, partial or global, each once, not '") << word << "'";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::get(parser.getContext(), mesh, dims, replicated, kind, partial, global);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << '<' << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer, [&](DimShardingAttr dim) { printDim(printer, dim); });
  printer << ']';
  if (!getReplicated().empty()) {
    printer << ", replicated=";
    printAxisSet(printer, getReplicated());
  }
  if (getPartialKind() != PartialKindEnum::none) {
    printer << ", partial=" << stringifyPartialKindEnum(getPartialKind());
    printAxisSet(printer, getPartial());
  }
  if (getGlobal()) {
    printer << ", global=[";
    llvm::interleaveComma(getGlobal().asArrayRef(), printer);
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// What can be checked without the mesh
//===----------------------------------------------------------------------===//

/// Two references to one axis share a digit, whatever the axis's size.
static bool mayOverlap(AxisRefAttr a, AxisRefAttr b) {
  if (a.getName() != b.getName())
    return false;
  if (a.getSize() == 0 || b.getSize() == 0)
    return true;
  return AxisRef{0, a.getPre(), a.getSize()}.overlaps(AxisRef{0, b.getPre(), b.getSize()});
}

LogicalResult ShardingAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                           function_ref<InFlightDiagnostic()> emitError) const {
  if (getDims().size() != shape.size())
    return emitError() << "sharding has " << getDims().size() << " dimensions, the tensor " << shape.size();
  SmallVector<AxisRefAttr> seen;
  auto checkOnce = [&](ArrayRef<AxisRefAttr> axes) -> LogicalResult {
    for (AxisRefAttr axis : axes) {
      for (AxisRefAttr other : seen)
        if (mayOverlap(axis, other))
          return emitError() << "axis \"" << axis.getName() << "\" is used twice";
      seen.push_back(axis);
    }
    return success();
  };
  for (DimShardingAttr dim : getDims())
    if (failed(checkOnce(dim.getAxes())))
      return failure();
  if (failed(checkOnce(getReplicated())) || failed(checkOnce(getPartial())))
    return failure();
  if (!getGlobal())
    return success();

  ArrayRef<int64_t> global = getGlobal();
  if (global.size() != shape.size())
    return emitError() << "global has " << global.size() << " sizes, the tensor " << shape.size()
                       << " dimensions";
  for (auto [i, size] : llvm::enumerate(global)) {
    int64_t local = shape[i];
    if (local > size)
      return emitError() << "dimension " << i << ": local size " << local
                         << " is larger than the global size " << size;
    int64_t shards = 1;
    bool known = true;
    for (AxisRefAttr axis : getDims()[i].getAxes()) {
      known &= axis.getSize() != 0 && shards <= kMaxRanks;
      shards = known ? shards * axis.getSize() : 1;
    }
    if (known && local != (size + shards - 1) / shards)
      return emitError() << "dimension " << i << ": local size " << local << ", but a global size of " << size
                         << " over " << shards << " shards makes " << (size + shards - 1) / shards;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Plain data
//===----------------------------------------------------------------------===//

static AxisRef toAxis(AxisRefAttr attr, const Mesh &mesh) {
  int index = *mesh.find(attr.getName());
  return attr.getSize() == 0 ? wholeAxis(mesh, index) : AxisRef{index, attr.getPre(), attr.getSize()};
}

static AxisRefAttr toAttr(MLIRContext *context, const AxisRef &axis, const Mesh &mesh) {
  StringRef name = mesh.axes[axis.axis].name;
  return axis.isWhole(mesh) ? AxisRefAttr::get(context, name, 1, 0)
                            : AxisRefAttr::get(context, name, axis.pre, axis.size);
}

static SmallVector<AxisRefAttr> toAttrs(MLIRContext *context, ArrayRef<AxisRef> axes, const Mesh &mesh) {
  return llvm::map_to_vector(axes, [&](const AxisRef &axis) { return toAttr(context, axis, mesh); });
}

Sharding ShardingAttr::toSharding(const Mesh &mesh) const {
  auto list = [&](ArrayRef<AxisRefAttr> attrs) {
    AxisList axes;
    for (AxisRefAttr attr : attrs)
      axes.push_back(toAxis(attr, mesh));
    return axes;
  };
  Sharding result;
  for (DimShardingAttr dim : getDims()) {
    DimSharding &out = result.dims.emplace_back();
    out.axes = list(dim.getAxes());
    out.open = dim.getOpen();
    if (dim.getPriority() >= 0)
      out.priority = int(dim.getPriority());
  }
  result.replicated = list(getReplicated());
  result.partialKind = PartialKind(getPartialKind());
  result.partial = list(getPartial());
  return result;
}

ShardingAttr ShardingAttr::get(MLIRContext *context, StringRef meshName, const Sharding &sharding,
                               const Mesh &mesh, ArrayRef<int64_t> global) {
  SmallVector<DimShardingAttr> dims;
  for (const DimSharding &dim : sharding.dims)
    dims.push_back(
        DimShardingAttr::get(context, toAttrs(context, dim.axes, mesh), dim.open, dim.priority.value_or(-1)));
  return get(context, FlatSymbolRefAttr::get(context, meshName), dims,
             toAttrs(context, sharding.replicated, mesh), PartialKindEnum(sharding.partialKind),
             toAttrs(context, sharding.partial, mesh),
             global.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(context, global));
}

static std::string checkAxis(AxisRefAttr attr, const Mesh &mesh) {
  auto index = mesh.find(attr.getName());
  std::string name = ("\"" + attr.getName() + "\"").str();
  if (!index)
    return "axis " + name + " is not in the mesh";
  if (attr.getSize() != 0 && attr.getPre() == 1 && attr.getSize() == mesh.axes[*index].size)
    return "sub-axis " + name + ":(1)" + std::to_string(attr.getSize()) + " is the whole axis: write " + name;
  return "";
}

std::string tessera::dist::checkSharding(ShardingAttr sharding, const Mesh &mesh, int64_t rank) {
  auto check = [&](ArrayRef<AxisRefAttr> axes) -> std::string {
    for (AxisRefAttr axis : axes)
      if (std::string error = checkAxis(axis, mesh); !error.empty())
        return error;
    return "";
  };
  for (DimShardingAttr dim : sharding.getDims())
    if (std::string error = check(dim.getAxes()); !error.empty())
      return error;
  if (std::string error = check(sharding.getReplicated()); !error.empty())
    return error;
  if (std::string error = check(sharding.getPartial()); !error.empty())
    return error;
  return verifySharding(sharding.toSharding(mesh), mesh, rank);
}

ArrayAttr tessera::dist::axesAttr(MLIRContext *context, ArrayRef<AxisRef> axes, const Mesh &mesh) {
  SmallVector<Attribute> attrs(
      llvm::map_range(axes, [&](const AxisRef &axis) { return toAttr(context, axis, mesh); }));
  return ArrayAttr::get(context, attrs);
}

AxisList tessera::dist::fromAxesAttr(ArrayAttr axes, const Mesh &mesh) {
  AxisList list;
  for (auto axis : axes.getAsRange<AxisRefAttr>())
    list.push_back(toAxis(axis, mesh));
  return list;
}

std::string tessera::dist::checkAxes(ArrayAttr axes, const Mesh &mesh) {
  for (Attribute attr : axes) {
    auto axis = dyn_cast<AxisRefAttr>(attr);
    if (!axis)
      return "axes must be a list of axis references";
    if (std::string error = checkAxis(axis, mesh); !error.empty())
      return error;
  }
  AxisList list = fromAxesAttr(axes, mesh);
  // A sharding whose only dimension has these axes is sound iff they are.
  Sharding probe(1);
  probe.dims[0].axes = list;
  std::string error = verifySharding(probe, mesh, 1);
  StringRef text = error;
  text.consume_front("dimension 0: ");
  return text.str();
}
