// Who is told of what a rank does in a step: for traces, and for the search of a first value that is not
// finite.
#ifndef TESSERA_RUNTIME_APP_STEPOBSERVER_H
#define TESSERA_RUNTIME_APP_STEPOBSERVER_H

#include "tessera/runtime/device/CallObserver.h"
#include "tessera/runtime/device/Rank.h"
#include "tessera/runtime/pipeline/Executor.h"

#include <string>

namespace tessera::runtime {

// A call of an entry, as one part of a step.
struct CalledPart {
  std::string name;       // "1F3", "update of stage 1"; empty: it is the whole step
  int64_t order = 0;      // on all ranks: what a part reads is made by parts of smaller numbers, or by itself
  int64_t firstLayer = 0; // of the program, in the model
};

// Told of calls of generated code, of which entry they are, and of what a pipeline's list does beside them.
class StepObserver : public CallObserver, public CommunicationObserver, public ListObserver {
public:
  // Calls are those of `entry` until left(). Both arguments outlive the observer.
  virtual void entered(Rank &program, const EntrySpec &entry, const CalledPart &part) = 0;
  virtual void left() {}

  void ended(CommToken) override {}
  void begins(const schedule::Action &) override {}
  void computes(const schedule::Action &) override {}
  void ends(const schedule::Action &) override {}
  void travels(const schedule::Action &, CommToken) override {}
  void arrived(CommToken) override {}
};

} // namespace tessera::runtime
#endif
