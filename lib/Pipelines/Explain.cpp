//===- Explain.cpp - What a sharded program is, and what flags would make it ===//
//
// Reads the rung spmd; the effect of a flag, or of a sharding less in the program, is read off another rung
// spmd, which the pipeline makes so. Candidates come from the collective: which dimensions of which arguments
// and named values lie over its axes, and which shardings of the program and items of --shard say so; where
// none of them removes it, from all that is said.
//
//===----------------------------------------------------------------------===//
#include "tessera/Pipelines/SpmdFacts.h"

#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Explanation.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/Register.h"

#include "ShardSubjects.h"
#include "WrittenShardings.h"

#include "tessera/Analysis/Sharding/Notation.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace tessera {
namespace {
/// What is asked otherwise: items of --shard, and what is left out of the program and of --shard.
struct Change {
  ShardItems items;
  std::set<size_t> leftOut;                 ///< of writtenShardings
  std::set<ShardItemKey> withoutItems = {}; ///< of those that were given

  size_t size() const { return items.size() + leftOut.size() + withoutItems.size(); }
  bool operator<(const Change &o) const {
    return std::tie(items, leftOut, withoutItems) < std::tie(o.items, o.leftOut, o.withoutItems);
  }
};

/// A program to be sharded: value of --shard, and what is left out of the program.
using Asked = std::pair<std::string, std::set<size_t>>;

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
      made = shard({options.shard, {}});
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
    subjects.emplace(program, spmd, mesh, options.shard);
    written = writtenShardings(program);
    for (TensorExplanation &tensor : result.tensors)
      if (tensor.kind) {
        std::vector<std::string> reasons = subjects->argumentReasons(tensor);
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

  OwningOpRef<ModuleOp> shard(const Asked &asked) {
    OwningOpRef<ModuleOp> copy = copyOfStep();
    if (!copy)
      return {};
    leaveOut(*copy, asked.second);
    CompileOptions sharding;
    sharding.mesh = options.mesh;
    sharding.shard = asked.first;
    sharding.machine = options.machine;
    sharding.savedBytes = options.savedBytes;
    sharding.liveBytes = options.liveBytes;
    sharding.isRecomputeGiven = options.isRecomputeGiven;
    PassManager pm(&context);
    buildPhases(pm, Rung::Sharded, Rung::Spmd, sharding);
    return succeeded(pm.run(*copy)) ? std::move(copy) : OwningOpRef<ModuleOp>();
  }

  //===--- Changes that remove a collective ---------------------------------===//

  /// Flags first; then what the program says itself over the collective's axes, one by one and together.
  std::vector<Change> candidates(const CollectiveExplanation &collective) const {
    std::vector<Change> list;
    std::vector<ShardItems> flags = subjects->candidates(collective);
    for (const ShardItems &items : flags)
      list.push_back({items, {}});
    // What a sum over other axes needs may travel over these, too: then everything is tried.
    AxisList axes = subjects->axesOf(collective), everything;
    for (int i = 0; i < int(mesh.axes.size()); ++i)
      everything.push_back(wholeAxis(mesh, i));
    for (const AxisList &over : {axes, everything}) {
      const std::set<size_t> all = saidOver(over);
      for (size_t i : all)
        list.push_back({{}, {i}});
      if (all.size() > 1)
        list.push_back({{}, all});
      if (!all.empty())
        for (const ShardItems &items : flags)
          list.push_back({items, all});
    }
    return list;
  }

  /// Where none of those removes it: the program without given items of --shard, all together, those of all
  /// values that have one over the collective's axes, and each such value's (of several some may stay); then
  /// sets of them with what the program says itself over these axes.
  std::vector<Change> candidatesWithoutItems(const CollectiveExplanation &collective) const {
    using Keys = std::set<ShardItemKey>;
    const AxisList axes = subjects->axesOf(collective);
    std::map<std::string, Keys> ofValue;
    std::set<std::string> near;
    for (const auto &[key, text] : subjects->givenItems()) {
      ofValue[key.first].insert(key);
      if (ShardSubjects::uses(subjects->axesOf(text), axes))
        near.insert(key.first);
    }
    Keys ofNear;
    for (const std::string &value : near)
      ofNear.insert(ofValue[value].begin(), ofValue[value].end());
    std::vector<Keys> many = {givenKeys(), ofNear};
    // Without any of them another collective of the kind may be there instead, which one of them prevents.
    for (const std::string &value : near) {
      Keys others;
      llvm::copy_if(ofNear, std::inserter(others, others.end()),
                    [&](const ShardItemKey &key) { return key.first != value; });
      many.push_back(std::move(others));
    }
    std::vector<Change> list;
    for (const Keys &keys : many)
      list.push_back({{}, {}, keys});
    for (const std::string &value : near)
      list.push_back({{}, {}, ofValue[value]});
    const std::set<size_t> said = saidOver(axes);
    for (const Keys &keys : many)
      list.push_back({{}, said, keys});
    return list;
  }

  /// Shardings in the program that use some of `axes`.
  std::set<size_t> saidOver(const AxisList &axes) const {
    std::set<size_t> found;
    for (auto [i, said] : llvm::enumerate(written))
      if (said.sharding && ShardSubjects::uses(said.sharding.toSharding(mesh).usedAxes(), axes))
        found.insert(i);
    return found;
  }

  std::set<ShardItemKey> givenKeys() const {
    auto keys = llvm::make_first_range(subjects->givenItems());
    return {keys.begin(), keys.end()};
  }

  /// Where none of those does either: what asks for a value whole, and so speaks of no axis; then all that is
  /// said.
  std::vector<Change> candidatesOfWholes() const {
    std::vector<Change> list;
    std::set<size_t> wholes, all;
    for (auto [i, said] : llvm::enumerate(written)) {
      if (!said.sharding)
        continue;
      all.insert(i);
      if (!said.sharding.toSharding(mesh).usedAxes().empty())
        continue;
      list.push_back({{}, {i}});
      wholes.insert(i);
    }
    list.push_back({{}, wholes});
    list.push_back({{}, all});
    list.push_back({{}, all, givenKeys()});
    return list;
  }

  /// And where nobody could change anything: manual regions, one by one, and all with all that is said, here
  /// and in --shard.
  std::vector<Change> candidatesOfRegions() const {
    std::vector<Change> list;
    std::set<size_t> regions, all;
    for (auto [i, said] : llvm::enumerate(written)) {
      all.insert(i);
      if (said.sharding)
        continue;
      list.push_back({{}, {i}});
      regions.insert(i);
    }
    if (regions.empty())
      return {};
    list.push_back({{}, regions});
    list.push_back({{}, all});
    list.push_back({{}, regions, givenKeys()});
    list.push_back({{}, all, givenKeys()});
    return list;
  }

  static std::string itemText(const std::pair<std::string, std::string> &key, const std::string &axes) {
    return (key.first.empty() ? "" : key.first + ":") + key.second + "=" + axes;
  }
  static std::string itemsText(const ShardItems &items) {
    std::string text;
    for (const auto &[key, axes] : items)
      text += (text.empty() ? "" : ",") + itemText(key, axes);
    return text;
  }

  struct Outcome {
    bool works = false;
    std::vector<CollectiveExplanation> collectives;
    std::vector<StepTotals> steps;
  };

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
    Removal removal(*this, collective);
    removal.attemptAll(candidates(collective));
    if (!removal.best)
      removal.considerKnown();
    if (!removal.best)
      removal.attemptAll(candidatesWithoutItems(collective));
    if (!removal.best)
      removal.attemptAll(candidatesOfWholes());
    // Rather another collective in its place than none that goes.
    if (!removal.best && !removal.ended) {
      removal.mayBecomeOther = true;
      removal.considerKnown();
    }
    // A region decides only where no flag does.
    if (!removal.best && !removal.ended) {
      removal.mayBecomeOther = false;
      removal.attemptAll(candidatesOfRegions());
    }
    removal.shrink();
    if (!removal.best)
      removal.considerKnown();
    collective.searchEnded = removal.ended && !removal.best;
    if (removal.best && decidesByRegions(removal.bestChange)) {
      collective.decidedBy = std::move(removal.best->leftOut);
      collective.decidedByItems = std::move(removal.best->without);
      return std::nullopt;
    }
    return std::move(removal.best);
  }

  bool decidesByRegions(const Change &change) const {
    return llvm::any_of(change.leftOut, [&](size_t i) { return !written[i].sharding; });
  }

  /// The search for a change that removes one collective.
  struct Removal {
    Removal(Explainer &explainer, const CollectiveExplanation &collective)
        : explainer(explainer), collective(collective) {
      const int64_t runs = kMostWork / std::max<int64_t>(explainer.workOfRun, 1);
      const int64_t left = runs - int64_t(explainer.outcomes.size());
      most = explainer.outcomes.size() + size_t(std::max<int64_t>((left + kShareOfOne - 1) / kShareOfOne, 0));
    }

    void attemptAll(const std::vector<Change> &list) {
      for (const Change &change : list)
        if (found < kMostFound)
          attempt(change);
    }

    /// What was tried for this collective or for others, but for what takes regions away.
    void considerKnown() {
      for (const Change &change : explainer.changes)
        if (!explainer.decidesByRegions(change))
          consider(change, explainer.whatIf(explainer.askedBy(change)));
    }

    /// Of much that goes together some may stay.
    void shrink() {
      for (size_t before = bestChange.size() + 1; best && bestChange.size() < before;) {
        before = bestChange.size();
        const Change whole = bestChange;
        for (size_t i : whole.leftOut) {
          Change fewer = bestChange;
          if (fewer.leftOut.erase(i))
            attempt(fewer);
        }
        for (const ShardItemKey &key : whole.withoutItems) {
          Change fewer = bestChange;
          if (fewer.withoutItems.erase(key))
            attempt(fewer);
        }
      }
    }

    std::optional<Suggestion> best;
    Change bestChange;
    bool ended = false;          ///< something was not tried, for no run was left
    bool mayBecomeOther = false; ///< one of another kind may stand between the same ops, over the same axes

  private:
    void attempt(const Change &change) {
      if (change.size() == 0 || (best && change.size() > bestChange.size()) || !tried.insert(change).second)
        return;
      const Asked asked = explainer.askedBy(change);
      if (!explainer.outcomes.count(asked) && explainer.outcomes.size() >= most) {
        ended = true;
        return;
      }
      explainer.changes.insert(change);
      consider(change, explainer.whatIf(asked));
    }

    void consider(const Change &change, const Outcome &outcome) {
      const std::vector<CollectiveExplanation> &now = explainer.base().collectives;
      if (!outcome.works || (best && change.size() > bestChange.size()) ||
          alike(outcome.collectives, collective) >= alike(now, collective))
        return;
      std::string becomes;
      for (const CollectiveExplanation &other : outcome.collectives) {
        if (!same(other, collective))
          continue;
        if (other.kind == collective.kind)
          return;
        if (llvm::none_of(now, [&](const auto &one) { return same(one, other) && one.kind == other.kind; }))
          becomes = other.kind;
      }
      if (!becomes.empty() && !mayBecomeOther)
        return;
      ++found;
      if (best && std::pair(change.size(), seconds(outcome.steps)) >=
                      std::pair(bestChange.size(), seconds(best->after)))
        return;
      best = explainer.suggestion(change, outcome);
      best->becomes = std::move(becomes);
      bestChange = change;
    }

    Explainer &explainer;
    const CollectiveExplanation &collective;
    std::set<Change> tried;
    size_t found = 0, most = 0; ///< changes that remove it; runs until the last one that it may use
  };

  Asked askedBy(const Change &change) const {
    ShardItems all = subjects->givenItems();
    for (const ShardItemKey &key : change.withoutItems)
      all.erase(key);
    for (const auto &[key, axes] : change.items)
      all[key] = axes;
    const bool isAsGiven = change.items.empty() && change.withoutItems.empty();
    return {isAsGiven ? options.shard : itemsText(all), change.leftOut};
  }
  Suggestion suggestion(const Change &change, const Outcome &outcome) const {
    ShardItems without;
    for (const ShardItemKey &key : change.withoutItems)
      without[key] = subjects->givenItems().at(key);
    Suggestion made{
        itemsText(change.items), itemsText(without), askedBy(change).first, {}, {}, outcome.steps};
    for (size_t i : change.leftOut)
      made.leftOut.push_back(
          {written[i].what, written[i].where,
           written[i].sharding ? toString(written[i].sharding.toSharding(mesh), mesh) : std::string()});
    return made;
  }
  static double seconds(const std::vector<StepTotals> &steps) {
    double sum = 0;
    for (const StepTotals &step : steps)
      sum += step.seconds;
    return sum;
  }

  const Outcome &base() { return whatIf({options.shard, {}}); }
  const Outcome &whatIf(const Asked &asked) {
    auto [at, isNew] = outcomes.try_emplace(asked);
    if (isNew)
      if (OwningOpRef<ModuleOp> spmd = shard(asked)) {
        SpmdFacts facts(*spmd);
        at->second = {true, facts.collectives(), facts.totals()};
      }
    return at->second;
  }

  const ExplainOptions options;
  MLIRContext context;
  ModuleOp step;                 ///< as given
  OwningOpRef<ModuleOp> ownStep; ///< the same in `context`, once it was needed
  Mesh mesh;
  std::optional<ShardSubjects> subjects;
  std::vector<WrittenSharding> written;
  std::map<Asked, Outcome> outcomes;
  std::set<Change> changes; ///< what was tried
  int64_t workOfRun = 0;
};
} // namespace

Result<Explanation> explainSharding(ModuleOp step, const ExplainOptions &options, ModuleOp spmd) {
  return Explainer(options).run(step, spmd);
}

} // namespace tessera
