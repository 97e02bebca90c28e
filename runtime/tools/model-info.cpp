// model-info MODEL [--tensors] [--metadata] [--check] [--encode=TEXT | --encode-file=FILE] [--decode=1,2,3]
// model-info --version
//
// Says what a model file holds, as the compiler and the runtime see it. --check also reads every weight and
// the tokenizer.
// --encode prints `tokens: 1,2,3`, --decode the text.
#include "tessera/runtime/cli/CommandTable.h"
#include "tessera/runtime/io/LostPages.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace tessera;

static int fail(const Failure &failure) {
  std::fprintf(stderr, "error: %s\n", failure.message().c_str());
  return 1;
}

static const char *const usageText = "model-info MODEL [--tensors] [--metadata] [--check] [--encode=TEXT] "
                                     "[--encode-file=FILE] [--decode=IDS] [--version]";

static int usage(const std::string &why) {
  return fail({"bad command line", "model-info", why, std::string("usage: ") + usageText});
}

static std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return "[" + text + "]";
}

static void printValue(const std::string &key, const io::GgufValue &value) {
  using Kind = io::GgufValue::Kind;
  std::printf("%s: ", key.c_str());
  switch (value.kind) {
  case Kind::Int:
    std::printf("%lld\n", static_cast<long long>(value.intValue));
    break;
  case Kind::Uint:
    std::printf("%llu\n", static_cast<unsigned long long>(value.uintValue()));
    break;
  case Kind::Float:
    std::printf("%.9g\n", value.floatValue);
    break;
  case Kind::Bool:
    std::printf("%s\n", value.intValue ? "true" : "false");
    break;
  case Kind::String:
    std::printf("\"%s\"\n", Failure{std::string(value.string.substr(0, 200)), "", "", ""}.message().c_str());
    break;
  case Kind::Array:
    std::printf("%zu elements\n", value.strings.size() + value.floats.size() + value.ints.size());
    break;
  }
}

// Reads every weight once, in pieces; reports what no model should contain.
static Status checkWeights(const io::ModelFile &model) {
  std::vector<float> piece(1 << 16);
  for (const io::TensorInfo &tensor : model.tensors()) {
    if (!io::isFloatLike(tensor.dtype))
      continue;
    int64_t strange = 0;
    for (int64_t at = 0; at < tensor.elements; at += int64_t(piece.size())) {
      int64_t count = std::min(int64_t(piece.size()), tensor.elements - at);
      if (Status status = model.readRange(tensor, at, count, piece.data()); !status)
        return status;
      strange +=
          std::count_if(piece.begin(), piece.begin() + count, [](float x) { return !std::isfinite(x); });
    }
    io::ModelFile::release(tensor);
    if (strange > 0)
      return Failure{"damaged weights", model.path() + ", tensor " + tensor.name,
                     std::to_string(strange) + " elements are infinite or not a number",
                     "fetch the file again"};
  }
  return {};
}

static bool takeValue(const char *argument, const char *name, std::string &value) {
  size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0 || argument[length] != '=')
    return false;
  value = argument + length + 1;
  return true;
}

// `1,2,3`, each of them an id of a vocabulary of `count`.
static Result<std::vector<int32_t>> readIds(const std::string &text, int count) {
  std::vector<int32_t> ids;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    int64_t id = 0;
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (last != word.data() + word.size() || error == std::errc::invalid_argument)
      return Failure{"cannot read the command line", "--decode=" + text, "\"" + word + "\" is no token id",
                     "write --decode=1,2,3"};
    if (error != std::errc() || id < 0 || id >= count)
      return Failure{"cannot decode", "--decode=" + text, "token id " + word + " is out of range",
                     "use ids from 0 to " + std::to_string(count - 1)};
    ids.push_back(int32_t(id));
    begin = end + 1;
  }
  return ids;
}

int main(int argc, char **argv) {
  io::endOnLostPages();
  std::string path, encodeText, encodeFile, decodeIds;
  bool tensors = false, metadata = false, check = false, encode = false, decode = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--help" || argument == "-h")
      return std::printf("%s\n", usageText) < 0;
    if (argument == "--version")
      return std::printf("Tessera %s\n", cli::version) < 0;
    if (argument == "--tensors")
      tensors = true;
    else if (argument == "--metadata")
      metadata = true;
    else if (argument == "--check")
      check = true;
    else if (takeValue(argv[i], "--encode", encodeText))
      encode = true;
    else if (takeValue(argv[i], "--decode", decodeIds))
      decode = true;
    else if (takeValue(argv[i], "--encode-file", encodeFile))
      continue;
    else if (argument.rfind("--", 0) == 0 || !path.empty())
      return usage("unexpected \"" + argument + "\"");
    else
      path = argument;
  }
  if (path.empty())
    return usage("no MODEL");

  Result<std::unique_ptr<io::ModelFile>> opened = io::ModelFile::open(path);
  if (!opened)
    return fail(opened.failure());
  const io::ModelFile &model = **opened;
  if (encode || !encodeFile.empty() || decode) {
    Result<std::unique_ptr<text::Tokenizer>> tokenizer = text::Tokenizer::load(model);
    if (!tokenizer)
      return fail(tokenizer.failure());
    if (!encodeFile.empty()) {
      std::ifstream file(encodeFile, std::ios::binary);
      if (!file)
        return fail({"cannot read text", encodeFile, std::strerror(errno), "check the path"});
      encodeText.assign(std::istreambuf_iterator<char>(file), {});
      encode = true;
    }
    if (encode) {
      Result<std::vector<int32_t>> ids = (*tokenizer)->encode(encodeText);
      if (!ids)
        return fail(ids.failure());
      std::printf("tokens: ");
      for (size_t i = 0; i < ids->size(); ++i)
        std::printf(i ? ",%d" : "%d", (*ids)[i]);
      std::printf("\n");
    }
    if (decode) {
      Result<std::vector<int32_t>> ids = readIds(decodeIds, (*tokenizer)->vocabSize());
      if (!ids)
        return fail(ids.failure());
      const std::string decoded = (*tokenizer)->decode(*ids) + "\n"; // which may hold a NUL
      std::fwrite(decoded.data(), 1, decoded.size(), stdout);
    }
    return 0;
  }

  size_t bytes = 0;
  int64_t elements = 0;
  for (const io::TensorInfo &tensor : model.tensors()) {
    bytes += tensor.bytes;
    elements += tensor.elements;
    if (tensors)
      std::printf("%-6s %-24s %s\n", io::dtypeName(tensor.dtype), shapeText(tensor.shape).c_str(),
                  tensor.name.c_str());
  }
  if (metadata)
    for (const auto &[key, value] : model.metadata())
      printValue(key, value);
  const char *formats[] = {"Hugging Face directory", "safetensors file", "GGUF file"};
  std::printf("%s: %zu tensors, %lld elements, %zu bytes\n", formats[int(model.format())],
              model.tensors().size(), static_cast<long long>(elements), bytes);
  if (metadata && model.format() != io::ModelFormat::Gguf)
    std::printf("metadata: none is read; only that of GGUF files is\n");
  Result<std::vector<int32_t>> ends = text::endTokens(model);
  if (!ends)
    return fail(ends.failure());
  Result<std::unique_ptr<text::Tokenizer>> tokenizer = text::Tokenizer::load(model);
  if (tokenizer)
    std::printf("tokenizer: %d ids, %zu end tokens\n", (*tokenizer)->vocabSize(), ends->size());
  else if (check && model.format() != io::ModelFormat::Safetensors)
    return fail(tokenizer.failure());
  else
    std::printf("tokenizer: none (%s)\n", tokenizer.failure().why.c_str());
  if (check)
    if (Status status = checkWeights(model); !status)
      return fail(status.failure());
  return 0;
}
