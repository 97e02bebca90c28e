#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/core/Error.h"

#include "tessera/runtime/core/Fields.h"

#include <algorithm>

namespace tessera::runtime {

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string toString(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool fillsTraining(Fill fill) { return fill >= Fill::Targets && fill < Fill::Received; }

template <typename List, typename Same> static auto find(const List &list, Same &&same) {
  auto it = std::find_if(list.begin(), list.end(), same);
  return it == list.end() ? nullptr : &*it;
}
const InputSpec *EntrySpec::input(std::string_view name) const {
  return find(inputs, [&](const InputSpec &input) { return input.name == name; });
}
const OutputSpec *EntrySpec::output(std::string_view name) const {
  return find(outputs, [&](const OutputSpec &output) { return output.name == name; });
}
const InputSpec *EntrySpec::input(Fill fill) const {
  return find(inputs, [&](const InputSpec &input) { return input.fill == fill; });
}
const OutputSpec *EntrySpec::output(Gives gives) const {
  return find(outputs, [&](const OutputSpec &output) { return output.gives == gives; });
}

void EntrySpec::checkCounts(const std::vector<int64_t> &values) const {
  if (values.size() != counts.size())
    throw Error("cannot call entry " + name, std::to_string(values.size()) + " counts",
                "it takes " + std::to_string(counts.size()),
                "give one for each of its \"counts\" in the manifest");
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] < counts[i].least || values[i] > counts[i].most)
      throw Error("cannot call entry " + name, "count " + std::to_string(i),
                  std::to_string(values[i]) + " is outside [" + std::to_string(counts[i].least) + ", " +
                      std::to_string(counts[i].most) + "]",
                  "stay within what was compiled");
}

const StateSpec *Manifest::state(Fill fill) const {
  return find(states, [&](const StateSpec &state) { return state.fill == fill; });
}

bool holds(const ParamSpec &param, const Mesh &mesh, int64_t rank) {
  return param.heldAlong.empty() || mesh.index(rank, param.heldAlong) == param.heldAt;
}

int64_t Manifest::entryIndex(std::string_view name) const {
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].name == name)
      return i;
  return -1;
}

int64_t Manifest::partIndex(Role role, StagePart part) const {
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].role == role && entries[i].part == part)
      return int64_t(i);
  return -1;
}

namespace {
struct ManifestError : Error {
  ManifestError(const std::string &where, const std::string &why)
      : Error("cannot read the program's manifest", where, why,
              "compile the program again with this version of llm-compile"),
        where(where), why(why) {}
  std::string where, why;
};
} // namespace

Status Manifest::check(std::string_view json) {
  try {
    parse(json);
  } catch (const ManifestError &error) {
    return Failure{"cannot read the program's manifest", error.where, error.why, ""};
  } catch (const Error &error) {
    return Failure{"cannot read the program's manifest", "", error.what(), ""};
  }
  return {};
}

void damaged(const std::string &where, const std::string &why) { throw ManifestError(where, why); }

int64_t bytesSent(const Manifest &manifest, const CollectiveSpec &c) {
  if (c.width > 0)
    return io::bytesOf(c.type, c.evenMoved);
  int64_t elements = c.kind == CollectiveKind::GroupedSend ? c.mostMoved : c.elements;
  return tessera::bytesSent(c.kind, shardCount(manifest.groups[size_t(c.group)]),
                            io::bytesOf(c.type, elements));
}

int64_t mostBytesSent(const Manifest &manifest, const CollectiveSpec &c) {
  return c.width > 0 ? io::bytesOf(c.type, c.mostMoved) : bytesSent(manifest, c);
}

} // namespace tessera::runtime
