//===- BufferAssignment.cpp - which values share a buffer -------------------===//

#include "BufferAssignment.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;

namespace tessera::exec {

// Steps: op number n reads and writes at 2n (an op's operands and results are apart). A loop's carried values
// begin at 2n + 1 of the loop, its results at 2n + 1 of its yield, so that they can take over the places of
// the initial and of the yielded values.

static bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

Value wholeOf(Value value) {
  while (auto view = value.getDefiningOp<ExecViewOpInterface>()) {
    if (view.getViewedLayer() || arrayBytes(value.getType()) != arrayBytes(view.getViewed().getType()))
      break;
    value = view.getViewed();
  }
  return value;
}

BufferAssignment::BufferAssignment(func::FuncOp func, ArrayRef<int64_t> argumentOffsets,
                                   ArrayRef<bool> writable, ArrayRef<int64_t> resultOffsets,
                                   const NeededUntil &neededUntil, const MadeInParameters &madeInParameters)
    : func(func), neededUntil(neededUntil), madeInParameters(madeInParameters) {
  Block &body = func.getBody().front();
  numberOps(body);
  for (auto [arg, offset, mayWrite] : llvm::zip_equal(body.getArguments(), argumentOffsets, writable)) {
    Node &node = nodes[add(arg, -1)];
    node.offset = offset;
    node.readOnly = !mayWrite;
  }
  addValues(body);
  coalesce(body);
  // Results: the place of the output, if the value can be made there. The returns come last in time, so loops
  // and updates keep what they found.
  Operation *ret = body.getTerminator();
  for (auto [returned, offset] : llvm::zip_equal(ret->getOperands(), resultOffsets)) {
    Value value = wholeOf(returned);
    if (!hasStorage(value))
      continue;
    Node &node = nodes[storage(value)];
    if (node.offset >= 0)
      continue;
    // A state that nobody reads any more when its new value is made: that is made in its place.
    bool inPlace = false;
    for (auto [arg, argOffset] : llvm::zip_equal(body.getArguments(), argumentOffsets))
      inPlace |= argOffset == offset && argOffset >= 0 && unify(arg, value);
    if (inPlace)
      continue;
    // Another value in that place would have to be dead by then: outputs are written once, so only a second
    // claim can collide.
    bool taken = llvm::any_of(nodes, [&, offset = offset](const Node &other) {
      return &other != &node && other.parent == int(&other - nodes.data()) && other.offset == offset;
    });
    if (!taken)
      node.offset = offset;
  }
  placeInLayers(body);
}

void BufferAssignment::numberOps(Block &block) {
  for (Operation &op : block) {
    stepOf[&op] = 2 * steps++;
    if (auto loop = dyn_cast<ForOp>(op)) {
      numberOps(loop.getBody().front());
      endOf[&op] = stepOf[loop.getYield()];
    }
  }
}

int64_t BufferAssignment::lastUse(Value value, int64_t first) {
  int64_t last = first;
  if (Operation *until = neededUntil.lookup(value))
    last = std::max(last, endOf.count(until) ? endOf[until] + 1 : stepOf[until]);
  Block *home = value.getParentBlock();
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner(), *here = home->findAncestorOpInBlock(*user);
    // Used inside a loop that it comes from outside of: needed in every iteration.
    last = std::max(last, here == user ? stepOf[user] : endOf[here] + 1);
    if (isa<ExecViewOpInterface>(user)) {
      Value view = user->getResult(0);
      int64_t viewLast = lastUse(view, stepOf[user]);
      if (here != user)
        viewLast = std::max(viewLast, endOf[here] + 1);
      last = std::max(last, viewLast);
    }
  }
  return last;
}

int64_t BufferAssignment::firstUse(Value value) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (Operation *user : value.getUsers()) {
    Operation *here = value.getParentBlock()->findAncestorOpInBlock(*user);
    first = std::min(first, here == user && isa<ExecViewOpInterface>(user) ? firstUse(user->getResult(0))
                                                                           : stepOf[here]);
  }
  return first;
}

int BufferAssignment::add(Value value, int64_t first) {
  int number = int(nodes.size());
  Node node;
  node.parent = number;
  node.ranges.push_back({first, lastUse(value, first)});
  node.type = value.getType();
  nodes.push_back(node);
  numberOf[value] = number;
  return number;
}

void BufferAssignment::addValues(Block &block) {
  for (Operation &op : block) {
    if (isa<tensor::EmptyOp, ParamOp, ExecViewOpInterface>(op))
      continue; // fresh outputs are placed with the result; the others are no storage of their own
    if (auto loop = dyn_cast<ForOp>(op)) {
      for (BlockArgument arg : loop.getCarried())
        add(arg, stepOf[&op] + 1);
      addValues(loop.getBody().front());
      for (Value result : loop.getResults())
        add(result, endOf[&op] + 1);
      continue;
    }
    for (Value result : op.getResults())
      if (isTensor(result) && !madeInParameters.contains(result))
        add(result, stepOf[&op]);
  }
}

int BufferAssignment::find(int node) {
  while (nodes[node].parent != node)
    node = nodes[node].parent = nodes[nodes[node].parent].parent;
  return node;
}

/// Other shapes of the same elements are views of one array.
static bool isSameArray(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getElementType() == y.getElementType() && x.getNumElements() == y.getNumElements();
}

bool BufferAssignment::unify(Value a, Value b, int64_t touching) {
  a = wholeOf(a), b = wholeOf(b);
  if (!hasStorage(a) || !hasStorage(b))
    return false;
  int x = storage(a), y = storage(b);
  if (x == y)
    return true;
  Node &p = nodes[x], &q = nodes[y];
  if (!isSameArray(p.type, q.type) || p.readOnly || q.readOnly || (p.offset >= 0 && q.offset >= 0))
    return false;
  for (const LiveRange &r : p.ranges)
    for (const LiveRange &s : q.ranges)
      if (r.overlaps(s) && !(r.last == touching && s.first == touching) &&
          !(s.last == touching && r.first == touching))
        return false;
  p.ranges.append(q.ranges);
  p.offset = std::max(p.offset, q.offset);
  q.parent = x;
  p.shared = true;
  return true;
}

bool BufferAssignment::isReadBeside(OpOperand &output) {
  return llvm::any_of(output.getOwner()->getOpOperands(), [&](OpOperand &other) {
    return &other != &output && isTensor(other.get()) && rootOf(other.get()) == rootOf(output.get());
  });
}

/// It is to be made there, not in the place of an addend.
static bool isCopiedIntoLayer(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    auto launch = dyn_cast<LaunchOp>(user);
    return (launch && launch.getCopies()) || (isa<ReshapeOp>(user) && isCopiedIntoLayer(user->getResult(0)));
  });
}

void BufferAssignment::coalesce(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<ForOp>(op)) {
      // Around the loop first: a carried cache is the state itself.
      for (auto [init, arg, result] :
           llvm::zip_equal(loop.getInits(), loop.getCarried(), loop.getResults())) {
        unify(arg, result);
        unify(arg, init);
      }
      coalesce(loop.getBody().front());
      for (auto [arg, next] : llvm::zip_equal(loop.getCarried(), loop.getYield()->getOperands()))
        unify(arg, next);
      continue;
    }
    auto destination = dyn_cast<DestinationStyleOpInterface>(op);
    if (!destination || !isa<ExecDialect>(op.getDialect()))
      continue;
    for (auto [out, result] : llvm::zip_equal(destination.getDpsInitsMutable(), op.getResults()))
      if (!out.get().getDefiningOp<tensor::EmptyOp>() && !isReadBeside(out))
        unify(out.get(), result, stepOf[&op]);
    if (auto collective = dyn_cast<CollectiveOp>(op);
        collective && collective.getKind() == CollectiveKind::AllReduce)
      unify(collective.getInput(), collective.getResults()[0], stepOf[&op]);
    if (auto matmul = dyn_cast<MatmulOp>(op); matmul && matmul.getAddend() &&
                                              !isReadBeside(*matmul.getAddendMutable().begin()) &&
                                              !isCopiedIntoLayer(matmul.getResults()[0]))
      unify(matmul.getAddend(), matmul.getResults()[0], stepOf[&op]);
  }
}

/// What is copied into a layer of a stack is made there, in loops and beside them.
void BufferAssignment::placeInLayers(Block &block) {
  for (Operation &op : block)
    if (auto loop = dyn_cast<ForOp>(op))
      placeInLayers(loop.getBody().front());
  for (auto copy : block.getOps<LaunchOp>())
    if (copy.getCopies() && placeInLayer(copy))
      inPlace.insert(copy);
}

/// Whether `value` is the old content of the layer that `copy` writes.
static bool isLayerOf(Value value, LaunchOp copy) {
  auto layer = wholeOf(value).getDefiningOp<LayerOp>();
  return layer && layer.getStack() == copy.getOutputs()[0] && layer.getIndex() == copy.getScalars().front();
}

bool BufferAssignment::placeInLayer(LaunchOp copy) {
  // All of what some op of the same body makes afresh.
  Value made = wholeOf(copy.getInputs().front());
  auto maker = made.getDefiningOp<DestinationStyleOpInterface>();
  if (!maker || !isa<ExecDialect>(maker->getDialect()) || maker->getBlock() != copy->getBlock() ||
      !hasStorage(made))
    return false;
  OpOperand *fresh = maker.getTiedOpOperand(cast<OpResult>(made));
  bool updates = isLayerOf(fresh->get(), copy);
  Node &node = nodes[storage(made)];
  Value stack = copy.getResults()[0], index = copy.getScalars().front();
  if ((!fresh->get().getDefiningOp<tensor::EmptyOp>() && !updates) || node.shared || node.offset >= 0 ||
      node.layer)
    return false;
  if (Value old = copy.getOutputs()[0];
      !old.getDefiningOp<tensor::EmptyOp>() && (!hasStorage(old) || storage(old) != storage(stack)))
    return false;
  // The view is made where the value is.
  Operation *number = index.getDefiningOp();
  if (number && number->getBlock() == maker->getBlock() && maker->isBeforeInBlock(number))
    return false;
  if (!isFreeUntil(storage(stack), index, maker, copy))
    return false;
  // A stack that begins with this layer begins earlier, and one that nobody reads ends with the layer's
  // readers, before whom nothing else may stand there.
  int64_t last = stepOf[copy];
  for (const LiveRange &range : node.ranges)
    last = std::max(last, range.last);
  if (isMadeAnew(storage(stack), index, stepOf[copy], last) ||
      isReadFrom(storage(stack), index, stepOf[maker]))
    return false;
  nodes[storage(stack)].reserved.push_back({stepOf[maker], last});
  node.layer = Layer{stack, index};
  return true;
}

/// Whether layer `index` of the storage `stack` is made anew behind step `first`, up to `last`.
bool BufferAssignment::isMadeAnew(int stack, Value index, int64_t first, int64_t last) {
  return llvm::any_of(numberOf, [&](auto entry) {
    Operation *made = entry.first.getDefiningOp();
    if (!made || find(entry.second) != stack || stepOf.lookup(made) <= first || stepOf.lookup(made) > last)
      return false;
    auto launch = dyn_cast<LaunchOp>(made);
    return !launch || !launch.getCopies() || launch.getScalars().front() == index;
  });
}

/// Whether another value that was made in layer `index` of the storage `stack` is read at step `first` or
/// later.
bool BufferAssignment::isReadFrom(int stack, Value index, int64_t first) {
  return llvm::any_of(nodes, [&](const Node &node) {
    return node.layer && node.layer->index == index && storage(node.layer->stack) == stack &&
           llvm::any_of(node.ranges, [&](const LiveRange &range) { return range.last >= first; });
  });
}

/// Whether `op`, or who reads what is only a view, stands before `first` or behind `last` in their block.
static bool isOutside(Operation *op, Operation *first, Operation *last) {
  Operation *here = first->getBlock()->findAncestorOpInBlock(*op);
  if (here && !here->isBeforeInBlock(first) && !last->isBeforeInBlock(here) &&
      !isa<ExecViewOpInterface>(here))
    return false;
  return !isa<ExecViewOpInterface>(op) ||
         llvm::all_of(op->getUsers(), [&](Operation *reader) { return isOutside(reader, first, last); });
}

/// Whether layer `index` of the storage `stack` may be written from `maker` on although the program does so
/// at `copy`: between them nothing else of their block looks at it, or makes all of it, but `maker`, which
/// may add to what is there.
bool BufferAssignment::isFreeUntil(int stack, Value index, Operation *maker, LaunchOp copy) {
  for (auto [value, number] : numberOf) {
    if (find(number) != stack)
      continue;
    Operation *made = value.getDefiningOp();
    if (auto launch = dyn_cast_or_null<LaunchOp>(made); made && made->getBlock() == copy->getBlock() &&
                                                        !isOutside(made, maker, copy) &&
                                                        !(launch && launch.getCopies()))
      return false;
    for (Operation *user : value.getUsers()) {
      Operation *here = copy->getBlock()->findAncestorOpInBlock(*user);
      if (!here || here->hasTrait<OpTrait::IsTerminator>() || isOutside(user, maker, copy))
        continue;
      if (auto other = dyn_cast<LaunchOp>(here);
          other && other.getCopies() && !llvm::is_contained(other.getInputs(), value))
        continue; // each into a layer of its own
      auto view = dyn_cast<LayerOp>(here);
      if (!view || view.getIndex() != index)
        return false;
      for (Operation *reader : view->getUsers()) {
        Operation *at = copy->getBlock()->findAncestorOpInBlock(*reader);
        if (isOutside(reader, maker, copy))
          continue;
        if (at != maker)
          return false;
        auto product = dyn_cast<MatmulOp>(at);
        bool adds = product && product.getAddend() == view.getResult();
        auto launch = dyn_cast<LaunchOp>(at);
        bool updates = launch && llvm::is_contained(launch.getOutputs(), view.getResult());
        if (!((adds || updates) && llvm::count(at->getOperands(), view.getResult()) == 1))
          return false;
      }
    }
  }
  return true;
}

void BufferAssignment::letCommunicationRunBeside(Block &block, int64_t begin) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<ForOp>(op)) {
      letCommunicationRunBeside(loop.getBody().front(), stepOf[&op] + 1);
      begin = endOf[&op] + 1;
      continue;
    }
    auto exchange = dyn_cast<ExecAccessOpInterface>(op);
    if (!exchange || !exchange.isNeededElsewhere())
      continue;
    int64_t needed = stepOf[&op];
    for (Value result : op.getResults())
      needed = std::max(needed, std::min(firstUse(result), steps));
    auto destination = cast<DestinationStyleOpInterface>(op);
    for (Value input : destination.getDpsInputs()) {
      Value root = isTensor(input) ? rootOf(input) : Value();
      if (!root || !hasStorage(root))
        continue; // a parameter: it is always there
      Node &taken = nodes[storage(root)];
      taken.reserved.push_back({stepOf[&op], needed});
      if (Operation *maker = root.getDefiningOp(); maker && maker->getBlock() == &block)
        begin = std::max(begin, stepOf[maker]);
    }
    for (Value result : op.getResults())
      if (hasStorage(result))
        nodes[storage(result)].reserved.push_back({begin, stepOf[&op]});
    begin = stepOf[&op];
  }
}

int64_t BufferAssignment::place(int64_t base) {
  SmallVector<BufferRequest> requests;
  SmallVector<int> owners;
  for (int i = 0; i < int(nodes.size()); ++i) {
    Node &node = nodes[i];
    if (node.parent != i || node.offset >= 0 || node.layer)
      continue;
    BufferRequest request{arrayBytes(node.type), node.ranges.front().first, node.ranges.front().last};
    for (const LiveRange &range : node.ranges) {
      request.first = std::min(request.first, range.first);
      request.last = std::max(request.last, range.last);
    }
    for (const LiveRange &range : node.reserved) {
      request.first = std::min(request.first, range.first);
      request.last = std::max(request.last, range.last);
    }
    requests.push_back(request);
    owners.push_back(i);
  }
  ArenaPlan plan = planArena(requests, kBufferAlignment);
  for (auto [owner, offset] : llvm::zip_equal(owners, plan.offsets))
    nodes[owner].offset = base + offset;
  return base + plan.bytes;
}

} // namespace tessera::exec
