//===- ExpertRows.cpp - chosen rows instead of all ------------------------===//

#include "ExpertRows.h"

#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Dialect/Exec/IR/ExchangeRows.h"
#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Target/Forms/FormKernel.h"
#include "tessera/Target/Forms/PackedWeight.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera {

/// Whether `op` computes its only result element by element, from operands that may broadcast: it can be
/// computed for some rows alone.
static bool isElementwise(Operation *op) {
  return isa<ElementwiseScalarOpInterface>(op) && op->getNumResults() == 1;
}

bool ExpertRows::readsWhole(OpOperand &use, Value ids) {
  auto reader = dyn_cast<ChosenRowsOpInterface>(use.getOwner());
  if (reader && reader.readsChosenRows(use.getOperandNumber()) && reader.getChosenIds() == ids)
    return false;
  return !graph::passesRowsOn(use) ||
         llvm::any_of(use.getOwner()->getUses(), [&](OpOperand &next) { return readsWhole(next, ids); });
}

ExpertRows::ExpertRows(Operation *at, Value ids, Value like, KernelLowering &lowering, int64_t lanes)
    : builder(at), loc(at->getLoc()), at(at), ids(ids), lowering(lowering), lanes(lanes),
      shape(tensorOf(like).getShape().drop_back()) {
  RankedTensorType type = tensorOf(like);
  int64_t dim = type.getRank() - 2;
  ArrayAttr axes = lowering.shardAxes(type, dim);
  shard = lowering.shardIndex(at, axes);
  choices = {tessera::product(ArrayRef(shape).drop_back()), tensorOf(ids).getShape().back(), shape.back(),
             graph::allExperts(like), bool(shard)};
}

ValueRange ExpertRows::launch(func::FuncOp kernel, ValueRange inputs, TypeRange outputs, ValueRange scalars,
                              int64_t count, int64_t elements) {
  FlatSymbolRefAttr symbol = lowering.addKernel(kernel);
  // Products of one dispatch share its rows, whichever combine asks for them.
  for (Operation *user : inputs.front().getUsers()) {
    auto other = dyn_cast<exec::LaunchOp>(user);
    if (other && other->getBlock() == at->getBlock() && other->isBeforeInBlock(at) &&
        other.getKernelAttr() == symbol && llvm::equal(other.getInputs(), inputs) &&
        llvm::equal(other.getScalars(), scalars) && llvm::equal(other.getResultTypes(), outputs))
      return other.getResults();
  }
  SmallVector<Value> fresh;
  for (Type type : outputs) {
    auto tensor = cast<RankedTensorType>(type);
    fresh.push_back(tensor::EmptyOp::create(builder, loc, tensor.getShape(), tensor.getElementType(),
                                            tensor.getEncoding()));
  }
  return exec::LaunchOp::create(builder, loc, outputs, symbol, inputs, fresh, scalars,
                                builder.getI64IntegerAttr(count),
                                builder.getI64IntegerAttr(lowering.grain(elements, count)))
      .getResults();
}

void ExpertRows::group() {
  if (start)
    return;
  Type i32 = builder.getI32Type();
  auto numbers = [&](ArrayRef<int64_t> sizes) -> Type { return RankedTensorType::get(sizes, i32); };
  SmallVector<Type> types = {numbers({choices.tokens, choices.choices}), numbers(choices.rows()),
                             numbers(choices.rows()), numbers(choices.experts + 1)};
  ValueRange results =
      launch(buildGroupKernel(loc, choices), ids, types, shard ? ValueRange(shard) : ValueRange(),
             /*count=*/1, choices.tokens * choices.choices);
  place = results[0], token = results[1], expert = results[2], start = results[3];
}

Value ExpertRows::taken(Value source, int64_t sourceRows, int64_t perToken, int64_t perExpert) {
  group();
  RankedTensorType type = tensorOf(source);
  int64_t width = type.getNumElements() / sourceRows;
  func::FuncOp kernel = buildTakeRowsKernel(loc, choices.rows(), sourceRows, width, type.getElementType(),
                                            perToken, perExpert, lanes);
  Type result = RankedTensorType::get({choices.rows(), width}, type.getElementType());
  return launch(kernel, {source, token, expert}, result, {}, choices.rows(), 2 * width)[0];
}

Value ExpertRows::chosen(Value value) {
  if (Value before = known.lookup(value))
    return before;
  Operation *maker = value.getDefiningOp();
  Value rows;
  if (auto op = dyn_cast_or_null<graph::DispatchOp>(maker); op && op.getIds() == ids)
    rows = op.getWeights() ? weighed(op) : taken(op.getInput(), choices.tokens, 1, 0);
  else if (auto op = dyn_cast_or_null<graph::ExpertLinearOp>(maker); op && op.getIds() == ids)
    rows = product(op);
  else if (auto op = dyn_cast_or_null<dist::ExchangeRowsOp>(maker); op && op.getReceivedIds() == ids)
    rows = exchanged(op);
  else if (maker && isElementwise(maker))
    rows = elementwise(maker);
  else if (auto op = dyn_cast_or_null<graph::NameOp>(maker))
    rows = chosen(op.getInput());
  else
    rows = taken(value, choices.tokens * choices.experts, choices.experts, 1);
  return known[value] = rows;
}

Value ExpertRows::weighed(Operation *self) {
  auto op = cast<graph::DispatchOp>(self);
  group();
  int64_t width = tensorOf(op.getInput()).getShape().back();
  Type element = tensorOf(op.getResult()).getElementType();
  func::FuncOp kernel = buildWeighRowsKernel(loc, choices, width, tensorOf(op.getInput()).getElementType(),
                                             tensorOf(op.getWeights()).getElementType(), element, lanes);
  Type result = RankedTensorType::get({choices.rows(), width}, element);
  return launch(kernel, {op.getInput(), op.getWeights(), place, token}, result, {}, choices.rows(),
                2 * width)[0];
}

Value ExpertRows::product(Operation *self) {
  auto op = cast<graph::ExpertLinearOp>(self);
  Value rows = chosen(op.getRows());
  group();
  RankedTensorType weight = tensorOf(op.getWeight());
  if (op.getTransposed()) {
    ExpertProduct product{choices.rows(),
                          choices.experts,
                          weight.getDimSize(unsigned(op.inDim())),
                          weight.getDimSize(unsigned(op.outDim())),
                          tensorOf(rows).getElementType(),
                          weight.getElementType(),
                          tensorOf(op.getResult()).getElementType()};
    Type result = RankedTensorType::get({product.rows, product.out}, product.resultType);
    int64_t used = std::min(product.rows, product.experts);
    return launch(buildExpertProductKernel(loc, product, lanes), {rows, op.getWeight(), start}, result, {},
                  product.iterations(), product.kBlock * product.in * used)[0];
  }
  std::optional<PackedWeight> packed = packedWeight(op.getWeight());
  for (Operation *user : rows.getUsers()) {
    auto other = dyn_cast<exec::MatmulOp>(user);
    if (other && other->getBlock() == at->getBlock() && other->isBeforeInBlock(at) &&
        other.getStarts() == start && other.getInput() == rows &&
        (packed ? other.getParamAttr() == packed->param && other.getLayer() == packed->layer &&
                      other.getWeight() == packed->pieces
                : other.getWeight() == op.getWeight()))
      return other.getResults()[0];
  }
  int64_t out = weight.getDimSize(1), in = weight.getDimSize(2);
  auto type = RankedTensorType::get({choices.rows(), out}, tensorOf(op.getResult()).getElementType());
  Value fresh = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  auto product = exec::MatmulOp::create(
      builder, loc, TypeRange(type), builder.getI64IntegerAttr(choices.rows()),
      builder.getI64IntegerAttr(out), builder.getI64IntegerAttr(in), rows,
      packed ? packed->pieces : op.getWeight(), packed ? packed->param : FlatSymbolRefAttr(),
      packed ? packed->layer : Value(), fresh);
  product.getStartsMutable().assign(start);
  return product.getResults()[0];
}

Value ExpertRows::exchanged(Operation *self) {
  auto op = cast<dist::ExchangeRowsOp>(self);
  ExpertRows before(at, op.getSentIds(), op.getInput(), lowering, lanes);
  Value rows = before.chosen(op.getInput());
  before.group();
  group();
  // On the side of tokens rows lie rank by rank already. On that of experts they are put into that order, or
  // taken from it.
  bool toExperts = op.getToExperts();
  ExpertRows &many = toExperts ? *this : before, &few = toExperts ? before : *this;
  ArrayRef<int64_t> tokens = ArrayRef(many.shape).drop_back();
  ExchangedRows exchange;
  exchange.rows = many.choices.rows();
  exchange.experts = few.choices.experts;
  exchange.expertsOfRank = many.choices.experts;
  exchange.ranks = op.getGroupSize();
  exchange.behind = tessera::product(tokens.drop_front(op.getDim() + 1));
  exchange.tokensOfRank = few.shape[op.getDim()];
  exchange.toExperts = toExperts;
  Type i32 = builder.getI32Type();
  auto numbers = [&](int64_t size) -> Type { return RankedTensorType::get(size, i32); };
  ValueRange order =
      launch(buildExchangeKernel(loc, exchange), {many.token, few.start},
             {numbers(exchange.rows), numbers(exchange.ranks), numbers(2 * exchange.ranks)}, {},
             /*count=*/1, exchange.rows);
  Value places = order[0], counts = order[2];
  int64_t width = tensorOf(rows).getDimSize(1);
  Type element = tensorOf(rows).getElementType();
  auto inOrder = [&](Value value) {
    func::FuncOp kernel = buildTakeRowsKernel(loc, exchange.rows, exchange.rows, width, element, 1, 0, lanes);
    return launch(kernel, {value, places, places}, RankedTensorType::get({exchange.rows, width}, element), {},
                  exchange.rows, 2 * width)[0];
  };
  if (!toExperts)
    rows = inOrder(rows);
  Value received = sentRows(op, rows, counts);
  return toExperts ? inOrder(received) : received;
}

Value ExpertRows::sentRows(Operation *self, Value rows, Value counts) {
  auto op = cast<dist::ExchangeRowsOp>(self);
  // Once, whoever reads what comes: every rank of the group takes part.
  for (Operation *user : rows.getUsers()) {
    auto other = dyn_cast<exec::ExchangeRowsOp>(user);
    if (other && other->getBlock() == at->getBlock() && other->isBeforeInBlock(at) &&
        other.getInput() == rows && other.getCounts() == counts && other.getAxes() == op.getAxes())
      return other.getResults()[0];
  }
  auto type =
      RankedTensorType::get({choices.rows(), tensorOf(rows).getDimSize(1)}, tensorOf(rows).getElementType());
  Value fresh = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  return exec::ExchangeRowsOp::create(builder, op.getLoc(), TypeRange(type), op.getAxes(), rows, counts,
                                      fresh, builder.getI64IntegerAttr(op.getEvenRows()),
                                      builder.getI64IntegerAttr(op.getMostRows()), op.getWhyAttr(),
                                      /*stream=*/IntegerAttr())
      .getResults()[0];
}

Value ExpertRows::broadcastOperand(Value operand) {
  RankedTensorType type = tensorOf(operand);
  SmallVector<int64_t> sizes(type.getShape());
  int64_t rank = int64_t(shape.size()) + 1;
  sizes.insert(sizes.begin(), size_t(rank) - sizes.size(), 1);
  ArrayRef<int64_t> tokens = ArrayRef(sizes).take_front(size_t(rank) - 2);
  int64_t experts = sizes[size_t(rank) - 2], width = sizes.back();
  if (type.getRank() == rank && ArrayRef(sizes).drop_back() == ArrayRef(shape))
    return chosen(operand);
  bool byToken = tessera::product(tokens) != 1, byExpert = experts != 1;
  if (byToken && (byExpert || tokens != ArrayRef(shape).drop_back()))
    return nullptr; // of some dimensions of tokens
  if (byToken)
    return taken(operand, choices.tokens, 1, 0);
  if (byExpert)
    return taken(operand, choices.experts, 0, 1);
  auto plain = RankedTensorType::get(ArrayRef<int64_t>{width}, type.getElementType());
  if (type == plain)
    return operand;
  OperationState state(loc, exec::ReshapeOp::getOperationName(), operand, plain);
  return sharedOp(state);
}

Value ExpertRows::elementwise(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(broadcastOperand(operand));
    if (!operands.back())
      return taken(op->getResult(0), choices.tokens * choices.experts, choices.experts, 1);
  }
  RankedTensorType type = tensorOf(op->getResult(0));
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addAttributes(op->getAttrs());
  state.addTypes(RankedTensorType::get({choices.rows(), type.getShape().back()}, type.getElementType()));
  return sharedOp(state);
}

/// What several readers ask for is computed once.
Value ExpertRows::sharedOp(const OperationState &state) {
  for (Operation *user : state.operands.front().getUsers())
    if (user->getName() == state.name && user->getBlock() == at->getBlock() && user->isBeforeInBlock(at) &&
        llvm::equal(user->getOperands(), state.operands) &&
        llvm::equal(user->getResultTypes(), state.types) &&
        user->getAttrDictionary() == state.attributes.getDictionary(builder.getContext()))
      return user->getResult(0);
  return builder.create(state)->getResult(0);
}

Value ExpertRows::spread(Value rows, RankedTensorType type) {
  group();
  int64_t width = type.getShape().back();
  func::FuncOp kernel = buildSpreadRowsKernel(loc, choices, width, type.getElementType(), lanes);
  return launch(kernel, {rows, place, ids}, type, shard ? ValueRange(shard) : ValueRange(), choices.tokens,
                choices.experts * width)[0];
}

Value ExpertRows::outer(Value lhs, Value rhs, Value result) {
  group();
  RankedTensorType type = tensorOf(result);
  ExpertOuter outer{choices.rows(),
                    choices.experts,
                    type.getDimSize(1),
                    type.getDimSize(2),
                    tensorOf(lhs).getElementType(),
                    tensorOf(rhs).getElementType(),
                    type.getElementType()};
  return launch(buildExpertOuterKernel(loc, outer, lanes), {lhs, rhs, start}, type, {}, outer.iterations(),
                ExpertOuter::kBlock * outer.n * std::max(outer.rows, outer.experts))[0];
}

Value ExpertRows::products(Value source, Value rows, Value result) {
  group();
  RankedTensorType type = tensorOf(result);
  int64_t width = tensorOf(source).getShape().back();
  func::FuncOp kernel = buildChosenDotKernel(loc, choices, width, tensorOf(source).getElementType(),
                                             tensorOf(rows).getElementType(), type.getElementType(), lanes);
  return launch(kernel, {source, rows, place}, type, {}, choices.tokens, (choices.choices + 1) * width)[0];
}

Value ExpertRows::combined(Value rows, Value weights, Value result) {
  group();
  RankedTensorType type = tensorOf(result);
  int64_t width = type.getShape().back();
  func::FuncOp kernel = buildCombineKernel(loc, choices, width, tensorOf(rows).getElementType(),
                                           tensorOf(weights).getElementType(), type.getElementType(), lanes);
  return launch(kernel, {rows, place, weights}, type, {}, choices.tokens, (choices.choices + 1) * width)[0];
}

} // namespace tessera
