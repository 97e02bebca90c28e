//===- Ports.cpp - What entries take and give, and as bytes ---------------===//
#include "tessera/Execution/Ports.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Entries.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Reference/Interpreter.h"
#include "tessera/runtime/io/DType.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tessera {

static StringRef text(DictionaryAttr attrs, StringRef name) {
  auto attr = attrs ? attrs.getAs<StringAttr>(name) : StringAttr();
  return attr ? attr.getValue() : StringRef();
}

static std::optional<graph::Kind> kindOf(DictionaryAttr attrs) {
  auto kind = attrs ? attrs.getAs<graph::KindAttr>(graph::kKindAttr) : graph::KindAttr();
  return kind ? std::optional(kind.getValue()) : std::nullopt;
}

static ShardedShape shardedShapeOf(func::FuncOp func, Type type) {
  if (std::optional<ShardedShape> sharded = getShardedShape(func, type))
    return *sharded;
  auto tensor = cast<RankedTensorType>(type);
  return ShardedShape{Mesh(), Sharding(tensor.getRank()), SmallVector<int64_t>(tensor.getShape()),
                      tensor.getElementType()};
}

std::vector<EntryPorts> entryPorts(ModuleOp module) {
  std::vector<EntryPorts> entries;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!graph::isEntry(func))
      continue;
    EntryPorts entry{func.getName().str(), {}, {}};
    auto port = [&](Type type, DictionaryAttr attrs) {
      return Port{text(attrs, graph::kNameAttr).str(), kindOf(attrs), shardedShapeOf(func, type),
                  io::weightTypeFromFileName(text(attrs, graph::kHeldAttr).str())};
    };
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
      entry.arguments.push_back(port(type, func.getArgAttrDict(unsigned(i))));
    for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
      entry.results.push_back(port(type, func.getResultAttrDict(unsigned(i))));
    entries.push_back(std::move(entry));
  }
  return entries;
}

//===----------------------------------------------------------------------===//
// Names and sources
//===----------------------------------------------------------------------===//

/// Every use is the stack of a loop.
static bool readByLayers(BlockArgument arg) {
  return !arg.use_empty() && llvm::all_of(arg.getUses(), [](OpOperand &use) {
    auto repeat = dyn_cast<graph::RepeatOp>(use.getOwner());
    return repeat && llvm::is_contained(repeat.getStacks(), use.get()) &&
           !llvm::is_contained(repeat.getInits(), use.get());
  });
}

/// One of some ways in which a checkpoint may hold a layer of `shape`, by `way`.
static ArrayAttr drawSources(MLIRContext *context, const std::string &name, ArrayRef<int64_t> shape,
                             uint64_t way) {
  int64_t rank = int64_t(shape.size()), elements = 1;
  for (int64_t n : shape)
    elements *= n;
  SmallVector<int64_t> file(shape), reshape, slice, permute;
  auto source = [&](const std::string &tensor) {
    return graph::SourceAttr::get(context, tensor, file, reshape, slice, permute);
  };
  if (rank > 0 && way % 5 == 1) { // flat in the file
    file = {elements};
    reshape.assign(shape.begin(), shape.end());
  } else if (rank > 1 && way % 5 == 2) { // transposed
    for (int64_t d = 0; d < rank; ++d) {
      permute.push_back(rank - 1 - d);
      file[size_t(d)] = shape[size_t(rank - 1 - d)];
    }
  } else if (rank > 0 && way % 5 == 3) { // rows 1 to n of n + 3
    file[0] += 3;
    for (int64_t d = 0; d < rank; ++d) {
      slice.push_back(d == 0 ? 1 : 0);
      slice.push_back(shape[size_t(d)] + (d == 0 ? 1 : 0));
    }
  } else if (rank > 0 && shape[0] > 1 && way % 5 == 4) { // the first row apart
    file[0] = 1;
    Attribute first = source(name + ".first");
    file[0] = shape[0] - 1;
    return ArrayAttr::get(context, {first, source(name + ".rest")});
  }
  return ArrayAttr::get(context, source(name));
}

static void addParameter(ModuleOp module, func::FuncOp func, BlockArgument arg) {
  auto name = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
  if (module.lookupSymbol(name))
    return;
  auto type = cast<RankedTensorType>(arg.getType());
  // All functions must agree on how it is read.
  bool stacked = type.getRank() > 0;
  for (auto other : module.getOps<func::FuncOp>())
    for (BlockArgument same : other.isExternal() ? MutableArrayRef<BlockArgument>() : other.getArguments())
      if (other.getArgAttrOfType<StringAttr>(same.getArgNumber(), graph::kNameAttr) == name)
        stacked &= readByLayers(same);
  ArrayRef<int64_t> shape = type.getShape().drop_front(stacked);
  std::string tensor = name.str() + (stacked ? ".{}" : "");
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  uint64_t way = 0;
  for (char c : name.getValue())
    way = way * 31 + uint64_t(c);
  graph::ParameterOp::create(
      b, arg.getLoc(), name, TypeAttr::get(type.cloneWith(std::nullopt, type.getElementType())),
      stacked ? b.getUnitAttr() : UnitAttr(), drawSources(b.getContext(), tensor, shape, way));
}

void completePorts(ModuleOp module) {
  Builder b(module.getContext());
  auto entries = llvm::make_filter_range(module.getOps<func::FuncOp>(), graph::isEntry);
  bool several = llvm::range_size(entries) > 1; // whose values of one name are one value
  for (func::FuncOp func : entries) {
    std::string own = several ? func.getName().str() + "." : "";
    auto complete = [&](DictionaryAttr attrs, graph::Kind kind, const std::string &name, auto set) {
      if (!kindOf(attrs))
        set(graph::kKindAttr, graph::KindAttr::get(b.getContext(), kind));
      if (text(attrs, graph::kNameAttr).empty())
        set(graph::kNameAttr, b.getStringAttr(name));
    };
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      complete(func.getArgAttrDict(i), graph::Kind::Input, own + "in" + std::to_string(i),
               [&](StringRef attr, Attribute value) { func.setArgAttr(i, attr, value); });
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      complete(func.getResultAttrDict(i), graph::Kind::Output, own + "out" + std::to_string(i),
               [&](StringRef attr, Attribute value) { func.setResultAttr(i, attr, value); });
    // Names tell the ports of an entry apart.
    llvm::StringSet<> taken;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (StringRef name = text(func.getArgAttrDict(i), graph::kNameAttr); !taken.insert(name).second)
        func.setArgAttr(i, graph::kNameAttr, b.getStringAttr(name + ".in" + std::to_string(i)));
    for (BlockArgument arg : func.getArguments())
      if (kindOf(func.getArgAttrDict(arg.getArgNumber())) == graph::Kind::Parameter)
        addParameter(module, func, arg);
  }
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

template <typename T> static void putIntegers(const ReferenceTensor &value, std::vector<char> &bytes) {
  bytes.resize(value.i.size() * sizeof(T));
  for (size_t i = 0; i < value.i.size(); ++i) {
    T x = T(value.i[i]);
    memcpy(bytes.data() + i * sizeof(T), &x, sizeof(T));
  }
}
template <typename T> static void getIntegers(ArrayRef<char> bytes, ReferenceTensor &value) {
  for (size_t i = 0; i < value.i.size(); ++i) {
    T x;
    memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
    value.i[i] = int64_t(x);
  }
}

io::DType dtypeOf(Type elementType) {
  std::string name;
  llvm::raw_string_ostream(name) << elementType;
  std::optional<io::DType> type = io::dtypeFromName(name);
  if (!type)
    llvm::report_fatal_error("the table of element types has no row for " + llvm::Twine(name));
  return *type;
}

/// The row of the table for a float type of a program; float64 is handled beside it, since its values are not
/// rounded to float32.
static const io::DTypeTraits &traitsOf(Type type) { return io::traits(dtypeOf(type)); }

std::vector<char> toBytes(const ReferenceTensor &value, std::optional<io::DType> held) {
  std::vector<char> bytes;
  if (held) {
    std::vector<float> floats(value.f.begin(), value.f.end());
    bytes.resize(size_t(io::bytesOf(*held, int64_t(floats.size()))));
    io::traits(*held).narrow(floats.data(), int64_t(floats.size()), bytes.data());
    return bytes;
  }
  if (!value.isFloat()) {
    unsigned width = value.elementType.getIntOrFloatBitWidth();
    width == 64   ? putIntegers<int64_t>(value, bytes)
    : width == 32 ? putIntegers<int32_t>(value, bytes)
                  : putIntegers<int8_t>(value, bytes);
    return bytes;
  }
  if (value.elementType.isF64()) {
    bytes.resize(value.f.size() * 8);
    memcpy(bytes.data(), value.f.data(), bytes.size());
    return bytes;
  }
  ReferenceTensor rounded = value; // once: narrow would round what float32 rounded before
  rounded.roundToType();
  std::vector<float> floats(rounded.f.begin(), rounded.f.end());
  bytes.resize(floats.size() * value.elementType.getIntOrFloatBitWidth() / 8);
  if (value.elementType.isF32())
    memcpy(bytes.data(), floats.data(), bytes.size());
  else
    traitsOf(value.elementType).narrow(floats.data(), int64_t(floats.size()), bytes.data());
  return bytes;
}

ReferenceTensor fromBytes(Type elementType, ArrayRef<int64_t> shape, ArrayRef<char> bytes,
                          std::optional<io::DType> held) {
  ReferenceTensor value(elementType, shape);
  if (held) {
    std::vector<float> floats(value.f.size());
    io::traits(*held).widen(bytes.data(), int64_t(floats.size()), floats.data());
    value.f.assign(floats.begin(), floats.end());
    return value;
  }
  if (!value.isFloat()) {
    unsigned width = elementType.getIntOrFloatBitWidth();
    width == 64   ? getIntegers<int64_t>(bytes, value)
    : width == 32 ? getIntegers<int32_t>(bytes, value)
                  : getIntegers<int8_t>(bytes, value);
    return value;
  }
  if (elementType.isF64()) {
    memcpy(value.f.data(), bytes.data(), bytes.size());
    return value;
  }
  std::vector<float> floats(value.f.size());
  if (elementType.isF32())
    memcpy(floats.data(), bytes.data(), bytes.size());
  else
    traitsOf(elementType).widen(bytes.data(), int64_t(floats.size()), floats.data());
  value.f.assign(floats.begin(), floats.end());
  return value;
}

} // namespace tessera
