// What happened before what: vector clocks of the threads of a launch, kept small by what kernels do. All
// threads of a block know the same after a barrier, so they share what they know of each other; of other
// blocks they know what atomics handed on.
#ifndef TESSERA_STANDIN_CLOCKS_H
#define TESSERA_STANDIN_CLOCKS_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace standin {

// For each thread of a block, the time up to which its accesses are known. Never changed once it is shared.
using Times = std::shared_ptr<const std::vector<uint32_t>>;

// What a thread, or a place in memory that threads synchronize through, knows: of each block some of its
// threads' times.
class Knowledge {
public:
  bool knows(uint32_t block, uint32_t thread, uint32_t time) const {
    const Times *times = find(block);
    return times && (**times)[thread] >= time;
  }
  const Times *find(uint32_t block) const {
    auto found = blocks.find(block);
    return found == blocks.end() ? nullptr : &found->second;
  }
  void set(uint32_t block, Times times) { blocks[block] = std::move(times); }
  void join(const Knowledge &other) {
    for (const auto &[block, times] : other.blocks)
      join(block, times);
  }
  // Of one block only.
  void join(uint32_t block, const Times &times) {
    Times &own = blocks[block];
    if (own == times)
      return;
    if (!own) {
      own = times;
      return;
    }
    bool more = false, less = false;
    for (size_t i = 0; i < own->size(); ++i) {
      more |= (*own)[i] > (*times)[i];
      less |= (*own)[i] < (*times)[i];
    }
    if (!less)
      return;
    if (!more) {
      own = times;
      return;
    }
    auto made = std::make_shared<std::vector<uint32_t>>(*own);
    for (size_t i = 0; i < made->size(); ++i)
      (*made)[i] = std::max((*made)[i], (*times)[i]);
    own = std::move(made);
  }
  void forget(uint32_t block) { blocks.erase(block); }
  bool empty() const { return blocks.empty(); }

private:
  std::map<uint32_t, Times> blocks;
};

} // namespace standin
#endif
