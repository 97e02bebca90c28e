//===- Progress.h - What is being done, on a terminal -----------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_PROGRESS_H
#define TESSERA_LIB_PIPELINES_PROGRESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

namespace tessera {

/// A bar on standard error if that is a terminal; nothing otherwise. It is gone when the object is.
class Progress {
public:
  explicit Progress(int steps) : steps(steps), terminal(isatty(STDERR_FILENO)) {}
  ~Progress() { end(); }
  /// The bar is gone.
  void end() {
    if (terminal && done)
      llvm::errs() << "\r\033[K";
    done = 0;
  }
  void begin(llvm::StringRef step) {
    if (!terminal)
      return;
    llvm::errs() << "\r\033[K[";
    for (int i = 0; i < steps; ++i)
      llvm::errs() << (i < done ? "#" : ".");
    llvm::errs() << "] " << step;
    ++done;
  }

private:
  int steps, done = 0;
  bool terminal;
};

} // namespace tessera
#endif
