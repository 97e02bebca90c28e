// The trace of all ranks as one file, for Perfetto and chrome://tracing.
#ifndef TESSERA_RUNTIME_APP_TRACEFILE_H
#define TESSERA_RUNTIME_APP_TRACEFILE_H

#include "StepTrace.h"
#include "TraceEvents.h"
#include "tessera/runtime/device/Rank.h"
#include "tessera/runtime/io/OutputFile.h"

namespace tessera::runtime {

// One clock for all ranks: that of rank 0, whose zero is the moment at which they agreed on it. A rank on
// another machine takes the moment at which a barrier let it go for the same.
class TraceClock {
public:
  explicit TraceClock(HostPlane &plane); // every rank makes one, together
  int64_t zero() const { return zero_; }

private:
  int64_t zero_;
};

// Writes what all ranks have recorded, one after the other: rank 0 holds no more of the others than one piece
// of text at a time; `more` adds what it knows behind that. Every rank calls it; `file` is open at rank 0,
// and null elsewhere. Returns the ranks whose traces are not whole, at rank 0.
std::vector<int64_t> writeTrace(HostPlane &plane, const StepTrace &trace, const TraceClock &clock,
                                io::OutputFile *file, const std::function<void(TraceEvents &)> &more = {});

} // namespace tessera::runtime
#endif
