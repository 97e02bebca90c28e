#define TESSERA_ISA gemmKernelsAvx2
#include "GemmKernelsImpl.h"
