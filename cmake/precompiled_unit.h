// What the compiler's unit tests include of others.
#include "precompiled_compiler.h"
#include <gtest/gtest.h>
