// Files that a run is to write, looked at before it begins.
#ifndef TESSERA_RUNTIME_APP_WRITTENFILE_H
#define TESSERA_RUNTIME_APP_WRITTENFILE_H

#include "Options.h"
#include "tessera/runtime/core/Manifest.h"

#include <string>

namespace tessera::runtime {

struct WrittenFile {
  std::string what; // begins the line of every error: "cannot write logits"
  std::string flag; // that names it: "--logits=", "-o"
  std::string path;
  bool isRewound = false; // its head is written last, which a pipe or a terminal has no way to take
};

// Throws Error if a file that the command writes is called -, or would take the place of one that it reads,
// of one of the model that was compiled, or of another one that it writes, under whatever name. Opens no
// model, and so comes before all else.
void checkFilesApart(const Manifest &manifest, const Options &options);

// Throws Error if no file could be written there. What is there stays; nothing is left.
void checkCanBeWritten(const WrittenFile &file);

} // namespace tessera::runtime
#endif
