// What is trained, as a run knows it before there are ranks: one program, or those of a pipeline's stages.
#ifndef TESSERA_RUNTIME_APP_TRAINEDPROGRAM_H
#define TESSERA_RUNTIME_APP_TRAINEDPROGRAM_H

#include "tessera/runtime/core/Manifest.h"

#include <vector>

namespace tessera::runtime {

struct TrainedProgram {
  const Manifest &whole;               // sizes and mesh
  std::vector<const Manifest *> parts; // which have the parameters and entries; of one program itself

  bool has(Role role) const {
    for (const Manifest *part : parts)
      for (const EntrySpec &entry : part->entries)
        if (entry.role == role)
          return true;
    return false;
  }
  // Whether an update takes such a number.
  bool takes(Fill fill) const {
    for (const Manifest *part : parts)
      for (const EntrySpec &entry : part->entries)
        if (entry.role == Role::Train && entry.input(fill))
          return true;
    return false;
  }
};

} // namespace tessera::runtime
#endif
