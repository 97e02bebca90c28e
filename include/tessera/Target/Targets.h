// The list of targets that a tool of ours knows.
#ifndef TESSERA_TARGET_TARGETS_H
#define TESSERA_TARGET_TARGETS_H

namespace tessera {

/// Registers every target of lib/Target. May be called again: the second call does nothing.
void registerTargets();

} // namespace tessera
#endif
