#define TESSERA_ISA gemmKernelsAvx512
#include "GemmKernelsImpl.h"
