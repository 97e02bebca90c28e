#include "tessera/runtime/device/Rank.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tessera::runtime {

static_assert(std::is_standard_layout_v<ts_rank>);

// What of the arena holds neither a state nor an input of `entries`.
static std::vector<ByteSpan> deadBefore(const Manifest &manifest, const std::vector<int64_t> &entries) {
  std::vector<ByteSpan> alive;
  for (const BufferSpec &state : manifest.states)
    alive.push_back({state.offset, state.offset + state.bytes});
  for (int64_t entry : entries)
    for (const InputSpec &input : manifest.entries[size_t(entry)].inputs)
      alive.push_back({input.offset, input.offset + input.bytes});
  std::sort(alive.begin(), alive.end(), [](ByteSpan a, ByteSpan b) { return a.begin < b.begin; });
  alive.push_back({manifest.arenaBytes, manifest.arenaBytes});
  std::vector<ByteSpan> dead;
  int64_t at = 0;
  for (ByteSpan span : alive) {
    if (span.begin > at)
      dead.push_back({at, span.begin});
    at = std::max(at, span.end);
  }
  return dead;
}

Rank::Rank(RankDevice &shared, size_t number)
    : shared_(shared), program_(shared.program(number).program), manifest_(shared.program(number).manifest),
      plan_(shared.program(number).plan), collectives_(shared.collectives(number)) {
  size_t next[] = {0, 0}; // by kind
  for (StreamKind kind : manifest_.streams)
    streams_.push_back(&shared.stream(kind, next[size_t(kind)]++));
  for (int64_t i = 0; i < manifest_.events; ++i)
    events_.push_back(device().createEvent());
  std::string who = " of rank " + std::to_string(id());
  arena_ = device().allocate(size_t(manifest_.arenaBytes), "the arena" + who, MemoryUse::Arena);
  weights_ = device().allocate(size_t(plan_.bytes()), "the weights" + who, MemoryUse::Weights);
  for (int64_t i = 0; i < plan_.count(); ++i) // what is held in blocks is gathered so
    paramPointers_.push_back(plan_.param(i).plainOffset >= 0         ? plainWeights(i, 0)
                             : plan_.param(i).spec->isHeldInBlocks() ? weights(i, 0)
                                                                     : nullptr);
  abi_ = {paramPointers_.data()};
  module_ = device().load(program_);
  for (const MatmulSpec &spec : manifest_.matmuls)
    products_.push_back(
        device().createProduct(spec, spec.param < 0 ? nullptr : plan_.param(spec.param).layout.get()));
  device().tuneProducts(arena_, weights_);
  module_->tune(arena_);
  for (size_t entry = 0; entry < manifest_.entries.size(); ++entry)
    kindOf({int64_t(entry)});
  staging_.resize(8);
  stateWritten_.resize(manifest_.states.size());
}

Rank::~Rank() { finish(); }

void Rank::loadWeights(const WeightOrigin &origin, const std::function<void(int64_t)> &onBytes) {
  runtime::loadWeights(plan_, manifest_.mesh, id(), origin, device(), *module_, weights_.address(), pool(),
                       [&](int64_t bytes) {
                         entry().progress.fetch_add(1, std::memory_order_relaxed);
                         if (onBytes)
                           onBytes(bytes);
                       });
}

void Rank::write(char *dst, const void *data, size_t bytes) {
  if (bytes == 0) // null, perhaps
    return;
  Staging &staging = staging_[nextStaging_++ % staging_.size()];
  if (!staging.copied)
    staging.copied = device().createEvent();
  staging.copied->wait();
  // All of them at once, for inputs of common sizes: pinning memory in the midst of a run takes time.
  constexpr size_t least = 4096;
  if (bytes <= least && staging.memory.bytes() == 0)
    for (Staging &one : staging_)
      if (one.memory.bytes() == 0)
        one.memory = device().allocateHost(least, "an input of rank " + std::to_string(id()));
  if (staging.memory.bytes() < bytes)
    staging.memory = device().allocateHost(bytes, "an input of rank " + std::to_string(id()));
  memcpy(staging.memory.as<char>(), data, bytes);
  compute().upload(dst, staging.memory.as<char>(), bytes);
  compute().record(*staging.copied);
}

void Rank::read(void *data, const char *src, size_t bytes) {
  if (bytes == 0)
    return;
  // Through memory that the device copies to while the host goes on; large ones straight.
  constexpr size_t mostStaged = size_t(4) << 20;
  if (bytes > mostStaged) {
    compute().download(data, src, bytes);
    return compute().synchronize();
  }
  if (readStaging_.bytes() < bytes)
    readStaging_ = device().allocateHost(bytes, "an output of rank " + std::to_string(id()));
  compute().download(readStaging_.as<char>(), src, bytes);
  compute().synchronize();
  memcpy(data, readStaging_.as<char>(), bytes);
}

void Rank::pack(int64_t param, int64_t layer, Stream &stream) {
  const WeightPlan::Param &p = plan_.param(param);
  if (!p.plain) // held in one form: there is nothing to make again
    return;
  for (int64_t l = layer < 0 ? 0 : layer, end = layer < 0 ? p.layers : layer + 1; l < end; ++l)
    stream.pack(*p.layout, plainWeights(param, l), weights(param, l));
}

const void *Rank::variable(int64_t param, int64_t layer, std::vector<char> &copy) {
  const WeightPlan::Param &p = plan_.param(param);
  if (!p.spec->variable || layer < 0 || layer >= p.layers)
    throw Error("cannot read a variable back", p.spec->name + ", layer " + std::to_string(layer),
                p.spec->variable ? "it has " + std::to_string(p.layers) : "it is no variable",
                "ask for what the manifest says");
  const char *rows = plainWeights(param, layer);
  if (const void *inPlace = device().view(rows)) {
    compute().synchronize();
    return inPlace;
  }
  copy.resize(size_t((p.plain ? p.plain : p.layout)->bytes));
  read(copy.data(), rows, copy.size());
  return copy.data();
}

void Rank::call(int64_t entry, const std::vector<int64_t> &counts, char *base,
                const std::array<char *, kSlots> &slots) {
  manifest_.entries[entry].checkCounts(counts);
  give({entry}, counts, base, slots);
}

void Rank::callInTurn(const std::vector<int64_t> &entries) {
  for (int64_t entry : entries)
    manifest_.entries[entry].checkCounts({});
  give(entries, {}, arena(), {});
}

const Rank::CallKind &Rank::kindOf(const std::vector<int64_t> &entries) {
  auto [kind, isNew] = kinds_.try_emplace(entries);
  if (isNew) {
    kind->second.dead = deadBefore(manifest_, entries);
    for (int64_t entry : entries)
      kind->second.name += (kind->second.name.empty() ? "" : ", ") + manifest_.entries[entry].name;
  }
  return kind->second;
}

void Rank::give(const std::vector<int64_t> &entries, const std::vector<int64_t> &counts, char *base,
                const std::array<char *, kSlots> &slots) {
  if (base == arena())
    for (int64_t entry : entries)
      for (int64_t state : manifest_.entries[entry].statesWritten)
        stateWritten_[size_t(state)] = true;
  ts_call arguments{base, counts.data(), {}};
  std::array<char *, kSlots> own = slots;
  for (int slot = 0; slot < kSlots; ++slot) {
    if (!own[size_t(slot)])
      own[size_t(slot)] = base + manifest_.slotBegin(slot);
    arguments.slots[slot] = own[size_t(slot)];
  }
  std::function<void()> enqueue = [&] {
    for (int64_t entry : entries) {
      program_.entries[entry](&abi_, &arguments);
      collectives_.endEntry(compute());
    }
  };
  const CallKind &kind = kindOf(entries);
  collectives_.comm().beginCall(compute());
  device().call({entries, base, counts, kind.dead, enqueue, kind.name, own}, compute());
  collectives_.comm().endCall();
  collectives_.expectAllWaitedFor();
}

void Rank::clearStates() {
  for (size_t i = 0; i < manifest_.states.size(); ++i) {
    const StateSpec &state = manifest_.states[i];
    // What nobody wrote is as zero as the device gave it, and not even touched.
    if (state.clear != Clear::BeforePrompts || !stateWritten_[i])
      continue;
    stateWritten_[i] = false;
    compute().fill(arena() + state.offset, 0, size_t(state.bytes));
  }
}

} // namespace tessera::runtime
