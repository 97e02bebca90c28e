// The calls of an entry, from the manifest's JSON.
#include "CallReader.h"

#include "ManifestCheck.h"
#include "tessera/runtime/core/Fields.h"

#include <optional>

namespace tessera::runtime {

static CallKind kindOf(const std::string &name, const std::string &where) {
  for (CallKind kind : {CallKind::Launch, CallKind::Matmul, CallKind::GatherPacked, CallKind::Pack,
                        CallKind::Collective, CallKind::Start, CallKind::Wait, CallKind::Send,
                        CallKind::Receive, CallKind::Copy, CallKind::ReadFlag})
    if (name == callKindName(kind))
      return kind;
  damaged(where, "has an unknown call \"" + name + "\"");
}

static CallSpec::Gives readGives(const Json &json, const std::string &where) {
  CallSpec::Gives gives;
  auto name = json.at(0).get<std::string>();
  std::optional<io::DType> type = io::dtypeFromName(name);
  if (!type)
    damaged(where, "dtype " + name + " is not supported");
  gives.type = *type;
  gives.elements = json.at(1).get<int64_t>();
  if (json.size() > 2 && json.at(2).get<std::string>() != "layer")
    damaged(where, "gives neither all of an array nor a layer of it");
  gives.oneLayer = json.size() > 2;
  return gives;
}

std::vector<CallSpec> readCalls(const Json &json, const std::string &where) {
  std::vector<CallSpec> calls;
  for (const Json &one : json) {
    Fields fields(one, where);
    CallSpec call;
    if (const Json *count = fields.find("loop")) {
      call.kind = CallKind::Loop;
      call.count = count->get<int64_t>();
      call.step = fields.get("step", int64_t(1));
      call.countNumber = fields.get("count", int64_t(-1));
      call.ifFlag = !fields.find("unless");
      call.flagNumber = fields.get(call.ifFlag ? "if" : "unless", int64_t(-1));
      call.calls = readCalls(fields["calls"], where);
      if (call.step < 1)
        damaged(where, "has a loop that stands still");
    } else {
      call.kind = kindOf(fields["do"], where);
      call.kernel = fields.get<std::string>("kernel", "");
      call.id = fields.get("id", int64_t(-1));
      call.value = fields.get<std::string>("value", "");
      if (const Json *gives = fields.find("gives"))
        for (const Json &array : *gives)
          call.gives.push_back(readGives(array, where));
      if (const Json *at = fields.find("at"))
        for (const Json &iteration : *at)
          call.at.push_back({iteration.at(0).get<std::string>(), iteration.at(1).get<int64_t>(),
                             iteration.at(2).get<int64_t>()});
    }
    fields.checkAllRead();
    calls.push_back(std::move(call));
  }
  return calls;
}

// `flags`: those that are read before, whose numbers follow each other in the order of the text.
static void check(const std::vector<CallSpec> &calls, const Manifest &manifest, const EntrySpec &entry,
                  int64_t &flags) {
  auto require = [&](bool holds, const char *why) {
    if (!holds)
      damaged("entry " + entry.name + ", calls", why);
  };
  for (const CallSpec &call : calls) {
    size_t ids = call.kind == CallKind::Matmul ? manifest.matmuls.size()
                 : call.kind == CallKind::Collective || call.kind == CallKind::Start
                     ? manifest.collectives.size()
                 : call.kind == CallKind::Pack     ? manifest.params.size()
                 : call.kind == CallKind::ReadFlag ? size_t(++flags)
                                                   : 0;
    require(ids == 0 ? call.id == -1 : call.id >= 0 && call.id < int64_t(ids),
            "a number is none of its table");
    require(call.countNumber < int64_t(entry.counts.size()), "a loop runs as often as no count says");
    require(call.flagNumber < flags, "a loop runs by a flag that nobody has read before");
    for (const CallSpec::Gives &gives : call.gives)
      require(gives.elements >= 0, "an array has fewer than no elements");
    check(call.calls, manifest, entry, flags);
  }
}

// Ids and numbers of counts and flags can be trusted after this.
void checkCalls(const std::vector<CallSpec> &calls, const Manifest &manifest, const EntrySpec &entry) {
  int64_t flags = 0;
  check(calls, manifest, entry, flags);
}

} // namespace tessera::runtime
