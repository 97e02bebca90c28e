// What the compiler's unit tests include of others.
#include "precompiled_mlir.h"
#include <gtest/gtest.h>
