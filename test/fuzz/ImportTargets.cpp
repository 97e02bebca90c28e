// Models as the importers read them: settings, and tables of tensors.
#include "Targets.h"

#include "tessera/Import/Import.h"
#include "tessera/runtime/io/Json.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tessera::fuzz {

/// A refusal is one line. What is not refused is a program that verifies, and is printed and read.
static void import(const std::string &path) {
  MLIRContext &context = contextOfTarget();
  Result<OwningOpRef<ModuleOp>> module = importer::importModel(context, path, {});
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
  constexpr uint64_t kMost = uint64_t(1) << 34; // a hole: it takes no room
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

/// config.json, and behind a NUL the header of model.safetensors, whose data is as long as it claims.
void runImport(std::string_view input) {
  static const Folder folder;
  Parts parts = splitAtNul(input);
  folder.write("config.json", parts.first);
  folder.remove("model.safetensors");
  if (parts.second) {
    uint64_t length = parts.second->size();
    std::string file(sizeof length, '\0');
    std::memcpy(file.data(), &length, sizeof length);
    folder.write("model.safetensors", file + std::string(*parts.second), claimedBytes(*parts.second));
  }
  import(folder.path());
}

/// A GGUF file behind magic and version, with a hole in place of its data.
void runImportGguf(std::string_view input) {
  MemoryFile file(std::string("GGUF\x03\0\0\0", 8) + std::string(input), size_t(1) << 30);
  import(file.path());
}

} // namespace tessera::fuzz
