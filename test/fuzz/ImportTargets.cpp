// Models as the importers read them: settings, and tables of tensors.
#include "Targets.h"

#include "tessera/Pipelines/Frontend.h"
#include "tessera/runtime/io/Json.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tessera::fuzz {

/// A refusal is one line. What is not refused is a program that verifies, and is printed and read. `flags`:
/// of llm-compile, besides the model.
static void import(const std::string &path, std::vector<std::string> flags) {
  flags.insert(flags.begin(), {path, "--compile-to=graph"});
  std::optional<CompileOptions> options = optionsOf(flags);
  if (!options)
    return;
  options->model = path; // whatever the flags say
  MLIRContext &context = contextOfTarget();
  Result<OwningOpRef<ModuleOp>> module = loadModel(context, *options);
  if (!module) {
    expectOneLine(module.failure());
    expect(module.failure().why.find("does not verify") == std::string::npos,
           "settings are refused where they are read, not by the program's verifier");
    return;
  }
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  expect(succeeded(verify(**module)), "what is imported verifies");
  std::string text;
  llvm::raw_string_ostream(text) << **module;
  expect(bool(parseSourceString<ModuleOp>(text, ParserConfig(&context))), "what is printed can be read");
}

/// Bytes of data that a header of safetensors claims, as far as a file can have them.
static size_t claimedBytes(std::string_view header) {
  constexpr uint64_t kMost = uint64_t(1) << 30; // a hole: it takes no room, but a tied head is read
  uint64_t end = 0;
  Result<nlohmann::json> json = io::parseJson(header, "header");
  if (json && json->is_object())
    for (const nlohmann::json &entry : *json)
      if (entry.is_object() && entry.contains("data_offsets") && entry["data_offsets"].is_array())
        for (const nlohmann::json &offset : entry["data_offsets"])
          if (offset.is_number_unsigned())
            end = std::max(end, offset.get<uint64_t>());
  return std::min(end, kMost);
}

/// config.json, behind a NUL the header of model.safetensors, whose data is as long as it claims, and behind
/// another flags, a word a line. Without a header there is no such file.
void runImport(std::string_view input) {
  static const Folder folder;
  Parts settings = splitAtNul(input), parts = splitAtNul(settings.second.value_or(""));
  folder.write("config.json", settings.first);
  folder.remove("model.safetensors");
  if (!parts.first.empty()) {
    uint64_t length = parts.first.size();
    std::string file(sizeof length, '\0');
    std::memcpy(file.data(), &length, sizeof length);
    folder.write("model.safetensors", file + std::string(parts.first), claimedBytes(parts.first));
  }
  import(folder.path(), wordsOf(parts.second.value_or("")));
}

/// A GGUF file behind magic and version, with a hole in place of its data; for a mesh, which cuts along
/// blocks.
void runImportGguf(std::string_view input) {
  MemoryFile file(std::string("GGUF\x03\0\0\0", 8) + std::string(input), size_t(1) << 30);
  import(file.path(), {"--mesh=tp=2"});
}

} // namespace tessera::fuzz
