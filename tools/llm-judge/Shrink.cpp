//===- Shrink.cpp - The smallest program that fails the same way ----------===//
//
// Edits are tried one after another, each on a copy; the copy that still fails the same way replaces the
// program. An edit is asked for its i-th place until it has no more.
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;
using namespace tessera;

static constexpr llvm::StringLiteral kShardingAttr = "dist.sharding";

namespace {
enum class EditResult { Done, Impossible, Edited }; ///< no i-th place; nothing to do there; edited
using Edit = EditResult (*)(OwningOpRef<ModuleOp> &, size_t);
} // namespace

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

template <typename T> static SmallVector<T> collect(ModuleOp module) {
  SmallVector<T> found;
  module.walk([&](T op) { found.push_back(op); });
  return found;
}

static Value addArgument(func::FuncOp func, Type type, Location loc) {
  static unsigned number = 0;
  Builder b(func.getContext());
  SmallVector<NamedAttribute> attrs = {
      {b.getStringAttr(graph::kKindAttr), graph::KindAttr::get(b.getContext(), graph::Kind::Input)},
      {b.getStringAttr(graph::kNameAttr), b.getStringAttr("cut" + std::to_string(number++))}};
  unsigned at = func.getNumArguments();
  (void)func.insertArgument(at, type, b.getDictionaryAttr(attrs), loc);
  return func.getArgument(at);
}

static void setSignature(func::FuncOp func) {
  Operation *end = func.front().getTerminator();
  func.setType(FunctionType::get(func.getContext(), func.front().getArgumentTypes(), end->getOperandTypes()));
}

/// Ops, arguments and stacks that nobody reads.
static void sweep(ModuleOp module) {
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (isOpTriviallyDead(op)) {
        op->erase();
        changed = true;
        break; // its regions' ops are gone too
      }
  }
  for (auto repeat : collect<graph::RepeatOp>(module))
    for (size_t s = repeat.getStacks().size(); s-- > 0;) {
      auto isUnused = [&](Region &body) {
        return body.front().getArgument(unsigned(1 + repeat.getInits().size() + s)).use_empty();
      };
      if (!llvm::all_of(repeat.getBodies(), isUnused))
        continue;
      for (Region &body : repeat.getBodies())
        body.front().eraseArgument(unsigned(1 + repeat.getInits().size() + s));
      repeat.getStacksMutable().erase(unsigned(s));
    }
  for (auto func : module.getOps<func::FuncOp>())
    for (unsigned i = func.getNumArguments(); i-- > 0;)
      if (func.getArgument(i).use_empty())
        (void)func.eraseArgument(i);
}

//===----------------------------------------------------------------------===//
// Edits of the program
//===----------------------------------------------------------------------===//

static EditResult dropFunction(OwningOpRef<ModuleOp> &module, size_t i) {
  auto funcs = llvm::to_vector(module->getOps<func::FuncOp>());
  if (i >= funcs.size() || funcs.size() < 2)
    return EditResult::Done;
  funcs[i].erase();
  return EditResult::Edited;
}

static EditResult dropResult(OwningOpRef<ModuleOp> &module, size_t i) {
  for (auto func : module->getOps<func::FuncOp>()) {
    size_t n = func.getNumResults();
    if (i >= n) {
      i -= n;
      continue;
    }
    if (n < 2)
      return EditResult::Impossible;
    (void)func.eraseResult(unsigned(i));
    func.front().getTerminator()->eraseOperand(unsigned(i));
    return EditResult::Edited;
  }
  return EditResult::Done;
}

/// Returns what an op reads instead of what it makes: the op goes, and what lies behind it.
static EditResult returnOperand(OwningOpRef<ModuleOp> &module, size_t i) {
  for (auto func : module->getOps<func::FuncOp>()) {
    Operation *end = func.front().getTerminator();
    for (OpOperand &operand : end->getOpOperands()) {
      Operation *made = operand.get().getDefiningOp();
      size_t n = made ? made->getNumOperands() : 0;
      if (i >= n) {
        i -= n;
        continue;
      }
      operand.set(made->getOperand(unsigned(i)));
      func.removeResultAttr(operand.getOperandNumber(), StringAttr::get(func.getContext(), kShardingAttr));
      func.removeResultAttr(operand.getOperandNumber(), StringAttr::get(func.getContext(), graph::kNameAttr));
      func.removeResultAttr(operand.getOperandNumber(), StringAttr::get(func.getContext(), graph::kKindAttr));
      setSignature(func);
      return EditResult::Edited;
    }
  }
  return EditResult::Done;
}

/// An op gives way to an operand of the same type (even i), or to a new argument of the function (odd i).
static EditResult dropOp(OwningOpRef<ModuleOp> &module, size_t i) {
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) {
    if (op->getNumResults() > 0)
      ops.push_back(op);
  });
  if (i / 2 >= ops.size())
    return EditResult::Done;
  Operation *op = ops[ops.size() - 1 - i / 2];
  auto func = op->getParentOfType<func::FuncOp>();
  for (OpResult result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value instead;
    if (i % 2)
      instead = addArgument(func, result.getType(), op->getLoc());
    else
      for (Value operand : op->getOperands())
        if (operand.getType() == result.getType() && !instead)
          instead = operand;
    if (!instead)
      return EditResult::Impossible;
    result.replaceAllUsesWith(instead);
  }
  op->erase();
  return EditResult::Edited;
}

/// A loop becomes one run of one of its bodies; slices of stacks become arguments.
static EditResult unroll(OwningOpRef<ModuleOp> &module, size_t i) {
  for (auto repeat : collect<graph::RepeatOp>(*module)) {
    size_t n = repeat.getBodies().size();
    if (i >= n) {
      i -= n;
      continue;
    }
    auto func = repeat->getParentOfType<func::FuncOp>();
    Block &body = repeat.getBody(unsigned(i));
    OpBuilder b(repeat);
    auto type = cast<RankedTensorType>(body.getArgument(0).getType());
    body.getArgument(0).replaceAllUsesWith(
        graph::ConstantOp::create(b, repeat.getLoc(), type, DenseElementsAttr::get(type, int32_t(0))));
    for (auto [arg, init] : llvm::zip(repeat.getCarried(unsigned(i)), repeat.getInits()))
      arg.replaceAllUsesWith(init);
    for (auto [arg, stack] : llvm::zip(repeat.getSlices(unsigned(i)), repeat.getStacks())) {
      Value slice = addArgument(func, arg.getType(), repeat.getLoc());
      auto from = dyn_cast<BlockArgument>(stack);
      if (from && from.getOwner() == &func.front())
        if (auto kind = func.getArgAttr(from.getArgNumber(), graph::kKindAttr))
          func.setArgAttr(cast<BlockArgument>(slice).getArgNumber(), graph::kKindAttr, kind);
      arg.replaceAllUsesWith(slice);
    }
    Operation *end = body.getTerminator();
    SmallVector<Value> results(end->getOperands());
    b.setInsertionPoint(end);
    for (auto [value, stack] :
         llvm::zip(MutableArrayRef(results).drop_front(repeat.getInits().size()), repeat.getCollected())) {
      auto dims = llvm::to_vector(llvm::seq<int64_t>(1, cast<RankedTensorType>(stack.getType()).getRank()));
      value = graph::BroadcastOp::create(b, repeat.getLoc(), stack.getType(), value, dims);
    }
    end->erase();
    repeat->getBlock()->getOperations().splice(repeat->getIterator(), body.getOperations());
    repeat.replaceAllUsesWith(results);
    repeat.erase();
    return EditResult::Edited;
  }
  return EditResult::Done;
}

//===----------------------------------------------------------------------===//
// Edits of annotations
//===----------------------------------------------------------------------===//

/// The i-th sharding loses a dimension's axes, or all (the last place of each).
static dist::ShardingAttr without(dist::ShardingAttr attr, const Mesh &mesh, size_t &i, bool &found) {
  Sharding sharding = attr.toSharding(mesh);
  size_t n = sharding.dims.size() + 1;
  if (i >= n) {
    i -= n;
    return attr;
  }
  found = true;
  if (i + 1 == n)
    return {};
  if (sharding.dims[i].axes.size() > 1)
    sharding.dims[i].axes.pop_back();
  else
    sharding.dims[i].axes.clear();
  sharding.dims[i].priority.reset();
  return dist::ShardingAttr::get(attr.getContext(), attr.getMesh().getValue(), sharding, mesh);
}

static EditResult simplifySharding(OwningOpRef<ModuleOp> &module, size_t i) {
  dist::MeshOp meshOp = dist::getMesh(*module);
  if (!meshOp)
    return EditResult::Done;
  Mesh mesh = meshOp.getMesh().toMesh();
  auto name = StringAttr::get(module->getContext(), kShardingAttr);
  bool found = false;
  for (auto func : module->getOps<func::FuncOp>()) {
    for (unsigned a = 0; a < func.getNumArguments(); ++a)
      if (auto attr = func.getArgAttrOfType<dist::ShardingAttr>(a, kShardingAttr)) {
        auto next = without(attr, mesh, i, found);
        if (!found)
          continue;
        if (!next)
          func.removeArgAttr(a, name);
        else if (next == attr)
          return EditResult::Impossible;
        else
          func.setArgAttr(a, name, next);
        return EditResult::Edited;
      }
    for (unsigned r = 0; r < func.getNumResults(); ++r)
      if (auto attr = func.getResultAttrOfType<dist::ShardingAttr>(r, kShardingAttr)) {
        auto next = without(attr, mesh, i, found);
        if (!found)
          continue;
        if (!next)
          func.removeResultAttr(r, name);
        else if (next == attr)
          return EditResult::Impossible;
        else
          func.setResultAttr(r, name, next);
        return EditResult::Edited;
      }
  }
  for (auto constraint : collect<dist::ConstraintOp>(*module)) {
    auto next = without(constraint.getSharding(), mesh, i, found);
    if (!found)
      continue;
    if (!next || next == constraint.getSharding())
      return EditResult::Impossible; // dropOp takes it whole
    constraint.setShardingAttr(next);
    return EditResult::Edited;
  }
  return EditResult::Done;
}

//===----------------------------------------------------------------------===//
// Edits of sizes, in the text
//===----------------------------------------------------------------------===//

/// All runs of digits in dimensions of tensor types (begin, end); with `mesh`, sizes of the mesh's axes
/// instead.
static SmallVector<std::pair<size_t, size_t>> sizesIn(StringRef text, bool mesh) {
  SmallVector<std::pair<size_t, size_t>> found;
  auto digits = [&](size_t at) {
    size_t end = at;
    while (end < text.size() && isdigit(static_cast<unsigned char>(text[end])))
      ++end;
    return end;
  };
  if (mesh) {
    size_t at = text.find("dist.mesh"), stop = text.find('\n', at);
    for (size_t p = at; at != StringRef::npos && p < stop; ++p)
      if (text[p] == '=' && digits(p + 1) > p + 1)
        found.push_back({p + 1, digits(p + 1)});
    return found;
  }
  for (size_t at = 0; (at = text.find("tensor<", at)) != StringRef::npos;) {
    at += 7;
    for (size_t end; (end = digits(at)) > at && end < text.size() && text[end] == 'x'; at = end + 1)
      found.push_back({at, end});
  }
  return found;
}

static EditResult shrinkSizes(OwningOpRef<ModuleOp> &module, size_t i, bool mesh) {
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  auto places = sizesIn(text, mesh);
  std::set<std::string> sizes;
  for (auto [begin, end] : places)
    sizes.insert(mesh ? std::to_string(begin) : text.substr(begin, end - begin));
  // One size everywhere at once, or one axis; to 1, 2, 3, half of it and one less.
  constexpr size_t kinds = 5;
  if (i / kinds >= sizes.size())
    return EditResult::Done;
  std::string chosen = *std::next(sizes.begin(), ptrdiff_t(i / kinds));
  std::string result;
  size_t at = 0;
  for (auto [begin, end] : places) {
    std::string here = text.substr(begin, end - begin);
    if ((mesh ? std::to_string(begin) : here) != chosen)
      continue;
    int64_t n = std::stoll(here);
    int64_t smaller[kinds] = {1, 2, 3, n / 2, n - 1};
    if (smaller[i % kinds] < 1 || smaller[i % kinds] >= n)
      return EditResult::Impossible;
    result += text.substr(at, begin - at) + std::to_string(smaller[i % kinds]);
    at = end;
  }
  result += text.substr(at);
  auto parsed = parseSourceString<ModuleOp>(result, module->getContext());
  if (!parsed)
    return EditResult::Impossible;
  module = std::move(parsed);
  return EditResult::Edited;
}

static EditResult shrinkDimensions(OwningOpRef<ModuleOp> &module, size_t i) {
  return shrinkSizes(module, i, false);
}
static EditResult shrinkAxes(OwningOpRef<ModuleOp> &module, size_t i) { return shrinkSizes(module, i, true); }

/// The last axis of the mesh goes, if nobody names it, or any other in the text.
static EditResult dropAxis(OwningOpRef<ModuleOp> &module, size_t i) {
  dist::MeshOp meshOp = dist::getMesh(*module);
  Mesh mesh = meshOp ? meshOp.getMesh().toMesh() : Mesh();
  if (i >= mesh.axes.size())
    return EditResult::Done;
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  Mesh smaller = mesh;
  smaller.axes.erase(smaller.axes.begin() + ptrdiff_t(i));
  size_t uses = 0;
  std::string quoted = "\"" + mesh.axes[i].name + "\"";
  for (size_t at = 0; (at = text.find(quoted, at)) != std::string::npos; ++at)
    ++uses;
  if (uses != 1)
    return EditResult::Impossible;
  // Shardings hold the axes by name: they stay what they are.
  meshOp.setMeshAttr(dist::MeshAttr::get(module->getContext(), smaller));
  return EditResult::Edited;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> tessera::shrinkProgram(ModuleOp module, const ProgramJudgement &judgement,
                                             const Outcome &outcome, unsigned seconds) {
  OwningOpRef<ModuleOp> best(module.clone());
  ProgramJudgement all = judgement;
  all.entry = "*"; // functions come and go
  all.where = "shrinking";
  static constexpr Edit edits[] = {dropFunction,     dropResult,       returnOperand, unroll,  dropOp,
                                   simplifySharding, shrinkDimensions, shrinkAxes,    dropAxis};
  for (bool changed = true; changed;) {
    changed = false;
    for (Edit edit : edits)
      for (size_t i = 0;;) {
        OwningOpRef<ModuleOp> tried(best->clone());
        EditResult place;
        bool sound;
        {
          // What cannot be is no error.
          ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
          place = edit(tried, i);
          if (place == EditResult::Edited)
            sweep(*tried);
          sound = place == EditResult::Edited && succeeded(verify(*tried));
        }
        if (place == EditResult::Done)
          break;
        if (sound && judgeIsolated(*tried, all, seconds).same(outcome)) {
          best = std::move(tried);
          changed = true; // what comes next stands at the same place
        } else {
          ++i;
        }
      }
  }
  return best;
}
