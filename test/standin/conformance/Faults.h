// Faults that a program could have, each beside the same program without it.
#ifndef TESSERA_STANDIN_CONFORMANCE_FAULTS_H
#define TESSERA_STANDIN_CONFORMANCE_FAULTS_H

#include "Kernels.h"

namespace conformance {

struct Fault {
  const char *name;
  const char *says;               // a part of the line that names it
  std::function<void(bool)> body; // true: without the fault
};
std::vector<Fault> &faults();
struct RegisterFault {
  RegisterFault(const char *name, const char *says, std::function<void(bool)> body) {
    faults().push_back({name, says, std::move(body)});
  }
};
#define FAULT(name, says)                                                                                    \
  static void name(bool right);                                                                              \
  static conformance::RegisterFault register_##name(#name, says, name);                                      \
  static void name(bool right)

inline void wait(CUstream stream) { OK(api().cuStreamSynchronize(stream)); }

} // namespace conformance
#endif
