// What the runtime's tests include of others.
#include "precompiled_runtime.h"
#include <gtest/gtest.h>
