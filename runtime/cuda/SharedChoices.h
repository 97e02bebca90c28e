// Choices that ranks have alike: a sum in another order gives other bits, and all that run a program must
// decide alike.
#ifndef TESSERA_RUNTIME_CUDA_SHAREDCHOICES_H
#define TESSERA_RUNTIME_CUDA_SHAREDCHOICES_H

#include "tessera/runtime/comm/HostPlane.h"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace tessera::runtime {

using Choices = std::map<std::string, std::string>;

// What each of `keys` takes on all ranks: the lowest rank that has the key decides. The programs of ranks may
// differ, so all ranks come here, those without a key too. `decide`: those of this rank's that are its to
// decide; what it leaves out nobody has. Keys and values are lines. `plane` null: this rank is alone.
Choices agree(HostPlane *plane, const std::set<std::string> &keys,
              const std::function<Choices(const std::set<std::string> &own)> &decide);

} // namespace tessera::runtime
#endif
