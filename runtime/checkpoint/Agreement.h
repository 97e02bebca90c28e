//===- Agreement.h - What all ranks return ----------------------*- C++ -*-===//
#ifndef TESSERA_RUNTIME_CHECKPOINT_AGREEMENT_H
#define TESSERA_RUNTIME_CHECKPOINT_AGREEMENT_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/comm/HostPlane.h"

#include <cstdint>
#include <vector>

namespace tessera::checkpoint {

/// All ranks call it and get the same: success if all had it, else the failure of the first that failed.
Status agree(runtime::HostPlane &plane, Status mine);

/// At rank 0: entry i is the sum of the ranks' entries i, modulo 2^64. Elsewhere: nothing of use.
std::vector<uint64_t> addedUp(runtime::HostPlane &plane, const std::vector<uint64_t> &mine);

} // namespace tessera::checkpoint
#endif
