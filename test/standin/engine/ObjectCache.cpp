#include "ObjectCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>

using namespace llvm;

namespace standin {

// Which build of the engine this is: the file that it lies in, and when that was written.
static std::string engineBuild() {
  Dl_info info;
  sys::fs::file_status status;
  if (!dladdr(reinterpret_cast<void *>(&engineBuild), &info) || sys::fs::status(info.dli_fname, status))
    return "";
  return std::string(info.dli_fname) + " " + std::to_string(status.getSize()) + " " +
         std::to_string(status.getLastModificationTime().time_since_epoch().count());
}

ObjectCache::ObjectCache(const std::string &bitcodePath, const std::string &bitcode, bool races) {
  static const std::string build = engineBuild();
  if (build.empty())
    return;
  SHA256 hash;
  for (StringRef part :
       {StringRef(bitcode), StringRef(build), sys::getHostCPUName(), StringRef(races ? "races" : "quick")}) {
    hash.update(part);
    hash.update(ArrayRef<uint8_t>(0));
  }
  SmallString<128> file(sys::path::parent_path(bitcodePath));
  sys::path::append(file, "host-" + toHex(hash.final(), true).substr(0, 32) + ".o");
  path = file.str();
}

std::string ObjectCache::read() const {
  if (path.empty())
    return "";
  auto buffer = MemoryBuffer::getFile(path, false, false);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

void ObjectCache::write(const std::string &object) const {
  if (path.empty())
    return;
  // Another process may do the same: whole files only.
  Expected<sys::fs::TempFile> file = sys::fs::TempFile::create(path + ".%%%%%%");
  if (!file) {
    consumeError(file.takeError());
    return;
  }
  raw_fd_ostream stream(file->FD, false);
  stream << object;
  stream.flush();
  bool bad = stream.has_error();
  stream.clear_error();
  consumeError(bad ? file->discard() : file->keep(path));
}

} // namespace standin
