// Who waits for whom, across communicators: ranks that start them in different orders on one stream wait for
// each other for ever, on a GPU without a word.
#ifndef TESSERA_TEST_STANDIN_NCCL_WAITS_H
#define TESSERA_TEST_STANDIN_NCCL_WAITS_H

#include "Segment.h"

#include <string>
#include <vector>

namespace standin::nccl {

// A place among those of a rank where it says what it waits for, as long as the object lives.
class WaitingPlace {
public:
  WaitingPlace(Segment &world, int rank);
  ~WaitingPlace();
  WaitingPlace(const WaitingPlace &) = delete;

  // `key`: the same for those who do the same together. `missing`: bit r: rank r of the world has not come.
  void set(uint64_t key, uint64_t missing, const std::string &text);
  void clear();
  // "rank 0 in X, rank 1 in Y": a circle of waits that goes through this place and was there at the last call
  // too, and whose ranks have all said since that they wait; empty: there is none.
  std::string circle();

private:
  std::string find(std::vector<const Waiting *> &others) const;
  Segment &world_;
  int rank_;
  Waiting *waiting_ = nullptr;          // null: the rank has no place left
  std::vector<const Waiting *> others_; // of the last call of circle()
  std::vector<uint64_t> looks_;
};

} // namespace standin::nccl
#endif
