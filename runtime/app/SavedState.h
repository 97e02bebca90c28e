// What saves of a training run hold of a program: its parameters, as files.
#ifndef TESSERA_RUNTIME_APP_SAVEDSTATE_H
#define TESSERA_RUNTIME_APP_SAVEDSTATE_H

#include "TrainStep.h"
#include "TrainedProgram.h"
#include "tessera/runtime/checkpoint/Checkpoint.h"
#include "tessera/runtime/checkpoint/Store.h"

#include <string>
#include <vector>

namespace tessera::runtime {

// The parameters that go into one file: the weights into model.safetensors, those of a state into
// STATE.safetensors.
struct SavedFile {
  std::string name, state;       // state: empty for the weights
  std::vector<ParamSpec> params; // as in the manifests
  // Of each which part of the program has it, and its number there.
  std::vector<size_t> parts;
  std::vector<int64_t> numbers;
};
// Of a weight of which several parts have a copy, the first one's.
std::vector<SavedFile> savedFiles(const TrainedProgram &program);

// Fails, naming file and tensor, if the save is not one of this program's model and optimizer.
Status checkSave(const checkpoint::Checkpoint &save, const std::vector<SavedFile> &files);

// Reads the pieces of one rank. Parameters that no entry updates are as `origin` has them.
class PieceReader {
public:
  PieceReader(TrainStep &step, const WeightOrigin &origin, const SavedFile &file)
      : step_(step), origin_(origin), file_(file) {}
  // This rank's shard of a layer, which it holds, plain row-major. Valid until the next call.
  const void *piece(int64_t param, int64_t layer);
  // The name of a parameter of this rank that an update has left with a number that is not finite; empty:
  // there is none.
  std::string notFinite();

private:
  TrainStep &step_;
  const WeightOrigin &origin_;
  const SavedFile &file_;
  std::vector<char> held_;
};

} // namespace tessera::runtime
#endif
