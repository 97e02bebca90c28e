//===- DrawEntry.cpp - The entry that draws tokens ------------------------===//
#include "tessera/Dialect/Graph/Transforms/DrawEntry.h"

#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Dialect/Graph/Transforms/SeenTokens.h"

using namespace mlir;

namespace tessera::graph {

void buildDrawEntry(func::FuncOp before, Port logits, const KeptRows &kept, const llvm::StringSet<> &taken,
                    bool isStage) {
  OpBuilder builder(before);
  Location loc = before.getLoc();
  auto fill = [&](FillSource source) {
    return builder.getNamedAttr(kFillAttr, FillAttr::get(builder.getContext(), source));
  };
  auto type = [](ArrayRef<int64_t> shape, Type element) -> Type {
    return RankedTensorType::get(shape, element);
  };
  auto state = [&](StringRef name, Type type, FillSource source, ArrayRef<StringRef> dims) -> Port {
    return {type, Kind::State, freeName(name, taken), SmallVector<StringRef>(dims), fill(source)};
  };
  SmallVector<int64_t> rows(cast<RankedTensorType>(logits.type).getShape().drop_back());
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type(), i64 = builder.getI64Type(),
       f64 = builder.getF64Type(), ids = type(rows, i32);
  SmallVector<StringRef> rowDims{"batch", "seq"};

  Port seen =
      state("draw_seen", cast<RankedTensorType>(logits.type).clone(i32), FillSource::SeenTokens, logits.dims);
  logits.kind = Kind::Input;
  logits.fact = fill(FillSource::Logits);
  SmallVector<Port> ports{std::move(logits),
                          state("draw_prompts", ids, FillSource::PromptNumbers, rowDims),
                          state("draw_starts", ids, FillSource::PromptLengths, rowDims),
                          state("draw_seed", type({}, i64), FillSource::Seed, {}),
                          state("draw_temperature", type({}, f64), FillSource::Temperature, {}),
                          state("draw_top_k", type({}, i32), FillSource::TopK, {}),
                          state("draw_top_p", type({}, f64), FillSource::TopP, {}),
                          state("draw_min_p", type({}, f64), FillSource::MinP, {}),
                          state("draw_repeat_penalty", type({}, f32), FillSource::RepeatPenalty, {}),
                          seen};
  unsigned first = ports.size(); // of the rows
  if (kept.empty())
    ports.push_back({ids, Kind::Input, "draw_positions", rowDims, fill(FillSource::Positions)});
  llvm::append_range(ports, kept.ports());
  if (!kept.empty())
    ports.push_back(endTokens(builder, freeName("draw_end_tokens", taken), FillSource::DrawnEndTokens));

  auto attributes = [&](const Port &port) { return port.attributes(builder); };
  SmallVector<Type> types = llvm::map_to_vector(ports, [](const Port &port) { return port.type; });
  auto function = func::FuncOp::create(builder, loc, "sample", builder.getFunctionType(types, {}));
  function.setAllArgAttrs(llvm::map_to_vector(ports, attributes));
  function->setAttr(kRoleAttr, RoleAttr::get(builder.getContext(), Role::Draw));
  for (unsigned ofRows : {1u, 2u, first - 1})
    if (isStage)
      function.setArgAttr(ofRows, kSlotAttr, SlotAttr::get(builder.getContext(), Slot::Whole));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  loc = markPartOf(loc, "drawing of the next token"); // nobody wrote it
  ValueRange arguments = entry->getArguments();

  SmallVector<Value> found(arguments.drop_front(first));
  Value ends = kept.empty() ? Value() : found.pop_back_val();
  Value positions = kept.empty() ? found.front() : kept.rows(found).positions, starts = arguments[2];
  Value count = SubOp::create(builder, loc, ids, positions, starts);
  Value seenBefore = arguments[first - 1];
  Value scores = penalized(builder, loc, arguments[0], seenBefore, arguments[8]);
  Value drawn = DrawOp::create(builder, loc, ids, scores, arguments[1], count, arguments[3], arguments[4],
                               arguments[5], arguments[6], arguments[7]);
  SmallVector<Value> values{drawn, seenWith(builder, loc, seenBefore, drawn, {starts, positions})};
  SmallVector<Port> results{
      {ids, Kind::Output, "next", rowDims,
       builder.getNamedAttr(kGivesAttr, GivesAttr::get(builder.getContext(), Gives::NextTokens))},
      {seen.type, Kind::State, seen.name, seen.dims}};
  if (!kept.empty()) {
    llvm::append_range(values, kept.values(rowsDrawn(builder, loc, kept.rows(found), starts, drawn, ends)));
    for (const Port &port : kept.ports())
      results.push_back({port.type, Kind::State, port.name, port.dims});
  }
  func::ReturnOp::create(builder, loc, values);
  function.setType(builder.getFunctionType(types, ValueRange(values).getTypes()));
  function.setAllResultAttrs(llvm::map_to_vector(results, attributes));
}

} // namespace tessera::graph
