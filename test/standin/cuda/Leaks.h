// What a program leaves behind.
#ifndef TESSERA_STANDIN_CUDA_LEAKS_H
#define TESSERA_STANDIN_CUDA_LEAKS_H

#include "Machine.h"

namespace standin {

// Ends the process where a context that is released still owns something.
void checkLeaks(const Machine &machine, const Context &context);
// Does so for every context when the process ends with status 0.
void checkLeaksAtExit();
// Takes back what a context still owns.
void discard(Machine &machine, Context &context);

} // namespace standin
#endif
