//===- Frontend.cpp - MODEL to rung graph ---------------------------------===//
#include "tessera/Pipelines/Frontend.h"

#include "SizeWithoutAliases.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Import/Import.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Support/TextFile.h"
#include "tessera/Target/Target.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace tessera {

bool isProgramText(const CompileOptions &options) { return StringRef(options.model).ends_with(".mlir"); }

/// The parser descends once per bracket, and once per sign of an affine expression: texts that would exhaust
/// its stack are refused before. Strings and comments do not count, but a text that ends inside one is bad
/// anyway. What closes nothing must not make room for what opens later: `>=` of an affine_set, for one.
static bool nestsTooDeep(StringRef text) {
  constexpr int kDeepest = 200;
  int depth = 0, signs = 0; // since the last character that no affine expression has
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\')
          ++i;
    } else if (c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (StringRef("([{<").contains(c)) {
      if (++depth > kDeepest)
        return true;
    } else if (StringRef(")]}").contains(c) ||
               (c == '>' && i > 0 && text[i - 1] != '-' && text.substr(i + 1, 1) != "=")) {
      depth = std::max(0, depth - 1);
    } else if (StringRef("+-*").contains(c) && text.substr(i, 2) != "->") {
      if (++signs > kDeepest)
        return true;
    }
    if (StringRef(",={}[]\"").contains(c))
      signs = 0;
  }
  return false;
}

static Result<OwningOpRef<ModuleOp>> parseProgram(MLIRContext &context, const std::string &path) {
  constexpr uint64_t kLargest = 64 << 20; // programs hold no weights
  auto fail = [&](const std::string &why) {
    return Failure{"cannot read program", path, why,
                   "write it as docs/Architecture.md, \"Program form\", says"};
  };
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(path, kLargest, why);
  if (!buffer)
    return Failure{"cannot read program", path, why, "check the path"};
  StringRef text = buffer->getBuffer();
  if (text.starts_with("ML\xEFR") || text.contains('\0'))
    return fail("is not text");
  if (nestsTooDeep(text))
    return fail("is nested too deeply");

  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  DiagnosticCollector diagnostics(context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return diagnostics.failure("cannot read program", path);
  if (std::string problem = checkSizeWithoutAliases(*module); !problem.empty())
    return fail(problem);
  return module;
}

/// The program of a Hugging Face directory or a GGUF file.
static Result<OwningOpRef<ModuleOp>> importFile(MLIRContext &context, const CompileOptions &options,
                                                const importer::ImportOptions &importing) {
  Result<std::unique_ptr<io::ModelFile>> file = io::ModelFile::open(options.model);
  if (!file)
    return file.takeFailure();
  if (options.task == Task::Train && (*file)->format() == io::ModelFormat::Gguf)
    return Failure{"cannot compile", options.model,
                   "a GGUF file cannot be trained: saves are Hugging Face directories, which take their "
                   "names of tensors and config.json from the model",
                   "name the model's Hugging Face directory"};
  return importer::importModel(context, **file, importing);
}

/// Parameters that the target cannot hold in the blocks of their file are floats: so they travel, and cost.
static void expandWhatTargetCannotHold(ModuleOp module, const CompileOptions &options) {
  auto target = resolveTarget(options.target, options.targetOptions);
  if (!target)
    return; // who compiles for it says so
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    auto held = parameter->getAttrOfType<ArrayAttr>(graph::kHeldAttr);
    if (held && llvm::any_of(held.getAsRange<StringAttr>(), [&](StringAttr name) {
          std::optional<io::DType> type = io::weightTypeFromFileName(name.getValue());
          return type && io::isQuantized(*type) && !(*target)->holdsBlocks(*type);
        }))
      parameter->removeAttr(graph::kHeldAttr);
  }
}

Result<OwningOpRef<ModuleOp>> loadModel(MLIRContext &context, const CompileOptions &options) {
  importer::ImportOptions importing;
  importing.batch = options.batch ? options.batch : 1;
  importing.maxSeqLen = options.maxSeqLen;
  importing.cutsRuns = options.cutsRuns;
  auto format = llvm::StringSwitch<std::optional<importer::NumberFormat>>(options.dtype)
                    .Cases({"", "f32"}, importer::NumberFormat::F32)
                    .Case("bf16", importer::NumberFormat::BF16)
                    .Case("f16", importer::NumberFormat::F16)
                    .Default(std::nullopt);
  if (!format)
    return Failure{"cannot compile", "--dtype=" + options.dtype, "no model is computed in this type",
                   "choose f32, bf16 or f16"};
  // Training keeps weights in float32; what it computes in is chosen in the program.
  importing.dtype = options.task == Task::Train ? importer::NumberFormat::F32 : *format;
  // On one rank nothing is cut, and floats may be cut anywhere.
  auto target = resolveTarget(options.target, options.targetOptions);
  importing.cutsAlongBlocks = !options.mesh.empty() && options.task != Task::Train && target &&
                              (*target)->holdsBlocks(io::DType::Q8_0);
  Result<OwningOpRef<ModuleOp>> module =
      isProgramText(options) ? parseProgram(context, options.model) : importFile(context, options, importing);
  if (!module)
    return module;
  Builder b(&context);
  // What the import made it for. A program in text says itself what it is.
  if (!isProgramText(options)) {
    (**module)->setAttr("tessera.task", b.getStringAttr(options.task == Task::Train ? "train" : "generate"));
    (**module)->setAttr("tessera.dtype", b.getStringAttr(options.dtype.empty() ? "f32" : options.dtype));
  }
  expandWhatTargetCannotHold(**module, options);
  // A printed rung names the model it came from.
  if (!(**module)->hasAttrOfType<StringAttr>("tessera.model")) {
    SmallString<128> absolute(options.model);
    llvm::sys::fs::make_absolute(absolute);
    (**module)->setAttr("tessera.model", b.getStringAttr(absolute));
  }
  return module;
}

} // namespace tessera
