// One file of whole tensors, put together from the ranks' pieces, outside of any save.
#ifndef TESSERA_RUNTIME_CHECKPOINT_TENSORFILE_H
#define TESSERA_RUNTIME_CHECKPOINT_TENSORFILE_H

#include "tessera/runtime/checkpoint/Store.h"

namespace tessera::checkpoint {

// All ranks call it, and all return the same. `path` is there, whole, after it (by one rename in its
// folder, which is brought to the disk), or on failure as it was. Of a link the file that it means is
// written. `state.name` is not looked at.
Status writeTensorFile(const std::string &path, const StateFile &state, const runtime::Mesh &mesh,
                       runtime::HostPlane &plane, FileSystem &files = realFiles());

} // namespace tessera::checkpoint
#endif
