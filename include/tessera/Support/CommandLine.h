// Flags of our small tools, by LLVM's option tables, with errors in our own form.
#ifndef TESSERA_SUPPORT_COMMANDLINE_H
#define TESSERA_SUPPORT_COMMANDLINE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

/// Reads the flags of `category`, hides all others. False after an error: one line, which names the nearest
/// flag where one is not known. `--help` prints help and ends the program.
inline bool parseCommandLine(int argc, char **argv, llvm::cl::OptionCategory &category,
                             llvm::StringRef overview) {
  llvm::cl::HideUnrelatedOptions(category);
  std::string text;
  llvm::raw_string_ostream errors(text);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &errors))
    return true;
  // `TOOL: WHY  Try: 'TOOL --help'` and `TOOL: Did you mean '--FLAG'?`, a line each.
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  llvm::StringRef why = lines.empty() ? "" : lines[0].split(": ").second.split("  Try: ").first.rtrim('.'),
                  hint = lines.size() > 1 ? lines[1].split(": ").second : "see --help";
  std::string start = why.empty() ? "" : std::string(1, llvm::toLower(why[0])) + why.drop_front().str();
  llvm::errs() << "error: cannot read the command line: " << start << "; "
               << (hint.starts_with("Did") ? "did" + hint.drop_front(3).str() : hint.str()) << "\n";
  return false;
}

} // namespace tessera
#endif
