// The scale of the loss in float16: small gradients would be rounded to zero, large ones overflow.
#ifndef TESSERA_RUNTIME_TRAIN_LOSSSCALE_H
#define TESSERA_RUNTIME_TRAIN_LOSSSCALE_H

#include <cstdint>

namespace tessera::train {

// Halved by an overflow, doubled after `growth` updates without one (arXiv 1710.03740, section 3.2; the
// numbers are torch's).
struct LossScale {
  static constexpr int64_t growth = 2000;
  double scale = 1;
  int64_t goodSteps = 0; // updates since it changed

  // After a step. False: there was an overflow that no smaller scale would have avoided, and nothing changes.
  bool next(bool overflow);
};

} // namespace tessera::train
#endif
