// A save of a training run, opened to go on from (docs/Checkpoints.md).
#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "tessera/runtime/checkpoint/Store.h"
#include "tessera/runtime/io/ModelFile.h"

#include <map>

namespace tessera::checkpoint {

// Immutable; may be used by many threads. Pieces for any mesh and type are read by runtime::ShardReader from
// file(): weights and states are tensors of the same names and shapes.
class Checkpoint {
public:
  // `path`: one save (DIR/step-N), or DIR: the save that its index names; without an index, which is lost
  // only if the very first save was stopped between its last two renames, the last step-N. Looks at the mark,
  // at texts and at headers; fails on a file that is missing, of another size or damaged there.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string &path);
  ~Checkpoint();

  const std::string &path() const { return path_; } // DIR/step-N
  const TrainingPlace &place() const { return place_; }
  uint64_t sum() const { return sum_; } // of the mark, which holds those of all files

  // The tensors of a file by its name in SaveRequest; null if the save has none of that name.
  const io::ModelFile *file(const std::string &name) const;

  // Whether every tensor holds the bytes that were saved. Of all tensors, numbered through, those with
  // number % parts == part: each rank its share. Fails naming the first that does not. Cost: one reading.
  Status verify(int64_t part = 0, int64_t parts = 1) const;

  // Whether the file holds exactly the tensors of these parameters, in their shapes; types may differ. Fails
  // naming file and tensor: the save is of another model, or of an optimizer without that state.
  Status checkModel(const std::string &file, const std::vector<runtime::ParamSpec> &params) const;

private:
  Checkpoint() = default;
  Failure failure(const std::string &where, const std::string &why) const;

  struct StoredFile {
    std::unique_ptr<io::ModelFile> model;
    std::map<std::string, uint64_t> sums;
  };
  std::string path_;
  TrainingPlace place_;
  uint64_t sum_ = 0;
  std::map<std::string, StoredFile> files_;
};

} // namespace tessera::checkpoint
#endif
