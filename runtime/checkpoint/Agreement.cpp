#include "Agreement.h"

#include <algorithm>
#include <cstring>

namespace tessera::checkpoint {

namespace {
struct Verdict {
  int64_t failed = 0;
  char texts[4][512] = {};
};
} // namespace

Status agree(runtime::HostPlane &plane, Status mine) {
  Verdict verdict;
  if (!mine) {
    verdict.failed = 1;
    const Failure &failure = mine.failure();
    const std::string *texts[4] = {&failure.what, &failure.where, &failure.why, &failure.hint};
    for (size_t i = 0; i < 4; ++i)
      std::strncpy(verdict.texts[i], texts[i]->c_str(), sizeof verdict.texts[i] - 1);
  }
  std::vector<Verdict> all(plane.rank() == 0 ? size_t(plane.ranks()) : 0);
  plane.gather(&verdict, sizeof verdict, all.data(), 0);
  if (auto bad = std::find_if(all.begin(), all.end(), [](const Verdict &v) { return v.failed != 0; });
      bad != all.end())
    verdict = *bad;
  plane.broadcast(&verdict, sizeof verdict, 0);
  if (!verdict.failed)
    return {};
  return Failure{verdict.texts[0], verdict.texts[1], verdict.texts[2], verdict.texts[3]};
}

std::vector<uint64_t> addedUp(runtime::HostPlane &plane, const std::vector<uint64_t> &mine) {
  std::vector<uint64_t> all(plane.rank() == 0 ? mine.size() * size_t(plane.ranks()) : 0), sums(mine.size());
  plane.gather(mine.data(), mine.size() * sizeof(uint64_t), all.data(), 0);
  for (size_t i = 0; i < all.size(); ++i)
    sums[i % mine.size()] += all[i];
  return sums;
}

} // namespace tessera::checkpoint
