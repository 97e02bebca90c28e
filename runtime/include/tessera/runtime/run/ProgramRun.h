// Calls of a compiled program, run by all its ranks with the real runtime: the judge's way into rung binary.
//
// A program is a shared library of the compiler (LinkOptions::shared) that exports `tessera_program`; the
// functions of abi.h are looked up in the executable that loads it (linked with
// --export-dynamic-symbol=ts_*).
#ifndef TESSERA_RUNTIME_RUN_PROGRAMRUN_H
#define TESSERA_RUNTIME_RUN_PROGRAMRUN_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/device/Rank.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera::runtime {

// One port of an entry: the local array of every rank, as it lies in memory.
using RankBytes = std::vector<std::vector<char>>;

struct ProgramCall {
  std::string entry;
  // By port: all inputs of the entry but those of `reused`, and states that the call is to find as given.
  std::map<std::string, RankBytes> inputs;
  std::map<std::string, size_t>
      reused; // ports that take what an earlier call, by its number, gave under the same name
  std::map<std::string, RankBytes> outputs; // by port; filled by runCalls
  std::map<std::string, RankBytes>
      states; // by name, all of the program's and its variables; what they are after the call
};

struct RunOptions {
  std::string weights; // a file that ModelFile reads; empty: random numbers, the same on every mesh
  int64_t threads = 1; // of each rank
  const Driver *driver = nullptr; // default: the one for the program's target
  void (*atEnd)() = nullptr;      // called where an error of the runtime itself ends the process (setEndHook)
};

class LoadedProgram {
public:
  // Fails where the library is no program, or its manifest is none that this runtime reads.
  static Result<LoadedProgram> open(const std::string &library);
  LoadedProgram(LoadedProgram &&other) noexcept : handle(other.handle), meshSize(other.meshSize) {
    other.handle = nullptr;
  }
  ~LoadedProgram();
  const ts_program &program() const;
  int64_t ranks() const { return meshSize; }

private:
  explicit LoadedProgram(void *handle) : handle(handle) {}
  void *handle;
  int64_t meshSize = 0;
};

// Fails where this machine has no device that programs for `target` run on.
Status findDevices(const std::string &target);

// Runs `body` on every rank of the program, its weights loaded: threads of this process, or, under a
// launcher, the one rank that this process is. Fails where the program cannot be started; errors of the
// runtime itself end the process (runtime/core/Error.h).
Status runOnRanks(const ts_program &program, const RunOptions &options,
                  const std::function<void(Rank &)> &body);

// Runs `calls` one after another on every rank; states begin as zeros and stay. Before each call whatever is
// neither state nor input of the arena is filled with bytes 0xFF: NaN as any float. Ranks are threads of this
// process, or, under a launcher, its processes: then only the launcher's own rank has outputs. Fails on calls
// that do not fit the program (a port missing, other sizes), and as runOnRanks does.
Status runCalls(const ts_program &program, const RunOptions &options, std::vector<ProgramCall> &calls);

// The same as files: safetensors with one tensor U8 per array, `CALL/ENTRY/KIND/PORT/RANK`,
// and an empty one `CALL/ENTRY/reused/PORT/EARLIER` for each port of `reused`. Ranks that have no array have
// none.
Status writeCalls(const std::string &path, const std::vector<ProgramCall> &calls);
// Adds to `calls` what the file holds.
Status readCalls(const std::string &path, std::vector<ProgramCall> &calls);

// main of `run-program LIBRARY CALLS OUT [WEIGHTS]`: runs the calls of a file by `run` and writes what the
// ranks of this process gave to OUT, under a launcher to OUT.RANK. The exit status.
using RunFunction = std::function<Status(const ts_program &, const RunOptions &, std::vector<ProgramCall> &)>;
int runProgramMain(int argc, char **argv, const RunFunction &run);

} // namespace tessera::runtime
#endif
