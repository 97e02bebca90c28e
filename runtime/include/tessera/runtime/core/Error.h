// How the runtime fails: an Error inside it, one line for the user at its edge.
//
// Code of the runtime throws Error; `main` and the body of every rank catch it and end the run through
// endRun. Generated code stands between ts_* functions and the rank's body and need not unwind: the ts_*
// functions call endRun themselves.
#ifndef TESSERA_RUNTIME_CORE_ERROR_H
#define TESSERA_RUNTIME_CORE_ERROR_H

#include "tessera/runtime/Result.h"

#include <exception>
#include <string>

namespace tessera::runtime {

// `error: WHAT (WHERE): WHY; TRY`, the four parts of Failure.
class Error : public std::exception {
public:
  explicit Error(const Failure &failure) : message_(failure.message()) {}
  Error(std::string what, std::string where, std::string why, std::string hint = "")
      : Error(Failure{std::move(what), std::move(where), std::move(why), std::move(hint)}) {}
  const char *what() const noexcept override { return message_.c_str(); }

private:
  std::string message_;
};

// Takes the value out of a Result, throws its failure.
template <typename T> T take(Result<T> result) {
  if (!result)
    throw Error(result.failure());
  return result.take();
}
inline void check(const Status &status) {
  if (!status)
    throw Error(status.failure());
}

// What to tell the user of an exception: an Error's own line, and one of ours where the system said no.
std::string messageOf(const std::exception &exception);

// Prints `error: MESSAGE` and ends the process with status 1 at once: no destructors, no atexit. Of all
// threads of the process (and of all processes on this machine that share a board, Board.h) only the first
// prints. Safe in every thread.
[[noreturn]] void endRun(const std::string &message);
// With messageOf, even where there is no memory left for it.
[[noreturn]] void endRun(const std::exception &exception);

// True in the one thread of the process that ends it: whoever else wants to waits for its _exit. For handlers
// of signals too.
bool claimEnd();

// Does not return in a run that another thread ends: what was waited for may have been cut short.
void stopIfEnding();

// Called once by endRun before it prints: true if this process is the one that shall print. Set by the board.
void setReportElection(bool (*mayReport)());

// Called once by endRun, after it printed and before the process ends: for what no destructor will remove.
// Null: nothing. Returns the one before.
using EndHook = void (*)();
EndHook setEndHook(EndHook hook);

} // namespace tessera::runtime
#endif
