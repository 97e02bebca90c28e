// Mistakes in a manifest that later code must not meet.
#ifndef TESSERA_RUNTIME_CORE_MANIFESTCHECK_H
#define TESSERA_RUNTIME_CORE_MANIFESTCHECK_H

#include "tessera/runtime/core/Manifest.h"

namespace tessera::runtime {

// Throws Error, naming the entry of the manifest, if it contradicts itself.
void checkManifest(const Manifest &manifest);

// Of them what belongs to pipelines: the table of stages, entries that are parts of a stage's step, and what
// lies in slots.
void checkPipeline(const Manifest &manifest);

} // namespace tessera::runtime
#endif
