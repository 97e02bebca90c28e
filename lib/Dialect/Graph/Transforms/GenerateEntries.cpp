//===- GenerateEntries.cpp - @prefill, @decode, @head and @sample ---------===//
#include "GenerateStepBuilder.h"

#include "tessera/Dialect/Graph/IR/WrittenOut.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

// What the ops that are made here are known as: nobody wrote them.
static constexpr llvm::StringLiteral kChoiceOfNext = "choice of the next token";
static constexpr llvm::StringLiteral kRowsGoOn = "what rows go on with";

/// Ids of the largest logits.
Value GenerateStepBuilder::nextToken(Value logits) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(logits.getType()).getShape().drop_back();
  Location loc = markPartOf(logits.getLoc(), kChoiceOfNext);
  Value key = ArgMaxKeyOp::create(builder, loc, RankedTensorType::get(shape, builder.getI64Type()), logits);
  return ArgMaxIndexOp::create(builder, loc, RankedTensorType::get(shape, builder.getI32Type()), key);
}

/// The positions of `hidden` whose logits are wanted.
Value GenerateStepBuilder::wantedPositions(Value hidden, Value index, Location location) {
  return TakeOp::create(builder, markPartOf(location, "choice of positions"),
                        positionWise.resized(tail.input, batch, 1), hidden, index);
}

/// Returns what the next stage of a pipeline takes.
void GenerateStepBuilder::endStage(func::FuncOp function, int64_t seq, IRMapping &mapping) {
  SmallVector<Value> values;
  SmallVector<Port> results;
  for (auto [i, value] : llvm::enumerate(forward.getBody().front().getTerminator()->getOperands())) {
    values.push_back(mapping.lookup(value));
    auto name = forward.getResultAttrOfType<StringAttr>(unsigned(i), kNameAttr);
    results.push_back(gives(port(value, Kind::Output, name.str(), seq), Gives::Sent));
  }
  end(function, values, results);
}

void GenerateStepBuilder::buildPrefill(StringRef name, int64_t seq) {
  SmallVector<Port> inputs = resizedInputs(seq);
  if (hasLogits())
    inputs.push_back(index());
  IRMapping mapping;
  func::FuncOp function = begin(name, Role::Prompt, inputs, mapping);
  Block &entry = function.getBody().front();
  mapInputs(entry, mapping);
  cloneAll(seq, mapping, /*withTail=*/!hasLogits());
  if (!hasLogits())
    return endStage(function, seq, mapping);

  Value hidden = mapping.lookup(tail.input);
  Value one = wantedPositions(hidden, entry.getArgument(unsigned(inputs.size() - 1)), hidden.getLoc());
  mapping.map(tail.input, one);
  for (Operation *op : llvm::reverse(tail.ops))
    cloneResized(*op, 1, mapping);
  Value last = mapping.lookup(logits), next = nextToken(last);
  if (!kept.empty()) { // rows whose prompt goes on are made again by the chunk where it ends
    Location loc = markPartOf(last.getLoc(), kRowsGoOn);
    Value all = kept.rows({entry.getArgument(0), entry.getArgument(1)}).positions;
    Value at = TakeOp::create(builder, loc, kept.ports().front().type, all,
                              entry.getArgument(unsigned(inputs.size() - 1)));
    keptValues = kept.values(rowsWhere(builder, loc, at, rowsAfter(builder, loc, at, next, ends, maxSeqLen),
                                       kept.rows(keptValues)));
  }
  SmallVector<Value> values{last, next};
  SmallVector<Port> results{
      gives(port(logits, Kind::Output, "logits", 1), Gives::Logits),
      gives({next.getType(), Kind::Output, "next", {"batch", "seq"}}, Gives::NextTokens)};
  if (seq == chunk) { // which @head takes logits of other positions from
    values.insert(values.begin(), hidden);
    results.insert(results.begin(), port(tail.input, Kind::Output, "hidden", seq));
  }
  end(function, values, results);
}

void GenerateStepBuilder::buildDecode() {
  IRMapping mapping;
  func::FuncOp function =
      begin("decode", Role::Next, kept.empty() ? resizedInputs(1) : SmallVector<Port>(), mapping);
  if (kept.empty())
    mapInputs(function.getBody().front(), mapping);
  for (auto [arg, value] : llvm::zip(inputArgs, keptValues))
    mapping.map(forward.getArgument(arg), value);
  cloneAll(1, mapping, /*withTail=*/true);
  if (!hasLogits())
    return endStage(function, 1, mapping);
  Value last = mapping.lookup(logits), next = nextToken(last);
  if (!kept.empty())
    keptValues = kept.values(rowsAfter(builder, markPartOf(last.getLoc(), kRowsGoOn),
                                       kept.rows(keptValues).positions, next, ends, maxSeqLen));
  end(function, {last, next},
      {gives(port(logits, Kind::Output, "logits", 1), Gives::Logits),
       gives({next.getType(), Kind::Output, "next", {"batch", "seq"}}, Gives::NextTokens)});
}

void GenerateStepBuilder::buildHead() {
  SmallVector<Port> inputs{port(tail.input, Kind::Input, "hidden", chunk), index()};
  inputs.front().fact =
      fill(FillAttr::get(builder.getContext(), FillSource::Output, builder.getStringAttr("hidden"),
                         FlatSymbolRefAttr::get(builder.getContext(), "prefill")));
  ArrayRef<Cache> all = std::exchange(caches, {}); // the tail mixes no positions
  KeptRows rows = std::exchange(kept, {});         // and the text stays where it is
  IRMapping mapping;
  func::FuncOp function = begin("head", Role::Logits, inputs, mapping);
  Block &entry = function.getBody().front();
  Value one = wantedPositions(entry.getArgument(0), entry.getArgument(1), forward.getLoc());
  mapping.map(tail.input, one);

  // The tail, and what it computes from weights alone.
  llvm::SmallSetVector<Operation *, 16> needed(tail.ops.begin(), tail.ops.end());
  for (unsigned i = 0; i < needed.size(); ++i)
    for (Value operand : needed[i]->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && !mapping.contains(operand))
        needed.insert(op);
  for (Operation &op : forward.getBody().front())
    if (needed.contains(&op))
      cloneResized(op, 1, mapping);
  Value last = mapping.lookup(logits), next = nextToken(last);
  end(function, {last, next},
      {gives(port(logits, Kind::Output, "logits", 1), Gives::Logits),
       gives({next.getType(), Kind::Output, "next", {"batch", "seq"}}, Gives::NextTokens)});
  caches = all;
  kept = std::move(rows);
}

void GenerateStepBuilder::buildDraw() {
  buildDrawEntry(forward, port(logits, Kind::Input, "logits", 1), kept, taken, isStage);
}
