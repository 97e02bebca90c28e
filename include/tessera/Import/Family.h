//===- Family.h - What makes a model family ---------------------*- C++ -*-===//
//
// A family is one page in lib/Import/Families: how its settings are called, how its tensors are called, and
// its forward pass out of the blocks in Layers.h. Adding one: docs/Import.md.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_IMPORT_FAMILY_H
#define TESSERA_IMPORT_FAMILY_H

#include "tessera/Import/ModelConfig.h"
#include "tessera/Import/Settings.h"
#include "tessera/Import/WeightTable.h"
#include "tessera/runtime/io/ModelFile.h"

#include "mlir/IR/Value.h"

namespace tessera::importer {

class ModelBuilder;

/// How one file format spells a family.
struct Spelling {
  /// Names that select it: entries of config.json's `architectures`, or `general.architecture` of GGUF.
  /// Empty: the format has none.
  std::vector<llvm::StringRef> architectures;
  /// config.json's `model_type`; empty for GGUF.
  llvm::StringRef modelType;
  /// Reads the settings (and, where the format leaves something out, which tensors there are). Errors stay in
  /// `settings`.
  ModelConfig (*readConfig)(Settings &settings, const io::ModelFile &file) = nullptr;
  WeightTable weights;
  /// The object of config.json that has the settings of a model's text; empty: they stand at the top.
  llvm::StringRef group = {};
};

struct Family {
  llvm::StringRef name; ///< as `info` shows it
  Spelling huggingFace, gguf;
  /// Builds the program from tokens and positions to the logits [batch, seq, vocab].
  mlir::Value (*build)(ModelBuilder &model, const ModelConfig &config) = nullptr;
};

/// All families, in the order in which errors list them.
llvm::ArrayRef<const Family *> allFamilies();

const Family &llamaFamily();
const Family &gpt2Family();
const Family &mistralFamily();
const Family &qwen2Family();
const Family &qwen3Family();
const Family &phi3Family();
const Family &graniteFamily();
const Family &olmo2Family();
const Family &gptNeoxFamily();
const Family &smolLM3Family();
const Family &mixtralFamily();
const Family &qwen3MoeFamily();
const Family &gptOssFamily();
const Family &gemmaFamily();
const Family &gemma2Family();
const Family &gemma3Family();
const Family &gemma3VisionFamily();

/// The activation called by Hugging Face's name in setting `key`.
Activation readActivation(Settings &settings, llvm::StringRef key, std::optional<std::string> fallback);
/// Every `period`th of `layers` sees all keys, the others slide; 0: all slide.
std::vector<LayerKind> slidingBut(int64_t period, int64_t layers);
/// Checks that kvHeads divides heads, sets headDim to hidden / heads where it is 0, and sets attentionScale.
/// The keys name the settings in messages.
void checkHeads(Settings &settings, ModelConfig &config, llvm::StringRef headsKey, llvm::StringRef kvHeadsKey,
                llvm::StringRef hiddenKey);

} // namespace tessera::importer
#endif
