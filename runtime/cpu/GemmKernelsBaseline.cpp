#define TESSERA_ISA gemmKernelsBaseline
#include "GemmKernelsImpl.h"
