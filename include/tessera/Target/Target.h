//===- Target.h - What the compiler asks of a machine -----------*- C++ -*-===//
//
// Everything below rung `spmd` that depends on the machine is asked of a Target: which ops are calls or
// kernels of its own, how large tiles are, how kernel functions become machine code, what the runtime has to
// know, how an executable is linked. `lib/Target/CMakeLists.txt` is the list of targets;
// docs/AddingATarget.md walks through adding one.
//
// A TargetDescription is an entry of the list. Resolved with the user's options it gives a Target, which
// serves one compilation.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_TARGET_H
#define TESSERA_TARGET_TARGET_H

#include "tessera/Target/LibraryForm.h"
#include "tessera/Target/LinkOptions.h"
#include "tessera/runtime/Result.h"
#include "tessera/runtime/core/ProductFunction.h"
#include "tessera/runtime/io/BlockLayout.h"
#include "tessera/runtime/io/DType.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The sizes that work is cut to.
struct TilingChoices {
  int64_t tileElements = 8192;   ///< elements that one iteration of a kernel should touch at most
  int64_t grainElements = 32768; ///< elements that are worth a thread
  int64_t prefillChunk = 128;    ///< positions that one @prefill takes at most
  /// Tokens of all rows that one @prefill takes, where that is more for a row than `prefillChunk`: the
  /// products of few tokens leave a large machine half empty.
  int64_t prefillTokens = 0;
  /// Positions that one @prefill_short takes: what costs hardly more than one position does, for the weights
  /// are read either way. 0: short prompts go to @prefill.
  int64_t shortChunk = 16;
  /// Iterations that fill the machine: where one step has few rows, loops run over other factors until there
  /// are so many, in tiles of as much as `tileElements` allows; less than `grainElements` stays one
  /// iteration. 0: a few rows are enough, loops run over leading rows alone, one at a time.
  int64_t parallelIterations = 0;
  int64_t cachePage = 0; ///< positions of a page of the KV caches, which kernels look up; 0: they do not
  /// Bytes that one iteration may keep for itself, where loops run over any factor: tiles are no larger, and
  /// ops that would keep more together are kernels apart.
  int64_t keptBytes = std::numeric_limits<int64_t>::max();
  /// Caches of attentions with a window are rings, where these are shorter: kernels find keys there.
  bool ringCaches = false;

  /// Positions that one @prefill of so many rows takes at most.
  int64_t largestChunk(int64_t rows) const { return std::max(prefillChunk, prefillTokens / rows); }
};

/// What runs side by side on a device.
struct StreamChoices {
  bool communication = false; ///< what ranks exchange goes to a stream of its own, beside what computes
};

/// What the library of products would do to the sums, in float32, before it rounds them:
/// y = function(x . w^T + addend + bias). Bias and addend are of y's type.
struct ProductEpilogue {
  mlir::Type x, w, y;                   ///< elements
  std::optional<int64_t> biasAlignment; ///< bytes to whose multiples the bias is aligned; none: there is none
  bool addend = false;                  ///< a matrix like y
  bool inPlace =
      false; ///< y takes the addend's place: nobody else reads that, and no kernel is waiting for y
  ProductFunction function = ProductFunction::None;
};

/// What the manifest says of the target.
struct TargetSection {
  std::string driver; ///< the runtime's driver that runs the program: the manifest's `target`
  llvm::json::Object
      facts; ///< what that driver checks and needs: the manifest's section of the driver's name
};

class Target {
public:
  virtual ~Target() = default;

  virtual TilingChoices tiling() const = 0;
  virtual StreamChoices streams() const { return {}; }
  virtual const LibraryForms &libraryForms() const = 0;
  /// Whether a product of the library does this too, at no cost: what comes next need not be a kernel.
  virtual bool takesEpilogue(const ProductEpilogue &epilogue) const { return false; }
  /// Bytes that a packed weight of so many rows and columns takes.
  virtual int64_t packedBytes(int64_t rows, int64_t columns, io::DType type) const {
    return io::bytesOf(type, rows * columns);
  }
  /// Bytes to whose multiples each layer of a plain stack of parameters begins: where layers have others,
  /// they are held apart. A power of two, `exec::kBufferAlignment` at most.
  virtual int64_t layerAlignment() const { return 1; }

  /// Adds the passes that turn every kernel function of a module into an LLVM function (ts_kernel_fn), or
  /// into an exec.device_kernel whose code is in exec.images, and leave everything else alone.
  virtual void buildKernelPipeline(mlir::OpPassManager &pm) const = 0;
  virtual TargetSection manifestSection() const = 0;

  /// Writes `module` (LLVM dialect alone) as an object to `path`: the whole object is there, or nothing.
  virtual Status emitObject(mlir::ModuleOp module, llvm::StringRef path) const = 0;
  /// Links an executable, or a shared library. On any error `output` is as it was.
  virtual Status link(const LinkOptions &options, llvm::StringRef output) const = 0;

  /// Whether its products of numbers of this type are faster than those of float32.
  virtual bool multipliesFaster(io::DType type) const { return false; }
  /// Whether its products and lookups read packed weights in quantized blocks of this type, and its attention
  /// keys and values.
  virtual bool holdsBlocks(io::DType type) const { return false; }
  /// Bytes of such a weight: rows, and how a rank's columns lie in the file's rows.
  virtual int64_t blockBytes(io::DType type, int64_t rows, const io::BlockColumns &columns) const {
    return 0;
  }
};

/// The values of a target's options by name, for `--cpu=znver5` {"cpu": "znver5"}. Options that are not there
/// have their defaults.
using TargetOptions = std::map<std::string, std::string>;

/// One option: the flag `--NAME=VALUE` of llm-compile.
struct TargetOption {
  std::string name;
  std::string value; ///< for --help: what VALUE is called
  std::string help;  ///< for --help: what may be given, the default first
};

/// One of several versions of a program's code that an executable holds.
struct TargetVersion {
  std::string name;      ///< that people read: "x86-64-v3"
  TargetOptions options; ///< that make it
};

/// An entry of the list of targets.
struct TargetDescription {
  std::string name; ///< of `--target=NAME`
  std::vector<TargetOption> options;
  /// Registers the dialects and extensions that the kernel pipeline and the emission need.
  void (*registerDialects)(mlir::DialectRegistry &registry);
  /// Registers the passes and pipelines of the target by name, for llm-opt.
  void (*registerPasses)();
  /// Checks the options' values and makes a target of them. `options` holds names from the list above only.
  Result<std::shared_ptr<const Target>> (*resolve)(const TargetOptions &options);
  /// The versions that the options ask for, the plainest first: an executable takes the last one that its
  /// machine runs. Above rung `kernels` they are one program, compiled for what resolve() makes of the same
  /// options. Empty, or no function: there is one version, and it has no name.
  std::vector<TargetVersion> (*versions)(const TargetOptions &options) = nullptr;
};

/// Adds an entry to the list; its name must be new. Not safe beside other threads that use the list: call it
/// at the start of a program.
void registerTarget(TargetDescription description);
/// All entries, in the order in which they were registered.
llvm::ArrayRef<TargetDescription> registeredTargets();

/// Finds the target and checks the options. Failures say which flag is wrong and what there is instead.
Result<std::shared_ptr<const Target>> resolveTarget(llvm::StringRef name, const TargetOptions &options);

/// The same for passes, with the text form of options: null after an error at `op`.
std::shared_ptr<const Target> resolveTarget(mlir::Operation *op, llvm::StringRef name,
                                            llvm::StringRef options);

/// The versions of a target that the options ask for, which resolveTarget() takes; empty: one.
std::vector<TargetVersion> targetVersions(llvm::StringRef name, const TargetOptions &options);

/// The text form of options, `NAME=VALUE,...`, which passes take. What does not have this form is read as an
/// option that no target has.
std::string printTargetOptions(const TargetOptions &options);
TargetOptions parseTargetOptions(llvm::StringRef text);

} // namespace tessera
#endif
