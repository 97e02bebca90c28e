//===- CompiledProgram.cpp - A program as the machine runs it -------------===//
#include "tessera/Execution/CompiledProgram.h"

#include "tessera/Execution/Runner.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Target/Target.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Signals.h"

using namespace mlir;

namespace tessera {

//===----------------------------------------------------------------------===//
// To a library
//===----------------------------------------------------------------------===//

/// The module as its own text says it is.
static LogicalResult reparse(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().enableDebugInfo(true, false));
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, ParserConfig(module.getContext()));
  if (!parsed)
    return failure();
  module->setAttrs(parsed.get()->getAttrDictionary());
  module.getBodyRegion().takeBody(parsed->getBodyRegion());
  return success();
}

Result<CompiledProgram> CompiledProgram::load(const std::string &object, std::vector<EntryPorts> ports,
                                              const Target &target) {
  CompiledProgram made;
  made.ports = std::move(ports);
  auto library = ScratchFile::create("tessera-judge", "so");
  if (!library)
    return library.takeFailure();
  made.file = std::make_unique<ScratchFile>(library.take());
  LinkOptions link;
  link.objects = {object};
  link.shared = true;
  if (Status s = target.link(link, made.library()); !s)
    return s.takeFailure();
  Result<runtime::LoadedProgram> loaded = runtime::LoadedProgram::open(made.library());
  if (!loaded)
    return loaded.takeFailure();
  made.loaded = std::make_unique<runtime::LoadedProgram>(loaded.take());
  return made;
}

bool hasLibraryForm(llvm::StringRef target, llvm::StringRef op) {
  auto resolved = resolveTarget(target, {});
  return resolved && (*resolved)->libraryForms().has(op);
}

Result<CompiledProgram> CompiledProgram::compile(ModuleOp module, const ExecutionOptions &options) {
  std::vector<EntryPorts> ports;
  DiagnosticCollector diagnostics(*module.getContext());
  for (int i = int(options.from) + 1; i <= int(Rung::Binary); ++i) {
    Rung rung = Rung(i);
    PassManager pm(module.getContext());
    buildPhase(pm, rung, options.compile);
    if (failed(pm.run(module)))
      return diagnostics.failure("cannot compile to rung " + rungName(rung).str(), options.compile.model);
    if (rung == Rung::Spmd) {
      if (options.onSpmd)
        options.onSpmd(module);
      ports = entryPorts(module);
    }
    if (rung == Rung::Exec && options.onExec)
      options.onExec(module);
    if (rung == options.through && rung != Rung::Binary && failed(reparse(module)))
      return diagnostics.failure("cannot read rung " + rungName(rung).str() + " again",
                                 options.compile.model);
  }
  if (options.onBinary)
    options.onBinary(module);
  auto target = resolveTarget(options.compile.target, options.compile.targetOptions);
  if (!target)
    return target.takeFailure();
  auto object = ScratchFile::create("tessera-judge", "o");
  if (!object)
    return object.takeFailure();
  if (Status s = (*target)->emitObject(module, object->path()); !s)
    return s.takeFailure();
  return load(object->path(), std::move(ports), **target);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

const EntryPorts *CompiledProgram::find(const std::string &entry) const {
  auto it = llvm::find_if(ports, [&](const EntryPorts &other) { return other.name == entry; });
  return it == ports.end() ? nullptr : &*it;
}

static runtime::RankBytes rankBytes(const ReferenceTensor &value, const Port &port, size_t ranks) {
  runtime::RankBytes bytes;
  for (const ReferenceTensor &piece : shard(value, port.shape, Padding::Poison))
    bytes.push_back(toBytes(piece, port.held));
  bytes.resize(ranks, bytes.front()); // without a mesh of its own: the same everywhere
  return bytes;
}

/// The last of the calls before the newest one that gives an output of that name.
std::optional<size_t> CompiledProgram::giverOf(const std::string &output,
                                               const std::vector<runtime::ProgramCall> &calls) const {
  for (size_t i = calls.size() - 1; i-- > 0;)
    if (llvm::any_of(find(calls[i].entry)->results, [&](const Port &port) {
          return port.kind == graph::Kind::Output && port.name == output;
        }))
      return i;
  return std::nullopt;
}

Result<std::vector<runtime::ProgramCall>> CompiledProgram::split(const std::vector<GlobalCall> &calls) const {
  std::vector<runtime::ProgramCall> local;
  auto all = size_t(ranks());
  for (const GlobalCall &call : calls) {
    const EntryPorts *entry = find(call.entry);
    if (!entry)
      return Failure{"cannot call the program", "entry " + call.entry, "there is no such entry",
                     "call one of: " + llvm::join(llvm::map_range(ports,
                                                                  [](const EntryPorts &known) {
                                                                    return llvm::StringRef(known.name);
                                                                  }),
                                                  ", ")};
    local.push_back({call.entry, {}, {}, {}, {}});
    for (const Port &port : entry->arguments) {
      auto value = call.inputs.find(port.name);
      bool isGivenState = port.kind == graph::Kind::State && value != call.inputs.end();
      if (port.kind != graph::Kind::Input && !isGivenState)
        continue;
      if (value == call.inputs.end())
        if (std::optional<size_t> earlier = giverOf(port.name, local)) {
          local.back().reused[port.name] = *earlier;
          continue;
        }
      if (value == call.inputs.end() || value->second.shape != port.shape.global)
        return Failure{"cannot call the program", "entry " + call.entry,
                       "no value of its shape is given for input " + port.name,
                       "give one of " +
                           llvm::join(llvm::map_range(port.shape.global,
                                                      [](int64_t size) { return std::to_string(size); }),
                                      "x")};
      local.back().inputs[port.name] = rankBytes(value->second, port, all);
    }
  }
  return local;
}

static Result<ReferenceTensor> joined(const runtime::RankBytes &bytes, const Port &port, double tolerance) {
  RankValues pieces;
  for (const std::vector<char> &piece : bytes)
    pieces.push_back(fromBytes(port.shape.elementType, port.shape.localShape(), piece, port.held));
  pieces.resize(size_t(port.shape.mesh.numDevices()));
  std::string error;
  auto whole = unshard(pieces, port.shape, tolerance, error);
  if (failed(whole))
    return Failure{kRanksDisagree, port.name, error, ""};
  return std::move(*whole);
}

Status CompiledProgram::join(const std::vector<runtime::ProgramCall> &local, std::vector<GlobalCall> &calls,
                             const CopyTolerance &tolerance) const {
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(local, calls))) {
    const auto &[from, to] = pair;
    for (const Port &port : find(to.entry)->results) {
      bool state = port.kind != graph::Kind::Output;
      const auto &have = state ? from.states : from.outputs;
      auto bytes = have.find(port.name);
      if (bytes == have.end())
        return Failure{"cannot call the program", "entry " + to.entry,
                       "the executable has no " + port.kindText() + " " + port.name, ""};
      Result<ReferenceTensor> whole = joined(bytes->second, port, tolerance(i, port));
      if (!whole)
        return whole.takeFailure();
      (state ? to.states : to.outputs)[port.name] = whole.take();
    }
  }
  return {};
}

Status CompiledProgram::run(std::vector<GlobalCall> &calls, const runtime::RunOptions &options,
                            const CopyTolerance &tolerance, const std::string &runner) const {
  auto local = split(calls);
  if (!local)
    return local.takeFailure();
  const std::vector<runtime::ProgramCall> given = *local;
  runtime::RunOptions ending = options;
  ending.atEnd = llvm::sys::RunInterruptHandlers; // removes our scratch files
  if (Status s = runtime::runCalls(loaded->program(), ending, *local); !s)
    return s;
  if (Status s = join(*local, calls, tolerance); !s || runner.empty())
    return s;
  auto again = runByCommand(runner, library(), ranks(), options.weights, given);
  if (!again)
    return again.takeFailure();
  for (const std::vector<runtime::ProgramCall> &other : *again)
    if (std::string where = firstDifference(*local, other); !where.empty())
      return Failure{"other bits by another runner", runner, where, ""};
  return {};
}

/// The first element of `b` that has other bits than in `a`, as `rank R, element N`. Elements of padding do
/// not count.
static std::string firstDifference(const runtime::RankBytes &a, const runtime::RankBytes &b,
                                   const Port &port) {
  ShardedShape places = port.shape;
  places.sharding.partial.clear();
  places.sharding.partialKind = PartialKind::None;
  places.elementType = Float32Type::get(port.shape.elementType.getContext());
  ReferenceTensor ones(places.elementType, places.global);
  ones.f.assign(ones.f.size(), 1);
  RankValues data = shard(ones, places, Padding::Zero); // 0 where there is padding
  data.resize(a.size(), data.front());
  for (size_t rank = 0; rank < a.size(); ++rank) {
    size_t elements = data[rank].f.size();
    // Elements that lie together: one, or those of a block.
    size_t together = port.held ? size_t(io::blockElements(*port.held)) : 1;
    size_t bytes = elements ? a[rank].size() / (elements / together) : 0;
    if (b.size() <= rank || b[rank].size() != a[rank].size())
      return "rank " + std::to_string(rank) + " has nothing";
    for (size_t i = 0; i < elements; i += together) {
      size_t at = i / together * bytes;
      if (data[rank].f[i] != 0 && memcmp(&a[rank][at], &b[rank][at], bytes) != 0)
        return "rank " + std::to_string(rank) + ", element " + std::to_string(i) + " of " +
               std::to_string(elements);
    }
  }
  return "";
}

std::string CompiledProgram::firstDifference(const std::vector<runtime::ProgramCall> &a,
                                             const std::vector<runtime::ProgramCall> &b) const {
  for (size_t i = 0; i < a.size(); ++i)
    for (const Port &port : find(a[i].entry)->results) {
      auto values =
          port.kind == graph::Kind::Output ? &runtime::ProgramCall::outputs : &runtime::ProgramCall::states;
      auto found = (b[i].*values).find(port.name);
      std::string where = found == (b[i].*values).end()
                              ? "it gave nothing"
                              : tessera::firstDifference((a[i].*values).at(port.name), found->second, port);
      if (!where.empty())
        return callText(a, i) + ", " + port.kindText() + " " + port.name + ", " + where;
    }
  return "";
}

} // namespace tessera
