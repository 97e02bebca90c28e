//===- sharding-facts.cpp - Runs propagation cases from a file ------------===//
//
// sharding-facts FILE: reads cases in the form of docs/Sharding.md, prints the shardings that propagation finds, and exits with 1 if
// an `expect` line does not hold.
//
//===----------------------------------------------------------------------===//
#include "tessera/Analysis/Sharding/PropagationText.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "error: no file (sharding-facts): one argument is needed; try sharding-facts FILE\n";
    return 1;
  }
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(argv[1]);
  if (!file) {
    llvm::errs() << "error: cannot read file (" << argv[1] << "): " << file.getError().message()
                 << "; try a readable file or - for standard input\n";
    return 1;
  }
  std::string error;
  auto cases = parsePropagationCases((*file)->getBuffer(), error);
  if (!cases) {
    llvm::errs() << "error: wrong case (" << argv[1] << "): " << error << "; try the form in docs/Sharding.md\n";
    return 1;
  }
  int failed = 0;
  for (PropagationCase &c : *cases) {
    std::string report;
    auto failures = c.run(&report);
    if (!c.name.empty())
      llvm::outs() << "case " << c.name << "\n";
    llvm::outs() << report;
    for (const std::string &failure : failures)
      llvm::outs() << "FAILED: " << failure << "\n";
    failed += !failures.empty();
  }
  return failed ? 1 : 0;
}
