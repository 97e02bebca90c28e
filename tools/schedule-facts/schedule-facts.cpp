//===- schedule-facts.cpp - Runs cases of pipeline schedules --------------===//
//
// schedule-facts FILE: reads cases in the form of docs/Schedules.md (`-`: standard input) and prints each
// with the lists of its ranks and one line of numbers, or `error WHY`. Exits with 1 if what a case expects
// does not hold.
//
//===----------------------------------------------------------------------===//
#include "tessera/Support/CommandLine.h"
#include "tessera/runtime/schedule/Cases.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera;

static int fail(const Failure &failure) {
  llvm::errs() << "error: " << failure.message() << "\n";
  return 1;
}

static llvm::cl::OptionCategory category("schedule-facts options");
static llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::desc("FILE"), llvm::cl::cat(category));

int main(int argc, char **argv) {
  if (!parseCommandLine(argc, argv, category, "Runs the cases of pipeline schedules of a file\n"))
    return 1;
  if (path.empty())
    return fail({"wrong arguments", "schedule-facts", "one file is needed", "schedule-facts FILE"});
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path.getValue());
  if (!file)
    return fail({"cannot read file", path.getValue(), file.getError().message(),
                 "a readable file or - for standard input"});
  llvm::StringRef text = (*file)->getBuffer();
  Result<std::vector<schedule::Case>> cases =
      schedule::parseCases({text.data(), text.size()}, path.getValue());
  if (!cases)
    return fail(cases.failure());
  bool failed = false;
  for (const schedule::Case &c : *cases) {
    schedule::Case::Report report = c.run();
    llvm::outs() << (&c == &cases->front() ? "" : "\n") << report.text;
    for (const std::string &failure : report.failures)
      llvm::outs() << "FAILED: " << failure << "\n";
    failed |= !report.failures.empty();
  }
  return failed ? 1 : 0;
}
