//===- LinkExecutable.cpp - objects to an executable, by lld ----------------===//

#include "OutputFile.h"
#include "tessera/Support/ScratchFile.h"
#include "tessera/Target/CPU/Linker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/VersionTuple.h"

#include <optional>

namespace tessera {

using namespace llvm;

namespace {

constexpr StringLiteral kLibraryPaths[] = {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64",
                                           "/lib64", "/usr/lib"};
constexpr StringLiteral kCompilerPaths[] = {
    "/usr/lib/gcc/x86_64-linux-gnu", "/usr/lib/gcc/x86_64-redhat-linux", "/usr/lib/gcc/x86_64-pc-linux-gnu",
    "/usr/lib64/gcc/x86_64-suse-linux"};

constexpr unsigned kSecondsToLink = 600;

std::string joined(StringRef directory, StringRef file) {
  SmallString<128> path(directory);
  sys::path::append(path, file);
  return path.str().str();
}

Expected<std::string> findLinker(const LinkOptions &options) {
  if (!options.linker.empty()) {
    if (sys::fs::can_execute(options.linker))
      return options.linker;
    return createStringError("no linker: '" + options.linker +
                             "' is no program that can run; install lld-22");
  }
  // LLVM's own first: a distribution's ld.lld may be years older.
  for (StringRef name : {"ld.lld-22", "ld.lld"}) {
    StringRef versioned[] = {"/usr/lib/llvm-22/bin"};
    if (ErrorOr<std::string> found = sys::findProgramByName(name, versioned))
      return *found;
    if (ErrorOr<std::string> found = sys::findProgramByName(name))
      return *found;
  }
  return createStringError(
      "no linker: ld.lld is neither on PATH nor in /usr/lib/llvm-22/bin; install lld-22");
}

/// The directory of crt1.o and libc.so.
Expected<std::string> findLibc() {
  for (StringRef directory : kLibraryPaths)
    if (sys::fs::exists(joined(directory, "Scrt1.o")) && sys::fs::exists(joined(directory, "libc.so")))
      return directory.str();
  return createStringError(
      "no C library to link with: Scrt1.o and libc.so were not found; install libc6-dev");
}

/// The newest GCC directory that holds crtbeginS.o, libgcc.a and libstdc++.a.
Expected<std::string> findGcc() {
  std::string best;
  VersionTuple bestVersion;
  for (StringRef base : kCompilerPaths) {
    std::error_code error;
    for (sys::fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
      VersionTuple version;
      if (version.tryParse(sys::path::filename(it->path())) || (!best.empty() && version <= bestVersion))
        continue;
      bool complete = llvm::all_of(ArrayRef<StringRef>{"crtbeginS.o", "crtendS.o", "libgcc.a", "libstdc++.a"},
                                   [&](StringRef file) { return sys::fs::exists(joined(it->path(), file)); });
      if (complete) {
        best = it->path();
        bestVersion = version;
      }
    }
  }
  if (best.empty())
    return createStringError(
        "no compiler support library to link with: crtbeginS.o, libgcc.a and libstdc++.a were not "
        "found in /usr/lib/gcc; install g++");
  return best;
}

/// The first complaint of lld, in one line, with how many more there are.
std::string firstComplaint(StringRef text) {
  std::string first;
  unsigned errors = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    size_t at = line.find("error: ");
    if (at == StringRef::npos)
      continue;
    if (++errors == 1)
      first = line.substr(at + 7).str();
  }
  if (errors > 1)
    first += " (and " + std::to_string(errors - 1) + " more)";
  return first;
}

/// The error of the system that a complaint ends with; success where it has none that can be told.
std::error_code errorOf(StringRef complaint) {
  for (std::errc error :
       {std::errc::no_space_on_device, std::errc::permission_denied, std::errc::operation_not_permitted,
        std::errc::read_only_file_system, std::errc::no_such_file_or_directory, std::errc::not_a_directory})
    if (std::error_code code = std::make_error_code(error); complaint.contains_insensitive(code.message()))
      return code;
  return {};
}

/// Why the linker failed to make `file`, and what to try. `launch`: what the system says of the process.
std::string whyNot(int status, const std::string &launch, const std::string &complaint,
                   const OutputFile &file) {
  const std::string makeRoom = file.hint(std::make_error_code(std::errc::no_space_on_device));
  if (status == -1)
    return launch + "; install lld-22, or allow more memory and processes";
  if (status == -2 && StringRef(launch).contains("timed out"))
    return "it was ended, as it took too long (" + launch + "); try again when the machine has less to do";
  if (status == -2) // a signal: it writes through memory that a full disk cannot hold
    return "it was ended (" + launch + "), as on a full disk or without memory; " + makeRoom;
  if (complaint.empty()) // it writes that to a file, too
    return "it ended with status " + std::to_string(status) + "; " + makeRoom + ", or install lld-22 afresh";
  if (llvm::any_of(ArrayRef<StringRef>{"failed to open", "failed to write", "cannot open output file"},
                   [&](StringRef words) { return StringRef(complaint).contains(words); }))
    return complaint + "; " + file.hint(errorOf(complaint));
  return complaint + "; install Tessera, lld-22 and g++ afresh";
}

Expected<std::vector<std::string>> arguments(const LinkOptions &options, StringRef linker, StringRef output) {
  Expected<std::string> libc = findLibc();
  if (!libc)
    return libc.takeError();
  Expected<std::string> gcc = findGcc();
  if (!gcc)
    return gcc.takeError();
  std::vector<std::string> args = {linker.str(),
                                   "-o",
                                   output.str(),
                                   "--hash-style=gnu",
                                   "--build-id",
                                   "--eh-frame-hdr",
                                   "--gc-sections",
                                   "--as-needed",
                                   "-m",
                                   "elf_x86_64",
                                   "-z",
                                   "relro",
                                   "-z",
                                   "now",
                                   "-z",
                                   "noexecstack"};
  auto add = [&](std::initializer_list<std::string> more) { args.insert(args.end(), more); };
  if (options.shared)
    add({"-shared"});
  else
    add({"-pie", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2", joined(*libc, "Scrt1.o")});
  add({joined(*libc, "crti.o"), joined(*gcc, "crtbeginS.o")});
  for (const std::string &path : options.searchPaths)
    add({"-L" + path});
  for (StringRef path : kLibraryPaths)
    if (sys::fs::is_directory(path))
      add({"-L" + path.str()});
  args.insert(args.end(), options.objects.begin(), options.objects.end());
  add({"--start-group"});
  args.insert(args.end(), options.archives.begin(), options.archives.end());
  add({"--end-group"});
  for (const std::string &library : options.libraries)
    add({StringRef(library).contains('/') ? library : "-l" + library});
  add({joined(*gcc, "libstdc++.a"), "-lm", "-lpthread", "-ldl", joined(*gcc, "libgcc.a"),
       joined(*gcc, "libgcc_eh.a"), "-lc", joined(*gcc, "libgcc.a"), joined(*gcc, "crtendS.o"),
       joined(*libc, "crtn.o")});
  return args;
}

} // namespace

Error linkExecutable(const LinkOptions &options, StringRef output) {
  Expected<std::string> linker = findLinker(options);
  if (!linker)
    return linker.takeError();
  for (const auto &inputs : {options.objects, options.archives})
    for (const std::string &path : inputs)
      if (!sys::fs::exists(path))
        return createStringError("cannot link '" + output.str() + "': no file '" + path + "'");
  Expected<OutputFile> file = OutputFile::create(output, /*executable=*/!options.shared);
  if (!file)
    return file.takeError();
  Expected<std::vector<std::string>> args = arguments(options, *linker, file->temporaryPath());
  if (!args)
    return args.takeError();

  Result<ScratchFile> messages = ScratchFile::create("tessera-link", "txt");
  if (!messages)
    return createStringError(messages.failure().message());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(""), StringRef(messages->path())};
  std::string launchError;
  SmallVector<StringRef> argRefs(args->begin(), args->end());
  int status =
      sys::ExecuteAndWait(*linker, argRefs, std::nullopt, redirects, kSecondsToLink, 0, &launchError);
  if (status != 0) {
    std::string text;
    if (ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(messages->path()))
      text = (*buffer)->getBuffer().str();
    return createStringError("cannot link '" + output.str() + "' (" + *linker +
                             "): " + whyNot(status, launchError, firstComplaint(text), *file));
  }
  return file->keep();
}

} // namespace tessera
