// run-program LIBRARY CALLS OUT [WEIGHTS]: runs the calls of a file (runtime/run/ProgramRun.h) with all ranks
// as threads, or as one rank under mpirun, and writes what this process's ranks gave to OUT, under a launcher
// to OUT.RANK. For the judge: programs under MPI.
#include "tessera/runtime/run/ProgramRun.h"

#include <cstdio>
#include <cstdlib>

using namespace tessera;
using namespace tessera::runtime;

static Status run(int argc, char **argv) {
  if (argc < 4 || argc > 5)
    return Failure{"cannot run", "arguments", "there are " + std::to_string(argc - 1),
                   "run-program LIBRARY CALLS OUT [WEIGHTS]"};
  Result<LoadedProgram> program = LoadedProgram::open(argv[1]);
  if (!program)
    return program.takeFailure();
  std::vector<ProgramCall> calls;
  if (Status s = readCalls(argv[2], calls); !s)
    return s;
  RunOptions options;
  if (argc == 5)
    options.weights = argv[4];
  if (Status s = runCalls(program->program(), options, calls); !s)
    return s;
  for (ProgramCall &call : calls)
    call.inputs.clear();
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  return writeCalls(std::string(argv[3]) + (rank ? "." + std::string(rank) : ""), calls);
}

int main(int argc, char **argv) {
  Status status = run(argc, argv);
  if (status)
    return 0;
  fprintf(stderr, "error: %s\n", status.failure().message().c_str());
  return 1;
}
