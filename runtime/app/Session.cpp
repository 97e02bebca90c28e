#include "Session.h"
#include "Buffers.h"
#include "tessera/runtime/core/Error.h"

namespace tessera::runtime {

static void require(const Manifest &manifest, int64_t entry, const char *name,
                    std::initializer_list<const char *> inputs, std::initializer_list<const char *> outputs) {
  auto fail = [&](const std::string &what) {
    throw Error("cannot run this program", std::string("step ") + name, "it has no " + what,
                "compile it again with this version of llm-compile");
  };
  if (entry < 0)
    fail("such step");
  for (const char *input : inputs)
    if (!manifest.entries[entry].input(input))
      fail(std::string("input ") + input);
  for (const char *output : outputs)
    if (!manifest.entries[entry].output(output))
      fail(std::string("output ") + output);
}

Session::Session(Rank &rank) : rank_(rank) {
  const Manifest &m = rank.manifest();
  prefill_ = m.entryIndex("prefill");
  decode_ = m.entryIndex("decode");
  head_ = m.entryIndex("head");
  require(m, prefill_, "prefill", {"tokens", "positions", "index"}, {"logits", "next"});
  require(m, decode_, "decode", {"tokens", "positions"}, {"logits", "next"});
  if (head_ >= 0) {
    require(m, head_, "head", {"hidden", "index"}, {"logits"});
    require(m, prefill_, "prefill", {}, {"hidden"});
    const BufferSpec *from = m.entries[prefill_].output("hidden"), *to = m.entries[head_].input("hidden");
    if (from->local != to->local || from->shape != to->shape)
      throw Error("cannot run this program", "step head",
                  "its input hidden is sharded differently from prefill's output",
                  "compile it again with this version of llm-compile");
  }
  batch_ = m.batch;
  chunk_ = m.chunk;
  vocab_ = m.vocab;
}

void Session::clear() { rank_.clearStates(); }

void Session::setInput(int64_t entry, const char *name, const std::vector<int32_t> &global, int32_t padding) {
  const Manifest &m = rank_.manifest();
  const BufferSpec &spec = *m.entries[entry].input(name);
  local_.resize(size_t(elementCount(spec.local)) * 4);
  takeShard(spec, m.mesh, rank_.id(), global.data(), padding, local_.data());
  rank_.write(rank_.arena() + spec.offset, local_.data(), local_.size());
}

void Session::run(int64_t entry) {
  rank_.call(entry);
  last_ = entry;
}

void Session::prefill(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
                      const std::vector<int32_t> &index) {
  setInput(prefill_, "tokens", tokens, 0);
  setInput(prefill_, "positions", positions, -1);
  setInput(prefill_, "index", index, 0);
  run(prefill_);
  hiddenKept_ = false;
}

void Session::decode(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions) {
  setInput(decode_, "tokens", tokens, 0);
  setInput(decode_, "positions", positions, -1);
  run(decode_);
}

void Session::head(const std::vector<int32_t> &index) {
  const Manifest &m = rank_.manifest();
  const BufferSpec &from = *m.entries[prefill_].output("hidden"), &to = *m.entries[head_].input("hidden");
  // The step may use the space of its inputs: keep a copy for the next position.
  size_t bytes = size_t(elementCount(from.local)) * 4;
  if (!hidden_.bytes())
    hidden_ = rank_.device().allocate(bytes, "the hidden states of rank " + std::to_string(rank_.id()),
                                      MemoryUse::Arena);
  if (!hiddenKept_)
    rank_.compute().copy(hidden_.address(), rank_.arena() + from.offset, bytes);
  hiddenKept_ = true;
  rank_.compute().copy(rank_.arena() + to.offset, hidden_.address(), bytes);
  setInput(head_, "index", index, 0);
  run(head_);
}

template <typename T> void Session::fetch(const BufferSpec &spec, std::vector<T> &global) {
  const Mesh &mesh = rank_.manifest().mesh;
  const char *held = rank_.arena() + spec.offset;
  size_t bytes = size_t(elementCount(spec.local)) * 4;
  if (isRoot())
    global.assign(size_t(elementCount(spec.shape)), T(0));
  if (isReplicated(spec)) {
    if (isRoot())
      rank_.read(global.data(), held, bytes);
    return;
  }
  local_.resize(bytes);
  rank_.read(local_.data(), held, bytes);
  if (isRoot())
    gathered_.resize(bytes * rank_.comm().ranks());
  rank_.comm().gather(local_.data(), bytes, gathered_.data(), 0);
  if (isRoot())
    for (int64_t r = 0; r < rank_.comm().ranks(); ++r)
      placeShard(spec, mesh, r, gathered_.data() + r * bytes, global.data());
}

std::vector<int32_t> Session::next() {
  std::vector<int32_t> tokens;
  fetch(*rank_.manifest().entries[last_].output("next"), tokens);
  tokens.resize(batch_);
  shareFromRoot(tokens);
  return tokens;
}

const std::vector<float> &Session::logits() {
  fetch(*rank_.manifest().entries[last_].output("logits"), logits_);
  return logits_;
}

void Session::shareFromRoot(std::vector<int32_t> &data) {
  if (rank_.comm().ranks() > 1)
    rank_.comm().broadcast(data.data(), data.size() * 4, 0);
}

} // namespace tessera::runtime
