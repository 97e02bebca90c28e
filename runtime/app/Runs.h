// What commands that generate have in common: weights that are loaded, ranks that fill rows, texts beside the
// weights.
#ifndef TESSERA_RUNTIME_APP_RUNS_H
#define TESSERA_RUNTIME_APP_RUNS_H

#include "Generate.h"
#include "Models.h"
#include "tessera/runtime/launch/Launch.h"
#include "tessera/runtime/pipeline/StagePrograms.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

// Loads with a progress bar at the rank that talks. Returns what is to be said of it there, "loaded 98.1 MB
// of weights a rank in 0.05 s"; empty elsewhere.
std::string loadWithProgress(RankPrograms &programs, const WeightOrigin &origin, bool quiet = false);

// `models` must outlive the run. `said`: where what loadWithProgress says goes; null: to the log.
LaunchOptions launchOptions(const Options &options, Models &models, std::string *said = nullptr);

// A pipeline's; none of a program that is no pipeline.
std::optional<StagePrograms> stagesOf(const ts_program &program, const Manifest &manifest);

// Has each rank run `body` with the rows that it fills: those of the program, or those of a pipeline's
// groups.
void runTexts(const ts_program &program, const Manifest &manifest, const Launcher &launcher,
              const LaunchOptions &launch,
              const std::function<void(Rank &, const std::vector<TextSession *> &)> &body);

// What a model says of its text.
struct ModelTexts {
  const io::ModelFile *file = nullptr; // null: none lies there
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::vector<int32_t> endTokens;
  std::string missing; // why there is no tokenizer
};
// What a run cannot do without its model's text.
enum class TextUse { Answers, Prompts, Stops, Conversation };
// Throws Error only where more than the answers need text, or what is there cannot be read.
ModelTexts readTexts(Models &models, const Manifest &manifest, TextUse use);

// Those of `ids` that `all` lacks join it.
void addTokens(std::vector<int32_t> &all, const std::vector<int32_t> &ids);

// Texts of --stop that are a special token each: no text has those.
std::vector<int32_t> stopTokens(const text::Tokenizer &tokenizer, const std::vector<std::string> &stops);

} // namespace tessera::runtime
#endif
