// What every communicator and host plane must do, against plain loops: for those of the list (World.h) whose
// ranks are threads, and under a launcher for those whose ranks are processes.
#ifndef TESSERA_RUNTIME_TEST_COMMCONFORMANCE_H
#define TESSERA_RUNTIME_TEST_COMMCONFORMANCE_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/core/Mesh.h"
#include "tessera/runtime/device/Device.h"

#include <cstring>
#include <functional>
#include <string>

namespace tessera::runtime {

// One rank of what is under test.
struct CommUnderTest {
  Communicator &comm;
  HostPlane &plane;
  Stream &stream;
  Mesh mesh;
  // What the communicator's contract (Communicator.h) takes from the program: groups and tags may come in
  // another order on every rank, and float sums run in the order of the ranks.
  bool anyOrder = true, exactSums = true;

  // Sums that were not compared bit by bit with what they should be: all members of a group have to have the
  // same.
  struct Sum {
    uint64_t seed, digest;
    int64_t group; // its first member
  };
  std::vector<Sum> sums = {};
};

// Memory of the rank's device.
class DeviceData {
public:
  DeviceData(CommUnderTest &rank, const std::vector<char> &content);
  char *address() const { return buffer_.address(); }
  void write(const std::vector<char> &content);
  std::vector<char> read() const;

private:
  CommUnderTest &rank_;
  Buffer buffer_;
  size_t bytes_;
};

// Once everything is checked: the sums of all ranks beside each other.
void compareSums(CommUnderTest &rank);

// All groups that the suite uses on `mesh`, numbered as setGroups() is to be told.
std::vector<AxisList> conformanceGroups(const Mesh &mesh);

// Makes them known to the rank's communicator: before anything else.
void setConformanceGroups(CommUnderTest &rank);

// Every rank calls these, in the same order. Failures are reported through GoogleTest.
//
// Every kind and type on every group, sizes from nothing to more than a transport's short messages, in place
// and not; pieces between shardings; groups in another order on every rank; messages with tags out of order;
// errors; the host plane.
void runConformance(CommUnderTest &rank);
// The part of it that needs no device.
void checkPlane(HostPlane &plane);
// Rows by counts, which only those do that the host drives: none, even ones, all to one, random numbers of
// them.
void runRowExchanges(CommUnderTest &rank);
// `count` random sequences that a valid program could make: collectives on all groups, transfers and
// messages, started in other orders on other ranks as far as groups and tags allow, waited for later in any
// order.
void runRandomSequences(CommUnderTest &rank, uint32_t seed, int count);

//===- for both parts of the suite -===//

// Something that is started on all ranks concerned, waited for and checked.
struct Exchange {
  std::string what;
  int64_t order =
      -1; // equal ones (of one group, or between two ranks with one tag) start in the order of their making
  std::function<CommToken()> start;
  std::function<void()> check; // after the wait
};

uint64_t hashOf(uint64_t a, uint64_t b, uint64_t c);
// Element i of what `data` holds.
template <typename T> T get(const std::vector<char> &data, int64_t i) {
  T value;
  memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}
// Values whose sums round differently in another order: a wrong order shows.
std::vector<char> contents(io::DType type, int64_t elements, uint64_t seed, int64_t rank);

Exchange blockExchange(CommUnderTest &rank, const BlockCollective &collective, uint64_t seed, bool inPlace);
// Pieces of a tensor of sizes `global`, or of a part of it, from one sharding to another.
Exchange sendExchange(CommUnderTest &rank, int64_t group, const Shape &global, const Sharding &from,
                      const Sharding &to, io::DType type, uint64_t seed, const Box *part = nullptr);

} // namespace tessera::runtime
#endif
