// Memory that the processes of this machine share.
#ifndef TESSERA_RUNTIME_COMM_SHAREDSEGMENT_H
#define TESSERA_RUNTIME_COMM_SHAREDSEGMENT_H

#include <cstddef>
#include <string>

namespace tessera::runtime {

// A new segment, zero at first, under a name that nobody had. The name goes with the object; the memory with
// the last process that mapped it.
class SharedSegment {
public:
  // Throws Error unless all of it is there: memory that is missing would be found by a signal, at the first
  // write.
  explicit SharedSegment(size_t bytes);
  ~SharedSegment();
  SharedSegment(const SharedSegment &) = delete;

  const std::string &name() const { return name_; }
  // The memory of the segment `name` of this machine. Throws Error.
  static void *map(const std::string &name, size_t bytes);

private:
  std::string name_;
};

} // namespace tessera::runtime
#endif
