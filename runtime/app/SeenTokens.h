// The state of a program that says which tokens the rows' texts have (Fill::SeenTokens).
#ifndef TESSERA_RUNTIME_APP_SEENTOKENS_H
#define TESSERA_RUNTIME_APP_SEENTOKENS_H

#include "tessera/runtime/device/Rank.h"

#include <cstdint>
#include <vector>

namespace tessera::runtime {

// Writes to `state` [batch, 1, vocab], whose shard lies at `address`, that the text of `row` has `tokens` and
// no others. Other rows stay as they are.
void writeSeenTokens(Rank &rank, const StateSpec &state, char *address, size_t row,
                     const std::vector<int32_t> &tokens);

} // namespace tessera::runtime
#endif
