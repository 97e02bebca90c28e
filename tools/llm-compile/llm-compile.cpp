//===- llm-compile.cpp - A model in, an executable out --------------------===//
#include "tessera/Execution/Check.h"
#include "tessera/runtime/io/LostPages.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <iterator>
#ifdef TESSERA_HAS_MIMALLOC
#include <mimalloc.h>
#endif
#include <new>
#include <unistd.h>

#ifdef TESSERA_HAS_MIMALLOC
// Tables of the search for placements fill some 100 MiB: in pages of 2 MiB it takes up to a tenth less time.
// Said before shared libraries allocate anything.
static void useLargePages() { mi_option_enable(mi_option_large_os_pages); }
__attribute__((section(".preinit_array"), used)) static void (*const beforeLibraries)() = useLargePages;
#endif

/// The last words of a process that cannot go on. Temporary files are gone by then; nothing here may
/// allocate.
[[noreturn]] static void end(std::initializer_list<const char *> words, int status) {
  for (const char *part : words)
    (void)!write(STDERR_FILENO, part, strlen(part));
  _exit(status);
}
[[noreturn]] static void die(const char *why) {
  end({"error: cannot compile (internal error): ", why, "; please report it with the command line\n"}, 1);
}

/// SIGTERM of batch systems, Ctrl-C, and SIGHUP, which says that the terminal is gone.
static constexpr struct {
  int number;
  const char *name;
} kSignals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGHUP, "SIGHUP"}};

static void onInterruption(int signal) {
  llvm::sys::RunInterruptHandlers();
  for (const auto &one : kSignals)
    if (one.number == signal)
      end({"error: cannot compile (", one.name, "): it was told to end; run it again\n"}, 128 + signal);
}

/// Background jobs ignore Ctrl-C, and nohup ignores SIGHUP: we leave that so.
static void handleSignals() {
  bool isIgnored[std::size(kSignals)] = {};
  for (size_t i = 1; i < std::size(kSignals); ++i) {
    struct sigaction before = {};
    isIgnored[i] = sigaction(kSignals[i].number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
  }
  llvm::sys::AddSignalHandler([](void *) { die("the compiler crashed"); }, nullptr);
  for (size_t i = 0; i < std::size(kSignals); ++i) // LLVM's handler says nothing
    std::signal(kSignals[i].number, isIgnored[i] ? SIG_IGN : onInterruption);
}

int main(int argc, char **argv) {
  // A file must not get the number of a standard stream that the caller closed, and what is written to that.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO}) // to write to what stands there fails
    if (fcntl(stream, F_GETFD) < 0)
      (void)!open("/dev/null", O_RDONLY);
  if (llvm::sys::Process::FixupStandardFileDescriptors())
    die("there is no /dev/null in place of a standard stream that is closed");
  handleSignals();
  signal(SIGXFSZ, SIG_IGN); // a file that grows too large is an error of write; LLVM's handler would crash
  tessera::io::endOnLostPages(llvm::sys::RunInterruptHandlers); // which removes temporary files
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) { die(reason); });
  std::set_new_handler([] { die("out of memory"); });

  tessera::Result<tessera::CompileOptions> options =
      tessera::parseCompileOptions(llvm::ArrayRef<const char *>(argv + 1, size_t(argc > 0 ? argc - 1 : 0)));
  tessera::Status status;
  if (!options) {
    status = options.takeFailure();
  } else if (!options->text.empty()) {
    status = tessera::printText(options->text);
  } else {
    std::string self = llvm::sys::fs::getMainExecutable(argv[0], reinterpret_cast<void *>(&main));
    status = tessera::compile(*options, tessera::findInstallation(self),
                              [] { return std::make_unique<tessera::OneDeviceCheck>(); });
  }
  if (!status) {
    llvm::errs() << "error: " << status.failure().message() << "\n";
    return 1;
  }
  return 0;
}
