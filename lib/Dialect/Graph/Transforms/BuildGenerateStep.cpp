//===- BuildGenerateStep.cpp - @forward to @prefill, @decode and @head ----===//
#include "GenerateStepBuilder.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/Precision.h"

#include <set>

namespace tessera::graph {
#define GEN_PASS_DEF_BUILDGENERATESTEP
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// A stage may have nothing to do with token ids, and takes what the one before sends.
LogicalResult GenerateStepBuilder::analyzeInputs() {
  std::set<FillSource> filled;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    if (!isa<RankedTensorType>(forward.getArgument(i).getType()))
      return forward.emitError() << "argument #" << i << " must be a ranked tensor";
    std::optional<Kind> kind = argumentKind(forward, i);
    if (kind != Kind::Input && kind != Kind::Parameter)
      return forward.emitError() << "argument #" << i << " must have " << kKindAttr << " input or parameter";
    for (StringRef name : {"batch", "seq"})
      if (kind == Kind::Parameter && positionWise.find(forward.getArgument(i), name) >= 0)
        return forward.emitError()
               << "argument #" << i << " is a parameter with a dimension '" << name
               << "': a step takes single positions of the text; give the dimension another "
                  "name and look rows up by an input that positions fill";
    auto fill = forward.getArgAttrOfType<FillAttr>(i, kFillAttr);
    if (kind == Kind::Input && isStage && fill &&
        (fill.getSource() == FillSource::Received || fill.getSource() == FillSource::FirstLayer)) {
      inputArgs.push_back(i);
      continue;
    }
    if (kind == Kind::Input &&
        (!fill || (fill.getSource() != FillSource::TokenIds && fill.getSource() != FillSource::Positions)))
      return forward.emitError() << "argument #" << i
                                 << " must say whether token ids or positions fill it: " << kFillAttr
                                 << " = #graph.fill<token_ids> or #graph.fill<positions>";
    if (kind == Kind::Input && !filled.insert(fill.getSource()).second)
      return forward.emitError() << "argument #" << i << " is filled with "
                                 << stringifyFillSource(fill.getSource()) << ", as another argument is";
    (kind == Kind::Input ? inputArgs : weightArgs).push_back(i);
  }
  if (!filled.count(FillSource::TokenIds) && !isStage)
    return forward.emitError() << "has no argument that token ids fill: nothing can be generated";
  return success();
}

LogicalResult GenerateStepBuilder::analyzeResults() {
  auto isSent = [&](unsigned result) {
    auto given = forward.getResultAttrOfType<GivesAttr>(result, kGivesAttr);
    return given && given.getValue() == Gives::Sent &&
           forward.getResultAttrOfType<StringAttr>(result, kNameAttr);
  };
  if (isStage && llvm::all_of(llvm::seq(forward.getNumResults()), isSent)) {
    if (!forward->getAttrOfType<IntegerAttr>(kVocabAttr))
      return forward.emitError() << "has no " << kVocabAttr << ", the size of the vocabulary, and no logits";
    return success();
  }
  if (forward.getNumResults() != 1)
    return forward.emitError() << "must be one block that returns the logits alone";
  logits = forward.getBody().front().getTerminator()->getOperand(0);
  if (positionWise.find(logits, "batch") != 0 || positionWise.find(logits, "seq") != 1 ||
      cast<RankedTensorType>(logits.getType()).getRank() != 3)
    return forward.emitError()
           << "must return logits [batch, seq, vocab]; the names of the result's dimensions say otherwise";
  tail = positionWise.findTail();
  return success();
}

LogicalResult GenerateStepBuilder::analyze() {
  if (forward.getBody().getBlocks().size() != 1)
    return forward.emitError() << "must be one block that returns the logits alone";
  if (failed(analyzeInputs()) || failed(positionWise.checkPassesThrough("seq")) ||
      failed(positionWise.checkPassesThrough("batch")) || failed(analyzeResults()) || failed(found.find()))
    return failure();
  caches = found.caches();
  attentions = found.attentions();
  for (unsigned arg = 0; arg < forward.getNumArguments(); ++arg)
    taken.insert(argText(forward, arg, kNameAttr));
  for (const Cache &cache : caches)
    taken.insert(cache.name);
  if (found.page()) {
    pagesName = freeName("pages", taken);
    taken.insert(pagesName);
  }
  // The rows of a stage are the host's to say: their tokens come from another rank.
  if (!isStage)
    kept = KeptRows(builder, resizedInputs(1), taken);
  for (const Port &row : kept.ports())
    taken.insert(row.name);
  endsName = freeName("end_tokens", taken);
  taken.insert(endsName);
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Port GenerateStepBuilder::port(Value value, Kind kind, std::string name, int64_t seq) {
  return {positionWise.resized(value, batch, seq), kind, std::move(name),
          SmallVector<StringRef>(names.names(value))};
}

/// For each row the index within the chunk of the position whose logits are wanted.
Port GenerateStepBuilder::index() {
  return {RankedTensorType::get({batch}, builder.getI32Type()),
          Kind::Input,
          "index",
          {"batch"},
          fill(FillAttr::get(builder.getContext(), FillSource::LastIndex))};
}

GenerateAttr GenerateStepBuilder::sizes() {
  int64_t vocab = hasLogits() ? cast<RankedTensorType>(logits.getType()).getDimSize(2)
                              : forward->getAttrOfType<IntegerAttr>(kVocabAttr).getInt();
  return GenerateAttr::get(builder.getContext(), batch, chunk, maxSeqLen, vocab, found.rewind());
}

/// Starts function `name` (inputs, then weights, caches, their pages, kept rows and the ids that end them)
/// before @forward; maps @forward's weights and sets `states`, `pages`, `keptValues` and `ends`.
func::FuncOp GenerateStepBuilder::begin(StringRef name, Role role, ArrayRef<Port> inputs,
                                        IRMapping &mapping) {
  SmallVector<Port> ports(inputs);
  for (unsigned arg : weightArgs)
    ports.push_back(
        port(forward.getArgument(arg), Kind::Parameter, argText(forward, arg, kNameAttr).str(), 0));
  for (const Cache &cache : caches)
    ports.push_back(cachePort(builder, cache));
  bool paged = !caches.empty() && !pagesName.empty();
  if (paged)
    ports.push_back(found.pagesPort(builder, pagesName));
  llvm::append_range(ports, kept.ports());
  if (!kept.empty())
    ports.push_back(endTokens(builder, endsName, FillSource::EndTokens));
  SmallVector<Type> types = llvm::map_to_vector(ports, [](const Port &s) { return s.type; });
  SmallVector<DictionaryAttr> attrs =
      llvm::map_to_vector(ports, [&](const Port &s) { return s.attributes(builder); });

  builder.setInsertionPoint(forward);
  auto function = func::FuncOp::create(builder, forward.getLoc(), name, builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attrs);
  for (auto [i, cache] : llvm::enumerate(caches))
    if (cache.isInBlocks)
      function.setArgAttr(unsigned(inputs.size() + weightArgs.size() + i), kHeldAttr,
                          builder.getStringAttr(kCacheBlocks));
  // Each group of rows has its own.
  for (unsigned state = unsigned(inputs.size() + weightArgs.size()); isStage && state < ports.size(); ++state)
    function.setArgAttr(state, kSlotAttr, SlotAttr::get(builder.getContext(), Slot::Whole));
  function->setAttr(kRoleAttr, RoleAttr::get(builder.getContext(), role));
  if (isStage && role != Role::Logits)
    function->setAttr(kStagePartAttr, StagePartAttr::get(builder.getContext(), StagePart::Forward));
  Block *entry = function.addEntryBlock();
  for (auto [i, arg] : llvm::enumerate(weightArgs))
    mapping.map(forward.getArgument(arg), entry->getArgument(unsigned(inputs.size() + i)));
  auto firstState = entry->args_begin() + ptrdiff_t(inputs.size() + weightArgs.size());
  states.assign(firstState, firstState + ptrdiff_t(caches.size()));
  auto afterCaches = firstState + ptrdiff_t(caches.size());
  pages = paged ? Value(*afterCaches) : Value();
  keptValues.assign(afterCaches + (paged ? 1 : 0), entry->args_end());
  ends = kept.empty() ? Value() : keptValues.pop_back_val();
  builder.setInsertionPointToEnd(entry);
  return function;
}

/// Returns `values`, all caches and the kept rows.
void GenerateStepBuilder::end(func::FuncOp function, ArrayRef<Value> values, ArrayRef<Port> results) {
  SmallVector<Value> all(values);
  SmallVector<Port> ports(results);
  for (auto [cache, state] : llvm::zip(caches, states)) {
    all.push_back(state);
    ports.push_back({cache.type, Kind::State, cache.name, cache.dims});
  }
  for (auto [port, value] : llvm::zip_equal(kept.ports(), keptValues)) {
    all.push_back(value);
    ports.push_back({port.type, Kind::State, port.name, port.dims});
  }
  func::ReturnOp::create(builder, forward.getLoc(), all);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(all).getTypes()));
  function.setAllResultAttrs(
      llvm::map_to_vector(ports, [&](const Port &s) { return s.attributes(builder); }));
  for (auto [i, cache] : llvm::enumerate(caches))
    if (cache.isInBlocks)
      function.setResultAttr(unsigned(results.size() + i), kHeldAttr, builder.getStringAttr(kCacheBlocks));
  for (unsigned state = unsigned(results.size()); isStage && state < ports.size(); ++state)
    function.setResultAttr(state, kSlotAttr, SlotAttr::get(builder.getContext(), Slot::Whole));
}

SmallVector<Port> GenerateStepBuilder::resizedInputs(int64_t seq) {
  return llvm::map_to_vector(inputArgs, [&](unsigned arg) {
    Port input = port(forward.getArgument(arg), Kind::Input, argText(forward, arg, kNameAttr).str(), seq);
    input.fact = fill(forward.getArgAttrOfType<FillAttr>(arg, kFillAttr));
    return input;
  });
}

void GenerateStepBuilder::mapInputs(Block &entry, IRMapping &mapping) {
  for (auto [i, arg] : llvm::enumerate(inputArgs))
    mapping.map(forward.getArgument(arg), entry.getArgument(unsigned(i)));
}

/// Copies `op` to the insertion point, with `seq` and the batch at their new sizes.
Operation *GenerateStepBuilder::cloneResized(Operation &op, int64_t seq, IRMapping &mapping) {
  Operation *copy = builder.clone(op, mapping);
  auto retype = [&](Value value) { mapping.lookup(value).setType(positionWise.resized(value, batch, seq)); };
  op.walk([&](Operation *inner) {
    llvm::for_each(inner->getResults(), retype);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), retype);
  });
  return copy;
}

/// `operand` as a cache of `element` keeps it: rounded once, to nearest, ties to even.
static Value asKept(OpBuilder &builder, Value operand, Type element) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (type.getElementType() == element)
    return operand;
  return CastOp::create(builder, operand.getLoc(), type.clone(element), operand);
}

/// Points attention `cached` (its copy) to its caches: writes the new rows, reads the layer. What it reads of
/// its own chunk has been rounded like the rest: how a prompt is cut into chunks changes no key. `index`: of
/// the loop, or of the only layer.
void GenerateStepBuilder::cacheOperands(const CachedAttention &cached, Value index, IRMapping &mapping,
                                        MutableArrayRef<Value> current) {
  auto copy = cast<AttentionOp>(mapping.lookup(static_cast<Operation *>(cached.op)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(copy);
  auto find = [&](auto op) {
    if (!pages)
      return;
    op.getPagesMutable().assign(pages);
    op.setPage(uint64_t(found.page()));
  };
  // Keys and values of one attention have one type, also where only one of them is cached.
  int any = std::max(cached.keyCache, cached.valueCache);
  auto redirect = [&](int cache, OpOperand &operand) {
    if (any < 0)
      return;
    operand.set(asKept(builder, operand.get(), caches[unsigned(any)].type.getElementType()));
    if (cache < 0)
      return;
    Value &state = current[unsigned(cache)];
    Value layer = index;
    if (auto repeat = dyn_cast<RepeatOp>(cached.op->getParentOp()))
      layer = KeyValueCaches::layerIn(builder, caches[unsigned(cache)], index,
                                      cached.op->getParentRegion()->getRegionNumber(),
                                      unsigned(repeat.getBodies().size()));
    auto type = cast<RankedTensorType>(state.getType());
    Location loc = markPartOf(copy.getLoc(), "cache of attention");
    auto update = CacheUpdateOp::create(builder, loc, type, state, operand.get(), layer, copy.getPositions());
    find(update);
    update.setRing(caches[unsigned(cache)].isRing);
    if (caches[unsigned(cache)].isInBlocks)
      update->setAttr(kHeldAttr, builder.getStringAttr(kCacheBlocks));
    state = update;
    operand.set(LayerSliceOp::create(builder, loc, type.clone(type.getShape().drop_front()), state, layer));
  };
  redirect(cached.keyCache, copy.getKeyMutable());
  redirect(cached.valueCache, copy.getValueMutable());
  if (cached.keyCache < 0)
    return;
  find(copy);
  copy.setRing(caches[unsigned(cached.keyCache)].isRing);
}

/// Gives the copy of `original` the caches of its attentions as carried values.
void GenerateStepBuilder::cacheRepeat(RepeatOp original, IRMapping &mapping) {
  SmallVector<int> used; // numbers of caches
  for (const CachedAttention &cached : attentions)
    if (cached.op->getParentOp() == original)
      for (int cache : {cached.keyCache, cached.valueCache})
        if (cache >= 0 && !llvm::is_contained(used, cache))
          used.push_back(cache);
  if (used.empty())
    return;

  auto copy = cast<RepeatOp>(mapping.lookup(original.getOperation()));
  unsigned carried = copy.getInits().size();
  SmallVector<Value> inits(copy.getInits());
  for (int cache : used)
    inits.push_back(states[unsigned(cache)]);
  builder.setInsertionPoint(copy);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  llvm::append_range(types, copy.getCollected().getTypes());
  auto wider = RepeatOp::create(builder, copy.getLoc(), types, copy.getCount(), inits, copy.getStacks(),
                                unsigned(copy.getBodies().size()), copy.getReverse());
  for (unsigned body = 0; body < copy.getBodies().size(); ++body) {
    wider.getBodies()[body].takeBody(copy.getBodies()[body]);
    Block &block = wider.getBody(body);
    SmallVector<Value> current(caches.size());
    for (auto [i, cache] : llvm::enumerate(used))
      current[unsigned(cache)] =
          block.insertArgument(unsigned(1 + carried + i), states[unsigned(cache)].getType(), copy.getLoc());
    for (const CachedAttention &cached : attentions)
      if (cached.op->getBlock() == &original.getBody(body))
        cacheOperands(cached, wider.getIndex(body), mapping, current);
    for (auto [i, cache] : llvm::enumerate(used))
      block.getTerminator()->insertOperands(unsigned(carried + i), current[unsigned(cache)]);
  }
  for (unsigned i = 0; i < original.getNumResults(); ++i)
    mapping.map(original.getResult(i), wider.getResult(i < carried ? i : unsigned(i + used.size())));
  for (auto [i, cache] : llvm::enumerate(used))
    states[unsigned(cache)] = wider.getResult(unsigned(carried + i));
  copy.erase();
  builder.setInsertionPointAfter(wider);
}

/// Copies @forward's body with caches, with or without the tail.
void GenerateStepBuilder::cloneAll(int64_t seq, IRMapping &mapping, bool withTail) {
  Value first; // layer of caches outside of repeats
  for (Operation &op : forward.getBody().front().without_terminator()) {
    if (!withTail && tail.ops.contains(&op))
      continue;
    cloneResized(op, seq, mapping);
    if (auto repeat = dyn_cast<RepeatOp>(op))
      cacheRepeat(repeat, mapping);
    for (const CachedAttention &cached : attentions) {
      if (cached.op != &op || (cached.keyCache < 0 && cached.valueCache < 0))
        continue;
      if (!first) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(builder.getInsertionBlock());
        auto scalar = RankedTensorType::get({}, builder.getI32Type());
        first = ConstantOp::create(builder, op.getLoc(), scalar,
                                   DenseElementsAttr::get(scalar, builder.getI32IntegerAttr(0)));
      }
      cacheOperands(cached, first, mapping, states);
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// An entry for short prompts is worth its code where the other takes so many times as many positions.
constexpr int64_t kLongOfShort = 8;

struct BuildGenerateStep : graph::impl::BuildGenerateStepBase<BuildGenerateStep> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    if (!forward) {
      module.emitError() << "has no func @forward";
      return signalPassFailure();
    }
    DimNames names(module);
    PositionWise positionWise(forward, names);
    auto [forwardBatch, forwardSeq] = positionWise.sizes();
    if (forwardSeq == 0) {
      forward.emitError() << "has no argument with " << kDimsAttr << " [\"batch\", \"seq\"]";
      return signalPassFailure();
    }
    int64_t rows = batch == 0 ? forwardBatch : batch, context = maxSeqLen == 0 ? forwardSeq : maxSeqLen;
    int64_t largest = std::max<int64_t>(largestChunk, chunkTokens / std::max<int64_t>(rows, 1));
    int64_t piece = chunk == 0 ? std::min<int64_t>(largest, context) : chunk;
    if (rows < 1 || context < 1 || context > forwardSeq || piece < 1 || piece > context) {
      forward.emitError() << "cannot run with batch " << rows << ", max-seq-len " << context << " and chunk "
                          << piece << ": expected batch >= 1 and 1 <= chunk <= max-seq-len <= " << forwardSeq
                          << ", the size of 'seq'";
      return signalPassFailure();
    }
    bool hasShort = shortChunk > 0 && piece >= kLongOfShort * shortChunk && !forward->hasAttr(kStageAttr);
    SmallVector<StringRef> functions{"prefill", "decode", "head"};
    if (hasShort)
      functions.push_back("prefill_short");
    if (draws)
      functions.push_back("sample");
    for (StringRef name : functions)
      if (Operation *taken = module.lookupSymbol(name)) {
        emitError(taken->getLoc()) << "taken name (@" << name
                                   << "): a function of the step is called so; rename this "
                                   << taken->getName().stripDialect();
        return signalPassFailure();
      }
    bool inBlocks = cache == "q8_0";
    FloatType kept = inBlocks ? Float32Type::get(&getContext()) : floatTypeOf(&getContext(), cache);
    if (!kept && !cache.empty()) {
      forward.emitError() << "cannot keep keys and values in " << cache
                          << ": expected f32, bf16, f16 or q8_0";
      return signalPassFailure();
    }
    GenerateStepBuilder step(forward, names, rows, piece, {context, page, rings ? piece : 0, kept, inBlocks});
    if (failed(step.analyze()))
      return signalPassFailure();
    // A stage may have no layers; the model has.
    if (kept && !step.hasCaches() && !forward->hasAttr(kStageAttr)) {
      forward.emitError() << "keeps no keys and values, which a type of caches is for: no attention looks "
                             "back at earlier positions; leave the type out";
      return signalPassFailure();
    }
    module->setAttr(kGenerateAttr, step.sizes());
    step.buildPrefill("prefill", piece);
    if (hasShort)
      step.buildPrefill("prefill_short", shortChunk);
    step.buildDecode();
    if (step.hasLogits())
      step.buildHead();
    if (draws && step.hasLogits())
      step.buildDraw();
    forward.erase();
  }
};
} // namespace
