// Generating with the stages of a pipeline: what one rank does for each group of rows (docs/Pipelines.md).
//
// All ranks make the same calls with the same arguments, and so know which messages come. A call of a stage
// waits for what the stage before gives for it, and hands on what it makes; a token goes from the last stage
// to all ranks. Nobody waits for a group before it gives something to the others.
#ifndef TESSERA_RUNTIME_APP_STAGESESSION_H
#define TESSERA_RUNTIME_APP_STAGESESSION_H

#include "PipelineRun.h"
#include "TextSession.h"
#include "tessera/runtime/pipeline/Delays.h"
#include "tessera/runtime/pipeline/StageBytes.h"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::runtime {

// The stage of a rank: what its groups of rows share.
class GeneratingStage {
public:
  // `programs`: of this rank, as `run` gave them.
  GeneratingStage(const PipelineRun &run, RankPrograms &programs);
  ~GeneratingStage();

  const StagePrograms &stages() const { return run_.stages(); }
  Rank &rank() const { return rank_; }
  int32_t number() const { return number_; }
  bool isLast() const { return number_ + 1 == stages().stages(); }
  // What the last stage says of generating, on every rank.
  const Manifest &last() const { return stages().manifest(stages().stages() - 1); }
  // Where a state of `group`, or one of all groups, lies.
  char *state(const StateSpec &spec, int64_t group) const;
  char *slot(int64_t group) const;

  // Waits for what the stage before gives to a call of this role; valid until the next one.
  const char *receive(Role role, int64_t group);
  // Gives what `entry` left to the stage behind, once one of the buffers is free.
  void send(const EntrySpec &entry, int64_t group);
  int64_t tokenTag(int64_t group) const { return 2 * group + 1; }
  int32_t tokenName(int64_t group) const { return run_.tokenName(group); }
  const GeneratingTraffic &traffic() const { return traffic_; }
  // What TESSERA_PIPELINE_DELAYS says: a chunk, and a token of each row, take F of their stage.
  const std::optional<schedule::Costs> &delays() const { return delays_; }

private:
  struct SendBuffer {
    Buffer memory;
    std::optional<CommToken> sent;
  };

  const PipelineRun &run_;
  Rank &rank_;
  int32_t number_;
  Buffer slots_, received_; // of all groups but the first, which has its own in the arena
  size_t slotBytes_ = 0;
  GeneratingTraffic traffic_;
  std::vector<SendBuffer> sends_;
  size_t nextSend_ = 0;
  std::optional<schedule::Costs> delays_;
  // Of a message to the next stage.
  size_t bytesOf(int32_t stage, Role role) const;
};

class StageSession final : public TextSession {
public:
  StageSession(GeneratingStage &stage, int64_t group);

  bool isRoot() const override { return rank_.id() == 0; }
  int64_t batch() const override { return generate_.batch; }
  int64_t chunk() const override { return generate_.chunk; }
  int64_t vocab() const override { return generate_.vocab; }
  bool hasPromptLogits() const override { return generate_.logits >= 0; }

  void clear() override;
  void prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
              const std::vector<int32_t> &index) override;
  void advance(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions) override;
  bool goesOn() const override { return false; }
  void advance() override {}
  // Of a chunk whose tokens are wanted a prompt ends, and each row has one.
  int64_t stepsAhead() const override { return batch(); }
  bool draws() const override { return generate_.draw >= 0; }
  void setDrawing(const Drawing &drawing) override;
  void setDrawnRows(const std::vector<int32_t> &prompts, const std::vector<int32_t> &lengths) override;
  void setSeenTokens(size_t row, const std::vector<int32_t> &tokens) override;
  void draw(const std::vector<int32_t> &positions) override;
  void advanceDrawing() override {}
  void setEndTokens(const std::vector<int32_t> &, bool) override {} // the caller sees to all
  void hold(const std::vector<size_t> &) override {}
  void promptLogits(const std::vector<int32_t> &index) override;

  void sendNext() override;
  std::vector<int32_t> takeNext() override;
  void dropNext() override;
  const std::vector<float> &logits() override;

private:
  struct Content {
    const std::vector<int32_t> *tokens = nullptr, *positions = nullptr, *index = nullptr;
  };
  // The shard of this rank to device memory.
  void give(const BufferSpec &to, char *address, const std::vector<int32_t> &global, int32_t padding);
  void set(Fill fill, const void *value, size_t bytes);
  // Fills the inputs of an entry of this rank's stage, and runs it. Messages are those of its role.
  void run(int64_t entry, const Content &content);
  void fill(const InputSpec &input, const Content &content, const char *received,
            const StageMessage &message);
  void fillFromOutput(const InputSpec &input);
  // The entry of the last stage with this number ran there.
  void ran(int64_t entry);

  GeneratingStage &stage_;
  int64_t group_;
  Rank &rank_;
  const GenerateSpec &generate_, &own_; // what the last stage says, and this one
  int64_t last_ = -1, lastWithLogits_ = -1;
  bool isWritten_ = false; // its caches, since they were zero
  // A copy of an output that fills inputs, by its number.
  struct RetainedOutput {
    Buffer memory;
    bool isLast = false; // what the entry gave last
  };
  std::map<std::pair<int64_t, int64_t>, RetainedOutput> retained_; // by entry and number of the output
  std::vector<char> local_, gathered_;
  std::vector<float> logits_;
  // Tokens on their way, piece by piece.
  struct Tokens {
    Buffer memory;
    std::vector<CommToken> messages;
    const OutputSpec *from = nullptr;
  };
  std::vector<Tokens> ring_;
  size_t sent_ = 0, taken_ = 0;
};

} // namespace tessera::runtime
#endif
