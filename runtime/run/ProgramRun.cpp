#include "tessera/runtime/run/ProgramRun.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/launch/Launch.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace tessera::runtime {

// Keeps the functions that compiled programs look up in this executable.
[[gnu::used]] static void *const abi[] = {
    (void *)ts_launch,     (void *)ts_matmul,           (void *)ts_gather_packed,
    (void *)ts_collective, (void *)ts_group_index,      (void *)ts_copy,
    (void *)ts_pack,       (void *)ts_collective_start, (void *)ts_collective_wait,
    (void *)ts_send,       (void *)ts_receive,          (void *)ts_event_record,
    (void *)ts_event_wait, (void *)ts_grouped_matmul,   (void *)ts_exchange_rows};

Result<LoadedProgram> LoadedProgram::open(const std::string &library) {
  LoadedProgram loaded(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!loaded.handle)
    return Failure{"cannot load program", library, dlerror(), ""};
  if (!dlsym(loaded.handle, "tessera_program"))
    return Failure{"cannot load program", library, "it exports no tessera_program",
                   "link it with LinkOptions::shared"};
  if (uint32_t version = loaded.program().abi_version; version != TESSERA_ABI_VERSION)
    return Failure{"cannot load program", library,
                   "it was compiled for version " + std::to_string(version) + " of abi.h, this is version " +
                       std::to_string(TESSERA_ABI_VERSION),
                   "compile it again"};
  try {
    const ts_program &program = loaded.program();
    loaded.meshSize = Manifest::parse({program.manifest, program.manifest_bytes}).mesh.size();
  } catch (const Error &error) {
    return Failure{"cannot load program", library, error.what(), ""};
  }
  return loaded;
}

LoadedProgram::~LoadedProgram() {
  if (handle)
    dlclose(handle);
}

const ts_program &LoadedProgram::program() const {
  return *static_cast<const ts_program *>(dlsym(handle, "tessera_program"));
}

static Failure doesNotFit(const std::string &entry, const std::string &why) {
  return {"cannot call the program", "entry " + entry, why, ""};
}

// The places of outputs and states are made here, so that ranks write without meeting.
static Status prepare(const Manifest &manifest, std::vector<ProgramCall> &calls, size_t number) {
  ProgramCall &call = calls[number];
  int64_t index = manifest.entryIndex(call.entry);
  if (index < 0)
    return doesNotFit(call.entry, "there is no such entry");
  const EntrySpec &entry = manifest.entries[index];
  size_t ranks = size_t(manifest.mesh.size());
  for (const BufferSpec &input : entry.inputs) {
    if (auto earlier = call.reused.find(input.name); earlier != call.reused.end()) {
      const EntrySpec *from = earlier->second < number
                                  ? &manifest.entries[manifest.entryIndex(calls[earlier->second].entry)]
                                  : nullptr;
      const OutputSpec *output = from ? from->output(input.name) : nullptr;
      if (!output)
        return doesNotFit(call.entry, "no earlier call gives input " + input.name);
      if (output->dtype != input.dtype || output->shape != input.shape || output->local != input.local ||
          output->sharding != input.sharding)
        return doesNotFit(call.entry, "what an earlier call gives for input " + input.name +
                                          " has another type, shape or sharding");
      continue;
    }
    auto given = call.inputs.find(input.name);
    if (given == call.inputs.end())
      return doesNotFit(call.entry, "nothing is given for input " + input.name);
    if (given->second.size() != ranks)
      return doesNotFit(call.entry, "input " + input.name + " is given for " +
                                        std::to_string(given->second.size()) + " of " +
                                        std::to_string(ranks) + " ranks");
    for (const std::vector<char> &piece : given->second)
      if (int64_t(piece.size()) != input.bytes)
        return doesNotFit(call.entry, "input " + input.name + " is " + std::to_string(input.bytes) +
                                          " bytes, " + std::to_string(piece.size()) + " are given");
  }
  for (const BufferSpec &state : manifest.states)
    if (auto given = call.inputs.find(state.name); given != call.inputs.end())
      if (given->second.size() != ranks || int64_t(given->second[0].size()) != state.bytes)
        return doesNotFit(call.entry, "state " + state.name + " is given in another size");
  for (const BufferSpec &output : entry.outputs)
    call.outputs[output.name].assign(ranks, {});
  for (const BufferSpec &state : manifest.states)
    call.states[state.name].assign(ranks, {});
  for (const ParamSpec &param : manifest.params)
    if (param.variable)
      call.states[param.name].assign(ranks, {});
  return {};
}

namespace {
// The rank's arena. All that is known here of where a rank keeps what.
class Arena {
public:
  explicit Arena(Rank &rank) : rank(rank), poisoned(size_t(rank.manifest().arenaBytes), char(0xFF)) {
    states.assign(rank.manifest().states.begin(), rank.manifest().states.end());
    std::sort(states.begin(), states.end(),
              [](const BufferSpec &a, const BufferSpec &b) { return a.offset < b.offset; });
    for (const BufferSpec &state : states)
      rank.write(rank.arena() + state.offset, std::vector<char>(size_t(state.bytes)).data(),
                 size_t(state.bytes));
  }
  // Everything but the states; inputs come later.
  void poison() {
    int64_t begin = 0;
    for (const BufferSpec &state : states) {
      rank.write(rank.arena() + begin, poisoned.data(), size_t(std::max<int64_t>(state.offset - begin, 0)));
      begin = std::max(begin, state.offset + state.bytes);
    }
    rank.write(rank.arena() + begin, poisoned.data(), poisoned.size() - size_t(begin));
  }
  void write(const BufferSpec &port, const std::vector<char> &value) {
    rank.write(rank.arena() + port.offset, value.data(), value.size());
  }
  std::vector<char> read(const BufferSpec &port) {
    std::vector<char> value(size_t(port.bytes));
    rank.read(value.data(), rank.arena() + port.offset, value.size());
    return value;
  }

private:
  Rank &rank;
  std::vector<BufferSpec> states; // by offset
  std::vector<char> poisoned;
};
} // namespace

// What a variable holds, all layers, as this rank has it.
static std::vector<char> readVariable(Rank &rank, int64_t number) {
  const ParamSpec &param = rank.manifest().params[number];
  int64_t layers = std::max<int64_t>(param.layers, 1),
          bytes = io::bytesOf(param.dtype, elementCount(param.local));
  std::vector<char> value(size_t(layers * bytes)), copy;
  for (int64_t layer = 0; layer < layers; ++layer)
    memcpy(value.data() + layer * bytes, rank.variable(number, layer, copy), size_t(bytes));
  return value;
}

static void makeCalls(Rank &rank, std::vector<ProgramCall> &calls) {
  const Manifest &manifest = rank.manifest();
  size_t r = size_t(rank.id());
  Arena arena(rank);
  for (ProgramCall &call : calls) {
    int64_t index = manifest.entryIndex(call.entry);
    arena.poison();
    for (const BufferSpec &input : manifest.entries[index].inputs) {
      auto earlier = call.reused.find(input.name);
      const auto &from = earlier == call.reused.end() ? call.inputs : calls[earlier->second].outputs;
      arena.write(input, from.at(input.name)[r]);
    }
    for (const BufferSpec &state : manifest.states)
      if (auto given = call.inputs.find(state.name); given != call.inputs.end())
        arena.write(state, given->second[r]);
    rank.call(index);
    for (const BufferSpec &output : manifest.entries[index].outputs)
      call.outputs.at(output.name)[r] = arena.read(output);
    for (const BufferSpec &state : manifest.states)
      call.states.at(state.name)[r] = arena.read(state);
    for (size_t number = 0; number < manifest.params.size(); ++number)
      if (manifest.params[number].variable)
        call.states.at(manifest.params[number].name)[r] = readVariable(rank, int64_t(number));
  }
}

Status findDevices(const std::string &target) {
  try {
    driverFor(target).findDevices();
  } catch (const Error &error) {
    return Failure{"cannot use a device", "target " + target, error.what(), ""};
  }
  return {};
}

static Failure cannotRun(const Error &error) { return {"cannot run the program", "", error.what(), ""}; }

Status runOnRanks(const ts_program &program, const RunOptions &options,
                  const std::function<void(Rank &)> &body) {
  try {
    Manifest manifest = Manifest::parse({program.manifest, program.manifest_bytes});
    Launcher launcher = Launcher::detect();
    LaunchOptions launch;
    launch.threads = options.threads * (launcher.size > 1 ? 1 : manifest.mesh.size());
    launch.driver = options.driver ? options.driver : &driverFor(manifest.target);
    launcher.check(manifest, *launch.driver);
    launch.driver->checkMachine(manifest);
    std::unique_ptr<io::ModelFile> model;
    if (!options.weights.empty()) {
      model = take(io::ModelFile::open(options.weights));
      launch.origin.model = model.get();
    }
    setEndHook(options.atEnd);
    runRanks(program, manifest, launcher, launch, body);
    setEndHook(nullptr);
  } catch (const Error &error) {
    setEndHook(nullptr);
    return cannotRun(error);
  }
  return {};
}

Status runCalls(const ts_program &program, const RunOptions &options, std::vector<ProgramCall> &calls) {
  try {
    Manifest manifest = Manifest::parse({program.manifest, program.manifest_bytes});
    for (size_t i = 0; i < calls.size(); ++i)
      if (Status s = prepare(manifest, calls, i); !s)
        return s;
  } catch (const Error &error) {
    return cannotRun(error);
  }
  return runOnRanks(program, options, [&](Rank &rank) { makeCalls(rank, calls); });
}

} // namespace tessera::runtime
