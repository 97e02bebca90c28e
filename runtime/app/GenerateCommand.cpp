#include "GenerateCommand.h"
#include "Conversation.h"
#include "Interruption.h"
#include "Runs.h"
#include "Terminal.h"
#include "WrittenFile.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <unistd.h>

namespace tessera::runtime {

// What stands over an answer: whose it is, in one line.
static std::string heading(size_t number, size_t count, const Prompt &prompt) {
  constexpr size_t most = 60;
  std::string text = prompt.text;
  if (!prompt.isText)
    for (size_t i = 0; i < prompt.tokens.size() && text.size() <= most; ++i)
      text += (i ? "," : "") + std::to_string(prompt.tokens[i]);
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; }, ' ');
  if (text.size() > most) {
    size_t end = most;
    while (end > 0 && (text[end] & 0xC0) == 0x80) // not in the midst of a character
      --end;
    text = text.substr(0, end) + "...";
  }
  return "[" + std::to_string(number + 1) + "/" + std::to_string(count) + "] " + text;
}

int generate(const ts_program &program, const Manifest &manifest, Options &options,
             const Launcher &launcher) {
  for (const Prompt &prompt : options.prompts)
    if (prompt.file == "-" && launcher.size > 1)
      throw Error("cannot read prompts", "standard input", launcher.name + " gives it to one process alone",
                  "name a file with --prompt-file=FILE");
  readPromptFiles(options);
  if (!options.logitsFile.empty() && launcher.rank == 0)
    checkCanBeWritten({"cannot write logits", "--logits=", options.logitsFile, /*isRewound=*/true});
  Models models(manifest, options);
  const bool hasText = std::any_of(options.prompts.begin(), options.prompts.end(),
                                   [](const Prompt &prompt) { return prompt.isText; });
  const ModelTexts texts = readTexts(models, manifest,
                                     options.chat             ? TextUse::Conversation
                                     : hasText                ? TextUse::Prompts
                                     : !options.stops.empty() ? TextUse::Stops
                                                              : TextUse::Answers);
  std::vector<int32_t> endTokens = texts.endTokens;
  std::vector<std::vector<int32_t>> prompts;
  for (const Prompt &prompt : options.prompts) {
    const std::string whose = prompt.name(prompts.size());
    if (options.chat) {
      Conversation conversation(*texts.file, *texts.tokenizer, options);
      conversation.say(prompt.text);
      prompts.push_back(conversation.tokens(whose));
      addTokens(endTokens, conversation.endTokens());
    } else {
      prompts.push_back(prompt.isText ? idsOf(texts.tokenizer->encode(prompt.text), whose) : prompt.tokens);
    }
  }
  GenerateJob job = checkGenerate(manifest, options, prompts);
  job.tokenizer = texts.tokenizer.get();
  job.endTokens = endTokens;
  if (texts.tokenizer)
    job.stopTokens = stopTokens(*texts.tokenizer, options.stops);
  // The terminal that mpirun makes for a process is nobody's.
  if (prompts.size() > 1 && launcher.name.empty() && isatty(STDOUT_FILENO))
    for (size_t p = 0; p < prompts.size(); ++p)
      job.headings.push_back(heading(p, prompts.size(), options.prompts[p]));
  std::string loaded;
  LaunchOptions launch = launchOptions(options, models, &loaded);
  if (!texts.missing.empty() && launcher.rank == 0)
    logLine("no text will be printed: " + texts.missing);
  int status = 0;
  runTexts(program, manifest, launcher, launch, [&](Rank &rank, const std::vector<TextSession *> &groups) {
    const bool root = rank.id() == 0;
    if (root)
      watchForInterruption(launcher); // until here a signal ends the run at once
    const GenerateEnd end =
        generateOnRank(rank, groups, manifest.generate->batch, job, [] { return isInterrupted(); });
    if (!root)
      return;
    status = isInterrupted() ? interruptionStatus() : 0;
    const std::string stopped = isInterrupted() && !isCtrlC() ? "stopped by a signal" : "";
    if (!job.quiet)
      logLine(end.times.line(loaded) + (stopped.empty() ? "" : "; " + stopped));
    else if (!stopped.empty())
      logLine(stopped);
  });
  return status;
}

} // namespace tessera::runtime
