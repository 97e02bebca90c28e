// Files that get shorter while they are mapped: a touch of a page that is gone is a signal (SIGBUS), which
// has an address and no file. Mappings are noted here, so that whoever handles the signal can say which file
// it was.
#ifndef TESSERA_RUNTIME_IO_LOSTPAGES_H
#define TESSERA_RUNTIME_IO_LOSTPAGES_H

#include <cstddef>

namespace tessera::io {

// While it lives, [begin, begin + bytes) belongs to `message`, one line that says what was lost; it must live
// as long. Of more than 1024 at a time the rest are not noted. May be made and destroyed by many threads.
class NotedMapping {
public:
  NotedMapping() = default;
  ~NotedMapping() { forget(); }
  NotedMapping(const NotedMapping &) = delete;
  NotedMapping &operator=(const NotedMapping &) = delete;
  void note(const void *begin, size_t bytes, const char *message); // once
  void forget();                                                   // before the range is another's

private:
  int slot_ = -1;
};

// The message of the mapping that `address` lies in; null if none is noted. For handlers of signals: takes no
// lock and allocates nothing.
const char *lostPageMessage(const void *address);

// From now on a touch of a lost page of a noted mapping ends the process: `cleanUp` is called (null:
// nothing), then `error: MESSAGE` is written to standard error, and the status is 1. A bus error elsewhere
// goes to the handler that was there before.
void endOnLostPages(void (*cleanUp)() = nullptr);

} // namespace tessera::io
#endif
