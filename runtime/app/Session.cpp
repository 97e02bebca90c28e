#include "Session.h"
#include "Buffers.h"
#include "tessera/runtime/core/Error.h"

#include <cstring>

namespace tessera::runtime {

static const GenerateSpec &generateOf(const Manifest &manifest) {
  if (!manifest.generate)
    throw Error("cannot generate", manifest.model, "this program does not generate text",
                "compile a language model with --task=generate");
  return *manifest.generate;
}

Session::Session(Rank &rank) : rank_(rank), generate_(generateOf(rank.manifest())) {}

void Session::clear() { rank_.clearStates(); }

void Session::fillFromOutput(const InputSpec &input) {
  const OutputSpec &from = rank_.manifest().entries[input.entry].outputs[input.output];
  RetainedOutput &kept = retained_[{input.entry, input.output}];
  if (!kept.memory.bytes())
    kept.memory = rank_.device().allocate(size_t(from.bytes),
                                          "output " + from.name + " of rank " + std::to_string(rank_.id()),
                                          MemoryUse::Arena);
  if (!kept.isLast)
    rank_.compute().copy(kept.memory.address(), rank_.arena() + from.offset, size_t(from.bytes));
  kept.isLast = true;
  rank_.compute().copy(rank_.arena() + input.offset, kept.memory.address(), size_t(from.bytes));
}

void Session::run(int64_t entry, const Content &content) {
  const Manifest &m = rank_.manifest();
  auto fill = [&](const InputSpec &input, const std::vector<int32_t> &global, int32_t padding) {
    local_.resize(size_t(input.bytes));
    takeShard(input, m.mesh, rank_.id(), global.data(), &padding, local_.data());
    rank_.write(rank_.arena() + input.offset, local_.data(), local_.size());
  };
  for (const InputSpec &input : m.entries[entry].inputs)
    switch (input.fill) {
    case Fill::TokenIds:
      fill(input, *content.tokens, 0);
      break;
    case Fill::Positions:
      fill(input, *content.positions, -1);
      break;
    case Fill::LastIndex:
      fill(input, *content.index, 0);
      break;
    case Fill::Output:
      fillFromOutput(input);
      break;
    case Fill::Caller: // Manifest::parse lets no entry of `generate` have one
      break;
    }
  rank_.call(entry);
  for (auto &[output, kept] : retained_)
    if (output.first == entry)
      kept.isLast = false;
  last_ = entry;
}

void Session::prompt(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions,
                     const std::vector<int32_t> &index) {
  run(generate_.prompt, {&tokens, &positions, &index});
}

void Session::advance(const std::vector<int32_t> &tokens, const std::vector<int32_t> &positions) {
  run(generate_.next, {&tokens, &positions, nullptr});
}

void Session::promptLogits(const std::vector<int32_t> &index) {
  run(generate_.logits, {nullptr, nullptr, &index});
}

template <typename T> void Session::fetch(const BufferSpec &spec, std::vector<T> &global) {
  const Mesh &mesh = rank_.manifest().mesh;
  const char *held = rank_.arena() + spec.offset;
  auto bytes = size_t(io::bytesOf(spec.dtype, elementCount(spec.local)));
  if (isRoot())
    global.assign(size_t(io::bytesOf(spec.dtype, elementCount(spec.shape))) / sizeof(T), T(0));
  if (isReplicated(spec)) {
    if (isRoot())
      rank_.read(global.data(), held, bytes);
    return;
  }
  local_.resize(bytes);
  rank_.read(local_.data(), held, bytes);
  if (isRoot())
    gathered_.resize(bytes * rank_.plane().ranks());
  rank_.plane().gather(local_.data(), bytes, gathered_.data(), 0);
  if (isRoot())
    for (int64_t r = 0; r < rank_.plane().ranks(); ++r)
      placeShard(spec, mesh, r, gathered_.data() + r * bytes, global.data());
}

std::vector<int32_t> Session::next() {
  std::vector<int32_t> tokens;
  fetch(*rank_.manifest().entries[last_].output(Gives::NextTokens), tokens);
  tokens.resize(generate_.batch);
  shareFromRoot(tokens);
  return tokens;
}

const std::vector<float> &Session::logits() {
  const BufferSpec &spec = *rank_.manifest().entries[last_].output(Gives::Logits);
  if (spec.dtype == io::DType::F32) {
    fetch(spec, logits_);
    return logits_;
  }
  std::vector<char> held;
  fetch(spec, held);
  if (isRoot()) {
    logits_.resize(size_t(elementCount(spec.shape)));
    io::traits(spec.dtype).widen(held.data(), elementCount(spec.shape), logits_.data());
  }
  return logits_;
}

void Session::shareFromRoot(std::vector<int32_t> &data) {
  if (rank_.plane().ranks() > 1)
    rank_.plane().broadcast(data.data(), data.size() * sizeof(data[0]), 0);
}

} // namespace tessera::runtime
