//===- ArenaUse.cpp - What the arena is for, in the manifest ----------------===//
//
// From what exec.buffers say that they hold: bytes by kind and type, and the values that forward saves.
//
//===----------------------------------------------------------------------===//

#include "ManifestWriter.h"

#include "tessera/Dialect/Exec/IR/Holds.h"

using namespace mlir;
namespace json = llvm::json;

namespace tessera::exec {

// Entries lie over each other, so the one that needs most stands for all: of equal ones the first.
void ManifestWriter::addBuffers(func::FuncOp entry) {
  int64_t end = 0, known = 0;
  entry.walk([&](BufferOp buffer) {
    end = std::max(end, int64_t(buffer.getOffset()) + arrayBytes(buffer.getType()));
  });
  for (const Buffer &buffer : buffers)
    known = std::max(known, buffer.claim.offset + buffer.claim.bytes);
  if (end <= known)
    return;
  buffers.clear();
  entry.walk([&](BufferOp buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    Buffer added{{int64_t(buffer.getOffset()), arrayBytes(type), unsigned(Held::Scratch)}, type, {}};
    if (auto said = buffer->getAttrOfType<ArrayAttr>(kHoldsAttr)) {
      StringRef kind = cast<StringAttr>(said[0]).getValue();
      added.claim.rank = unsigned(llvm::find(kHeldNames, kind) - std::begin(kHeldNames));
      added.value = cast<StringAttr>(said[1]).getValue();
    }
    buffers.push_back(std::move(added));
  });
}

json::Object ManifestWriter::arenaJson() const {
  auto claims = llvm::map_to_vector(buffers, [](const Buffer &buffer) { return buffer.claim; });
  std::map<std::pair<unsigned, std::string>, int64_t> sums;
  auto arena = module->getAttrOfType<IntegerAttr>(kArenaAttr);
  int64_t left = arena ? arena.getInt() : 0;
  for (auto [buffer, bytes] : llvm::zip_equal(buffers, shareArena(claims))) {
    sums[{buffer.claim.rank, std::string(elementName(buffer.type))}] += bytes;
    left -= bytes;
  }
  sums[{unsigned(Held::Scratch), "untyped"}] += left; // what lies between buffers
  json::Object kinds;
  for (auto &[key, bytes] : sums) {
    StringRef kind = kHeldNames[key.first];
    if (bytes > 0 && !kinds.getObject(kind))
      kinds[kind] = json::Object();
    if (bytes > 0)
      (*kinds.getObject(kind))[key.second] = bytes;
  }
  return kinds;
}

json::Array ManifestWriter::savedJson() const {
  json::Array list;
  std::set<std::tuple<int64_t, int64_t, StringRef>> seen; // a storage may have buffers of several shapes
  for (const Buffer &buffer : buffers)
    if (buffer.claim.rank == unsigned(Held::Saved) &&
        seen.insert({buffer.claim.offset, buffer.claim.bytes, buffer.value}).second)
      list.push_back(json::Object{{"value", buffer.value},
                                  {"dtype", elementName(buffer.type)},
                                  {"shape", json::Array(buffer.type.getShape())},
                                  {"bytes", buffer.claim.bytes}});
  return list;
}

} // namespace tessera::exec
