//===- CompiledProgram.h - A program as the machine runs it ----*- C++ -*-===//
//
// What ships, seen from outside: the phases of llm-compile, the same object, linked as a shared library, run
// by all ranks with the real runtime. All that tools and tests need to judge the rungs below spmd.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_EXECUTION_COMPILEDPROGRAM_H
#define TESSERA_EXECUTION_COMPILEDPROGRAM_H

#include "tessera/Execution/Ports.h"
#include "tessera/Execution/Weights.h"
#include "tessera/Pipelines/CompileOptions.h"
#include "tessera/Support/ScratchFile.h"

#include <algorithm>
#include <functional>

namespace tessera {

struct ExecutionOptions {
  CompileOptions compile;      ///< mesh, shard, machine, cpu
  Rung from = Rung::Step;      ///< the module's
  Rung through = Rung::Binary; ///< kernels and exec: the text of that rung is printed, and what follows is
                               ///< made from it as it is parsed again
  std::function<void(mlir::ModuleOp)> onSpmd;   ///< sees, and may change, rung spmd
  std::function<void(mlir::ModuleOp)> onExec;   ///< sees rung exec
  std::function<void(mlir::ModuleOp)> onBinary; ///< and the module that the object is made of
};

/// Whether the target of this name has a form for ops called `op`; of an unknown one no.
bool hasLibraryForm(llvm::StringRef target, llvm::StringRef op);

/// One call with global values.
struct GlobalCall {
  std::string entry;
  NamedValues inputs;          ///< by port; one that is missing takes the last output of its name, a state
                               ///< what the calls before left
  NamedValues outputs, states; ///< by port and name, after the call
};

/// "call 2 of decode": which of its entry's calls number `number` of `calls` is, counted from 1.
template <typename Call> std::string callText(const std::vector<Call> &calls, size_t number) {
  const std::string &entry = calls[number].entry;
  auto same = std::count_if(calls.begin(), calls.begin() + long(number) + 1,
                            [&](const Call &call) { return call.entry == entry; });
  return "call " + std::to_string(same) + " of " + entry;
}

/// What a Failure says where copies of one element differ by more than is allowed.
inline constexpr const char *kRanksDisagree = "ranks disagree";

/// How far copies of a result's elements may differ, relative to the largest, by the number of the call.
using CopyTolerance = std::function<double(size_t call, const Port &port)>;

class CompiledProgram {
public:
  /// Takes a module whose ports are complete down to a loaded library; `module` is on rung binary then. The
  /// first diagnostic becomes the failure.
  static Result<CompiledProgram> compile(mlir::ModuleOp module, const ExecutionOptions &options);
  /// An object of emitObject, whose program had these ports on rung spmd.
  static Result<CompiledProgram> load(const std::string &object, std::vector<EntryPorts> ports,
                                      const Target &target);
  CompiledProgram(CompiledProgram &&) = default;

  const std::vector<EntryPorts> &entries() const { return ports; }
  const std::string &library() const { return file->path(); } ///< the file; lives as long as the object
  int64_t ranks() const { return loaded->ranks(); }

  /// Splits inputs as the ports say, their padding poisoned.
  Result<std::vector<runtime::ProgramCall>> split(const std::vector<GlobalCall> &calls) const;
  /// Puts outputs and states together; copies of an element must agree.
  Status join(const std::vector<runtime::ProgramCall> &local, std::vector<GlobalCall> &calls,
              const CopyTolerance &tolerance) const;
  /// Both with the run between: all ranks as threads of this process. With a `runner` (Runner.h) they run by
  /// that too, and must give the same bits.
  Status run(std::vector<GlobalCall> &calls, const runtime::RunOptions &options,
             const CopyTolerance &tolerance, const std::string &runner = "") const;
  Status run(std::vector<GlobalCall> &calls, const runtime::RunOptions &options, double tolerance) const {
    return run(calls, options, [=](size_t, const Port &) { return tolerance; });
  }
  const ts_program &program() const { return loaded->program(); }

private:
  CompiledProgram() = default;
  /// Where results of the same calls differ in a bit, outside of padding.
  std::string firstDifference(const std::vector<runtime::ProgramCall> &a,
                              const std::vector<runtime::ProgramCall> &b) const;
  const EntryPorts *find(const std::string &entry) const;
  std::optional<size_t> giverOf(const std::string &output,
                                const std::vector<runtime::ProgramCall> &calls) const;

  std::vector<EntryPorts> ports;
  std::unique_ptr<ScratchFile> file;
  std::unique_ptr<runtime::LoadedProgram> loaded;
};

} // namespace tessera
#endif
