// Settings beside a model, the command line of executables, and files of schedules.
#include "Options.h"
#include "Targets.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/ModelFile.h"
#include "tessera/runtime/schedule/Text.h"
#include "tessera/runtime/schedule/Validate.h"
#include "tessera/runtime/text/Tokenizer.h"

namespace tessera::fuzz {

// config.json, an index of shards behind a NUL, and behind another one a shard, a.safetensors.
void runConfig(std::string_view input) {
  static const Folder folder;
  Parts parts = splitAtNul(input);
  folder.write("config.json", parts.first);
  folder.write("generation_config.json", parts.first);
  folder.remove("model.safetensors.index.json");
  folder.remove("a.safetensors");
  if (parts.second) {
    Parts more = splitAtNul(*parts.second);
    folder.write("model.safetensors.index.json", more.first);
    if (more.second)
      folder.write("a.safetensors", safetensorsOf(*more.second));
  }
  auto model = io::ModelFile::open(folder.path());
  if (!model)
    return expectOneLine(model.failure());
  if (auto ends = text::endTokens(**model); !ends)
    expectOneLine(ends.failure());
}

// Words, each ended by a line break, and behind a NUL what stands in the files of --prompt-file.
void runCommandLine(std::string_view input) {
  Parts parts = splitAtNul(input);
  std::vector<std::string> words = wordsOf(parts.first);
  words.insert(words.begin(), "OUT");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  try {
    runtime::Options options = runtime::parseOptions(int(words.size()), argv.data());
    runtime::whatIsComputed(options);
    MemoryFile prompts(parts.second.value_or(""));
    for (runtime::Prompt &prompt : options.prompts)
      if (!prompt.file.empty())
        prompt.file = prompts.path();
    runtime::readPromptFiles(options);
  } catch (const runtime::Error &error) {
    for (const char *c = error.what(); *c; ++c)
      expect(static_cast<unsigned char>(*c) >= 0x20, "an error is one line of printable text");
  }
}

// A file of --pipeline: read, checked, and where it can run, written and read again.
void runSchedule(std::string_view input) {
  auto schedule = schedule::parseSchedule(input, "a.schedule");
  if (!schedule)
    return expectOneLine(schedule.failure());
  if (auto problem = schedule::validate(*schedule)) {
    expectOneLine({"cannot choose a pipeline schedule", "a.schedule", problem->why, ""});
    schedule::grid(*schedule, *problem);
    return;
  }
  auto again = schedule::parseSchedule(schedule::toString(*schedule), "again");
  expect(again && *again == *schedule, "a schedule that was written is read as it was");
}

} // namespace tessera::fuzz
