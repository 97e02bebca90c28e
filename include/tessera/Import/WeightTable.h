//===- WeightTable.h - Parameters and their tensors in a file ---*- C++ -*-===//
//
// A family's parameters have names of ours ("layers.q"); a table per file format says which tensor holds
// each, and how.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_WEIGHTTABLE_H
#define TESSERA_IMPORT_WEIGHTTABLE_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/ModelFile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::importer {

/// A dimension with its name.
struct Dim {
  std::string name;
  int64_t size = 1;
};
using Dims = llvm::SmallVector<Dim, 5>;

/// How a tensor of the file is written.
enum class StorageOrder : uint8_t {
  OutputMajor,   ///< [out, in], as PyTorch's Linear; vectors
  InputMajor,    ///< [in, out], as GPT-2's Conv1D
  AdjacentPairs, ///< OutputMajor; within a head the pairs of the rotary embedding lie side by side (2p, 2p +
                 ///< 1), not half a head apart
  ExpertMajor, ///< [expert, out, in]; of weights that share the tensor the outputs of one expert lie together
  HeadByHead,  ///< OutputMajor; of weights that share the tensor the parts of one key head lie together,
               ///< then those of the next
  ExpertAlternating, ///< [expert, out, in] or [expert, out]; of weights that share the tensor one output of
                     ///< each lies beside those of the others
  ExpertInputMajor,  ///< the same with inputs first, [expert, in, out]
};

struct WeightName {
  llvm::StringRef parameter; ///< our name
  /// Name in the file; `{}` is the layer's number in the model, and with `{expert}` each expert, the weight's
  /// first dimension, has a tensor of its own.
  llvm::StringRef tensor;
  StorageOrder order = StorageOrder::OutputMajor;
};

struct WeightTable {
  /// Parameters that share one tensor lie in it one after another (along its outputs, or HeadByHead), in the
  /// order of the table.
  std::vector<WeightName> names;
  /// Prefix of `names` that some files leave out, or have `otherPrefix` in place of.
  llvm::StringRef optionalPrefix;
  /// Ends of names of tensors that are no weights.
  std::vector<llvm::StringRef> ignored;
  llvm::StringRef otherPrefix = {};
  /// Begins of names of tensors that text has no use for.
  std::vector<llvm::StringRef> notText = {};
  /// Lines that take the place of those for the same parameters in a file that has their tensors.
  std::vector<WeightName> alternatives = {};

  const WeightName *find(llvm::StringRef parameter) const;
};

/// `table` with the alternatives that `file` has.
WeightTable tableFor(WeightTable table, const io::ModelFile &file);

/// A weight of the program: dimensions without `layer`. The last `inDims` are summed over by a linear.
struct Weight {
  std::string name;
  Dims dims;
  int inDims = 0;
  int64_t layers = 0;      ///< 0: not stacked
  double mean = 0;         ///< what made-up values lie around
  double deviation = 0.02; ///< and their standard deviation
  /// Of a stack: slice i is of layer firstLayer + i * layerStep.
  int64_t firstLayer = 0, layerStep = 1;
  std::string parameter = {}; ///< in tables, where that is not `name`

  llvm::StringRef inTables() const { return parameter.empty() ? name : parameter; }
  int64_t elements() const; ///< of one layer; -1 if more than 2^50
};

/// Where one layer of a weight comes from: file tensor -> reshape -> slice -> permute -> the weight's shape
/// (docs/Architecture.md).
struct WeightSource {
  std::string tensor;
  llvm::SmallVector<int64_t> file, reshape, slice, permute;
  int64_t experts = 0; ///< so many tensors, `{expert}` in the name; joined along the first dimension. 0: one
};

/// The names of its tensors, of all layers (a pattern: LayerNames.h) or of one slice of the stack.
llvm::SmallVector<std::string> tensorNames(const WeightSource &source,
                                           std::optional<int64_t> slice = std::nullopt);

/// The source of `weight`, where `all` are the weights of the model (those that share its tensor decide its
/// place).
WeightSource weightSource(const Weight &weight, llvm::ArrayRef<Weight> all, const WeightTable &table,
                          bool stripPrefix);

/// Compares the tensors of `file` with what the weights need: every one is there with its shape and a float
/// type, and none is left over. `settings` says in messages where the shapes come from.
Status checkTensors(const io::ModelFile &file, llvm::ArrayRef<Weight> weights,
                    llvm::ArrayRef<WeightSource> sources, const WeightTable &table, bool tiedHead,
                    llvm::StringRef settings);

} // namespace tessera::importer
#endif
