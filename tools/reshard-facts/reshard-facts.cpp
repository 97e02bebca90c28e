//===- reshard-facts.cpp - Plans for reshards from a table ----------------===//
//
// reshard-facts FILE.tsv: reads mesh, shape, from and to from the first four columns of each row (lines that start with # and the
// header line are skipped) and prints one plan a row: cost<TAB>MOVE [state]; MOVE [state]; ...
// --check: replays every plan element by element, and compares with column `best` where the row has one; exit 1 if one fails.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/ReshardPlanner.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

static int fail(StringRef what, StringRef where, StringRef why, StringRef hint) {
  llvm::errs() << "error: " << what << " (" << where << "): " << why << "; try " << hint << "\n";
  return 1;
}

int main(int argc, char **argv) {
  bool check = argc == 3 && StringRef(argv[1]) == "--check";
  if (argc != 2 + check)
    return fail("wrong arguments", "reshard-facts", "one file is needed", "reshard-facts [--check] FILE.tsv");
  StringRef path = argv[1 + check];
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return fail("cannot read file", path, file.getError().message(), "a readable file, or - for standard input");
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
    std::string error, where = (path + ":" + llvm::Twine(number)).str();
    if (columns.size() < 4)
      return fail("wrong row", where, "it has fewer than four columns", "mesh, shape, from and to, separated by tabs");
    auto mesh = parseMesh(columns[0], error);
    auto shape = mesh ? parseShape(columns[1], error) : std::nullopt;
    auto from = shape ? parseSharding(columns[2], *mesh, error) : std::nullopt;
    auto to = from ? parseSharding(columns[3], *mesh, error) : std::nullopt;
    if (to && (from->dims.size() != shape->size() || to->dims.size() != shape->size()))
      error = "shape and shardings have different ranks";
    if (!error.empty())
      return fail("wrong row", where, error, "the notation of docs/Sharding.md");
    ReshardOptions options;
    options.strided = options.jointAllToAll = options.pointToPoint = true;
    auto plan = planReshard(*mesh, *shape, *from, *to, options);
    if (!plan)
      return fail("no plan", where, "the target is partial where the source is not", "a target that is not partial");
    llvm::outs() << toString(*plan, *mesh, *shape) << "\n";
    if (!check)
      continue;
    std::string failure = replayPlan(*mesh, *shape, *from, *to, *plan);
    double elements = 1, best = 0;
    for (int64_t n : *shape)
      elements *= double(n);
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
    llvm::errs() << "sum over rows with a best: " << total << ", best " << bestTotal << "; " << wrong << " wrong\n";
  return wrong ? 1 : 0;
}
