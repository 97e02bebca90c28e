#include "ExecuteHarness.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Reference/Judge.h"
#include "tessera/Target/CPU/Linker.h"
#include "tessera/Target/CPU/ObjectEmitter.h"
#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/comm/MpiWorld.h"
#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/cpu/Driver.h"
#include "tessera/runtime/device/Rank.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <dlfcn.h>
#include <thread>

namespace tessera::test {

using namespace mlir;

/// Keeps the functions that compiled programs look up in this executable.
[[gnu::used]] static void *const abi[] = {
    (void *)ts_launch,          (void *)ts_matmul, (void *)ts_gather_packed, (void *)ts_collective,
    (void *)ts_group_index,     (void *)ts_copy,   (void *)ts_pack,          (void *)ts_collective_start,
    (void *)ts_collective_wait, (void *)ts_send,   (void *)ts_receive};

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

/// Arguments and results get names of their own: equal names would share a place.
static void namePorts(func::FuncOp func) {
  Builder b(func.getContext());
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    func.setArgAttr(i, graph::kKindAttr, graph::KindAttr::get(b.getContext(), graph::Kind::Input));
    func.setArgAttr(i, graph::kNameAttr, b.getStringAttr("in" + std::to_string(i)));
  }
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    func.setResultAttr(i, graph::kKindAttr, graph::KindAttr::get(b.getContext(), graph::Kind::Output));
    func.setResultAttr(i, graph::kNameAttr, b.getStringAttr("out" + std::to_string(i)));
  }
}

static void store(const ReferenceTensor &from, char *to) {
  for (int64_t i = 0; i < from.size(); ++i)
    if (from.isFloat())
      reinterpret_cast<float *>(to)[i] = float(from.f[i]);
    else
      reinterpret_cast<int32_t *>(to)[i] = int32_t(from.i[i]);
}
static void load(const char *from, ReferenceTensor &to) {
  for (int64_t i = 0; i < to.size(); ++i)
    if (to.isFloat())
      to.f[i] = reinterpret_cast<const float *>(from)[i];
    else
      to.i[i] = reinterpret_cast<const int32_t *>(from)[i];
}

Library::~Library() {
  if (handle)
    dlclose(handle);
}

const ts_program &Library::program() const {
  return *static_cast<const ts_program *>(dlsym(handle, "tessera_program"));
}

std::string compile(ModuleOp module, Rung first, Library &library) {
  PassManager pm(module.getContext());
  buildPhases(pm, first, Rung::Binary, {});
  if (failed(pm.run(module)))
    return "the pipeline failed";
  llvm::SmallString<128> object, shared;
  if (llvm::sys::fs::createTemporaryFile("tessera-execute", "o", object) ||
      llvm::sys::fs::createTemporaryFile("tessera-execute", "so", shared))
    return "no temporary file";
  LinkOptions link;
  link.objects = {object.str().str()};
  link.shared = true;
  llvm::Error error = emitObject(module, llvm::cantFail(resolveCPUTarget("native")), object);
  if (!error)
    error = linkExecutable(link, shared);
  std::string why = error ? llvm::toString(std::move(error)) : "";
  if (why.empty() && !(library.handle = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL)))
    why = dlerror();
  llvm::sys::fs::remove(object);
  llvm::sys::fs::remove(shared);
  return why;
}

namespace {
/// The ranks of an MPI run, of which this process is one, once a program has asked for them. All programs of
/// a run have as many.
struct MpiRun : testing::Environment {
  std::unique_ptr<runtime::MpiWorld> world;
  void TearDown() override {
    if (world)
      world->finish();
  }
};
} // namespace
static MpiRun *const mpiRun = static_cast<MpiRun *>(testing::AddGlobalTestEnvironment(new MpiRun));

std::string runOnRanks(const ts_program &program, const runtime::Driver &driver, int threads,
                       const std::function<void(runtime::Rank &)> &body) {
  using namespace runtime;
  Manifest manifest;
  try {
    manifest = Manifest::parse({program.manifest, size_t(program.manifest_bytes)});
  } catch (const std::exception &e) {
    return e.what();
  }
  WeightPlan plan(manifest, driver);
  int64_t ranks = manifest.mesh.size();
  if (getenv("OMPI_COMM_WORLD_SIZE")) {
    if (!mpiRun->world)
      mpiRun->world = MpiWorld::start(ranks, /*oneMachine=*/true);
    MpiWorld &world = *mpiRun->world;
    Rank rank(program, manifest, plan, world.communicator(), world.plane(), world.board().entry(world.rank()),
              threads);
    body(rank);
    return "";
  }
  Board board(ranks);
  auto world = createHostWorld(ranks, board);
  auto runRank = [&](int64_t r) {
    auto comm = createHostCommunicator(world, r);
    auto plane = createHostPlane(world, r);
    Rank rank(program, manifest, plan, *comm, *plane, board.entry(r), threads);
    body(rank);
  };
  std::vector<std::thread> others;
  for (int64_t r = 1; r < ranks; ++r)
    others.emplace_back(runRank, r);
  runRank(0);
  for (std::thread &other : others)
    other.join();
  return "";
}

ExecuteResult execute(ModuleOp module, uint64_t seed, int threads) {
  ExecuteResult result;
  std::string diagnostics;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += diagnostic.str() + "\n";
    return success();
  });
  auto fail = [&](const std::string &why) {
    result.error = why + "\n" + diagnostics;
    return result;
  };
  auto before = module.lookupSymbol<func::FuncOp>("f");
  std::vector<ReferenceTensor> inputs = randomInputs(before, seed);
  auto expected = interpretGlobally(before, inputs);
  if (failed(expected))
    return fail("the judge cannot run the program");

  OwningOpRef<ModuleOp> compiled(module.clone());
  auto func = compiled->lookupSymbol<func::FuncOp>("f");
  namePorts(func);
  if (dist::getMesh(*compiled)) {
    PassManager pm(module.getContext());
    buildPhases(pm, Rung::Sharded, Rung::Spmd, {});
    if (failed(pm.run(*compiled)))
      return fail("the program cannot be partitioned");
  }
  // How arguments and results lie on the ranks; without a mesh, whole on the only one.
  func = compiled->lookupSymbol<func::FuncOp>("f");
  auto shardedShapeOf = [&](Type type) {
    if (std::optional<ShardedShape> sharded = getShardedShape(func, type))
      return *sharded;
    auto tensor = cast<RankedTensorType>(type);
    return ShardedShape{Mesh(), Sharding(tensor.getRank()), SmallVector<int64_t>(tensor.getShape()),
                        tensor.getElementType()};
  };
  std::vector<ShardedShape> argumentShapes, resultShapes;
  std::vector<RankValues> pieces;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
    argumentShapes.push_back(shardedShapeOf(type));
    pieces.push_back(shard(inputs[i], argumentShapes.back(), Padding::Poison));
  }
  for (Type type : func.getResultTypes())
    resultShapes.push_back(shardedShapeOf(type));
  result.ranks = numRanks(func);

  Library library;
  if (std::string why = compile(*compiled, Rung::Kernels, library); !why.empty())
    return fail(why);
  using namespace runtime;
  std::vector<RankValues> outputs(resultShapes.size(), RankValues(result.ranks));
  std::string error = runOnRanks(library.program(), cpuDriver(), threads, [&](Rank &rank) {
    const Manifest &manifest = rank.manifest();
    const EntrySpec &entry = manifest.entries[0];
    int64_t r = rank.id();
    // The arena is memory like any other: what was not written must not be read.
    memset(rank.arena(), 0xCD, size_t(manifest.arenaBytes));
    for (size_t i = 0; i < pieces.size(); ++i)
      store(pieces[i][r], rank.arena() + entry.inputs[i].offset);
    rank.call(0);
    for (size_t i = 0; i < outputs.size(); ++i) {
      ReferenceTensor value(resultShapes[i].elementType, resultShapes[i].localShape());
      load(rank.arena() + entry.outputs[i].offset, value);
      outputs[i][r] = std::move(value);
    }
  });
  if (!error.empty())
    return fail(error);

  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string error;
    auto whole = unshard(outputs[i], resultShapes[i], 1e-4, error);
    if (failed(whole))
      return fail("result " + std::to_string(i) + ": " + error);
    result.worst = std::max(result.worst, relativeError((*expected)[i], *whole));
  }
  return result;
}

ExecuteResult execute(const std::string &text, uint64_t seed, int threads) {
  auto context = createContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    return {"the test's MLIR does not parse"};
  return execute(*module, seed, threads);
}

} // namespace tessera::test
