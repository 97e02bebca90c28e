//===- ModelBuilder.cpp ---------------------------------------------------===//
#include "tessera/Import/ModelBuilder.h"

using namespace mlir;

namespace tessera::importer {

static Type elementTypeOf(MLIRContext &context, NumberFormat format) {
  switch (format) {
  case NumberFormat::F32:
    return Float32Type::get(&context);
  case NumberFormat::BF16:
    return BFloat16Type::get(&context);
  case NumberFormat::F16:
    return Float16Type::get(&context);
  }
  llvm_unreachable("all formats are above");
}

static SmallVector<int64_t> shapeOf(const Weight &weight, bool stacked) {
  SmallVector<int64_t> shape;
  if (stacked && weight.layers)
    shape.push_back(weight.layers);
  for (const Dim &dim : weight.dims)
    shape.push_back(dim.size);
  return shape;
}

static DictionaryAttr argumentAttrs(Builder &b, StringRef kind, StringRef name, ArrayRef<StringRef> dims) {
  return b.getDictionaryAttr({b.getNamedAttr(graph::kKindAttr, b.getStringAttr(kind)),
                              b.getNamedAttr(graph::kNameAttr, b.getStringAttr(name)),
                              b.getNamedAttr(graph::kDimsAttr, b.getStrArrayAttr(dims))});
}

ModelBuilder::ModelBuilder(MLIRContext &context, int64_t batch, int64_t seq, NumberFormat dtype)
    : builder_(&context), location_(builder_.getUnknownLoc()), elementType_(elementTypeOf(context, dtype)),
      batch_(batch), seq_(seq) {
  setPlace("forward");
  module_ = ModuleOp::create(location_);
  builder_.setInsertionPointToEnd(module_->getBody());
  auto ids = RankedTensorType::get({batch, seq}, builder_.getI32Type());
  forward_ = func::FuncOp::create(builder_, location_, "forward", builder_.getFunctionType({ids, ids}, {}));
  Block *entry = forward_.addEntryBlock();
  tokens_ = entry->getArgument(0);
  positions_ = entry->getArgument(1);
  builder_.setInsertionPointToEnd(entry);
}

void ModelBuilder::setPlace(StringRef name) { location_ = NameLoc::get(builder_.getStringAttr(name)); }

RankedTensorType ModelBuilder::type(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, elementType_);
}

Value ModelBuilder::weight(StringRef name, const Dims &dims, int inDims) {
  auto [it, isNew] = values_.try_emplace(name);
  if (!isNew)
    return it->second;
  setPlace(name);
  Weight weight{name.str(), dims, inDims, scope_ ? scope_->count : 0};
  Value argument = forward_.getBody().front().addArgument(type(shapeOf(weight, /*stacked=*/true)), location_);
  weights_.push_back(weight);
  it->second = argument;
  if (scope_) {
    scope_->stacks.push_back(argument);
    it->second = scope_->body->addArgument(type(shapeOf(weight, /*stacked=*/false)), location_);
  }
  return it->second;
}

Value ModelBuilder::repeat(int64_t count, Value init, llvm::function_ref<Value(Value)> body) {
  assert(!scope_ && "repeats do not nest");
  setPlace("layers");
  Location location = location_;
  Region region; // the op is made when its stacks are known
  Block *block = &region.emplaceBlock();
  block->addArgument(RankedTensorType::get({}, builder_.getI32Type()), location);
  Value carried = block->addArgument(init.getType(), location);
  scope_ = Scope{count, block, {}};
  {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(block);
    Value next = body(carried);
    graph::YieldOp::create(builder_, location_, next);
  }
  auto repeat = graph::RepeatOp::create(builder_, location, TypeRange{init.getType()},
                                        count, ValueRange{init}, scope_->stacks,
                                        /*bodiesCount=*/1);
  repeat.getBodies().front().takeBody(region);
  scope_.reset();
  return repeat.getResult(0);
}

OwningOpRef<ModuleOp> ModelBuilder::finish(Value logits, ArrayRef<WeightSource> sources) {
  setPlace("forward");
  func::ReturnOp::create(builder_, location_, logits);
  Block &entry = forward_.getBody().front();
  forward_.setType(builder_.getFunctionType(entry.getArgumentTypes(), logits.getType()));

  SmallVector<DictionaryAttr> attrs;
  attrs.push_back(argumentAttrs(builder_, "input", "tokens", {"batch", "seq"}));
  attrs.push_back(argumentAttrs(builder_, "input", "positions", {"batch", "seq"}));
  for (const Weight &weight : weights_) {
    SmallVector<StringRef> dims;
    if (weight.layers)
      dims.push_back("layer");
    for (const Dim &dim : weight.dims)
      dims.push_back(dim.name);
    attrs.push_back(argumentAttrs(builder_, "parameter", weight.name, dims));
  }
  forward_.setAllArgAttrs(attrs);
  forward_.setAllResultAttrs(
      ArrayRef(argumentAttrs(builder_, "output", "logits", {"batch", "seq", "vocab"})));

  builder_.setInsertionPoint(forward_);
  for (auto [weight, source] : llvm::zip_equal(weights_, sources)) {
    setPlace(weight.name);
    Attribute from = graph::SourceAttr::get(builder_.getContext(), source.tensor, source.file, source.reshape,
                                            source.slice, source.permute);
    graph::ParameterOp::create(builder_, location_, weight.name, type(shapeOf(weight, /*stacked=*/true)),
                               weight.layers != 0, builder_.getArrayAttr(from));
  }
  return std::move(module_);
}

} // namespace tessera::importer
