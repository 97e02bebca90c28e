//===- ModelBuilder.cpp ---------------------------------------------------===//
#include "tessera/Import/ModelBuilder.h"

#include "tessera/Dialect/Graph/IR/MeanAttr.h"

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

static DictionaryAttr argumentAttrs(Builder &b, graph::Kind kind, StringRef name, ArrayRef<StringRef> dims,
                                    std::optional<graph::FillSource> fill = std::nullopt) {
  NamedAttrList attrs;
  attrs.set(graph::kKindAttr, graph::KindAttr::get(b.getContext(), kind));
  attrs.set(graph::kNameAttr, b.getStringAttr(name));
  attrs.set(graph::kDimsAttr, b.getStrArrayAttr(dims));
  if (fill)
    attrs.set(graph::kFillAttr, graph::FillAttr::get(b.getContext(), *fill));
  return attrs.getDictionary(b.getContext());
}

/// The mean and the standard deviation of what is made up.
static std::pair<double, double> madeUpAs(Init init, const Deviations &deviations) {
  switch (init) {
  case Init::Plain:
    return {0, deviations.plain};
  case Init::ToResidual:
    return {0, deviations.toResidual};
  case Init::Zero:
    return {0, 0};
  case Init::One:
    return {1, 0};
  }
  llvm_unreachable("all are above");
}

ModelBuilder::ModelBuilder(MLIRContext &context, int64_t batch, int64_t seq, NumberFormat dtype,
                           Deviations madeUp, bool cutsRuns)
    : builder_(&context), location_(builder_.getUnknownLoc()), elementType_(elementTypeOf(context, dtype)),
      batch_(batch), seq_(seq), madeUp_(madeUp), cutsRuns_(cutsRuns) {
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

static constexpr StringRef kLayers = "layers";

std::string ModelBuilder::nameHere(StringRef name) const {
  auto [before, after] = name.split('.');
  if (!scope_ || scope_->isModel || before != kLayers)
    return name.str();
  return (before + Twine(scope_->firstLayer) + name.substr(before.size())).str();
}

void ModelBuilder::setPlace(StringRef name) {
  location_ = NameLoc::get(builder_.getStringAttr(nameHere(name)));
}

RankedTensorType ModelBuilder::type(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, elementType_);
}

Value ModelBuilder::addArgument(const Weight &weight) {
  assert(llvm::none_of(weights_, [&](const Weight &other) { return other.name == weight.name; }) &&
         "a stacked weight is known to its repeat only");
  weights_.push_back(weight);
  return forward_.getBody().front().addArgument(type(shapeOf(weight, /*stacked=*/true)), location_);
}

Value ModelBuilder::weight(StringRef name, const Dims &dims, int inDims, Init init) {
  if (Value known = values_.lookup(name))
    return known;
  std::string here = nameHere(name);
  if (Value known = scope_ ? scope_->slices.lookup(here) : Value())
    return known;
  setPlace(name);
  auto [mean, deviation] = madeUpAs(init, madeUp_);
  if (!scope_)
    return values_[name] = addArgument({name.str(), dims, inDims, /*layers=*/0, mean, deviation});
  auto it = scope_->stacks.find(here);
  if (it == scope_->stacks.end()) {
    Value argument = addArgument({here, dims, inDims, scope_->count, mean, deviation, scope_->firstLayer,
                                  scope_->step, here == name ? std::string() : name.str()});
    // The key outlives the caller's text: it is the name kept in the location.
    StringRef kept = cast<NameLoc>(argument.getLoc()).getName().getValue();
    it = scope_->stacks.insert({kept, Stack{weights_.size() - 1, argument}}).first;
  }
  const Weight &weight = weights_[it->second.weight];
  assert(weight.inDims == inDims && weight.dims.size() == dims.size() && "one stack has one shape");
  return scope_->slices[here] =
             scope_->body->addArgument(type(shapeOf(weight, /*stacked=*/false)), location_);
}

/// Gives `body` one slice of every stack, in their order, in place of the slices it asked for.
static void orderSlices(Block *body, ArrayRef<std::pair<StringRef, RankedTensorType>> stacks,
                        const llvm::StringMap<Value> &asked) {
  unsigned first = 2, old = body->getNumArguments(); // the index and the carried value stay
  for (auto [name, type] : stacks) {
    Value used = asked.lookup(name);
    Value slice = body->addArgument(type, used ? used.getLoc() : body->getArgument(0).getLoc());
    if (used)
      used.replaceAllUsesWith(slice);
  }
  body->eraseArguments(first, old - first);
}

Value ModelBuilder::repeat(int64_t count, Value init, ArrayRef<Body> period) {
  LayerRun run;
  run.layers = count;
  run.kinds.resize(period.size());
  return repeat(run, init, period);
}

Value ModelBuilder::repeat(const LayerRun &whole, Value init, ArrayRef<Body> period) {
  assert(!scope_ && "repeats do not nest");
  const LayerRun run = cutsRuns_ ? beginOf(whole) : whole;
  assert(run.layers >= 1 && !period.empty() && period.size() == run.kinds.size());
  const int64_t count = run.iterations();
  const auto step = size_t(run.step());
  period = period.take_front(std::min<size_t>(period.size(), size_t(run.layers)));
  // The op is made when its stacks are known.
  std::vector<std::unique_ptr<Region>> regions;
  std::vector<llvm::StringMap<Value>> slices;
  scope_ = Scope{count, run.isModel, run.first, run.step(), nullptr, {}, {}};
  setPlace(kLayers);
  Location location = location_;
  for (size_t body = 0; body < period.size(); body += step) {
    OpBuilder::InsertionGuard guard(builder_);
    Block *block = &regions.emplace_back(std::make_unique<Region>())->emplaceBlock();
    block->addArgument(RankedTensorType::get({}, builder_.getI32Type()), location);
    Value carried = block->addArgument(init.getType(), location);
    scope_->body = block;
    scope_->slices.clear();
    builder_.setInsertionPointToEnd(block);
    Value next = carried;
    for (size_t place = 0; place < step; ++place) {
      scope_->firstLayer = run.first + int64_t(place);
      next = period[body + place](next);
    }
    graph::YieldOp::create(builder_, location_, next);
    slices.push_back(std::move(scope_->slices));
  }
  SmallVector<Value> stacks;
  SmallVector<std::pair<StringRef, RankedTensorType>> sliceTypes;
  for (auto &[name, stack] : scope_->stacks) {
    stacks.push_back(stack.argument);
    sliceTypes.push_back({name, type(shapeOf(weights_[stack.weight], /*stacked=*/false))});
  }
  scope_.reset();
  auto repeat = graph::RepeatOp::create(builder_, location, TypeRange{init.getType()}, count,
                                        ValueRange{init}, stacks, unsigned(regions.size()));
  for (auto [body, region, asked] : llvm::zip_equal(repeat.getBodies(), regions, slices)) {
    orderSlices(&region->front(), sliceTypes, asked);
    body.takeBody(*region);
  }
  return repeat.getResult(0);
}

OwningOpRef<ModuleOp> ModelBuilder::finish(Value logits, ArrayRef<WeightSource> sources) {
  setPlace("forward");
  func::ReturnOp::create(builder_, location_, logits);
  Block &entry = forward_.getBody().front();
  forward_.setType(builder_.getFunctionType(entry.getArgumentTypes(), logits.getType()));

  SmallVector<DictionaryAttr> attrs;
  attrs.push_back(
      argumentAttrs(builder_, graph::Kind::Input, "tokens", {"batch", "seq"}, graph::FillSource::TokenIds));
  attrs.push_back(argumentAttrs(builder_, graph::Kind::Input, "positions", {"batch", "seq"},
                                graph::FillSource::Positions));
  for (const Weight &weight : weights_) {
    SmallVector<StringRef> dims;
    if (weight.layers)
      dims.push_back("layer");
    for (const Dim &dim : weight.dims)
      dims.push_back(dim.name);
    attrs.push_back(argumentAttrs(builder_, graph::Kind::Parameter, weight.name, dims));
  }
  forward_.setAllArgAttrs(attrs);
  forward_.setAllResultAttrs(
      ArrayRef(argumentAttrs(builder_, graph::Kind::Output, "logits", {"batch", "seq", "vocab"})));

  builder_.setInsertionPoint(forward_);
  for (auto [weight, source] : llvm::zip_equal(weights_, sources)) {
    setPlace(weight.name);
    SmallVector<Attribute> from;
    for (const std::string &tensor : tensorNames(source))
      from.push_back(graph::SourceAttr::get(builder_.getContext(), tensor, source.file, source.reshape,
                                            source.slice, source.permute));
    auto parameter =
        graph::ParameterOp::create(builder_, location_, weight.name, type(shapeOf(weight, /*stacked=*/true)),
                                   weight.layers != 0, builder_.getArrayAttr(from));
    if (weight.mean != 0)
      parameter->setAttr(graph::kMeanAttr, builder_.getF64FloatAttr(weight.mean));
    parameter->setAttr(graph::kDeviationAttr, builder_.getF64FloatAttr(weight.deviation));
  }
  return std::move(module_);
}

} // namespace tessera::importer
