#include "SeenTokens.h"
#include "Buffers.h"

namespace tessera::runtime {

void writeSeenTokens(Rank &rank, const StateSpec &state, char *address, size_t row,
                     const std::vector<int32_t> &tokens) {
  std::vector<int32_t> seen(size_t(state.shape.back()), 0), local(size_t(state.local.back()));
  for (int32_t id : tokens)
    seen[size_t(id)] = 1;
  const int32_t padding = 0;
  const int64_t at =
      takeRow(state, rank.manifest().mesh, rank.id(), int64_t(row), seen.data(), &padding, local.data());
  const size_t bytes = local.size() * sizeof(int32_t);
  if (at >= 0)
    rank.write(address + size_t(at) * bytes, local.data(), bytes);
}

} // namespace tessera::runtime
