// Saving a training run (docs/Checkpoints.md).
#ifndef TESSERA_RUNTIME_CHECKPOINT_STORE_H
#define TESSERA_RUNTIME_CHECKPOINT_STORE_H

#include "tessera/runtime/checkpoint/FileSystem.h"
#include "tessera/runtime/checkpoint/Layout.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/io/ModelFile.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tessera::checkpoint {

// How far a run has come: what there is to know beside tensors. Neither mesh nor micro-batches stand in it.
struct TrainingPlace {
  int64_t step = 0;      // steps done
  int64_t updates = 0;   // of them those that changed weights: the schedule goes by it
  int64_t rows = 0;      // rows of the data taken, over all passes
  double lossScale = 0;  // of the next step (train/LossScale.h); 0: none
  int64_t goodSteps = 0; // updates since it changed
  // What `rows` is a place in: rows of one pass over the data (0: not known), and the seed of their order
  // (none: as they lie).
  int64_t passRows = 0;
  std::optional<uint64_t> shuffle;
  // Of the tokens of these rows (data::TrainingData::fingerprint), and whether documents were kept apart. 0:
  // not known, neither of them.
  uint64_t fingerprint = 0;
  bool documents = false;
};

// One file of a save: the tensors of the model's file, by its names. "model.safetensors" are the weights.
struct StateFile {
  std::string name;
  const std::vector<runtime::ParamSpec> *params = nullptr; // each with this state's type and sharding
  // This rank's piece of a layer: `local` of the parameter in its type, row-major. Valid until the next call;
  // asked for at most once a layer, and not at all where another rank writes the same piece, or where this
  // one holds none (ParamSpec::heldAt).
  std::function<const void *(int64_t param, int64_t layer)> piece;
  // What the tensors are of the weights that they are named after, which nobody should take for weights:
  // "exp_avg", "gradients". Empty: the weights themselves.
  std::string holds{};
};

// What lies beside the weights in the model's directory: name and bytes.
using Texts = std::vector<std::pair<std::string, std::string>>;

struct SaveRequest {
  TrainingPlace place;
  std::vector<StateFile> files;
  Texts texts; // rank 0's count
  // The step that the run began at; saves of later ones are another run's unless this store wrote them. -1:
  // not known, and what lies before this save stays.
  int64_t begun = -1;
};

inline const char *const markName = "checkpoint.json";
using io::indexName;
using io::weightsName;

// The files of the model directory at `path` that come along: all regular files of at most 64 MiB but weights
// (safetensors and their index, bin, gguf, h5, msgpack, onnx, pt, pth) and hidden ones. Empty if `path` is
// no directory. Fails if they are more than 256 MiB in all: they are held while the run lasts, and are in
// each save.
Result<Texts> textsBeside(const std::string &path);

class Store {
public:
  // DIR and how many saves stay. Every rank has one of its own.
  Store(std::string folder, int64_t keep, FileSystem &files = realFiles())
      : folder_(std::move(folder)), keep_(keep), files_(files) {}

  // For whoever asks before the steps. Fails if DIR is no folder, or holds what saves would replace and no
  // save of a run has written: a model, a step-N, a file of the name of one of these texts with other bytes.
  // All else that lies there stays.
  Status checkFolder(const Texts &texts);
  // Fails if nothing can be made in DIR, or in the nearest folder that is there: known before hours of steps.
  // Makes a folder and removes it.
  Status checkWritable();
  // The steps of the whole saves in DIR, rising.
  std::vector<int64_t> saves();

  // All ranks call it, and all return the same. A save is there once DIR's index names it, by one rename:
  // until then DIR loads as what it was. On failure it loads as what it was, too, and what was written is
  // removed; where an old save of the same step had changed places with the new one, it is the old one again.
  // (Only if the disk fails after that rename the new one stays.) Saves beyond the last `keep` go after that,
  // and those which a run left that this one does not follow: of later steps, and of steps behind `begun`.
  Status save(const SaveRequest &request, const runtime::Mesh &mesh, runtime::HostPlane &plane);

  // DIR and what it lies in, which the first save makes otherwise.
  Status makeFolders();

private:
  std::string inFolder(const std::string &name) const { return folder_ + "/" + name; }
  Status begin(const std::vector<FileLayout> &layouts, const SaveRequest &request);
  Status writePieces(const std::vector<FileLayout> &layouts, const SaveRequest &request,
                     const runtime::Mesh &mesh, int64_t rank, std::vector<uint64_t> &sums);
  Status finish(const std::vector<FileLayout> &layouts, const SaveRequest &request,
                const std::vector<uint64_t> &sums);
  Failure failed(const std::string &path, int error);
  Status statusOf(const std::string &path, int error);
  bool isSave(int64_t step);
  Status show(const FileLayout &weights, const SaveRequest &request);
  Status putInPlace(const std::string &name, bool isSave);
  void takeBack();
  Status writeFile(const std::string &path, std::string_view text);
  void removeTree(const std::string &path);
  void removeParts(const SaveRequest &request);
  void prune(const SaveRequest &request);

  std::string folder_;
  int64_t keep_;
  FileSystem &files_;
  std::set<int64_t> saved_; // steps; of rank 0
  bool isOurs_ = false;     // DIR: it was looked at
  bool hadSaves_ = false;   // DIR, before the save that goes on: when that fails DIR may be out of reach
  std::vector<std::pair<std::string, bool>> placed_; // names that changed, and whether they had been there
};

} // namespace tessera::checkpoint
#endif
