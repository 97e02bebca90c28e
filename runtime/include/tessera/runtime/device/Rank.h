// A program on a rank: its code, arena, weights and products; what abi.h's ts_rank points to.
#ifndef TESSERA_RUNTIME_DEVICE_RANK_H
#define TESSERA_RUNTIME_DEVICE_RANK_H

#include "tessera/runtime/device/CallObserver.h"
#include "tessera/runtime/device/RankDevice.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace tessera::runtime {

class Rank {
public:
  // Program number `number` of the rank's: allocates arena and weights on its device and makes the products
  // ready. All programs of a rank come to be before one of them computes.
  explicit Rank(RankDevice &device, size_t number = 0);
  ~Rank();

  // Fills the weights, all threads of the rank at work. `onBytes` is told the bytes as they come (any
  // thread).
  void loadWeights(const WeightOrigin &origin, const std::function<void(int64_t)> &onBytes = nullptr);

  RankDevice &shared() { return shared_; }
  int64_t id() const { return shared_.id(); }
  const Manifest &manifest() const { return manifest_; }
  HostPlane &plane() { return shared_.plane(); }
  ProgramCollectives &collectives() { return collectives_; }
  ThreadPool &pool() { return shared_.pool(); }
  BoardEntry &entry() { return shared_.entry(); }
  const WeightPlan &plan() const { return plan_; }
  int64_t groupIndex(int64_t group) const { return collectives_.groupIndex(group); }

  Device &device() { return shared_.device(); }
  Module &module() { return *module_; }
  Product &product(int64_t id) { return *products_[id]; }
  const ts_kernel &kernel(int64_t number) const { return program_.kernels[number]; }
  // Who is told of the calls of generated code from now on; null, as it begins: nobody. Must outlive them.
  void observe(CallObserver *observer) { observer_ = observer; }
  CallObserver *observer() const { return observer_; }
  Stream &compute() { return shared_.compute(); }
  // By their numbers in the manifest.
  Stream &stream(int64_t number) { return *streams_.at(size_t(number)); }
  Event &event(int64_t number) { return *events_.at(size_t(number)); }

  // Addresses of device memory.
  char *arena() const { return arena_.address(); }
  char *weights(int64_t param, int64_t layer) const {
    const WeightPlan::Param &p = plan_.param(param);
    return weights_.address() + p.offset + p.layerOffsets[size_t(layer)];
  }

  char *plainWeights(int64_t param, int64_t layer) const {
    const WeightPlan::Param &p = plan_.param(param);
    return weights_.address() + p.plainOffset +
           (p.plain ? layer * p.plain->bytes : p.layerOffsets[size_t(layer)]);
  }

  // Copies to device memory, in the order of the compute stream; `data` may be used again on return.
  void write(char *dst, const void *data, size_t bytes);
  // Copies from device memory and waits for it, and so for all calls before.
  void read(void *data, const char *src, size_t bytes);

  void finish() { shared_.finish(); }

  // Runs manifest.entries[entry] on the arena at `base`, its loops as often as `counts` says; its work is
  // given to the streams on return. `slots`: manifest.slotBytes of each, 64-byte aligned, in place of the
  // first ones of the arena; null: these. Throws Error if a count is missing, or outside the bounds that the
  // manifest gives.
  void call(int64_t entry, const std::vector<int64_t> &counts, char *base,
            const std::array<char *, kSlots> &slots = {});
  // The same on this rank's own arena.
  void call(int64_t entry, const std::vector<int64_t> &counts = {}) { call(entry, counts, arena()); }
  // Several entries without counts, one after the other, as one call: a driver may record them as one piece
  // of work. On this rank's own arena.
  void callInTurn(const std::vector<int64_t> &entries);
  // One more arena for calls of this program, zero at first: with a base of its own, states and all. Calls on
  // different bases know nothing of each other.
  Buffer newArena() {
    return device().allocate(size_t(manifest_.arenaBytes), "one more arena of rank " + std::to_string(id()),
                             MemoryUse::Arena);
  }
  // Makes the packed form of a variable again from its plain one, of one layer or (layer < 0) of all.
  void pack(int64_t param, int64_t layer, Stream &stream);
  // This rank's shard of one layer of a variable, plain row-major as the last call left it: product(local
  // shape) elements of its type. In place where the host reads device memory, else copied into `copy`; valid
  // until the next call of this rank or of this function with `copy`. Throws Error for what is no variable.
  const void *variable(int64_t param, int64_t layer, std::vector<char> &copy);
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
  RankDevice &shared_;
  const ts_program &program_;
  const Manifest &manifest_;
  const WeightPlan &plan_;
  ProgramCollectives &collectives_;
  CallObserver *observer_ = nullptr;
  std::vector<Stream *> streams_; // by their numbers in the manifest
  std::vector<std::unique_ptr<Event>> events_;
  Buffer arena_, weights_;
  std::vector<bool> stateWritten_; // since it was zero, in this rank's own arena
  std::vector<char *> paramPointers_;
  std::unique_ptr<Module> module_;
  std::vector<std::unique_ptr<Product>> products_;
  void give(const std::vector<int64_t> &entries, const std::vector<int64_t> &counts, char *base,
            const std::array<char *, kSlots> &slots);

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
