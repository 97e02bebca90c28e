//===- Import.cpp - Finds the family and builds its program ---------------===//
#include "tessera/Import/Import.h"

#include "HeldTypes.h"

#include "tessera/Import/Family.h"
#include "tessera/Import/GGUF/GgufSettings.h"
#include "tessera/Import/HuggingFace/JsonSettings.h"
#include "tessera/Import/ModelBuilder.h"
#include "tessera/runtime/io/Json.h"
#include "tessera/runtime/text/Tokenizer.h"

#include "mlir/IR/Verifier.h"

#include <cstring>

using namespace mlir;

namespace tessera::importer {

ArrayRef<const Family *> allFamilies() {
  static const Family *const families[] = {
      &llamaFamily(),    &gpt2Family(),    &mistralFamily(), &qwen2Family(),        &qwen3Family(),
      &phi3Family(),     &graniteFamily(), &olmo2Family(),   &gptNeoxFamily(),      &smolLM3Family(),
      &gemmaFamily(),    &gemma2Family(),  &gemma3Family(),  &gemma3VisionFamily(), &mixtralFamily(),
      &qwen3MoeFamily(), &gptOssFamily()};
  return families;
}

//===----------------------------------------------------------------------===//
// Which family
//===----------------------------------------------------------------------===//

/// A family as one file spells it, with the numbers of one model.
struct Described {
  const Family *family = nullptr;
  const Spelling *spelling = nullptr;
  ModelConfig config;
  std::string settingsFile;
};

static Failure unknownArchitecture(const std::string &where, const std::string &name,
                                   const Spelling Family::*format) {
  std::vector<std::string> known;
  for (const Family *family : allFamilies())
    for (StringRef architecture : (family->*format).architectures)
      known.push_back(architecture.str());
  return {"unsupported architecture", where, "\"" + name + "\" is not implemented",
          "implemented: " + llvm::join(known, ", ")};
}

/// The tensor of `weight`, whichever prefix the file has; null if there is none.
static const io::TensorInfo *findTensor(const io::ModelFile &file, const WeightTable &names,
                                        StringRef weight) {
  const WeightName *name = names.find(weight);
  StringRef bare = name ? name->tensor : StringRef();
  const io::TensorInfo *tensor = file.find(bare);
  if (!tensor && bare.consume_front(names.optionalPrefix))
    tensor = file.find((names.otherPrefix + bare).str());
  return tensor;
}

/// Types that float32 holds exactly.
static bool sameWidened(const io::TensorInfo &a, const io::TensorInfo &b) {
  auto isExact = [](io::DType type) {
    return type == io::DType::F32 || type == io::DType::F16 || type == io::DType::BF16;
  };
  if (!isExact(a.dtype) || !isExact(b.dtype))
    return false;
  constexpr int64_t kAtOnce = 1 << 16;
  std::vector<float> ofA(kAtOnce), ofB(kAtOnce);
  for (int64_t at = 0; at < a.elements; at += kAtOnce) {
    const int64_t count = std::min(kAtOnce, a.elements - at);
    auto widen = [&](const io::TensorInfo &tensor, std::vector<float> &values) {
      io::traits(tensor.dtype).widen(tensor.data + io::bytesOf(tensor.dtype, at), count, values.data());
    };
    widen(a, ofA);
    widen(b, ofB);
    if (std::memcmp(ofA.data(), ofB.data(), size_t(count) * sizeof(float)) != 0)
      return false;
  }
  return true;
}

/// The bits of all elements are the same, in float32 if they are stored in two types. Reads them up to the
/// first difference.
static bool sameNumbers(const io::TensorInfo &a, const io::TensorInfo &b) {
  if (a.shape != b.shape || !a.data || !b.data)
    return false;
  bool same = a.dtype == b.dtype ? std::memcmp(a.data, b.data, a.bytes) == 0 : sameWidened(a, b);
  io::ModelFile::release(a);
  io::ModelFile::release(b);
  return same;
}

static Result<Described> describeHuggingFace(const io::ModelFile &file) {
  std::string where = file.path() + "/config.json";
  const std::string_view *text = file.text("config.json");
  if (!text)
    return Failure{"cannot read model", where, "no such file",
                   "name a Hugging Face directory, a .gguf file or a .mlir file"};
  Result<nlohmann::json> parsed = io::parseJson(*text, where);
  if (!parsed)
    return parsed.takeFailure();
  if (!parsed->is_object())
    return Failure{"cannot read model", where, "must hold a JSON object",
                   "take the files of the model afresh"};

  const Family *family = nullptr;
  auto architectures = parsed->find("architectures"), type = parsed->find("model_type");
  bool hasArchitectures = architectures != parsed->end() && !architectures->is_null();
  bool hasType = type != parsed->end() && !type->is_null();
  if (!hasArchitectures && !hasType)
    return Failure{"cannot read model", where + ", architectures", "is missing",
                   "take the files of the model afresh"};
  if (hasType && !type->is_string())
    return Failure{"cannot read model", where + ", model_type", "must be a string",
                   "take the files of the model afresh"};
  if (hasArchitectures) {
    if (!architectures->is_array() || architectures->size() != 1 || !architectures->front().is_string())
      return Failure{"cannot read model", where + ", architectures", "must be a list with one string",
                     "take the files of the model afresh"};
    std::string name = architectures->front().get<std::string>();
    for (const Family *f : allFamilies())
      if (llvm::is_contained(f->huggingFace.architectures, name))
        family = f;
    if (!family)
      return unknownArchitecture(where, name, &Family::huggingFace);
    if (hasType && type->get<std::string>() != family->huggingFace.modelType)
      return Failure{"cannot read model", where + ", model_type",
                     "is \"" + type->get<std::string>() + "\", which contradicts the architecture " + name,
                     "correct one of them"};
  } else {
    std::string name = type->get<std::string>();
    for (const Family *f : allFamilies())
      if (name == f->huggingFace.modelType)
        family = f;
    if (!family)
      return unknownArchitecture(where, name, &Family::huggingFace);
  }

  JsonSettings whole(*parsed, where);
  StringRef group = family->huggingFace.group;
  if (!group.empty() && whole.value(group).kind != SettingValue::Kind::Object)
    return Failure{"cannot read model", where + ", " + group.str(), "is missing or no object",
                   "take the files of the model afresh"};
  JsonSettings settings(group.empty() ? parsed.take() : (*parsed)[group.str()],
                        group.empty() ? where : where + ", " + group.str());
  Described d{family, &family->huggingFace, family->huggingFace.readConfig(settings, file), where};
  settings.refuseUnreadSettings();
  if (!group.empty()) { // what is said of the whole counts for its text
    d.config.tiedHead = whole.flag("tie_word_embeddings", d.config.tiedHead);
    whole.refuseUnreadSettings();
  }
  for (const JsonSettings *read : {&settings, &whole})
    if (read->failure())
      return *read->failure();
  // A head that is no copy of the embedding counts as one of its own, whatever config.json says, as
  // transformers 5 reads it. Where there is none and it is not tied, transformers would make one up.
  const WeightTable &names = d.spelling->weights;
  if (const WeightName *head = names.find("unembedding"); file.hasWeights() && head) {
    const io::TensorInfo *own = file.find(head->tensor), *table = findTensor(file, names, "embedding");
    if (!own && !d.config.tiedHead)
      return Failure{"cannot use weights", file.path() + ", tensor " + head->tensor.str(),
                     "it is missing, and tie_word_embeddings in config.json is false or left out, so the "
                     "embedding is not in its place",
                     "fetch all files of the model, or set tie_word_embeddings to true if it was trained so"};
    if (own && table && d.config.tiedHead)
      d.config.tiedHead = sameNumbers(*own, *table);
  }
  return d;
}

static Result<Described> describeGguf(const io::ModelFile &file) {
  GgufSettings settings(file);
  std::string name = settings.text("general.architecture");
  if (settings.failure())
    return *settings.failure();
  const Family *family = nullptr;
  for (const Family *f : allFamilies())
    if (llvm::is_contained(f->gguf.architectures, name))
      family = f;
  if (!family)
    return unknownArchitecture(file.path(), name, &Family::gguf);
  Described d{family, &family->gguf, family->gguf.readConfig(settings, file), "its metadata"};
  settings.refuseUnreadSettings(name);
  if (settings.failure())
    return *settings.failure();
  return d;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static Result<int64_t> sequenceLength(const ImportOptions &options, const ModelConfig &config,
                                      const io::ModelFile &file) {
  if (options.batch < 1)
    return Failure{"cannot build program", "--batch", "must be at least 1", "leave the flag out for one row"};
  if (options.maxSeqLen == 0)
    return std::min<int64_t>(2048, config.maxPositions);
  if (options.maxSeqLen < 0 || options.maxSeqLen > config.maxPositions)
    return Failure{"cannot build program", "--max-seq-len=" + std::to_string(options.maxSeqLen),
                   "the longest context of " + file.path() + " is " + std::to_string(config.maxPositions),
                   "choose a number from 1 to " + std::to_string(config.maxPositions)};
  return options.maxSeqLen;
}

/// Yarn is switched on for contexts longer than the file says: those of the model before it was.
static void stretchContext(ModelConfig &config) {
  if (config.rotary && config.rotary->scaling == RotaryConfig::Scaling::Yarn)
    config.maxPositions = std::max(
        config.maxPositions,
        int64_t(std::min(double(kMaxSize), config.rotary->factor * double(config.rotary->originalContext))));
}

/// What the program has a list of: kinds of layers, and the experts' tensors.
static Status checkKinds(const ModelConfig &config, const std::string &where) {
  constexpr int64_t kMostExperts = 65536;
  constexpr int64_t kMostLayers = 65536; // checks of the finished program look at each
  if (config.layers > kMostLayers)
    return Failure{"unsupported setting", where, "it has " + std::to_string(config.layers) + " layers",
                   "implemented: " + std::to_string(kMostLayers) + " at most"};
  if (config.experts > kMostExperts)
    return Failure{"unsupported setting", where,
                   "it has " + std::to_string(config.experts) + " experts in a layer",
                   "implemented: " + std::to_string(kMostExperts) + " at most"};
  std::vector<LayerRun> runs = layerRuns(config);
  if (runs.empty())
    return Failure{"unsupported setting", where,
                   std::to_string(config.layers) + " layers of several kinds in no short order",
                   "implemented: " + std::to_string(kMostMixedLayers) + " at most"};
  size_t bodies = 0;
  for (const LayerRun &run : runs)
    bodies += run.kinds.size();
  if (bodies > size_t(kMostBodies))
    return Failure{"unsupported setting", where,
                   "its layers come in several kinds, in an order that takes " + std::to_string(bodies) +
                       " bodies of loops",
                   "implemented: " + std::to_string(kMostBodies) + " at most"};
  return {};
}

/// Sizes whose products are formed further down must fit into 64 bits with room to spare.
static Status checkMagnitudes(ArrayRef<Weight> weights, const ModelConfig &config,
                              const ImportOptions &options, int64_t seq, const std::string &where) {
  constexpr double kLimit = double(int64_t(1) << 50);
  double total = 0;
  for (const Weight &weight : weights) {
    int64_t n = weight.elements();
    total += double(n) * double(std::max<int64_t>(1, weight.layers));
    if (n < 0 || total > kLimit)
      return Failure{"cannot build program", where,
                     "weight " + weight.name + " brings the model to more than 2^50 weights",
                     "correct the sizes in the settings"};
  }
  double width = double(std::max({config.vocab, config.ffn, config.hidden, config.heads * config.headDim}));
  if (double(options.batch) * double(seq) * width > kLimit)
    return Failure{"cannot build program", "--batch=" + std::to_string(options.batch),
                   "a step would hold more than 2^50 numbers at a time",
                   "choose a smaller --batch or --max-seq-len"};
  return {};
}

Result<OwningOpRef<ModuleOp>> importModel(MLIRContext &context, const io::ModelFile &file,
                                          const ImportOptions &options) {
  if (file.format() == io::ModelFormat::Safetensors)
    return Failure{"cannot read model", file.path(),
                   "a .safetensors file alone does not say what the model is",
                   "name the directory that holds it and config.json"};
  Result<Described> described =
      file.format() == io::ModelFormat::Gguf ? describeGguf(file) : describeHuggingFace(file);
  if (!described)
    return described.takeFailure();
  // The executable reads them when it starts: too late for whoever compiled it.
  if (Result<std::vector<int32_t>> ends = text::endTokens(file); !ends)
    return ends.takeFailure();
  stretchContext(described->config);
  if (options.cutsAlongBlocks)
    described->config.ffnGranule = blockGranule(file, described->config.ffn);
  const ModelConfig &config = described->config;
  if (Status s = checkKinds(config, described->settingsFile); !s)
    return s.takeFailure();
  Result<int64_t> seq = sequenceLength(options, config, file);
  if (!seq)
    return seq.takeFailure();

  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  ModelBuilder model(context, options.batch, *seq, options.dtype, config.madeUp, options.cutsRuns);
  Value logits = described->family->build(model, config);
  if (Status s = checkMagnitudes(model.weights(), config, options, *seq, described->settingsFile); !s)
    return s.takeFailure();

  const WeightTable table = tableFor(described->spelling->weights, file);
  std::string prefixed;
  for (const WeightName &name : table.names)
    if (!table.optionalPrefix.empty() && name.tensor.starts_with(table.optionalPrefix) && prefixed.empty())
      prefixed = name.tensor.str();
  bool stripPrefix = file.hasWeights() && !prefixed.empty() && !file.find(prefixed);
  std::vector<WeightSource> sources;
  for (const Weight &weight : model.weights())
    sources.push_back(weightSource(weight, model.weights(), table, stripPrefix));
  if (file.hasWeights() && !options.cutsRuns)
    if (Status s =
            checkTensors(file, model.weights(), sources, table, config.tiedHead, described->settingsFile);
        !s)
      return s.takeFailure();

  OwningOpRef<ModuleOp> module = model.finish(logits, sources);
  noteHeldTypes(*module, file);
  Builder b(&context);
  (*module)->setAttr(kArchitectureAttr, b.getStringAttr(described->family->name));
  (*module)->setAttr(kMaxPositionsAttr, b.getI64IntegerAttr(config.maxPositions));

  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
    return success();
  });
  if (failed(verify(*module)))
    return Failure{"cannot build program", file.path(), "the imported program does not verify: " + problem,
                   "report it together with the model's settings"};
  return module;
}

Result<OwningOpRef<ModuleOp>> importModel(MLIRContext &context, const std::string &path,
                                          const ImportOptions &options) {
  Result<std::unique_ptr<io::ModelFile>> file = io::ModelFile::open(path);
  if (!file)
    return file.takeFailure();
  return importModel(context, **file, options);
}

} // namespace tessera::importer
