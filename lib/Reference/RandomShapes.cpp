//===- RandomShapes.cpp - Random elementwise and shape ops ----------------===//
#include "RandomProgram.h"

using namespace mlir;
using namespace tessera;

Value ProgramBuilder::drawUnary() {
  Value x = operand();
  if (Value open = maybeOpenSum(shapeOf(x), graph::ReduceKind::sum))
    x = open;
  if (!shapeOf(x).empty() && more.chance(10))
    return dropped(x);
  return unaryOf(x);
}

Value ProgramBuilder::unaryOf(Value x) {
  Type type = x.getType();
  switch (dice.below(14)) {
  case 0:
    return graph::NegOp::create(b, type, x);
  case 1:
    return graph::AbsOp::create(b, type, x);
  case 2:
    return graph::TanhOp::create(b, type, x);
  case 3:
    return graph::SinOp::create(b, type, x);
  case 4:
    return graph::CosOp::create(b, type, x);
  case 5:
    return graph::SigmoidOp::create(b, type, x);
  case 6:
    return graph::SiluOp::create(b, type, x);
  case 7:
    return graph::ReluOp::create(b, type, x);
  case 8:
    return more.chance(40) ? graph::ErfOp::create(b, type, x).getResult()
                           : graph::GeluErfOp::create(b, type, x).getResult();
  case 9:
    return graph::GeluTanhOp::create(b, type, x);
  case 10: // of bounded numbers
    if (Value open = maybeOpenSum(shapeOf(x), graph::ReduceKind::max))
      return graph::ExpOp::create(b, open.getType(), open);
    return graph::ExpOp::create(b, type, graph::TanhOp::create(b, type, x));
  default: { // of positive numbers
    Value positive = maybeOpenSum(shapeOf(x), graph::ReduceKind::sum, /*positive=*/true);
    if (!positive)
      positive = graph::ExpOp::create(b, type, graph::SinOp::create(b, type, x));
    type = positive.getType();
    switch (dice.below(3)) {
    case 0:
      return graph::LogOp::create(b, type, positive);
    case 1:
      return graph::SqrtOp::create(b, type, positive);
    default:
      return graph::RsqrtOp::create(b, type, positive);
    }
  }
  }
}

/// The value, or what programs for the machine at times make of it at once: pieces on other ranks or a term
/// of a sum, mostly between two functions. Rare ops would else never meet rare collectives.
Value ProgramBuilder::followed(Value value) {
  if (!options.manyLoops || !options.shardings || !dice.chance(11))
    return value;
  bool functions = dice.chance(60);
  if (functions)
    value = unaryOf(value);
  if (dice.chance(50))
    value = moved(value);
  else if (Value sum = joined(value))
    value = sum;
  return functions ? unaryOf(value) : value;
}

/// The other operand has the same shape, or is a smaller new one that broadcasts.
Value ProgramBuilder::drawBinary() {
  Value x = operand(), y;
  Shape shape = shapeOf(x);
  SmallVector<Value> same;
  for (Value value : scope->values)
    if (value.getType() == x.getType())
      same.push_back(value);
  if (same.size() > 1 && dice.chance(60)) {
    y = dice.pick(same);
  } else {
    Shape other(ArrayRef<int64_t>(shape).drop_front(size_t(dice.below(int64_t(shape.size()) + 1))));
    for (int64_t &n : other)
      if (dice.chance(25))
        n = 1;
    y = weight(other);
  }
  if (dice.chance(30))
    std::swap(x, y);
  Type type = floats(shape);
  switch (dice.below(8)) {
  case 0:
  case 1:
  case 2:
    return graph::AddOp::create(b, type, x, y);
  case 3:
    return graph::SubOp::create(b, type, x, y);
  case 4:
  case 5: // one factor bounded: numbers must not explode
    return graph::MulOp::create(b, type, x, graph::TanhOp::create(b, y.getType(), y));
  case 6: {
    Value below = graph::ExpOp::create(b, y.getType(), graph::TanhOp::create(b, y.getType(), y));
    return graph::DivOp::create(b, type, x, below);
  }
  default:
    return dice.chance(50) ? graph::MaximumOp::create(b, type, x, y).getResult()
                           : graph::MinimumOp::create(b, type, x, y).getResult();
  }
}

Value ProgramBuilder::drawConstant() {
  Value x = operand();
  Shape shape = shapeOf(x);
  if (dice.chance(60)) {
    auto value = numbers(shape, float(dice.between(-3, 3)) / 2);
    return graph::AddOp::create(b, x.getType(), x, graph::ConstantOp::create(b, floats(shape), value));
  }
  if (shape.empty())
    return {};
  SmallVector<float> row;
  for (int64_t i = 0; i < shape.back(); ++i)
    row.push_back(float(dice.between(-4, 4)) / 4);
  auto value = numbers({shape.back()}, row);
  return graph::MulOp::create(b, x.getType(), x, graph::ConstantOp::create(b, floats({shape.back()}), value));
}

/// Integers computed from places: small, and of both signs.
Value ProgramBuilder::places(ArrayRef<int64_t> shape) {
  Type element = dice.chance(30) ? b.getI64Type() : b.getI32Type();
  auto type = RankedTensorType::get(shape, element);
  int64_t rank = int64_t(shape.size());
  auto dim = [&] { return uint64_t(dice.below(rank)); };
  auto number = [&](int64_t value) -> Value {
    auto scalar = RankedTensorType::get({}, element);
    return graph::ConstantOp::create(b, scalar,
                                     DenseElementsAttr::get(scalar, b.getIntegerAttr(element, value)));
  };
  Value x = graph::IotaOp::create(b, type, dim());
  for (int64_t ops = dice.below(4); ops > 0; --ops)
    switch (dice.below(9)) {
    case 0:
      x = graph::AddOp::create(b, type, x, number(dice.between(-5, 5)));
      break;
    case 1:
      x = graph::SubOp::create(b, type, graph::IotaOp::create(b, type, dim()), x);
      break;
    case 2:
      x = graph::MulOp::create(b, type, x, number(dice.between(-2, 3)));
      break;
    case 3:
      x = graph::MaximumOp::create(b, type, x, number(dice.between(-3, 6)));
      break;
    case 4:
      x = graph::MinimumOp::create(b, type, x, number(dice.between(-3, 6)));
      break;
    case 5:
      x = graph::SubOp::create(b, type, number(dice.between(0, 9)), x);
      break;
    case 6:
      x = graph::ReverseOp::create(b, type, x, dim());
      break;
    case 7: {
      SmallVector<int64_t> order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
      auto turned = RankedTensorType::get(llvm::to_vector(llvm::reverse(shape)), element);
      x = graph::AddOp::create(
          b, type, x, graph::TransposeOp::create(b, type, graph::IotaOp::create(b, turned, dim()), order));
      break;
    }
    default: {
      Value condition = graph::CompareOp::create(b, RankedTensorType::get(shape, b.getI1Type()),
                                                 graph::CompareKind(dice.below(6)), x, number(dice.below(5)));
      x = graph::SelectOp::create(b, type, condition, x, graph::IotaOp::create(b, type, dim()));
    }
    }
  return x;
}

Value ProgramBuilder::drawIota() {
  Value x = operandOfRank(1, 6);
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  Value count = places(shape);
  Value wave = graph::SinOp::create(b, x.getType(), graph::CastOp::create(b, x.getType(), count));
  return graph::AddOp::create(b, x.getType(), x, wave);
}

Value ProgramBuilder::drawSelect() {
  Value x = operandOfRank(1, 6);
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  // Compares places, never computed floats: a last bit must not decide.
  int64_t dim = dice.below(int64_t(shape.size()));
  Shape row(ArrayRef<int64_t>(shape).drop_front(size_t(dim)));
  Value count = graph::IotaOp::create(b, ints(row), uint64_t(0));
  auto limit = DenseElementsAttr::get(ints({}), int32_t(dice.below(shape[size_t(dim)] + 1)));
  auto kind = graph::CompareKind(dice.below(6));
  Value condition = graph::CompareOp::create(b, RankedTensorType::get(row, b.getI1Type()), kind, count,
                                             graph::ConstantOp::create(b, ints({}), limit));
  Value other = dice.chance(50) ? weight(shape) : graph::NegOp::create(b, x.getType(), x).getResult();
  return graph::SelectOp::create(b, x.getType(), condition, x, other);
}

Value ProgramBuilder::drawCast() {
  Value x = operand();
  Type other = mixedType();
  if (other == floatType())
    other = b.getF64Type();
  Value cast = graph::CastOp::create(b, floats(shapeOf(x), other), x);
  return graph::CastOp::create(b, x.getType(), cast);
}

Value ProgramBuilder::drawName() {
  Value x = operand();
  return graph::NameOp::create(b, x.getType(), x, b.getStringAttr("value" + std::to_string(names++)),
                               ArrayAttr());
}

Value ProgramBuilder::drawReshape() {
  Value x = operandOfRank(1, 5);
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  size_t d = size_t(dice.below(int64_t(shape.size())));
  switch (dice.below(5)) {
  case 4: { // all together, cut at other places
    int64_t rest = 1;
    for (int64_t n : shape)
      rest *= n;
    shape.clear();
    while (rest > 1 && shape.size() < 4) {
      SmallVector<int64_t> factors;
      for (int64_t f = 2; f <= rest; ++f)
        if (rest % f == 0)
          factors.push_back(f);
      shape.push_back(dice.pick(factors));
      rest /= shape.back();
    }
    shape.push_back(rest);
    break;
  }
  case 0: // join two
    if (d + 1 == shape.size())
      return {};
    shape[d] *= shape[d + 1];
    shape.erase(shape.begin() + d + 1);
    break;
  case 1: { // split one
    SmallVector<int64_t> factors;
    for (int64_t f = 2; f < shape[d]; ++f)
      if (shape[d] % f == 0)
        factors.push_back(f);
    if (factors.empty())
      return {};
    int64_t f = dice.pick(factors);
    shape[d] /= f;
    shape.insert(shape.begin() + d + 1, f);
    break;
  }
  case 2: // a dimension of 1 comes
    shape.insert(shape.begin() + d, 1);
    break;
  default: { // move a factor to the neighbour
    if (d + 1 == shape.size() || shape[d] % 2 || shape[d] == 2)
      return {};
    shape[d] /= 2;
    shape[d + 1] *= 2;
    break;
  }
  }
  return graph::ReshapeOp::create(b, floats(shape), x);
}

Value ProgramBuilder::drawTranspose() {
  Value x = operandOfRank(2, 6);
  if (!x)
    return {};
  Shape from = shapeOf(x), to;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(from.size())));
  for (size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[size_t(dice.below(int64_t(i) + 1))]);
  for (int64_t d : order)
    to.push_back(from[size_t(d)]);
  return graph::TransposeOp::create(b, floats(to), x, order);
}

Value ProgramBuilder::drawBroadcast() {
  Value x = operandOfRank(0, 4);
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  size_t at = size_t(dice.below(int64_t(shape.size()) + 1));
  SmallVector<int64_t> dims;
  for (size_t d = 0; d < shape.size(); ++d)
    dims.push_back(int64_t(d < at ? d : d + 1));
  shape.insert(shape.begin() + at, size());
  if (!fits(shape))
    return {};
  return graph::BroadcastOp::create(b, floats(shape), x, dims);
}

Value ProgramBuilder::drawSlice() {
  Value x = operandOfRank(1, 6);
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  size_t d = size_t(dice.below(int64_t(shape.size())));
  SmallVector<int64_t> offsets(shape.size(), 0);
  int64_t keep = dice.between(1, shape[d]);
  offsets[d] = dice.below(shape[d] - keep + 1);
  shape[d] = keep;
  return graph::SliceOp::create(b, floats(shape), x, offsets);
}

Value ProgramBuilder::drawReverse() {
  Value x = operandOfRank(1, 6);
  if (!x)
    return {};
  return graph::ReverseOp::create(b, x.getType(), x, uint64_t(dice.below(int64_t(shapeOf(x).size()))));
}

Value ProgramBuilder::drawConcat() {
  Value x = operandOfRank(1, 6);
  if (!x)
    return {};
  Shape shape = shapeOf(x), other = shape;
  size_t d = size_t(dice.below(int64_t(shape.size())));
  other[d] = dice.between(1, 4);
  Value y = dice.chance(40) ? x : weight(other);
  shape[d] += shapeOf(y)[d];
  if (!fits(shape))
    return {};
  return graph::ConcatOp::create(b, floats(shape), ValueRange{x, y}, uint64_t(d));
}

Value ProgramBuilder::drawReduce() {
  Value x = operandOfRank(1, 6);
  if (!x)
    return {};
  SmallVector<int64_t> dims;
  Shape rest;
  for (auto [d, n] : llvm::enumerate(shapeOf(x))) {
    if (dice.chance(40))
      dims.push_back(int64_t(d));
    else
      rest.push_back(n);
  }
  if (dims.empty())
    return {};
  auto kind = dice.chance(60) ? graph::ReduceKind::sum : graph::ReduceKind::max;
  return graph::ReduceOp::create(b, floats(rest), kind, x, dims);
}

Value ProgramBuilder::drawTake() {
  Value x = operandOfRank(2, 5);
  if (!x)
    return {};
  Shape shape = shapeOf(x);
  Value index = sharedInput(ints({shape[0]}), "index", graph::FillSource::LastIndex);
  shape[1] = 1;
  return graph::TakeOp::create(b, floats(shape), x, index);
}
