//===- Runner.cpp - Calls by a command of its own -------------------------===//
#include "tessera/Execution/Runner.h"
#include "tessera/Support/ScratchFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

namespace tessera {

/// The line that says what went wrong: ours, among those of a launcher.
static std::string firstError(const std::string &log) {
  auto buffer = llvm::MemoryBuffer::getFile(log);
  llvm::StringRef text = buffer ? (*buffer)->getBuffer() : "";
  size_t at = text.find("error: ");
  llvm::StringRef line = text.drop_front(at == llvm::StringRef::npos ? 0 : at).split('\n').first;
  return line.empty() ? "it says nothing" : line.str();
}

Result<std::vector<std::vector<runtime::ProgramCall>>>
runByCommand(const std::string &command, const std::string &library, int64_t ranks,
             const std::string &weights, const std::vector<runtime::ProgramCall> &calls) {
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("tessera-run", folder))
    return Failure{"cannot write a temporary folder", llvm::sys::path::parent_path(folder).str(),
                   error.message(), scratchHint(error)};
  llvm::scope_exit remove([&] { (void)llvm::sys::fs::remove_directories(folder); });
  std::string callsFile = std::string(folder) + "/calls.safetensors", out = std::string(folder) + "/out",
              log = std::string(folder) + "/log";
  if (Status s = runtime::writeCalls(callsFile, calls); !s)
    return s.takeFailure();
  std::vector<std::string> words;
  for (llvm::StringRef word : llvm::split(command, " "))
    if (!word.empty())
      words.push_back(word == "{ranks}" ? std::to_string(ranks) : word.str());
  for (const std::string &word : {library, callsFile, out})
    words.push_back(word);
  if (!weights.empty())
    words.push_back(weights);
  auto program = llvm::sys::findProgramByName(words.front());
  if (!program)
    return Failure{"cannot run the program", command, words.front() + ": " + program.getError().message(),
                   "name an executable"};
  std::string why;
  int status = llvm::sys::ExecuteAndWait(
      *program, llvm::SmallVector<llvm::StringRef>(words.begin(), words.end()), std::nullopt,
      {llvm::StringRef(""), llvm::StringRef(log), llvm::StringRef(log)}, 0, 0, &why);
  if (status != 0)
    return Failure{"cannot run the program", command,
                   why.empty() ? "exit status " + std::to_string(status) + ": " + firstError(log) : why,
                   "see whether it starts programs on this machine"};
  // One file a process, or one of all ranks and others of what came out another time.
  std::vector<std::vector<runtime::ProgramCall>> results;
  bool whole = llvm::sys::fs::exists(out);
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(folder, error), end; file != end && !error;
       file.increment(error)) {
    if (!llvm::sys::path::filename(file->path()).starts_with("out"))
      continue;
    if (whole || results.empty())
      results.push_back(calls);
    if (Status s = runtime::readCalls(file->path(), results.back()); !s)
      return s.takeFailure();
  }
  if (error)
    return Failure{"cannot run the program", command, folder.str().str() + ": " + error.message(),
                   "run it again"};
  if (results.empty()) // nothing to compare is not equal
    return Failure{"cannot run the program", command, "it ended well and wrote no results",
                   "name run-program, or what writes to its third argument as that does"};
  return results;
}

} // namespace tessera
