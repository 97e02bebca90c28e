#include "tessera/runtime/train/LossScale.h"

namespace tessera::train {

// Programs take it, and its inverse, as float32.
static constexpr double largest = 0x1p100;

bool LossScale::next(bool overflow) {
  if (overflow) {
    if (scale <= 1)
      return false;
    scale = scale > 2 ? scale / 2 : 1;
    goodSteps = 0;
  } else if (++goodSteps == growth) {
    if (scale < largest)
      scale *= 2;
    goodSteps = 0;
  }
  return true;
}

} // namespace tessera::train
