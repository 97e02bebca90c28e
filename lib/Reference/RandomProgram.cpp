//===- RandomProgram.cpp - Programs for property tests --------------------===//
#include "RandomProgram.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace tessera;

ProgramBuilder::ProgramBuilder(MLIRContext &context, Dice &dice, const RandomProgramOptions &options)
    : b(UnknownLoc::get(&context), &context), dice(dice), more(dice.copy().below(int64_t(1) << 40) + 1),
      latest(more.copy().below(int64_t(1) << 40) + 1), newest(latest.copy().below(int64_t(1) << 40) + 1),
      handing(newest.copy().below(int64_t(1) << 40) + 1), options(options) {}

//===----------------------------------------------------------------------===//
// Sizes, arguments, operands
//===----------------------------------------------------------------------===//

Type ProgramBuilder::mixedType() {
  if (options.floats == RandomProgramOptions::Floats::F32 || !dice.chance(25))
    return floatType();
  Type other = options.floats == RandomProgramOptions::Floats::BF16 ? Type(b.getF16Type()) : b.getBF16Type();
  return dice.chance(70) ? Type(b.getF32Type()) : other;
}

Value ProgramBuilder::inFloats(Value value) {
  RankedTensorType type = floats(shapeOf(value));
  return value.getType() == type ? value : graph::CastOp::create(b, type, value).getResult();
}

bool ProgramBuilder::fits(ArrayRef<int64_t> shape) const {
  int64_t elements = 1;
  for (int64_t n : shape)
    elements *= n;
  return elements <= options.maxElements && shape.size() <= 6;
}

int64_t ProgramBuilder::size() {
  static constexpr int64_t sizes[] = {1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 10};
  return dice.pick(ArrayRef<int64_t>(sizes));
}

ProgramBuilder::Shape ProgramBuilder::shape(int minRank, int maxRank) {
  Shape shape;
  do {
    shape.clear();
    for (int64_t rank = dice.between(minRank, maxRank); rank > 0; --rank)
      shape.push_back(size());
  } while (!fits(shape));
  return shape;
}

Value ProgramBuilder::argument(Type type, graph::Kind kind, StringRef name,
                               std::optional<graph::FillSource> fill) {
  SmallVector<NamedAttribute> attrs = {
      {b.getStringAttr(graph::kKindAttr), graph::KindAttr::get(b.getContext(), kind)},
      {b.getStringAttr(graph::kNameAttr), b.getStringAttr(name)}};
  if (fill)
    attrs.push_back({b.getStringAttr(graph::kFillAttr), graph::FillAttr::get(b.getContext(), *fill)});
  unsigned number = func.getNumArguments();
  (void)func.insertArgument(number, type, b.getDictionaryAttr(attrs), b.getLoc());
  return func.getArgument(number);
}

Value ProgramBuilder::sharedInput(Type type, StringRef name, std::optional<graph::FillSource> fill) {
  for (BlockArgument arg : func.getArguments())
    if (arg.getType() == type &&
        func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr).getValue() == name)
      return arg;
  return argument(type, graph::Kind::Input, name, fill);
}

Value ProgramBuilder::weight(ArrayRef<int64_t> shape, Type type) {
  // Padding that is zero, poison, and neither.
  if (dice.chance(15))
    return argument(floats(shape, type), graph::Kind::Input, "x" + std::to_string(names++));
  if (dice.chance(15)) {
    Value inner = argument(floats(shape, type), graph::Kind::Parameter, "w" + std::to_string(names++));
    return graph::CosOp::create(b, inner.getType(), inner);
  }
  if (!scope->body || dice.chance(20))
    return argument(floats(shape, type), graph::Kind::Parameter, "w" + std::to_string(names++));
  Shape stacked = {scope->layers};
  stacked.append(shape.begin(), shape.end());
  std::string name = "stack" + std::to_string(names++);
  Shape summed = stacked;
  summed.push_back(dice.between(2, 7));
  if (dice.chance(15) && fits(summed)) { // computed before the loop, perhaps a partial sum
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(scope->outer);
    Value terms = argument(floats(summed, type), graph::Kind::Input, name);
    SmallVector<int64_t> last = {int64_t(stacked.size())};
    stacks.push_back(graph::ReduceOp::create(b, floats(stacked, type), graph::ReduceKind::sum, terms, last));
  } else {
    stacks.push_back(argument(floats(stacked, type), graph::Kind::Parameter, name));
  }
  return scope->body->addArgument(floats(shape, type), b.getLoc());
}

RankedTensorType ProgramBuilder::sliceOf(Value stack) {
  auto type = cast<RankedTensorType>(stack.getType());
  return RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
}

Value ProgramBuilder::operand() {
  // Recent values mostly: long chains, and every now and then a long way back.
  size_t n = scope->values.size(), recent = std::min<size_t>(n, 3);
  return scope->values[n - 1 - size_t(dice.below(dice.chance(70) ? int64_t(recent) : int64_t(n)))];
}

Value ProgramBuilder::operandOfRank(int minRank, int maxRank) {
  SmallVector<Value> fitting;
  for (Value value : scope->values)
    if (int64_t rank = int64_t(shapeOf(value).size()); rank >= minRank && rank <= maxRank)
      fitting.push_back(value);
  if (fitting.empty())
    return {};
  return dice.chance(60) ? fitting.back() : dice.pick(fitting);
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

Value ProgramBuilder::draw() {
  using Draw = Value (ProgramBuilder::*)();
  struct Weighted {
    int weight;
    Draw draw;
  };
  static const Weighted table[] = {
      {10, &ProgramBuilder::drawUnary},     {12, &ProgramBuilder::drawBinary},
      {3, &ProgramBuilder::drawConstant},   {3, &ProgramBuilder::drawIota},
      {4, &ProgramBuilder::drawSelect},     {2, &ProgramBuilder::drawCast},
      {2, &ProgramBuilder::drawName},       {8, &ProgramBuilder::drawReshape},
      {6, &ProgramBuilder::drawTranspose},  {3, &ProgramBuilder::drawBroadcast},
      {5, &ProgramBuilder::drawSlice},      {4, &ProgramBuilder::drawConcat},
      {8, &ProgramBuilder::drawReduce},     {3, &ProgramBuilder::drawTake},
      {18, &ProgramBuilder::drawLinear},    {5, &ProgramBuilder::drawEmbedding},
      {8, &ProgramBuilder::drawNorm},       {7, &ProgramBuilder::drawAttention},
      {6, &ProgramBuilder::drawMlp},        {5, &ProgramBuilder::drawRepeat},
      {4, &ProgramBuilder::drawScatterAdd}, {4, &ProgramBuilder::drawCrossEntropy},
      {4, &ProgramBuilder::drawEinsum},     {3, &ProgramBuilder::drawReverse},
      {3, &ProgramBuilder::drawArgMax},     {2, &ProgramBuilder::drawLayerSlice},
      {7, &ProgramBuilder::drawConstraint}, {5, &ProgramBuilder::drawJoin}};
  if (options.manyLoops && dice.chance(8))
    return drawRepeat();
  if (options.regions && newest.chance(4))
    return newest.chance(50) ? drawBranch() : drawManual();
  int64_t total = 0;
  for (const Weighted &entry : table)
    total += entry.weight;
  int64_t at = dice.below(total);
  for (const Weighted &entry : table) {
    at -= entry.weight;
    if (at < 0)
      return (this->*entry.draw)();
  }
  return {};
}

void ProgramBuilder::drawBody(int64_t ops) {
  for (int64_t tries = 0; ops > 0 && tries < 200; ++tries)
    if (Value value = draw()) {
      scope->values.push_back(followed(value));
      --ops;
    }
}

/// `value` with something of `last` added, so that `last` counts.
Value ProgramBuilder::withSumOf(Value value, Value last) {
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shapeOf(last).size())));
  if (!all.empty())
    last = graph::ReduceOp::create(b, floats({}), graph::ReduceKind::sum, last, all);
  last = graph::TanhOp::create(b, last.getType(), last);
  return graph::AddOp::create(b, value.getType(), value, last);
}

/// The shape of `count` values like `slice`.
ProgramBuilder::Shape ProgramBuilder::stackOf(int64_t count, Value slice) {
  Shape shape = shapeOf(slice);
  shape.insert(shape.begin(), count);
  return shape;
}

/// One or two bodies that carry one or two values of fixed shapes; the second one sums up what the body drew.
/// A body may hold another repeat, and another one may follow directly.
Value ProgramBuilder::drawRepeat() {
  if (depth > 1 || (depth == 1 && !dice.chance(options.manyLoops ? 60 : 30)))
    return {};
  Value init = operandOfRank(1, 4);
  if (!init)
    return {};
  SmallVector<Value> inits = {init};
  if (dice.chance(40)) {
    Shape carried = dice.chance(50) ? shapeOf(init) : shape(1, 3);
    inits.push_back(dice.chance(25)
                        ? Value(graph::ConstantOp::create(b, floats(carried), numbers(carried, 0.0f)))
                        : weight(carried));
  }
  Value result = drawRepeatOver(inits);
  if (dice.chance(20))
    result = drawRepeatOver(result);
  return result;
}

/// An argument of the body that may be yielded as carried value `to`, and is not it: a slice, perhaps of a
/// stack made for it, or another carried value.
Value ProgramBuilder::drawForPlace(size_t to) {
  Block *body = scope->body;
  auto type = cast<RankedTensorType>(body->getArgument(unsigned(1 + to)).getType());
  Shape stacked = stackOf(scope->layers, body->getArgument(unsigned(1 + to)));
  if (handing.chance(40)) {
    Value stack = argument(floats(stacked), graph::Kind::Input, "stack" + std::to_string(names++));
    if (handing.chance(50)) { // exp(x^4): infinite for nearly all of poisoned padding, finite for inputs
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(scope->outer);
      Value square = graph::MulOp::create(b, stack.getType(), stack, stack);
      stack =
          graph::ExpOp::create(b, stack.getType(), graph::MulOp::create(b, stack.getType(), square, square));
    }
    stacks.push_back(stack);
    return body->addArgument(type, b.getLoc());
  }
  SmallVector<Value> given;
  for (BlockArgument value : body->getArguments().drop_front())
    if (value.getType() == type && value.getArgNumber() != 1 + to)
      given.push_back(value);
  return given.empty() ? Value() : handing.pick(given);
}

/// The sum of the products of all elements of `value` with those of a weight.
Value ProgramBuilder::drawProduct(Value value) {
  std::string dims;
  for (size_t dim = 0; dim < shapeOf(value).size(); ++dim)
    dims += char('a' + dim);
  Value factor = argument(floats(shapeOf(value)), graph::Kind::Parameter, "w" + std::to_string(names++));
  return graph::EinsumOp::create(b, floats({}), value, factor, dims + "," + dims + "->");
}

Value ProgramBuilder::drawRepeatOver(ValueRange inits) {
  int64_t count = dice.between(1, 3), bodies = count > 1 && dice.chance(options.manyLoops ? 60 : 30) ? 2 : 1;
  Scope *outer = scope;
  SmallVector<Value> outerStacks = std::move(stacks);
  stacks.clear();
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<Type> collected; // slices that every body yields behind the carried values
  ++depth;
  for (int64_t body = 0; body < bodies; ++body) {
    auto region = std::make_unique<Region>();
    Block *block = &region->emplaceBlock();
    Scope inner;
    inner.layer = block->addArgument(ints({}), b.getLoc());
    inner.layers = count;
    inner.body = block;
    inner.outer = outer->body ? outer->body : &func.front();
    for (Value init : inits)
      inner.values.push_back(block->addArgument(init.getType(), b.getLoc()));
    for (Value stack : stacks)
      block->addArgument(sliceOf(stack), b.getLoc());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(block);
    scope = &inner;
    drawBody(dice.between(1, depth > 1 ? 3 : 5));
    if (dice.chance(20)) // for a stack, most of all
      if (Value sum = drawAddend(shape(0, 3)))
        inner.values.push_back(sum);
    // Back to the carried shapes: the newest value of the first one's, with something of the rest.
    Value carried;
    for (Value value : inner.values)
      if (value.getType() == inits[0].getType())
        carried = value;
    Value last = inner.values.back();
    SmallVector<Value> yielded = {carried};
    for (size_t i = 1; i < inits.size(); ++i) {
      Value sum = block->getArgument(unsigned(1 + i)), addend;
      for (Value value : inner.values)
        if (value.getType() == sum.getType() && value != sum)
          addend = value;
      if (Value open = dice.chance(40) ? drawAddend(shapeOf(sum)) : Value())
        addend = open;
      yielded.push_back(addend ? Value(graph::AddOp::create(b, sum.getType(), sum, addend))
                               : withSumOf(sum, last));
    }
    if (last != carried && (inits.size() == 1 || dice.chance(50)))
      yielded[0] = withSumOf(carried, last);
    // Stacks of what the body drew; the second body yields its newest value of that type, or the carried one.
    if (body == 0)
      for (int64_t n = dice.chance(40) ? dice.between(1, 2) : 0; n > 0; --n)
        if (Value slice = bodies == 1 ? dice.pick(inner.values) : Value(block->getArgument(1));
            fits(stackOf(count, slice)))
          collected.push_back(slice.getType()), yielded.push_back(slice);
    // A carried value may be one that the body was given. What was to be yielded there is collected instead,
    // or nobody would read it.
    if (body == 0 && handing.chance(20))
      if (size_t to = size_t(handing.below(int64_t(inits.size()))); fits(stackOf(count, yielded[to])))
        if (Value given = drawForPlace(to)) {
          collected.push_back(given.getType()), yielded.push_back(yielded[to]);
          yielded[to] = given;
          // So is a product of the carried value, which reads what came from the iteration before; in 16 bits
          // such a sum may be all rounding.
          if (bodies == 1 && options.floats == RandomProgramOptions::Floats::F32) {
            yielded.push_back(drawProduct(block->getArgument(unsigned(1 + to))));
            collected.push_back(yielded.back().getType());
          }
        }
    for (Type type : body == 0 ? ArrayRef<Type>() : ArrayRef<Type>(collected))
      yielded.push_back(
          *llvm::find_if(llvm::reverse(inner.values), [&](Value value) { return value.getType() == type; }));
    graph::YieldOp::create(b, yielded);
    regions.push_back(std::move(region));
  }
  --depth;
  scope = outer;
  // Every body takes every slice.
  for (auto &region : regions)
    for (size_t i = region->getNumArguments() - 1 - inits.size(); i < stacks.size(); ++i)
      region->addArgument(sliceOf(stacks[i]), b.getLoc());
  SmallVector<Type> types(inits.getTypes());
  for (Type type : collected) {
    Shape shape(cast<RankedTensorType>(type).getShape());
    shape.insert(shape.begin(), count);
    types.push_back(floats(shape));
  }
  for (Value &stack : stacks)
    if (!isa<BlockArgument>(stack)) // its annotation says the same, and a parameter is loaded layer by layer
      stack = wholeLayers(stack);
  auto op = graph::RepeatOp::create(b, types, count, inits, stacks, unsigned(regions.size()),
                                    dice.chance(options.manyLoops ? 45 : 30));
  for (auto [to, from] : llvm::zip(op.getBodies(), regions))
    to.takeBody(*from);
  stacks = std::move(outerStacks);
  for (Value result : op.getResults().drop_front())
    scope->values.push_back(cast<OpResult>(result).getResultNumber() >= inits.size() ? readable(result)
                                                                                     : result);
  return op.getResults()[0];
}

void ProgramBuilder::drawFunction(StringRef name, int64_t ops) {
  OpBuilder::InsertionGuard guard(b);
  func = func::FuncOp::create(b, name, b.getFunctionType({}, {}));
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  Scope top;
  scope = &top;
  states.clear();
  stateNames.clear();
  integerResults.clear();
  returnedStacks.clear();
  for (int64_t n = dice.between(1, 3); n > 0; --n) {
    graph::Kind kind = dice.chance(60) ? graph::Kind::Input : graph::Kind::Parameter;
    top.values.push_back(argument(floats(shape(1, 4)), kind, "x" + std::to_string(names++)));
  }
  if (!shared.empty()) // the weights of the function before, at least one of them
    for (auto [i, weight] : llvm::enumerate(shared))
      if (i == 0 || dice.chance(50))
        top.values.push_back(
            inFloats(argument(weight.first, graph::Kind::Parameter, weight.second.getValue())));
  drawBody(ops);
  // Results: the last value, what nobody reads, the caches and the integers.
  SmallVector<Value> results = {top.values.back()};
  for (Value value : top.values)
    if (value.use_empty() && value != results.front() && value.getDefiningOp())
      results.push_back(value);
  SmallVector<DictionaryAttr> attrs(results.size(), b.getDictionaryAttr({}));
  if (options.shardings)
    for (auto [value, attr] : llvm::zip(results, attrs))
      if (dice.chance(20))
        attr = b.getDictionaryAttr({{b.getStringAttr(kShardingAttr), drawSharding(shapeOf(value))}});
  for (auto [value, name] : llvm::zip(states, stateNames)) {
    results.push_back(value);
    attrs.push_back(b.getDictionaryAttr(
        {{b.getStringAttr(graph::kKindAttr), graph::KindAttr::get(b.getContext(), graph::Kind::State)},
         {b.getStringAttr(graph::kNameAttr), name}}));
  }
  llvm::append_range(results, returnedStacks);
  llvm::append_range(results, integerResults);
  attrs.resize(results.size(), b.getDictionaryAttr({}));
  func::ReturnOp::create(b, results);
  func.setType(b.getFunctionType(entry->getArgumentTypes(), ValueRange(results).getTypes()));
  func.setAllResultAttrs(attrs);
  if (options.shardings)
    annotateArguments();
}

OwningOpRef<ModuleOp> ProgramBuilder::run() {
  module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(module->getBody());
  if (options.shardings)
    drawMesh();
  drawFunction("f", dice.between(options.minOps, options.maxOps));
  if (options.functions > 1 && dice.chance(20)) {
    // One weight has one sharding in all functions: the first annotation stands.
    for (BlockArgument arg : func.getArguments())
      if (graph::argumentKind(arg) == graph::Kind::Parameter)
        shared.push_back({cast<RankedTensorType>(arg.getType()),
                          func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr)});
    drawFunction("g", dice.between(options.minOps, options.maxOps) / 2 + 1);
  }
  if (failed(verify(*module)))
    return {};
  return std::move(module);
}

OwningOpRef<ModuleOp> tessera::randomProgram(MLIRContext &context, uint64_t seed,
                                             const RandomProgramOptions &options) {
  Dice dice(seed);
  return ProgramBuilder(context, dice, options).run();
}
