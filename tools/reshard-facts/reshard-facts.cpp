//===- reshard-facts.cpp - Plans for reshards from a table ----------------===//
//
// reshard-facts FILE.tsv: reads mesh, shape, from and to from the first four columns of each row (lines that
// start with # and the header line are skipped) and prints one plan a row: cost<TAB>MOVE [state]; MOVE
// [state]; ...
// --check: replays every plan element by element, and compares with column `best` where the row has one; exit
// 1 if one fails.
//
// --random=N [--seed=S] [--limits] [--list]: N reshards drawn at random (AutoParallel/RandomReshards.h);
// prints how many have a plan, the steps that the search for one looked at, the bytes over the bound, and how
// many needed grouped sends. Plans are replayed on all devices where these hold at most 100,000 elements
// together, on a sample otherwise. Exit 1 if one is missing or wrong; with --limits also where a search
// looked at more steps than kMostSteps. --list prints the rows themselves, in the form that FILE.tsv has.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/RandomReshards.h"
#include "tessera/AutoParallel/ReshardPlanner.h"
#include "tessera/AutoParallel/SearchWork.h"
#include "tessera/Support/CommandLine.h"
#include "tessera/Support/Shapes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace tessera;
using llvm::StringRef;

static int fail(StringRef what, StringRef where, StringRef why, StringRef hint) {
  llvm::errs() << "error: " << what << " (" << where << "): " << why << "; try " << hint << "\n";
  return 1;
}

static ReshardOptions factsOptions() {
  ReshardOptions options;
  options.maxExpansions = 600; // the compiler, with many reshards to plan, looks half as long
  options.strided = options.jointAllToAll = options.pointToPoint = true;
  return options;
}

static double elementsOf(llvm::ArrayRef<int64_t> shape) {
  double elements = 1;
  for (int64_t n : shape)
    elements *= double(std::max<int64_t>(1, n));
  return elements;
}

/// Most ranks of a mesh here: five axes of 64.
static constexpr int64_t kMaxDevices = int64_t(1) << 30;
/// Elements on all devices up to which a plan is replayed in full.
static constexpr double kReplayed = 1e5;

static std::string judge(const RandomReshard &c, const ReshardPlan &plan, bool &replayed) {
  double held = 1;
  for (const Sharding *sharding : {&c.from, &c.to})
    held = std::max(held, elementsOf(sharding->localShape(c.shape)));
  for (const ReshardStep &step : plan.steps)
    held = std::max(held, step.received);
  replayed = held * double(c.mesh.numDevices()) <= kReplayed;
  return replayed ? replayPlan(c.mesh, c.shape, c.from, c.to, plan)
                  : samplePlan(c.mesh, c.shape, c.from, c.to, plan, /*samples=*/256, /*seed=*/1);
}

/// Steps that a search looks at, in the median and at most: with --limits.
static constexpr int64_t kMedianSteps = 100, kMostSteps = 100000;

static int drawn(int count, uint64_t seed, bool limits, bool list) {
  RandomReshards random(seed);
  std::vector<int64_t> work;
  int replays = 0, sends = 0, wrong = 0, missing = 0;
  std::vector<double> gaps[2]; // of sizes that do not divide, of those that do; sends among the latter
  int sendsWhereDivided = 0;
  for (int i = 0; i < count; ++i) {
    RandomReshard c = random.next();
    std::string meshText;
    for (const MeshAxis &axis : c.mesh.axes)
      meshText += (meshText.empty() ? "" : " ") + axis.name + std::to_string(axis.size);
    std::string row = meshText + "\t" + shapeText(c.shape) + "\t" + toString(c.from, c.mesh) + "\t" +
                      toString(c.to, c.mesh);
    SearchWork before = searchWork();
    std::optional<ReshardPlan> plan = planReshard(c.mesh, c.shape, c.from, c.to, factsOptions());
    work.push_back(searchWork().since(before).reshardSteps);
    if (!plan) {
      llvm::errs() << row << ": no plan\n";
      ++missing;
      continue;
    }
    bool replayed = false;
    if (std::string failure = judge(c, *plan, replayed); !failure.empty()) {
      llvm::errs() << row << ": " << failure << ": " << toString(*plan, c.mesh, c.shape) << "\n";
      ++wrong;
    }
    replays += replayed;
    bool sent =
        llvm::any_of(plan->steps, [](const ReshardStep &step) { return step.kind == StepKind::GroupedSend; });
    sends += sent;
    sendsWhereDivided += sent && c.divides;
    double bound = reshardBound(c.mesh, c.shape, c.from, c.to, /*samples=*/4096),
           gap = bound > 0 ? plan->received / bound - 1 : 0;
    if (list)
      llvm::outs() << row << "\t" << llvm::format("%lld steps\tgap %.3f\t", (long long)work.back(), gap)
                   << toString(*plan, c.mesh, c.shape) << "\n";
    if (bound > 0)
      gaps[c.divides].push_back(gap);
  }
  if (work.empty())
    return 0;
  llvm::sort(work);
  int64_t median = work[work.size() / 2], worst = work.back();
  llvm::outs() << count << " reshards, " << count - missing << " plans, " << wrong << " wrong (" << replays
               << " replayed on every device, the others on samples), " << sends << " with grouped sends ("
               << sendsWhereDivided << " of them of sizes that divide)\n"
               << "search: " << median << " steps in the median, 99 of 100 within "
               << work[size_t(double(work.size() - 1) * 0.99)] << ", at most " << worst << "\n";
  auto print = [](StringRef what, std::vector<double> list) {
    if (list.empty())
      return;
    llvm::sort(list);
    llvm::outs() << what << list.size()
                 << llvm::format(" that need communication, %d meet the bound, gap: mean %.1f %%, median "
                                 "%.1f %%, 9 of 10 within %.0f %%, worst %.0f %%\n",
                                 int(llvm::count_if(list, [](double gap) { return gap < 1e-9; })),
                                 100 * std::accumulate(list.begin(), list.end(), 0.0) / double(list.size()),
                                 100 * list[list.size() / 2], 100 * list[list.size() * 9 / 10],
                                 100 * list.back());
  };
  print("sizes that divide: ", gaps[true]);
  print("sizes that do not: ", gaps[false]);
  std::vector<double> all = gaps[true];
  all.insert(all.end(), gaps[false].begin(), gaps[false].end());
  print("all: ", all);
  bool slow = limits && (median > kMedianSteps || worst > kMostSteps);
  return missing || wrong || slow ? 1 : 0;
}

static llvm::cl::OptionCategory category("reshard-facts options");
static llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::desc("FILE.tsv"),
                                       llvm::cl::cat(category));
static llvm::cl::opt<bool> check("check", llvm::cl::desc("Replay every plan, compare with column `best`"),
                                 llvm::cl::cat(category));
static llvm::cl::opt<int> randomReshards("random", llvm::cl::value_desc("N"),
                                         llvm::cl::desc("N reshards drawn at random in place of a file"),
                                         llvm::cl::cat(category));
static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::value_desc("S"), llvm::cl::desc("Of --random"),
                                    llvm::cl::init(1), llvm::cl::cat(category));
static llvm::cl::opt<bool> limits("limits",
                                  llvm::cl::desc("Of --random: fail where a search looks at too many steps"),
                                  llvm::cl::cat(category));
static llvm::cl::opt<bool> list("list", llvm::cl::desc("Of --random: print the reshards too"),
                                llvm::cl::cat(category));

int main(int argc, char **argv) {
  if (!parseCommandLine(argc, argv, category, "Plans the reshards of a table, or random ones\n"))
    return 1;
  bool random = randomReshards.getNumOccurrences() > 0;
  if (random && randomReshards < 1)
    return fail("wrong count", "--random=" + std::to_string(randomReshards), "it is no number of at least 1",
                "--random=1000");
  if (random == !path.empty() || (random && check) ||
      (!random && (limits || list || seed.getNumOccurrences())))
    return fail(
        "wrong arguments", "reshard-facts", "a file or --random is needed, with its own flags",
        "reshard-facts [--check] FILE.tsv, or reshard-facts --random=1000 [--seed=1] [--limits] [--list]");
  if (random)
    return drawn(randomReshards, seed, limits, list);
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path.getValue());
  if (!file)
    return fail("cannot read file", path.getValue(), file.getError().message(),
                "a readable file, or - for standard input");
  llvm::SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  int number = 0, wrong = 0;
  double total = 0, bestTotal = 0;
  for (StringRef line : lines) {
    ++number;
    line = line.rtrim();
    if (line.empty() || line.starts_with("#") || line.starts_with("mesh\t"))
      continue;
    llvm::SmallVector<StringRef> columns;
    line.split(columns, '\t');
    std::string error, where = path.getValue() + ":" + std::to_string(number);
    if (columns.size() < 4)
      return fail("wrong row", where, "it has fewer than four columns",
                  "mesh, shape, from and to, separated by tabs");
    auto mesh = parseMesh(columns[0], error, kMaxDevices);
    auto shape = mesh ? parseShape(columns[1], error) : std::nullopt;
    auto from = shape ? parseSharding(columns[2], *mesh, error) : std::nullopt;
    auto to = from ? parseSharding(columns[3], *mesh, error) : std::nullopt;
    if (to && (from->dims.size() != shape->size() || to->dims.size() != shape->size()))
      error = "shape and shardings have different ranks";
    if (!error.empty())
      return fail("wrong row", where, error, "the notation of docs/Sharding.md");
    auto plan = planReshard(*mesh, *shape, *from, *to, factsOptions());
    if (!plan)
      return fail("no plan", where, "the target is partial where the source is not",
                  "a target that is not partial");
    llvm::outs() << toString(*plan, *mesh, *shape) << "\n";
    if (!check)
      continue;
    bool replayed;
    std::string failure = judge({*mesh, *shape, *from, *to}, *plan, replayed);
    double elements = elementsOf(*shape), best = 0;
    if (columns.size() > 5 && !columns[5].getAsDouble(best)) {
      total += plan->received / elements;
      bestTotal += best;
      if (failure.empty() && plan->received / elements > best + 5.1e-5)
        failure = ("more than best, " + columns[5]).str();
    }
    if (!failure.empty()) {
      llvm::errs() << where << ": " << failure << "\n";
      ++wrong;
    }
  }
  if (check)
    llvm::errs() << "sum over rows with a best: " << total << ", best " << bestTotal << "; " << wrong
                 << " wrong\n";
  return wrong ? 1 : 0;
}
