// What every communicator must do, against plain loops. The host runs it on threads, MPI under mpirun.
#ifndef TESSERA_RUNTIME_TEST_COMMCONFORMANCE_H
#define TESSERA_RUNTIME_TEST_COMMCONFORMANCE_H

#include "tessera/runtime/comm/Communicator.h"

namespace tessera::runtime {

// A program of many collectives over all kinds of groups of `mesh`.
Manifest conformanceManifest(const Mesh &mesh);

// Runs every collective of `manifest` on this rank twice and compares; then barrier, broadcast and gather.
// Every rank calls it. Failures are reported through GoogleTest.
void runConformance(Communicator &comm, const Manifest &manifest);

} // namespace tessera::runtime
#endif
