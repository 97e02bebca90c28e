//===- sharding-facts.cpp - Runs propagation and placement cases ----------===//
//
// sharding-facts [--machine=FILE] FILE: reads cases in the form of docs/Sharding.md, prints the shardings
// that propagation finds and, for cases with `place` lines, how each op runs and what moves, and exits with 1
// if an `expect` does not hold.
//
//===----------------------------------------------------------------------===//
#include "tessera/AutoParallel/PlacementText.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;
using llvm::StringRef;

static int fail(StringRef what, StringRef where, StringRef why, StringRef hint) {
  llvm::errs() << "error: " << what << " (" << where << "): " << why << "; try " << hint << "\n";
  return 1;
}

int main(int argc, char **argv) {
  StringRef machineFile;
  bool hasMachine = argc == 3 && (machineFile = argv[1]).consume_front("--machine=");
  if (argc != 2 + hasMachine)
    return fail("wrong arguments", "sharding-facts", "one file is needed",
                "sharding-facts [--machine=FILE] FILE");
  Machine machine;
  std::string error;
  if (hasMachine) {
    auto file = llvm::MemoryBuffer::getFile(machineFile);
    if (!file)
      return fail("cannot read file", machineFile, file.getError().message(), "a readable file");
    auto parsed = parseMachine((*file)->getBuffer(), error);
    if (!parsed)
      return fail("wrong machine", machineFile, error, "the form in docs/Sharding.md");
    machine = *parsed;
  }
  StringRef path = argv[1 + hasMachine];
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return fail("cannot read file", path, file.getError().message(),
                "a readable file or - for standard input");
  auto cases = parsePropagationCases((*file)->getBuffer(), error);
  if (!cases)
    return fail("wrong case", path, error, "the form in docs/Sharding.md");
  // All of the text first: nothing is printed of a file that is wrong.
  std::vector<std::optional<PlacementCase>> placements;
  for (const PropagationCase &c : *cases) {
    placements.emplace_back();
    if (!c.placement.empty() && !(placements.back() = PlacementCase::parse(c, machine, error)))
      return fail("wrong case", path, error, "the form in docs/Sharding.md");
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
