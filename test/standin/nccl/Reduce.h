// Sums as a library of collectives may make them: in an order of its own, rounded at every step.
#ifndef TESSERA_TEST_STANDIN_NCCL_REDUCE_H
#define TESSERA_TEST_STANDIN_NCCL_REDUCE_H

#include "../../../runtime/cuda/api/Nccl.h"

#include <cstdint>
#include <vector>

namespace standin::nccl {

size_t elementBytes(tessera::nccl::ncclDataType_t type);
const char *typeName(tessera::nccl::ncclDataType_t type);
// Whether reduce() knows both. Other operations of NCCL are not carried out here.
bool canReduce(tessera::nccl::ncclDataType_t type, tessera::nccl::ncclRedOp_t operation);

// into[i] = the sum (or maximum) of sources[r][i], for i in [0, count). `first` is the place of element 0 in
// the whole array, of `total` elements. The order in which the ranks' values meet depends on `seed` and on
// the element's place, and on nothing else: the same bits wherever it is computed.
void reduce(tessera::nccl::ncclDataType_t type, tessera::nccl::ncclRedOp_t operation,
            const std::vector<const char *> &sources, char *into, size_t first, size_t count, size_t total,
            uint64_t seed);

} // namespace standin::nccl
#endif
