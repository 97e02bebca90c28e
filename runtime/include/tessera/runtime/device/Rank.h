// One rank: its device, arena, weights and products; what abi.h's ts_rank points to.
#ifndef TESSERA_RUNTIME_DEVICE_RANK_H
#define TESSERA_RUNTIME_DEVICE_RANK_H

#include "tessera/runtime/abi.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/comm/ProgramCollectives.h"
#include "tessera/runtime/device/CallObserver.h"
#include "tessera/runtime/device/Device.h"
#include "tessera/runtime/device/Weights.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace tessera::runtime {

class Rank {
public:
  // Opens a device of the plan's driver, allocates arena and weights there and makes the products ready. Runs
  // on the rank's main thread, which is the only one that may use the object later. `entry` is this rank's
  // entry of the board.
  Rank(const ts_program &program, const Manifest &manifest, const WeightPlan &plan, Communicator &comm,
       HostPlane &plane, BoardEntry &entry, int threads);
  ~Rank();

  // Fills the weights, all threads of the rank at work. `onBytes` is told the bytes as they come (any
  // thread).
  void loadWeights(const WeightOrigin &origin, const std::function<void(int64_t)> &onBytes = nullptr);

  int64_t id() const { return plane_.rank(); }
  const Manifest &manifest() const { return manifest_; }
  HostPlane &plane() { return plane_; }
  ProgramCollectives &collectives() { return collectives_; }
  ThreadPool &pool() { return pool_; }
  BoardEntry &entry() { return entry_; }
  const WeightPlan &plan() const { return plan_; }
  int64_t groupIndex(int64_t group) const { return collectives_.groupIndex(group); }

  Device &device() { return *device_; }
  Module &module() { return *module_; }
  Product &product(int64_t id) { return *products_[id]; }
  const ts_kernel &kernel(int64_t number) const { return program_.kernels[number]; }
  // Who is told of the calls of generated code from now on; null, as it begins: nobody. Must outlive them.
  void observe(CallObserver *observer) { observer_ = observer; }
  CallObserver *observer() const { return observer_; }
  // Where calls compute, and where the copies from and to their inputs and outputs run.
  Stream &compute() { return *streams_[0]; }
  // By their numbers in the manifest.
  Stream &stream(int64_t number) { return *streams_.at(size_t(number)); }
  Event &event(int64_t number) { return *events_.at(size_t(number)); }
  // Where what is started and waited for runs: a stream of the program that is for communication, or else one
  // beside them.
  Stream &communication() { return communication_ ? *communication_ : *streams_[communicationNumber_]; }
  // The same, after all that `stream` was given so far.
  Stream &beginCommunication(Stream &stream);
  // From now on `stream` runs after all that was given to the stream of communication.
  void joinCommunication(Stream &stream);
  // Between two calls of a program: where nobody else goes on with its messages, this thread does.
  void progress() {
    if (drivesMessages_)
      collectives_.progress();
  }

  // Addresses of device memory.
  char *arena() const { return arena_.address(); }
  char *weights(int64_t param, int64_t layer) const {
    const WeightPlan::Param &p = plan_.param(param);
    return weights_.address() + p.offset + layer * p.stride;
  }

  char *plainWeights(int64_t param, int64_t layer) const {
    const WeightPlan::Param &p = plan_.param(param);
    return weights_.address() + p.plainOffset + layer * (p.plain ? p.plain->bytes : p.stride);
  }

  // Copies to device memory, in the order of the compute stream; `data` may be used again on return.
  void write(char *dst, const void *data, size_t bytes);
  // Copies from device memory and waits for it, and so for all calls before.
  void read(void *data, const char *src, size_t bytes);

  // Waits until all is done that was given to the device: before memory that it uses goes. Ends the run if it
  // failed.
  void finish();

  // Runs manifest.entries[entry] on the arena at `base`, its loops as often as `counts` says; its work is
  // given to the streams on return. Throws Error if a count is missing, or outside the bounds that the
  // manifest gives.
  void call(int64_t entry, const std::vector<int64_t> &counts, char *base);
  // The same on this rank's own arena.
  void call(int64_t entry, const std::vector<int64_t> &counts = {}) { call(entry, counts, arena()); }
  // Several entries without counts, one after the other, as one call: a driver may record them as one piece
  // of work. On this rank's own arena.
  void callInTurn(const std::vector<int64_t> &entries);
  // One more arena for calls of this program, zero at first: with a base of its own, states and all. Calls on
  // different bases know nothing of each other.
  Buffer newArena() {
    return device_->allocate(size_t(manifest_.arenaBytes), "one more arena of rank " + std::to_string(id()),
                             MemoryUse::Arena);
  }
  // Makes the packed form of a variable again from its plain one, of one layer or (layer < 0) of all.
  void pack(int64_t param, int64_t layer, Stream &stream);
  // This rank's shard of one layer of a variable, plain row-major as the last call left it: for saving.
  // `rows` holds product(local shape) elements of its type. Throws Error for what is no variable.
  void readVariable(int64_t param, int64_t layer, void *rows);
  // Zeroes the states that are to be zero before a new batch of prompts, in this rank's own arena.
  void clearStates();

  static Rank &of(ts_rank *rank) { return *reinterpret_cast<Rank *>(rank); }

private:
  // Host memory that is on its way to the device, until the event.
  struct Staging {
    HostBuffer memory;
    std::unique_ptr<Event> copied;
  };

  ts_rank abi_; // first: generated code is handed &abi_
  const ts_program &program_;
  const Manifest &manifest_;
  const WeightPlan &plan_;
  HostPlane &plane_;
  ProgramCollectives collectives_;
  BoardEntry &entry_;
  CallObserver *observer_ = nullptr;
  bool drivesMessages_ = false;
  ThreadPool pool_;
  std::unique_ptr<Device> device_;               // outlives what follows
  std::vector<std::unique_ptr<Stream>> streams_; // of the program
  std::vector<std::unique_ptr<Event>> events_;
  std::unique_ptr<Stream> communication_; // where the program has none of this kind
  size_t communicationNumber_ = 0;        // where it has one
  std::unique_ptr<Event> begun_, joined_;
  Buffer arena_, weights_;
  std::vector<bool> stateWritten_; // since it was zero, in this rank's own arena
  std::vector<char *> paramPointers_;
  std::unique_ptr<Module> module_;
  std::vector<std::unique_ptr<Product>> products_;
  void give(const std::vector<int64_t> &entries, const std::vector<int64_t> &counts, char *base);

  struct CallKind {
    std::vector<ByteSpan> dead;
    std::string name; // "decode, draw"
  };
  const CallKind &kindOf(const std::vector<int64_t> &entries);
  std::map<std::vector<int64_t>, CallKind> kinds_; // by the entries of a call
  std::vector<Staging> staging_;                   // used in turn
  size_t nextStaging_ = 0;
  HostBuffer readStaging_; // what was read from the device last
};

} // namespace tessera::runtime
#endif
