//===- ExchangeRows.cpp - What is known of rows whose counts are data -----===//
//
// How many rows travel follows from the choices; from the types follows how many it is if every expert gets
// as many, and what no choice exceeds. The verifier stands with those of other collectives (Collectives.cpp).
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "AxisText.h"
#include "tessera/Support/Shapes.h"
#include "tessera/Support/TypeSizes.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistRowOps.cpp.inc"

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

StepKind ExchangeRowsOp::getStepKind() { return StepKind::AllToAll; }
AxisList ExchangeRowsOp::getGroupAxes(const Mesh &mesh) { return fromAxesAttr(getAxes(), mesh); }
int64_t ExchangeRowsOp::getLeftDim() {
  return getToExperts() ? int64_t(getDim()) : int64_t(tensorOf(getInput()).getRank()) - 2;
}

Value ExchangeRowsOp::getChosenIds() { return getSentIds(); }
bool ExchangeRowsOp::readsChosenRows(unsigned operand) { return operand == 0; }

int64_t ExchangeRowsOp::getGroupSize() {
  auto before = tensorOf(getInput()), after = tensorOf(getResult());
  int64_t few = before.getDimSize(getDim()), many = after.getDimSize(getDim());
  return getToExperts() ? many / std::max<int64_t>(1, few) : few / std::max<int64_t>(1, many);
}

/// Tokens of `rows` [n..., e, d].
static int64_t tokensOf(RankedTensorType rows) { return product(rows.getShape().drop_back(2)); }

int64_t ExchangeRowsOp::getEvenRows() {
  auto type = tensorOf(getInput());
  int64_t experts = type.getRank() - 2, all = globalShape(type)[size_t(experts)];
  int64_t choices = std::min(tensorOf(getSentIds()).getShape().back(), all);
  // The rows that lie here: of each token's choices the part that falls on this rank's experts. They are
  // spread over the group evenly, and one share of them stays.
  double here = double(tokensOf(type)) * double(choices) * double(std::min(type.getDimSize(experts), all)) /
                double(all);
  double group = double(getGroupSize());
  return std::min(getMostRows(), int64_t(std::ceil(here * (group - 1) / group)));
}

int64_t ExchangeRowsOp::getMostRows() {
  auto before = tensorOf(getInput()), after = tensorOf(getResult());
  int64_t experts = before.getRank() - 2;
  int64_t choices = tensorOf(getSentIds()).getShape().back();
  // To experts: all rows of a token may be for other ranks, as far as those have so many experts. Back: those
  // of all tokens but this rank's own.
  if (getToExperts()) {
    int64_t others = std::min(before.getDimSize(experts), (getGroupSize() - 1) * after.getDimSize(experts));
    return tokensOf(before) * std::min(choices, others);
  }
  return (tokensOf(before) - tokensOf(after)) * std::min(choices, before.getDimSize(experts));
}

static int64_t bytesOfRows(RankedTensorType type, int64_t rows) {
  return rows * type.getShape().back() * elementBytes(type);
}
int64_t ExchangeRowsOp::getBytesSent(const Mesh &) {
  return bytesOfRows(tensorOf(getInput()), getEvenRows());
}
int64_t ExchangeRowsOp::getMostBytesSent() { return bytesOfRows(tensorOf(getInput()), getMostRows()); }

OpCost ExchangeRowsOp::getCost() {
  // Rows that are there, put in order and put back.
  auto type = tensorOf(getInput());
  double bytes = double(getEvenRows()) * double(getGroupSize()) /
                 double(std::max<int64_t>(1, getGroupSize() - 1)) * double(type.getShape().back()) *
                 double(elementBytes(type));
  return {0, bytes, bytes};
}
