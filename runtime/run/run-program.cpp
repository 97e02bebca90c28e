// run-program LIBRARY CALLS OUT [WEIGHTS]: runs the calls of a file (runtime/run/ProgramRun.h) with all ranks
// as threads, or as one rank under mpirun. For the judge: programs outside of its own process, and under MPI.
#include "tessera/runtime/run/ProgramRun.h"

int main(int argc, char **argv) {
  return tessera::runtime::runProgramMain(argc, argv, tessera::runtime::runCalls);
}
