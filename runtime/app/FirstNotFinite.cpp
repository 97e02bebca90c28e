#include "FirstNotFinite.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tessera::runtime {

// Of a rank's dst.
static int64_t elementsGiven(const Manifest &manifest, const CollectiveSpec &c) {
  if (c.width > 0)
    return c.received;
  if (c.kind == CollectiveKind::GroupedSend)
    return elementCount(localShape(c.sentSizes(), c.to));
  return resultElements(c.kind, shardCount(manifest.groups[size_t(c.group)]), c.elements, c.cut);
}

void FirstNotFinite::entered(Rank &program, const EntrySpec &entry, const CalledPart &part) {
  program_ = &program;
  part_ = part;
  calls_ = 0;
  cursor_.reset();
  if (!entry.calls.empty())
    cursor_.emplace(entry.calls, counts_, part.firstLayer);
}

void FirstNotFinite::look(const CallSpec &spec, const std::string &place, io::DType type, int64_t elements,
                          const void *address) {
  if (number_ >= 0 || !io::isFloatLike(type) || io::isQuantized(type))
    return;
  std::vector<char> held(size_t(io::bytesOf(type, elements)));
  std::vector<float> wide(static_cast<size_t>(elements));
  program_->read(held.data(), static_cast<const char *>(address), held.size());
  io::traits(type).widen(held.data(), elements, wide.data());
  // Minus infinity is the logarithm of nothing: of the weights of a place that sees no key.
  auto bad = std::find_if(wide.begin(), wide.end(), [](float x) { return !(x < INFINITY); });
  program_->entry().progress.fetch_add(1, std::memory_order_relaxed);
  if (bad == wide.end())
    return;
  constexpr int64_t mostCalls = int64_t(1) << 40; // of a part
  number_ = part_.order * mostCalls + calls_;
  const std::string where = part_.name + (part_.name.empty() || place.empty() ? "" : ", ") + place;
  text_ = (where.empty() ? "" : where + ": ") + (spec.value.empty() ? "a value without a name" : spec.value) +
          " (" + spec.operation(program_->manifest()) + ") is " +
          (std::isnan(*bad) ? "nan"
           : *bad > 0       ? "inf"
                            : "-inf") +
          " at " + std::to_string(bad - wide.begin()) + " of " + std::to_string(elements);
}

void FirstNotFinite::end(const ObservedCall &call) {
  if (!cursor_)
    return;
  const Manifest &manifest = program_->manifest();
  const CallSpec &spec = cursor_->next(call.kind);
  ++calls_;
  const std::string place = cursor_->place();
  auto lookAtCollective = [&](const CallSpec &of, const std::string &where, const void *dst) {
    const CollectiveSpec &c = manifest.collectives[size_t(of.id)];
    look(of, where, c.type, elementsGiven(manifest, c), dst);
  };
  switch (call.kind) {
  case CallKind::Launch: {
    const size_t buffers = size_t(program_->kernel(call.number).num_buffers),
                 first = buffers - spec.gives.size();
    for (size_t i = 0; i < spec.gives.size(); ++i) {
      const CallSpec::Gives &gives = spec.gives[i];
      auto *address = static_cast<const char *>(call.buffers[first + i]);
      if (gives.oneLayer)
        address += call.scalars[0] * io::bytesOf(gives.type, gives.elements);
      look(spec, place, gives.type, gives.elements, address);
    }
    break;
  }
  case CallKind::Matmul: {
    const MatmulSpec &product = manifest.matmuls[size_t(spec.id)];
    look(spec, place, product.y, product.m * product.n, call.dst);
    break;
  }
  case CallKind::GatherPacked:
    look(spec, place, spec.gives.front().type, spec.gives.front().elements, call.dst);
    break;
  case CallKind::Collective:
    lookAtCollective(spec, place, call.dst);
    break;
  case CallKind::Start:
    begun_[call.token] = {&spec, place, call.dst};
    break;
  case CallKind::ReadFlag:
    cursor_->tellFlag(call.flag != 0);
    break;
  case CallKind::Wait:
    if (auto found = begun_.find(call.token); found != begun_.end()) {
      lookAtCollective(*found->second.spec, found->second.place, found->second.dst);
      begun_.erase(found);
    }
    break;
  default: // copies of what was looked at
    break;
  }
}

std::string firstOfAllRanks(HostPlane &plane, int64_t number, const std::string &text) {
  struct Found {
    int64_t number;
    char text[248];
  } mine{number, {}};
  std::snprintf(mine.text, sizeof mine.text, "%s", text.c_str());
  std::vector<Found> all(plane.rank() == 0 ? size_t(plane.ranks()) : 0);
  plane.gather(&mine, sizeof mine, all.data(), 0);
  Found first{-1, {}};
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].number >= 0 && (first.number < 0 || all[rank].number < first.number)) {
      first.number = all[rank].number;
      std::snprintf(first.text, sizeof first.text, "rank %zu, %.220s", rank, all[rank].text);
    }
  plane.broadcast(&first, sizeof first, 0);
  return first.number < 0 ? "" : first.text;
}

} // namespace tessera::runtime
