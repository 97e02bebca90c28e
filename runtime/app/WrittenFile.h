// Files that a run is to write, looked at before it begins.
#ifndef TESSERA_RUNTIME_APP_WRITTENFILE_H
#define TESSERA_RUNTIME_APP_WRITTENFILE_H

#include "tessera/runtime/device/Weights.h"

#include <string>
#include <vector>

namespace tessera::runtime {

struct WrittenFile {
  std::string what; // begins the line of every error: "cannot write logits"
  std::string flag; // that names it: "--logits=", "-o "
  std::string path;
};

// Throws Error if the path is that of this executable, of a file that the weights or states come from, or of
// one of `others`, which the run reads or writes; empty ones are none.
void checkApart(const WrittenFile &file, const WeightOrigin &origin,
                const std::vector<std::string> &others = {});

// The same for a run that opens no model: of the models at `models` no file may be lost either; empty paths
// are none.
void checkKeepsModels(const WrittenFile &file, const std::vector<std::string> &models);

// Throws Error if no file could be written there. What is there stays; nothing is left.
void checkCanBeWritten(const WrittenFile &file);

} // namespace tessera::runtime
#endif
