//===- sharding-facts.cpp - Runs propagation and placement cases ----------===//
//
// sharding-facts [--machine=NAME|FILE] FILE: reads cases in the form of docs/Sharding.md, prints the
// shardings that propagation finds and, for cases with `place` lines, how each op runs and what moves, and
// exits with 1 if an `expect` does not hold.
//
//===----------------------------------------------------------------------===//
#include "tessera/AutoParallel/PlacementText.h"
#include "tessera/Support/CommandLine.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

static int fail(StringRef what, StringRef where, StringRef why, StringRef hint) {
  llvm::errs() << "error: " << what << " (" << where << "): " << why << "; try " << hint << "\n";
  return 1;
}

static llvm::cl::OptionCategory category("sharding-facts options");
static llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::desc("FILE"), llvm::cl::cat(category));
static llvm::cl::opt<std::string> machineFile("machine", llvm::cl::value_desc("NAME|FILE"),
                                              llvm::cl::desc("The machine that placement is for"),
                                              llvm::cl::cat(category));

int main(int argc, char **argv) {
  if (!parseCommandLine(argc, argv, category, "Runs the propagation and placement cases of a file\n"))
    return 1;
  if (path.empty())
    return fail("wrong arguments", "sharding-facts", "one file is needed",
                "sharding-facts [--machine=NAME|FILE] FILE");
  Machine machine;
  std::string error;
  if (!machineFile.empty()) {
    auto parsed = namedMachine(machineFile.getValue(), error);
    if (!parsed && error.empty()) {
      auto file = llvm::MemoryBuffer::getFile(machineFile.getValue());
      if (!file)
        return fail("cannot read file", machineFile.getValue(), file.getError().message(), "a readable file");
      parsed = parseMachine((*file)->getBuffer(), error);
    }
    if (!parsed)
      return fail("wrong machine", machineFile.getValue(), error, "the form in docs/Machines.md");
    machine = *parsed;
  }
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path.getValue());
  if (!file)
    return fail("cannot read file", path.getValue(), file.getError().message(),
                "a readable file or - for standard input");
  auto cases = parsePropagationCases((*file)->getBuffer(), error);
  if (!cases)
    return fail("wrong case", path.getValue(), error, "the form in docs/Sharding.md");
  // All of the text first: nothing is printed of a file that is wrong.
  std::vector<std::optional<PlacementCase>> placements;
  for (const PropagationCase &c : *cases) {
    placements.emplace_back();
    if (!c.placement.empty() && !(placements.back() = PlacementCase::parse(c, machine, error)))
      return fail("wrong case", path.getValue(), error, "the form in docs/Sharding.md");
  }
  int failed = 0;
  for (auto [c, placement] : llvm::zip(*cases, placements)) {
    std::string report;
    auto failures = c.run(&report);
    if (placement)
      llvm::append_range(failures, placement->run(&report));
    if (!c.name.empty())
      llvm::outs() << "case " << c.name << "\n";
    llvm::outs() << report;
    for (const std::string &failure : failures)
      llvm::outs() << "FAILED: " << failure << "\n";
    failed += !failures.empty();
  }
  return failed ? 1 : 0;
}
