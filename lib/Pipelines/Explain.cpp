//===- Explain.cpp - What a sharded program is, and what flags would make it ===//
//
// Reads the rung spmd; a flag's effect is read off another rung spmd, which the pipeline makes with the flag.
// Candidates come from the collective alone: which dimensions of which arguments and named values lie over
// its axes.
//
//===----------------------------------------------------------------------===//
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Explanation.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/Register.h"

#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <map>
#include <set>

using namespace mlir;

namespace tessera {
namespace {
/// A dimension of an argument or named value, as --shard can address it.
struct Subject {
  std::string value, dim;
  AxisList axes; ///< it lies over
  bool operator<(const Subject &o) const { return std::tie(value, dim) < std::tie(o.value, o.dim); }
};

/// Items of --shard by what they address.
using Items = std::map<std::pair<std::string, std::string>, std::string>;

/// Changes that remove a collective, compared at most: each is a run of the pipeline.
constexpr size_t kMostFound = 4;
/// Work of all runs together, in ops x axes squared, about what a run takes: counted, so that the same
/// command says the same everywhere.
constexpr int64_t kMostWork = 100'000;
/// One collective gets this part of the runs that are left, for others need some, too.
constexpr int64_t kShareOfOne = 4;

class Explainer {
public:
  Explainer(const ExplainOptions &options)
      : options(options), context(registry(), MLIRContext::Threading::DISABLED) {}

  Result<Explanation> run(ModuleOp program, ModuleOp spmd) {
    DiagnosticCollector diagnostics(context);
    step = program;
    OwningOpRef<ModuleOp> made;
    if (!spmd) {
      made = shard(options.shard);
      if (!made)
        return diagnostics.failure("cannot explain", "--shard=" + options.shard);
      spmd = *made;
    }
    Explanation result;
    result.mesh = options.mesh;
    result.shard = options.shard;
    SpmdFacts facts(spmd);
    result.nominal = facts.machineOfModule().name == Machine::kNominal;
    result.predictedFor = describeMachine(facts.machineOfModule(), facts.mesh());
    result.steps = facts.totals();
    result.collectives = facts.collectives();
    result.padding = facts.padding();
    result.tensors = facts.tensors(options.activations);
    mesh = facts.mesh();
    std::string error;
    auto items = dist::parseShardSpec(options.shard, mesh, error);
    for (const dist::ShardItem &item : items.value_or(std::vector<dist::ShardItem>())) {
      given[{item.value, item.dim}] = axesText(item.axes);
      givenText[{item.value, item.dim}] = item.text;
    }
    collectSubjects(spmd);
    for (TensorExplanation &tensor : result.tensors)
      if (tensor.kind) {
        std::vector<std::string> reasons = argumentReasons(tensor);
        tensor.reasons.insert(tensor.reasons.begin(), reasons.begin(), reasons.end());
      }
    if (!options.suggest)
      return result;
    program.walk([&](Operation *) { ++workOfRun; });
    workOfRun *= int64_t(mesh.axes.size() * mesh.axes.size());
    // Those first that send most.
    std::vector<CollectiveExplanation *> order;
    for (CollectiveExplanation &collective : result.collectives)
      order.push_back(&collective);
    llvm::stable_sort(order, [](const CollectiveExplanation *a, const CollectiveExplanation *b) {
      return a->bytes * a->executions > b->bytes * b->executions;
    });
    for (CollectiveExplanation *collective : order)
      collective->remove = suggest(*collective);
    return result;
  }

private:
  static const DialectRegistry &registry() {
    static const DialectRegistry *all = [] {
      auto *made = new DialectRegistry;
      registerDialects(*made);
      return made;
    }();
    return *all;
  }

  /// The program in a context of our own, so that runs of the pipeline report nothing; null if it cannot be
  /// read again.
  OwningOpRef<ModuleOp> copyOfStep() {
    if (!ownStep) {
      std::string text;
      llvm::raw_string_ostream os(text);
      step->print(os, OpPrintingFlags().enableDebugInfo(true, false));
      ownStep = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    }
    return ownStep ? cast<ModuleOp>(ownStep.get()->clone()) : ModuleOp();
  }

  OwningOpRef<ModuleOp> shard(const std::string &items) {
    OwningOpRef<ModuleOp> copy = copyOfStep();
    if (!copy)
      return {};
    CompileOptions sharding;
    sharding.mesh = options.mesh;
    sharding.shard = items;
    sharding.machine = options.machine;
    sharding.savedBytes = options.savedBytes;
    sharding.isRecomputeGiven = options.isRecomputeGiven;
    PassManager pm(&context);
    buildPhases(pm, Rung::Sharded, Rung::Spmd, sharding);
    return succeeded(pm.run(*copy)) ? std::move(copy) : OwningOpRef<ModuleOp>();
  }

  //===--- What --shard can address -----------------------------------------===//

  std::string axesText(ArrayRef<AxisRef> axes) const {
    std::string text;
    for (const AxisRef &axis : axes)
      text += (text.empty() ? "" : "+") + toString(axis, mesh);
    return text.empty() ? "-" : text;
  }

  void collectSubjects(ModuleOp spmd) {
    auto add = [&](StringRef value, ArrayRef<StringRef> dims, const std::optional<Sharding> &sharding) {
      for (auto [d, dim] : llvm::enumerate(dims)) {
        if (dim.empty())
          continue;
        Subject subject{value.str(), dim.str(), {}};
        if (sharding)
          subject.axes = sharding->dims[d].axes;
        auto [at, isNew] = subjects.insert({{subject.value, subject.dim}, subject});
        if (!isNew && at->second.axes.empty())
          at->second.axes = subject.axes;
      }
    };
    DimNames stepNames(step);
    for (auto function : step.getOps<func::FuncOp>()) {
      auto sharded = spmd.lookupSymbol<func::FuncOp>(function.getSymName());
      for (BlockArgument arg : function.getArguments()) {
        auto name = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
        auto attr = sharded ? dist::getShardingAttr(sharded.getArgument(arg.getArgNumber()).getType())
                            : dist::ShardingAttr();
        if (auto seeded =
                sharded ? sharded.getArgAttrOfType<dist::ShardingAttr>(arg.getArgNumber(), dist::kSeededAttr)
                        : dist::ShardingAttr())
          attr = seeded; // a flag changes what was asked
        if (isa<RankedTensorType>(arg.getType()))
          add(name ? name.getValue() : "", stepNames.names(arg),
              attr ? std::optional(attr.toSharding(mesh)) : std::nullopt);
      }
    }
    for (auto function : step.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
            name && graph::resultKind(function, i) == graph::Kind::Output)
          outputs.insert(name.str());
    step.walk([&](graph::NameOp op) {
      if (named.insert(op.getName().str()).second)
        add(op.getName(), stepNames.names(op.getResult()), std::nullopt);
    });
    for (auto &[key, subject] : subjects) // what was asked of a named value
      if (auto item = given.find(key); item != given.end() && subject.axes.empty() && item->second != "-") {
        std::string error;
        auto parsed = dist::parseShardSpec("x=" + item->second, mesh, error);
        if (parsed && !parsed->empty())
          subject.axes = parsed->front().axes;
      }
  }

  //===--- Flags that remove a collective -----------------------------------===//

  static bool uses(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> wanted) {
    return llvm::any_of(axes, [&](const AxisRef &axis) {
      return llvm::any_of(wanted, [&](const AxisRef &other) { return axis.overlaps(other); });
    });
  }
  AxisList without(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> taken) const {
    AxisList rest;
    for (const AxisRef &axis : axes)
      if (!uses(axis, taken))
        rest.push_back(axis);
    return rest;
  }

  /// First what disagrees, then its neighbours, last everything over these axes: each a set of items.
  std::vector<Items> candidates(const CollectiveExplanation &collective) const {
    std::vector<Items> list;
    AxisList axes;
    for (const std::string &text : collective.axes)
      if (std::string error; auto parsed = dist::parseShardSpec("x=" + text, mesh, error))
        axes.append(parsed->front().axes);
    if (axes.empty())
      for (int i = 0; i < int(mesh.axes.size()); ++i)
        axes.push_back(wholeAxis(mesh, i));
    auto endpointNames = [&](const Subject &subject) {
      return !subject.value.empty() && (mentions(collective.producer.op, subject.value) ||
                                        mentions(collective.consumer.op, subject.value));
    };
    // The value itself, if it is an argument: that dimension, or none over the axes (fsdp would take the
    // next).
    for (const auto &at : subjects)
      if (collective.producer.op == "argument " + at.second.value && uses(at.second.axes, axes)) {
        list.push_back({{at.first, axesText(without(at.second.axes, axes))}});
        list.push_back(stripped(axes, [&](const Subject &s) { return s.value == at.second.value; }));
      }
    // The dimension of everything.
    for (const auto &[key, subject] : subjects)
      if (subject.dim == collective.dimension && uses(subject.axes, axes)) {
        list.push_back({{{"", subject.dim}, axesText(without(subject.axes, axes))}});
        break;
      }
    // The dimension, or all dimensions, of what the two ops read.
    for (const auto &[key, subject] : subjects)
      if (endpointNames(subject) && uses(subject.axes, axes))
        list.push_back({{key, axesText(without(subject.axes, axes))}});
    // A named value whole there.
    for (const auto &[key, subject] : subjects)
      if (named.count(subject.value) && uses(subject.axes, axes))
        list.push_back({{key, axesText(without(subject.axes, axes))}});
    // The partner over it.
    for (const auto &[key, subject] : subjects)
      if ((named.count(subject.value) || endpointNames(subject)) && subject.dim == collective.dimension &&
          !uses(subject.axes, axes)) {
        AxisList more = subject.axes;
        more.append(axes);
        list.push_back({{key, axesText(more)}});
      }
    // All dimensions over these axes, of everything or value by value: then nothing lies over them.
    Items whole;
    for (const auto &[key, subject] : subjects)
      if (uses(subject.axes, axes))
        whole[{"", subject.dim}] = axesText(without(subject.axes, axes));
    list.push_back(whole);
    list.push_back(stripped(axes, [](const Subject &) { return true; }));
    // Another dimension over them instead: an axis that no standard names must shard something.
    std::set<std::string> others;
    for (const auto &[key, subject] : subjects)
      if (!whole.count({"", subject.dim}) && others.insert(subject.dim).second) {
        Items moved = whole;
        AxisList more = subject.axes;
        more.append(axes);
        moved[{"", subject.dim}] = axesText(more);
        list.push_back(moved);
      }
    return list;
  }

  /// Takes `axes` from all dimensions of the values that hold them, and lets nothing else have them there.
  template <typename Pick> Items stripped(ArrayRef<AxisRef> axes, Pick pick) const {
    std::set<std::string> holders;
    for (const auto &[key, subject] : subjects)
      if (pick(subject) && uses(subject.axes, axes))
        holders.insert(subject.value);
    Items items;
    for (const auto &[key, subject] : subjects)
      if (holders.count(subject.value))
        items[{subject.value, subject.dim}] = axesText(without(subject.axes, axes));
    return items;
  }

  /// `name` as a word of `text`.
  static bool mentions(StringRef text, StringRef name) {
    SmallVector<StringRef> words;
    text.split(words, ' ');
    return llvm::any_of(words, [&](StringRef word) { return word.trim("(),") == name; });
  }

  static std::string itemText(const std::pair<std::string, std::string> &key, const std::string &axes) {
    return (key.first.empty() ? "" : key.first + ":") + key.second + "=" + axes;
  }

  static bool same(const CollectiveExplanation &a, const CollectiveExplanation &b) {
    return a.function == b.function && a.axes == b.axes && a.producer.op == b.producer.op &&
           a.consumer.op == b.consumer.op && a.producer.where == b.producer.where &&
           a.consumer.where == b.consumer.where;
  }
  static size_t alike(const std::vector<CollectiveExplanation> &list, const CollectiveExplanation &one) {
    return size_t(llvm::count_if(list, [&](const CollectiveExplanation &c) {
      return c.kind == one.kind && c.axes == one.axes; // in all functions: it must not move to another
    }));
  }

  /// Of the changes that remove the collective, of those with fewest items, the one after which a step takes
  /// least time; the first of equal ones. Where no more runs are left, of what was tried for others, too.
  std::optional<Suggestion> suggest(CollectiveExplanation &collective) {
    std::set<Items> tried;
    std::optional<Suggestion> best;
    size_t found = 0, items = 0;
    int64_t runs = kMostWork / std::max<int64_t>(workOfRun, 1), left = runs - int64_t(outcomes.size());
    size_t most = outcomes.size() + size_t(std::max<int64_t>((left + kShareOfOne - 1) / kShareOfOne, 0));
    auto consider = [&](const Items &change, const std::string &whole, const Outcome &outcome) {
      if (!outcome.works || (best && change.size() > items) ||
          llvm::any_of(outcome.collectives, [&](const auto &other) { return same(other, collective); }) ||
          alike(outcome.collectives, collective) >= alike(base().collectives, collective))
        return;
      ++found;
      if (best && std::pair(change.size(), seconds(outcome.steps)) >= std::pair(items, seconds(best->after)))
        return;
      std::string changed;
      for (const auto &[key, axes] : change)
        changed += (changed.empty() ? "" : ",") + itemText(key, axes);
      best = Suggestion{changed, whole, outcome.steps};
      items = change.size();
    };
    for (const Items &change : candidates(collective)) {
      if (found == kMostFound)
        break;
      if (change.empty() || (best && change.size() > items) || !tried.insert(change).second)
        continue;
      Items all = given;
      for (const auto &[key, axes] : change)
        all[key] = axes;
      std::string whole;
      for (const auto &[key, axes] : all)
        whole += (whole.empty() ? "" : ",") + itemText(key, axes);
      if (!outcomes.count(whole) && outcomes.size() >= most) {
        collective.searchEnded = true;
        continue;
      }
      const Outcome &outcome = whatIf(whole);
      changes.try_emplace(change, whole);
      consider(change, whole, outcome);
    }
    if (collective.searchEnded && !best)
      for (const auto &[change, whole] : changes)
        consider(change, whole, outcomes.at(whole));
    collective.searchEnded &= !best;
    return best;
  }
  static double seconds(const std::vector<StepTotals> &steps) {
    double sum = 0;
    for (const StepTotals &step : steps)
      sum += step.seconds;
    return sum;
  }

  struct Outcome {
    bool works = false;
    std::vector<CollectiveExplanation> collectives;
    std::vector<StepTotals> steps;
  };
  const Outcome &base() { return whatIf(options.shard); }
  const Outcome &whatIf(const std::string &items) {
    auto [at, isNew] = outcomes.try_emplace(items);
    if (isNew)
      if (OwningOpRef<ModuleOp> spmd = shard(items)) {
        SpmdFacts facts(*spmd);
        at->second = {true, facts.collectives(), facts.totals()};
      }
    return at->second;
  }

  //===--- Why an argument lies as it does ----------------------------------===//

  /// The class of values that --shard knows an argument by.
  std::string classOf(const std::string &value) const {
    auto parameter = ModuleOp(step).lookupSymbol<graph::ParameterOp>(value);
    return !parameter ? "" : (parameter->hasAttr(graph::kStateOfAttr) ? dist::kStates : dist::kWeights).str();
  }

  /// The item that gives `axis` to whichever dimension of `value` is largest; null: none does.
  const std::string *largestItemFor(const std::string &value, const AxisRef &axis) const {
    for (const std::string &who : {value, classOf(value)}) {
      auto item = given.find({who, dist::kLargest.str()});
      std::string error;
      auto parsed =
          item == given.end() ? std::nullopt : dist::parseShardSpec("x=" + item->second, mesh, error);
      if (parsed && !parsed->empty() && uses(axis, parsed->front().axes))
        return &givenText.at(item->first);
    }
    return nullptr;
  }

  const std::string *itemFor(const std::string &value, const std::string &dim) const {
    for (const std::string &who : {value, classOf(value), std::string()})
      for (const std::string &name : {dim, std::string(dim == "kv_heads" ? "heads" : dim)})
        if (auto item = givenText.find({who, name}); item != givenText.end())
          return &item->second;
    return nullptr;
  }

  std::string whyWhole(const TensorExplanation &tensor, const std::string &axis) const {
    const dist::StandardAxis *standard = dist::findStandardAxis(axis);
    for (auto [dim, size] : llvm::zip(tensor.dims, tensor.shape))
      if (standard && llvm::is_contained(tensor.kind == graph::Kind::Parameter ? standard->weightDims
                                                                               : standard->activationDims,
                                         dim)) {
        if (const std::string *item = itemFor(tensor.name, dim))
          return "--shard item " + *item + " replaces what " + axis + " means for " + dim;
        if (size == 1)
          return dim + " has one position, which cannot be spread";
      }
    return "nobody asked for " + axis + " on any of " + llvm::join(tensor.dims, ", ");
  }

  std::vector<std::string> argumentReasons(const TensorExplanation &tensor) const {
    std::vector<std::string> reasons;
    bool weight = tensor.kind == graph::Kind::Parameter;
    AxisList taken;
    std::string error;
    std::optional<Sharding> lies = parseSharding(tensor.sharding, mesh, error);
    for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
      auto found = subjects.find({tensor.name, dim});
      if (found == subjects.end()) { // no item and no axis speaks of such a dimension
        for (const AxisRef &axis : lies ? lies->dims[d].axes : AxisList()) {
          taken.push_back(axis);
          reasons.push_back(dim + " over " + toString(axis, mesh) +
                            ": annotated in the program, or propagated from its users");
        }
        continue;
      }
      const std::string *item = itemFor(tensor.name, dim);
      for (const AxisRef &axis : found->second.axes) {
        taken.push_back(axis);
        const dist::StandardAxis *standard = dist::findStandardAxis(mesh.axes[axis.axis].name);
        bool meant =
            standard && llvm::is_contained(weight ? standard->weightDims : standard->activationDims, dim);
        std::string text = dim + " over " + toString(axis, mesh) + ": ";
        const std::string *largest = item ? nullptr : largestItemFor(tensor.name, axis);
        if (item || largest)
          text += "asked for by --shard item " + *(item ? item : largest);
        else if (meant)
          text += "what axis " + mesh.axes[axis.axis].name + " means for " + dim;
        else if (weight && standard && standard->largestFreeWeightDim)
          text += "what axis " + mesh.axes[axis.axis].name +
                  " means for the largest dimension of a weight that no other axis shards";
        else if (outputs.count(tensor.name))
          text += "where the functions that give it have it, by cost";
        else
          text += "annotated in the program, or propagated from its users";
        reasons.push_back(text);
      }
      if (item && found->second.axes.empty())
        reasons.push_back(dim + " whole: asked for by --shard item " + *item);
    }
    for (auto [i, axis] : llvm::enumerate(mesh.axes))
      if (axis.size > 1 && !uses(wholeAxis(mesh, int(i)), taken))
        reasons.push_back(sameOnAllRanks(axis, whyWhole(tensor, axis.name), tensor.bytes));
    return reasons;
  }

  const ExplainOptions options;
  MLIRContext context;
  ModuleOp step;                 ///< as given
  OwningOpRef<ModuleOp> ownStep; ///< the same in `context`, once it was needed
  Mesh mesh;
  Items given, givenText;
  std::map<std::pair<std::string, std::string>, Subject> subjects;
  std::set<std::string> named, outputs;    ///< by graph.name; what functions hand out
  std::map<std::string, Outcome> outcomes; ///< by value of --shard
  std::map<Items, std::string> changes;    ///< what was tried: value of --shard
  int64_t workOfRun = 0;
};
} // namespace

Result<Explanation> explainSharding(ModuleOp step, const ExplainOptions &options, ModuleOp spmd) {
  return Explainer(options).run(step, spmd);
}

} // namespace tessera
