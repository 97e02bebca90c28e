// Settings beside a model, and the command line of executables.
#include "Options.h"
#include "Targets.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace tessera::fuzz {

// config.json, and an index of shards behind a NUL.
void runConfig(std::string_view input) {
  static const std::string folder = [] {
    std::string path = (std::filesystem::temp_directory_path() / "tessera-fuzz-XXXXXX").string();
    expect(mkdtemp(path.data()) != nullptr, "there is a folder for temporary files");
    return path;
  }();
  auto write = [&](const char *name, std::string_view bytes) {
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  };
  size_t end = std::min(input.find('\0'), input.size());
  write("config.json", input.substr(0, end));
  write("generation_config.json", input.substr(0, end));
  std::filesystem::remove(folder + "/model.safetensors.index.json");
  if (end < input.size())
    write("model.safetensors.index.json", input.substr(end + 1));
  auto model = io::ModelFile::open(folder);
  if (!model)
    return expectOneLine(model.failure());
  if (auto ends = text::endTokens(**model); !ends)
    expectOneLine(ends.failure());
}

// Words, each ended by a line break.
void runCommandLine(std::string_view input) {
  std::vector<std::string> words = {"OUT"};
  for (size_t at = 0; at < input.size();) {
    size_t end = std::min(input.find('\n', at), input.size());
    std::string word(input.substr(at, end - at));
    word = word.c_str(); // to its first NUL, as an argument has it
    // Help is printed, and ends the program.
    if (word.find("help") != std::string::npos || word.find("version") != std::string::npos)
      return;
    words.push_back(std::move(word));
    at = end + 1;
  }
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  try {
    runtime::parseOptions(int(words.size()), argv.data());
  } catch (const runtime::Error &error) {
    for (const char *c = error.what(); *c; ++c)
      expect(static_cast<unsigned char>(*c) >= 0x20, "an error is one line of printable text");
  }
}

} // namespace tessera::fuzz
