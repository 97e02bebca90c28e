//===- NeuralOps.cpp - Verifiers of the layers of transformers ------------===//
#include "Detail.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

/// `[1.0, 0.25]`, every number with the digits it takes to read the same one back (the usual form keeps six).
static void printExactNumbers(OpAsmPrinter &printer, Operation *, DenseF64ArrayAttr numbers) {
  printer << "[";
  llvm::interleaveComma(numbers.asArrayRef(), printer,
                        [&](double number) { printer.printFloat(APFloat(number)); });
  printer << "]";
}
static ParseResult parseExactNumbers(OpAsmParser &parser, DenseF64ArrayAttr &numbers) {
  SmallVector<double> values;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     [&]() { return parser.parseFloat(values.emplace_back()); }))
    return failure();
  numbers = parser.getBuilder().getDenseF64ArrayAttr(values);
  return success();
}

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphNeuralOps.cpp.inc"

LogicalResult EmbeddingOp::verify() {
  NamedValue table{"table", getTable()}, ids{"ids", getIds()}, result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(expectSameElements(*this, table, result)))
    return failure();
  int64_t rank = rankOf(getTable()), n = rankOf(getIds());
  if (rank < 2)
    return emitOpError() << "table has " << rank << " dimensions, expected 2 or more";
  if (failed(expectRank(*this, result, n + rank - 1)) || failed(expectSameSizes(*this, ids, 0, result, 0, n)))
    return failure();
  return expectSameSizes(*this, table, 1, result, n, rank - 1);
}

/// `result` holds sums of elements of `terms`: float32 at least.
static LogicalResult expectWideElements(Operation *op, NamedValue result, NamedValue terms) {
  Type element = typeOf(terms.value).getElementType(), have = typeOf(result.value).getElementType();
  Type wide = element.getIntOrFloatBitWidth() < 32 ? Type(Float32Type::get(op->getContext())) : element;
  if (have == wide)
    return success();
  return op->emitOpError() << result.name << " has element type " << have << ", expected " << wide << " for "
                           << terms.name << " of " << element;
}

LogicalResult ScatterAddOp::verify() {
  NamedValue rows{"rows", getRows()}, ids{"ids", getIds()}, result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(expectWideElements(*this, result, rows)))
    return failure();
  int64_t n = rankOf(getIds()), rank = rankOf(getResult());
  if (rank < 2)
    return emitOpError() << "result has " << rank << " dimensions, expected 2 or more";
  if (failed(expectRank(*this, rows, n + rank - 1)) || failed(expectSameSizes(*this, ids, 0, rows, 0, n)))
    return failure();
  return expectSameSizes(*this, result, 1, rows, n, rank - 1);
}

/// Sums are kept in float32, in float64 where everything is.
static LogicalResult expectAllOrNoneF64(Operation *op, ArrayRef<NamedValue> values) {
  if (llvm::none_of(values, [](NamedValue v) { return typeOf(v.value).getElementType().isF64(); }))
    return success();
  for (NamedValue other : values.drop_front())
    if (failed(expectSameElements(op, values[0], other)))
      return failure();
  return success();
}

/// Computed in float32 whatever the elements are: float64 would lose what it is there for.
static LogicalResult expectNoF64(Operation *op, NamedValue value) {
  if (!typeOf(value.value).getElementType().isF64())
    return success();
  return op->emitOpError() << value.name << " is f64, and this op computes in float32; cast it before";
}

LogicalResult LinearOp::verify() {
  NamedValue input{"input", getInput()}, weight{"weight", getWeight()}, result{"result", getResult()};
  if (failed(verifyTensors(*this)))
    return failure();
  if (failed(expectAllOrNoneF64(*this, {input, weight, result})))
    return failure();
  int64_t contract = int64_t(getContract()), ni = rankOf(getInput()), nw = rankOf(getWeight());
  if (contract < 1 || contract > ni || contract > nw)
    return emitOpError() << "contracts " << contract << " dimensions of an input with " << ni
                         << " and a weight with " << nw;
  if (failed(expectSameSizes(*this, input, ni - contract, weight, nw - contract, contract)) ||
      failed(expectRank(*this, result, ni + nw - 2 * contract)) ||
      failed(expectSameSizes(*this, input, 0, result, 0, ni - contract)))
    return failure();
  return expectSameSizes(*this, weight, 0, result, ni - contract, nw - contract);
}

std::string EinsumOp::getSummedLetters() {
  std::string summed;
  for (char letter : getLhsLetters())
    if (!getResultLetters().contains(letter))
      summed += letter;
  return summed;
}

LogicalResult EinsumOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  StringRef letters[] = {getLhsLetters(), getRhsLetters(), getResultLetters()};
  NamedValue tensors[] = {{"lhs", getLhs()}, {"rhs", getRhs()}, {"result", getResult()}};
  std::map<char, std::pair<int, int64_t>> seen; // tensor and dimension in which a letter stands first
  std::map<char, int> count;
  for (auto [i, text] : llvm::enumerate(letters)) {
    if (failed(expectRank(*this, tensors[i], int64_t(text.size()))))
      return failure();
    for (auto [d, letter] : llvm::enumerate(text)) {
      if (letter < 'a' || letter > 'z')
        return emitOpError() << "subscripts \"" << getSubscripts()
                             << "\" are not of the form \"ab,bc->ac\", small letters only";
      if (text.find(letter, d + 1) != StringRef::npos)
        return emitOpError() << "has '" << letter << "' twice in " << tensors[i].name;
      auto [it, isNew] = seen.try_emplace(letter, int(i), int64_t(d));
      if (!isNew &&
          failed(expectSameSize(*this, tensors[i], int64_t(d), tensors[it->second.first], it->second.second)))
        return failure();
      ++count[letter];
    }
  }
  for (auto [letter, times] : count)
    if (times < 2)
      return emitOpError() << "has '" << letter << "' in " << tensors[seen[letter].first].name
                           << " alone; a letter stands in two tensors or three";
  return expectAllOrNoneF64(*this, tensors);
}

/// `result` is shaped as `input`, and every one of `vectors` as its last `rowRank` dimensions.
static LogicalResult verifyNorm(Operation *op, NamedValue input, ArrayRef<NamedValue> vectors,
                                int64_t rowRank, NamedValue result, const APFloat &eps) {
  int64_t rank = rankOf(input.value);
  if (failed(verifyTensors(op)) || failed(expectSameElements(op, input, result)))
    return failure();
  if (rank < 1)
    return op->emitOpError() << "input has no dimension to normalise over";
  if (failed(expectRank(op, result, rank)) || failed(expectSameSizes(op, input, 0, result, 0, rank)))
    return failure();
  if (rowRank < 1 || rowRank > rank)
    return op->emitOpError() << "weight has " << rowRank << " dimensions, expected 1 to " << rank
                             << ": the last ones of input";
  for (NamedValue vector : vectors)
    if (failed(expectRank(op, vector, rowRank)) ||
        failed(expectSameSizes(op, vector, 0, input, rank - rowRank, rowRank)) ||
        failed(expectAllOrNoneF64(op, {input, vector})))
      return failure();
  if (!eps.isFinite() || eps.isNegative())
    return op->emitOpError() << "eps must be finite and not negative";
  return success();
}

LogicalResult RmsNormOp::verify() {
  return verifyNorm(*this, {"input", getInput()}, {{"weight", getWeight()}}, rankOf(getWeight()),
                    {"result", getResult()}, getEps());
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, {"input", getInput()}, {{"weight", getWeight()}, {"bias", getBias()}},
                    /*rowRank=*/1, {"result", getResult()}, getEps());
}

LogicalResult SoftmaxOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  if (rankOf(getInput()) < 1)
    return emitOpError() << "input has no dimension to normalise over";
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  NamedValue logits{"logits", getLogits()}, labels{"labels", getLabels()};
  int64_t rank = rankOf(getLogits());
  if (failed(verifyTensors(*this)))
    return failure();
  if (rank < 1)
    return emitOpError() << "logits have no dimension to choose from";
  if (failed(expectRank(*this, labels, rank - 1)) ||
      failed(expectSameSizes(*this, labels, 0, logits, 0, rank - 1)))
    return failure();
  for (NamedValue result : {NamedValue{"loss", getLoss()}, NamedValue{"log_sum_exp", getLogSumExp()}}) {
    if (failed(expectRank(*this, result, rank - 1)) ||
        failed(expectSameSizes(*this, result, 0, logits, 0, rank - 1)) ||
        failed(expectWideElements(*this, result, logits)))
      return failure();
  }
  return success();
}

LogicalResult RopeOp::verify() {
  NamedValue input{"input", getInput()}, positions{"positions", getPositions()},
      result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(expectSameElements(*this, input, result)) ||
      failed(expectNoF64(*this, input)))
    return failure();
  int64_t rank = rankOf(getInput());
  if (rank < 3)
    return emitOpError() << "input has " << rank
                         << " dimensions, expected 3 or more (batch, sequence, ..., rotated)";
  if (failed(expectRank(*this, positions, 2)) || failed(expectSameSizes(*this, positions, 0, input, 0, 2)) ||
      failed(expectRank(*this, result, rank)) || failed(expectSameSizes(*this, input, 0, result, 0, rank)))
    return failure();
  int64_t pairs = int64_t(getFrequencies().size());
  if (pairs < 1 || 2 * pairs > sizeOf(getInput(), rank - 1))
    return emitOpError() << "has " << pairs << " frequencies for " << sizeOf(getInput(), rank - 1)
                         << " elements; a frequency turns two";
  for (double frequency : getFrequencies())
    if (!std::isfinite(frequency))
      return emitOpError() << "has a frequency that is not finite";
  return success();
}

LogicalResult inner::verifyAttentionOperands(Operation *op, ValueRange operands, APFloat scale,
                                             std::optional<uint64_t> window, std::optional<APFloat> softcap) {
  NamedValue q{"query", operands[0]}, k{"key", operands[1]}, v{"value", operands[2]},
      positions{"positions", operands[3]};
  if (failed(expectRank(op, q, 5)) || failed(expectRank(op, k, 4)) || failed(expectRank(op, v, 4)) ||
      failed(expectSameElements(op, k, v)) || failed(expectNoF64(op, q)) || failed(expectNoF64(op, k)))
    return failure();
  // With a third dimension the last key in sight, and the first.
  if (bool ranges = rankOf(positions.value) == 3; failed(expectRank(op, positions, ranges ? 3 : 2)))
    return failure();
  else if (ranges && sizeOf(positions.value, 2) != 2)
    return op->emitOpError() << "positions have " << sizeOf(positions.value, 2)
                             << " numbers for a query, expected 2: the last key and the first";
  // batch, kv_heads and head_dim of q and k; context of k and v; batch and kv_heads of v.
  if (failed(expectSameSize(op, k, 0, q, 0)) || failed(expectSameSize(op, k, 2, q, 2)) ||
      failed(expectSameSize(op, k, 3, q, 4)) || failed(expectSameSizes(op, v, 0, k, 0, 3)) ||
      failed(expectSameSizes(op, positions, 0, q, 0, 2)))
    return failure();
  if (!scale.isFinite())
    return op->emitOpError() << "scale must be finite";
  if (window && int64_t(*window) < 1)
    return op->emitOpError() << "window is " << int64_t(*window) << ", expected 1 or more";
  if (softcap && !(softcap->isFiniteNonZero() && !softcap->isNegative()))
    return op->emitOpError() << "softcap must be finite and positive";
  return success();
}

/// `pages` [batch, n] of `page` positions each, which are all of dimension `dim` of operand number `operand`.
static LogicalResult verifyPages(Operation *op, Value pages, std::optional<uint64_t> page, NamedValue batched,
                                 int operand, int dim) {
  if (bool(pages) != page.has_value())
    return op->emitOpError() << "needs both a table of pages and how many positions a page has, or neither";
  if (!pages)
    return success();
  NamedValue table{"pages", pages};
  if (failed(expectRank(op, table, 2)) || failed(expectSameSize(op, table, 0, batched, 0)))
    return failure();
  RuleBuilder sizes(op);
  int64_t context = sizes.size(operandDim(operand, dim)),
          count = sizes.size(operandDim(/*tensor=*/4, 1)); // of both ops that have a table
  // A page that is too large would overflow the product.
  if (int64_t(*page) < 1 || int64_t(*page) > context || count * int64_t(*page) != context)
    return op->emitOpError() << "has " << count << " pages of " << int64_t(*page)
                             << " positions for a context of " << context;
  return success();
}

LogicalResult inner::verifyDropped(Operation *op, NamedValue query, Value keys, Value share) {
  if (bool(keys) != bool(share))
    return op->emitOpError() << "needs both keys of rows and a probability to drop weights, or neither";
  if (!keys)
    return success();
  NamedValue rows{"drop_keys", keys};
  if (failed(expectRank(op, rows, 4)) || failed(expectSameSizes(op, rows, 0, query, 0, 4)))
    return failure();
  return expectRank(op, {"drop_share", share}, 0);
}

/// `sinks` [kv_heads, group] of a `query`.
static LogicalResult verifySinks(Operation *op, NamedValue query, Value sinks) {
  if (!sinks)
    return success();
  NamedValue named{"sinks", sinks};
  if (failed(expectRank(op, named, 2)) || failed(expectNoF64(op, named)))
    return failure();
  return expectSameSizes(op, named, 0, query, 2, 2);
}

/// What keys in a ring exclude, and that no key in sight has another one in its place.
static LogicalResult verifyRing(AttentionOp op) {
  if (!op.getRing())
    return success();
  if (op.getPages() || op.getDropKeys() || rankOf(op.getPositions()) != 2)
    return op.emitOpError()
           << "has keys in a ring: it takes positions [batch, seq], no pages, and drops nothing";
  int64_t context = RuleBuilder(op).size(operandDim(1, 1));
  if (!op.getWindow() || int64_t(*op.getWindow()) > context)
    return op.emitOpError() << "has keys in a ring of " << context
                            << " positions and needs a window of so many at most";
  return success();
}

LogicalResult AttentionOp::verify() {
  NamedValue q{"query", getQuery()}, v{"value", getValue()}, result{"result", getResult()};
  if (getPages() && getDropKeys())
    return emitOpError() << "drops weights of keys that a table finds: what has pages is not trained";
  if (failed(verifyTensors(*this)) || failed(verifyDropped(*this, q, getDropKeys(), getDropShare())) ||
      failed(verifyAttentionOperands(*this, getOperands(), getScale(), getWindow(), getSoftcap())) ||
      failed(expectRank(*this, result, 5)) || failed(expectSameElements(*this, q, result)) ||
      failed(expectSameSizes(*this, result, 0, q, 0, 4)) || failed(expectSameSize(*this, result, 4, v, 3)) ||
      failed(verifyPages(*this, getPages(), getPage(), q, 1, 1)) || failed(verifyRing(*this)) ||
      failed(verifySinks(*this, q, getSinks())))
    return failure();
  if (!getLogSumExp())
    return success();
  NamedValue logSumExp{"log_sum_exp", getLogSumExp()};
  if (failed(expectRank(*this, logSumExp, 4)))
    return failure();
  return expectSameSizes(*this, logSumExp, 0, q, 0, 4);
}

// Key and value.
SmallVector<unsigned, 2> AttentionOp::getContextOperands() { return {1, 2}; }
OpOperand *AttentionOp::getSeenOperand() { return getPages() ? nullptr : &getPositionsMutable(); }

LogicalResult CacheUpdateOp::verify() {
  NamedValue cache{"cache", getCache()}, update{"update", getUpdate()},
      positions{"positions", getPositions()};
  if (failed(verifyTensors(*this)) || failed(expectRank(*this, cache, 5)) ||
      failed(expectRank(*this, update, 4)) || failed(expectRank(*this, {"index", getIndex()}, 0)) ||
      failed(expectRank(*this, positions, 2)) || failed(expectSameElements(*this, update, cache)))
    return failure();
  if (failed(expectSameSize(*this, update, 0, cache, 1)) ||
      failed(expectSameSizes(*this, update, 2, cache, 3, 2)) ||
      failed(expectSameSizes(*this, positions, 0, update, 0, 2)) ||
      failed(verifyPages(*this, getPages(), getPage(), update, 0, 2)))
    return failure();
  if (getResult().getType() != getCache().getType())
    return emitOpError() << "result has another type than the cache: " << getResult().getType();
  if (!getRing())
    return success();
  RuleBuilder sizes(*this);
  int64_t context = sizes.size(operandDim(0, 2)), rows = sizes.size(operandDim(1, 1));
  if (getPages() || rows > context)
    return emitOpError() << "writes " << rows << " positions into a ring of " << context
                         << ": expected as many at most, and no pages";
  return success();
}

LogicalResult ArgMaxKeyOp::verify() {
  NamedValue input{"input", getInput()}, result{"result", getResult()};
  int64_t rank = rankOf(getInput());
  if (failed(verifyTensors(*this)))
    return failure();
  if (rank < 1)
    return emitOpError() << "input has no dimension to search";
  if (getElementTypeOrSelf(getInput().getType()).isF64())
    return emitOpError() << "input is f64: keys hold float32; cast it before";
  if (failed(expectRank(*this, result, rank - 1)))
    return failure();
  return expectSameSizes(*this, input, 0, result, 0, rank - 1);
}

LogicalResult ArgMaxIndexOp::verify() {
  NamedValue key{"key", getKey()}, result{"result", getResult()};
  if (failed(verifyTensors(*this)) || failed(expectRank(*this, result, rankOf(getKey()))))
    return failure();
  return expectSameSizes(*this, key, 0, result, 0, rankOf(getKey()));
}
