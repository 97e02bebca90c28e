// Collectives over MPI's point-to-point messages.
#ifndef TESSERA_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
#define TESSERA_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

#include "MpiLibrary.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Sends.h"

#include <vector>

namespace tessera::runtime {

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(const MpiLibrary &mpi, int64_t rank, int64_t ranks);
  // Until the board exists (its making needs messages) nobody is watched.
  void setEntry(BoardEntry &entry) { entry_ = &entry; }

  void prepare(const Manifest &manifest) override;
  void run(int32_t id, const void *src, void *dst) override;
  void barrier() override;
  void broadcast(void *data, size_t bytes, int64_t root) override;
  void gather(const void *src, size_t bytes, void *dst, int64_t root) override;

private:
  struct Membership {
    std::vector<int64_t> members;
    int64_t self;
  };
  // Of one grouped send: what comes, and what goes to the ranks of `receivers`.
  struct Messages {
    std::vector<SentBox> comes, goes;
    std::vector<int64_t> receivers;
  };
  // Queue messages, then exchange() them all. Messages between two ranks match in order.
  void send(int64_t rank, const void *data, size_t bytes);
  void receive(int64_t rank, void *data, size_t bytes);
  void exchange();

  void allReduce(const CollectiveSpec &spec, const Membership &group, const char *src, char *dst);
  void allGather(const CollectiveSpec &spec, const Membership &group, const char *src, char *dst);
  void reduceScatter(const CollectiveSpec &spec, const Membership &group, const char *src, char *dst);
  void allToAll(const CollectiveSpec &spec, const Membership &group, const char *src, char *dst);
  void permute(const CollectiveSpec &spec, const Membership &group, const char *src, char *dst);
  void sendBoxes(const CollectiveSpec &spec, int32_t id, const char *src, char *dst);
  char *scratch(size_t bytes);

  const MpiLibrary &mpi_;
  BoardEntry none_; // stands in before setEntry
  BoardEntry *entry_ = &none_;
  const Manifest *manifest_ = nullptr;
  std::vector<Membership> groups_;
  std::vector<Messages> messages_; // by collective; of grouped sends only
  std::vector<MpiRequest> requests_;
  std::vector<char> scratch_; // grows to what the largest collective needs
};

} // namespace tessera::runtime
#endif
