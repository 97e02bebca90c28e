//===- ProgramData.cpp - A program of rung spmd as plain data -------------===//
#include "ProgramData.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/CacheBytes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Pipelines/Diagnostics.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;

namespace tessera::report {

const char *toString(TensorKind kind) {
  switch (kind) {
  case TensorKind::Weight:
    return "weight";
  case TensorKind::Cache:
    return "cache";
  case TensorKind::Input:
    return "input";
  case TensorKind::Activation:
    return "activation";
  }
  llvm_unreachable("a kind of tensor");
}

std::vector<int> Value::axes() const {
  std::vector<int> result;
  for (const Dim &dim : dims)
    for (const AxisUse &use : dim.axes)
      if (!llvm::is_contained(result, use.axis))
        result.push_back(use.axis);
  return result;
}

namespace {

/// Where a value comes from: an argument of a function (through the edges of repeats) or an op.
struct Origin {
  std::string name;
  std::optional<graph::Kind> kind; ///< none: not an argument
};

class Describer {
public:
  Describer(ModuleOp module, const Machine &machine) : module(module), machine(machine), names(module) {}

  Program describe() {
    auto text = [&](StringRef attribute) {
      auto attr = module->getAttrOfType<StringAttr>(attribute);
      return attr ? attr.getValue().str() : std::string();
    };
    program.model = text("tessera.model");
    program.architecture = text("graph.architecture");
    if (dist::MeshOp mesh = dist::getMesh(module))
      program.mesh = mesh.getMesh().toMesh();
    program.nominal = machine.name == Machine::kNominal;
    program.predictedFor = describeMachine(machine, program.mesh);
    names.nameOperands(module);
    for (auto function : module.getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      functionName = function.getName().str();
      addArguments(function);
      program.functions.push_back({functionName, Graph()});
      Graph graph;
      addBlock(function.getFunctionBody().front(), graph, 1, /*isBody=*/false);
      program.functions.back().graph = std::move(graph);
    }
    program.padding = dist::paddingCost(module, program.mesh, names);
    std::stable_sort(program.tensors.begin(), program.tensors.end(),
                     [](const Tensor &a, const Tensor &b) { return a.value.bytes > b.value.bytes; });
    return std::move(program);
  }

private:
  Value describeValue(mlir::Value value) {
    Value result;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return result;
    llvm::raw_string_ostream(result.element) << type.getElementType();
    result.bytes = tensorBytes(type);
    SmallVector<int64_t> global = dist::globalShape(type);
    ArrayRef<StringRef> dimNames = names.names(value);
    Sharding sharding(type.getRank());
    if (dist::ShardingAttr attr = dist::getShardingAttr(type))
      sharding = attr.toSharding(program.mesh);
    for (int64_t i = 0; i < type.getRank(); ++i) {
      Dim dim;
      if (i < int64_t(dimNames.size()))
        dim.name = dimNames[i].str();
      dim.global = global[i];
      dim.local = type.getDimSize(i);
      dim.axes = uses(sharding.dims[i].axes);
      result.dims.push_back(std::move(dim));
    }
    if (sharding.partialKind != PartialKind::None)
      result.partialKind = sharding.partialKind == PartialKind::Sum ? "sum" : "max";
    result.partial = uses(sharding.partial);
    return result;
  }

  std::vector<AxisUse> uses(ArrayRef<AxisRef> axes) {
    std::vector<AxisUse> result;
    for (const AxisRef &axis : axes)
      result.push_back({axis.axis, tessera::toString(axis, program.mesh)});
    return result;
  }

  Origin origin(mlir::Value value) {
    while (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      unsigned i = argument.getArgNumber();
      if (auto function = dyn_cast<FunctionOpInterface>(parent)) {
        auto name = function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr);
        return {name ? name.getValue().str() : "argument " + std::to_string(i),
                graph::argumentKind(function, i).value_or(graph::Kind::Input)};
      }
      // (layer index, carried values..., slices of stacks...) stand for the operands in their order.
      if (!isa<graph::RepeatOp>(parent))
        return {"argument " + std::to_string(i), std::nullopt};
      if (i == 0)
        return {"layer", std::nullopt};
      value = parent->getOperand(i - 1);
    }
    return {subject(value.getDefiningOp()), std::nullopt};
  }

  /// The name of the values that `op` makes: their own, or the weight or block it was made for.
  std::string subject(Operation *op) {
    if (isa<graph::GraphDialect>(op->getDialect()))
      if (auto name = op->getAttrOfType<StringAttr>("name"))
        return name.getValue().str();
    std::string where = describeLocation(op->getLoc());
    // A file is the same for the whole program: the line says enough.
    if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
      where = "line " + std::to_string(file.getLine());
    return where;
  }

  void addArguments(FunctionOpInterface function) {
    for (BlockArgument argument : function.getArguments()) {
      Origin from = origin(argument);
      TensorKind kind = from.kind == graph::Kind::Parameter ? TensorKind::Weight
                        : from.kind == graph::Kind::State   ? TensorKind::Cache
                                                            : TensorKind::Input;
      // Weights and caches are the same in all functions.
      std::string key = std::string(toString(kind)) + ":" + from.name;
      if (kind == TensorKind::Input)
        key += ":" + functionName;
      if (!seen.insert(key).second)
        continue;
      program.tensors.push_back(
          {kind, from.name, kind == TensorKind::Input ? functionName : "", "", describeValue(argument)});
      if (StringRef blocks = graph::heldBlocks(argument); kind == TensorKind::Cache && !blocks.empty()) {
        program.tensors.back().value.element = blocks.str();
        program.tensors.back().value.bytes = graph::stateBytes(argument);
      }
    }
  }

  /// Adds the ops of `block` to `graph`. `executions`: of the block in one call of the function.
  void addBlock(Block &block, Graph &graph, int64_t executions, bool isBody) {
    DenseMap<mlir::Value, int> nodeOf;
    auto addInput = [&](BlockArgument argument) {
      Origin from = origin(argument);
      bool carried = isBody && argument.getArgNumber() > 0 && !from.kind;
      // Integers (tokens, positions) go to many places and are not split further: ops name them as operands.
      bool given = !isBody && from.kind == graph::Kind::Input &&
                   isa<FloatType>(getElementTypeOrSelf(argument.getType()));
      if (argument.use_empty() || !(carried || given))
        return;
      Node node;
      node.kind = Node::Kind::Input;
      node.title = isBody ? "carried in" : from.name;
      if (isBody)
        node.subject = from.name;
      node.results.push_back(describeValue(argument));
      nodeOf[argument] = int(graph.nodes.size());
      graph.nodes.push_back(std::move(node));
    };
    for (BlockArgument argument : block.getArguments())
      if (!isa<graph::RepeatOp>(block.getParentOp()) || argument.getArgNumber() <= carriedCount(block))
        addInput(argument);

    for (Operation &op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>()) {
        addOutputs(op, graph, nodeOf);
        continue;
      }
      int index = int(graph.nodes.size());
      Node node = describeOp(op, executions);
      for (mlir::Value operand : op.getOperands()) {
        auto from = nodeOf.find(operand);
        if (from != nodeOf.end())
          graph.edges.push_back({from->second, index, describeValue(operand)});
        else if (node.kind != Node::Kind::Region)
          node.operands.push_back({origin(operand).name, describeValue(operand)});
      }
      for (OpResult result : op.getResults())
        nodeOf[result] = index;
      graph.nodes.push_back(std::move(node));
    }
  }

  static unsigned carriedCount(Block &body) {
    auto repeat = dyn_cast<graph::RepeatOp>(body.getParentOp());
    return repeat ? unsigned(repeat.getInits().size()) : 0;
  }

  void addOutputs(Operation &terminator, Graph &graph, const DenseMap<mlir::Value, int> &nodeOf) {
    Operation *parent = terminator.getParentOp();
    for (OpOperand &operand : terminator.getOpOperands()) {
      auto from = nodeOf.find(operand.get());
      if (from == nodeOf.end())
        continue;
      Node node;
      node.kind = Node::Kind::Output;
      std::optional<graph::Kind> kind;
      if (auto function = dyn_cast<FunctionOpInterface>(parent)) {
        auto name = function.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), graph::kNameAttr);
        node.title = name ? name.getValue().str() : "";
        kind = graph::resultKind(function, operand.getOperandNumber());
      } else if (!isa<graph::RepeatOp>(parent)) { // a branch
        node.title = "result " + std::to_string(operand.getOperandNumber());
      } else if (operand.getOperandNumber() < carriedCount(*terminator.getBlock())) {
        Origin to = origin(parent->getOperand(operand.getOperandNumber()));
        node.title = "carried out";
        node.subject = to.name;
        kind = to.kind;
      } else {
        node.title = "layer of stack " +
                     std::to_string(operand.getOperandNumber() - carriedCount(*terminator.getBlock()));
      }
      if (kind == graph::Kind::State) // updated in place: the op that does it shows the cache
        continue;
      if (node.title.empty())
        node.title = "result " + std::to_string(operand.getOperandNumber());
      node.results.push_back(describeValue(operand.get()));
      graph.edges.push_back({from->second, int(graph.nodes.size()), describeValue(operand.get())});
      graph.nodes.push_back(std::move(node));
    }
  }

  Node describeOp(Operation &op, int64_t executions) {
    Node node;
    node.title = (isa<CollectiveOpInterface>(op) ? op.getName().stripDialect() : graph::knownAs(&op)).str();
    node.subject = subject(&op);
    for (mlir::Value result : op.getResults())
      node.results.push_back(describeValue(result));
    if (op.getNumRegions()) {
      node.kind = Node::Kind::Region;
      auto repeat = dyn_cast<graph::RepeatOp>(op);
      node.repeats = repeat ? int64_t(repeat.getCount()) : 1;
      for (auto [i, region] : llvm::enumerate(op.getRegions())) {
        if (region.empty())
          continue;
        Graph body;
        body.runs = repeat ? repeat.getExecutions(unsigned(i)) : 1;
        addBlock(region.front(), body, executions * body.runs, /*isBody=*/true);
        node.bodies.push_back(std::move(body));
      }
      return node;
    }
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      node.kind = Node::Kind::Collective;
      node.collective = int(program.collectives.size());
      program.collectives.push_back(describeCollective(collective, node.subject, executions));
    }
    for (const Value &value : node.results)
      program.tensors.push_back({TensorKind::Activation, node.subject, functionName, node.title, value});
    return node;
  }

  Collective describeCollective(CollectiveOpInterface op, const std::string &subject, int64_t executions) {
    Collective result;
    result.function = functionName;
    result.kind = op->getName().stripDialect().str();
    result.tensor = subject;
    result.executions = executions;
    result.before = describeValue(op.getMoved());
    result.after = describeValue(op.getArrived());
    if (auto why = op->getAttrOfType<StringAttr>("why"))
      result.why = why.getValue().str();
    result.axes = uses(op.getGroupAxes(program.mesh));
    result.received = double(dist::bytesSent(op, program.mesh));
    result.seconds = dist::collectiveTime(machine, program.mesh, op);
    return result;
  }

  ModuleOp module;
  const Machine &machine;
  DimNames names;
  Program program;
  std::string functionName;
  llvm::StringSet<> seen;
};

} // namespace

Program describeProgram(ModuleOp module, const Machine &machine) {
  return Describer(module, machine).describe();
}

} // namespace tessera::report
