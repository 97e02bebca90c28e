//===- Coverage.cpp - What partitioned programs held ----------------------===//
#include "Coverage.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/Partial.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "nlohmann/json.hpp"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;
using namespace tessera;

static std::string kindName(const Factor &factor) {
  switch (factor.kind) {
  case FactorKind::PassThrough:
    return "pass";
  case FactorKind::Reduction:
    return factor.combine == PartialKind::Max ? "max" : "sum";
  case FactorKind::NeedReplication:
    return "replicate";
  case FactorKind::Permutation:
    return "permute";
  }
  llvm_unreachable("factor kind");
}

/// Dimensions that a collective moves, all for a contribution; combining counts apart.
static SmallVector<int64_t> movedDims(Operation *op) {
  SmallVector<int64_t> dims;
  if (isa<dist::ContributeOp>(op))
    return llvm::to_vector(
        llvm::seq<int64_t>(0, cast<RankedTensorType>(op->getResult(0).getType()).getRank()));
  if (auto dim = op->getAttrOfType<IntegerAttr>("dim"))
    dims.push_back(dim.getInt());
  for (StringRef name : {"from", "to"})
    if (auto list = op->getAttrOfType<DenseI64ArrayAttr>(name))
      llvm::append_range(dims, list.asArrayRef());
  if (isa<dist::CollectivePermuteOp, dist::GroupedSendOp>(op)) {
    auto before = dist::getShardingAttr(op->getOperand(0).getType()),
         after = dist::getShardingAttr(op->getResult(0).getType());
    for (auto [d, pair] : llvm::enumerate(llvm::zip(before.getDims(), after.getDims())))
      if (std::get<0>(pair) != std::get<1>(pair) ||
          ((op->hasAttr("mirrored") || op->hasAttr("at")) && !std::get<0>(pair).getAxes().empty()))
        dims.push_back(int64_t(d));
  }
  return dims;
}

static bool isCollective(Operation *op) {
  return op && isa<dist::AllGatherOp, dist::AllSliceOp, dist::AllReduceOp, dist::ReduceScatterOp,
                   dist::AllToAllOp, dist::CollectivePermuteOp, dist::GroupedSendOp, dist::ContributeOp>(op);
}

void Coverage::countOps(ModuleOp step) {
  step.walk([&](Operation *op) {
    if (isa<graph::GraphDialect, dist::DistDialect>(op->getDialect()))
      ++ops[op->getName().getStringRef().str()];
  });
}

void Coverage::countCollectives(ModuleOp module) {
  dist::MeshOp meshOp = dist::getMesh(module);
  if (!meshOp)
    return;
  Mesh mesh = meshOp.getMesh().toMesh();
  module.walk([&](ShardingRuleOpInterface op) {
    if (!isa<graph::GraphDialect>(op->getDialect()))
      return;
    if (isa<graph::MaskPaddingOp>(op)) // made by the partition, not counted with the ops of rung step
      ++ops[op->getName().getStringRef().str()];
    ShardingRule rule = op.getShardingRule();
    std::set<std::string> here; // one op counts once per cell
    auto mark = [&](const TensorFactors &tensor, int64_t dim, StringRef what) {
      if (dim < int64_t(tensor.dims.size()))
        for (int f : tensor.dims[size_t(dim)])
          here.insert(kindName(rule.factors[size_t(f)]) + "|" + what.str());
    };
    auto markSplit = [&](const TensorFactors &tensor, Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      auto attr = dist::getShardingAttr(type);
      if (!attr)
        return;
      Sharding sharding = attr.toSharding(mesh);
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (int64_t shards = sharding.shards(int(d)); shards > 1) {
          mark(tensor, d, "local");
          if (dist::globalShape(type)[size_t(d)] % shards)
            mark(tensor, d, "uneven");
        }
    };
    for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
      Value value = op->getOperand(unsigned(i));
      markSplit(tensor, value);
      while (Operation *before = value.getDefiningOp()) {
        if (auto mask = dyn_cast<graph::MaskPaddingOp>(before)) {
          for (int64_t d : mask.getDims())
            mark(tensor, d, "masked");
        } else if (isCollective(before)) {
          for (int64_t d : movedDims(before))
            mark(tensor, d, before->getName().stripDialect());
        } else {
          break;
        }
        value = before->getOperand(0);
      }
    }
    for (auto [i, tensor] : llvm::enumerate(rule.results)) {
      markSplit(tensor, op->getResult(unsigned(i)));
      SmallVector<Value> values = {op->getResult(unsigned(i))};
      while (!values.empty()) {
        Value value = values.pop_back_val();
        for (Operation *user : value.getUsers()) {
          if (!isCollective(user))
            continue;
          StringRef name = user->getName().stripDialect();
          for (int64_t d : movedDims(user))
            mark(tensor, d, name);
          if (isa<dist::AllReduceOp, dist::ReduceScatterOp>(user))
            for (const Factor &factor : rule.factors)
              if (factor.kind == FactorKind::Reduction)
                here.insert(kindName(factor) + "|" + name.str());
          values.push_back(user->getResult(0));
        }
      }
    }
    for (const Factor &factor : rule.factors)
      here.insert(kindName(factor) + "|seen");
    for (const std::string &cell : here)
      ++cells[op->getName().stripDialect().str() + "|" + cell];
  });
}

/// In what kind of loop an op stands.
static std::string loopForm(Operation *op) {
  auto repeat = op->getParentOfType<graph::RepeatOp>();
  if (!repeat)
    return "none";
  if (repeat->getParentOfType<graph::RepeatOp>())
    return "nested";
  std::string reverse = repeat.getReverse() ? "reverse" : "";
  int64_t bodies = int64_t(repeat.getBodies().size());
  if (bodies == 1)
    return reverse.empty() ? "forward" : reverse;
  return (reverse.empty() ? "" : reverse + " ") +
         (int64_t(repeat.getCount()) % bodies ? "remainder" : "period");
}

static std::string elementType(Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << cast<RankedTensorType>(value.getType()).getElementType();
  return text;
}

void Coverage::countPairs(ModuleOp spmd) {
  spmd.walk([&](Operation *op) {
    bool collective = isCollective(op);
    if (!op->getNumResults() || !(collective || isa<ReferenceOpInterface>(op)))
      return;
    std::string name = op->getName().stripDialect().str(), type = elementType(op->getResult(0)),
                loop = loopForm(op);
    std::string group = collective ? "collective" : "op";
    ++pairs[group + " x type: " + name + "|" + type];
    ++pairs[group + " x loop: " + name + "|" + loop];
    ++pairs["type x loop: " + type + "|" + loop];
    for (Value operand : op->getOperands())
      if (Operation *before = operand.getDefiningOp();
          before && isCollective(before) != collective && (collective || isCollective(before))) {
        Operation *computes = collective ? before : op, *moves = collective ? op : before;
        if (isa<ReferenceOpInterface>(computes))
          ++pairs["op x collective: " + computes->getName().stripDialect().str() + "|" +
                  moves->getName().stripDialect().str()];
      }
  });
}

/// In which of Ports.cpp's ways a checkpoint holds the parameter.
static StringRef sourceForm(graph::ParameterOp parameter) {
  if (parameter.getSources().size() > 1)
    return "in parts";
  auto source = cast<graph::SourceAttr>(parameter.getSources()[0]);
  return !source.getReshape().empty()   ? "flat"
         : !source.getPermute().empty() ? "transposed"
         : !source.getSlice().empty()   ? "rows of a larger one"
                                        : "as it is";
}

void Coverage::countTraits(ModuleOp spmd) {
  std::set<std::string> here; // a program counts once
  int entries = 0;
  for (auto func : spmd.getOps<func::FuncOp>()) {
    entries += func.isPublic();
    for (BlockArgument arg : func.getArguments()) {
      if (graph::argumentKind(arg) == graph::Kind::State)
        here.insert("states|kept");
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      auto attr = type ? dist::getShardingAttr(type) : dist::ShardingAttr();
      dist::MeshOp mesh = dist::getMesh(spmd);
      if (!attr || !mesh)
        continue;
      Sharding sharding = attr.toSharding(mesh.getMesh().toMesh());
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (dist::globalShape(type)[size_t(d)] % sharding.shards(int(d)))
          here.insert("arguments|of uneven pieces");
    }
  }
  here.insert(entries > 1 ? "entries|two" : "entries|one");
  dist::MeshOp mesh = dist::getMesh(spmd);
  here.insert("ranks|" + std::to_string(mesh ? mesh.getMesh().toMesh().numDevices() : 1));
  for (auto parameter : spmd.getOps<graph::ParameterOp>()) {
    here.insert("parameter|" + sourceForm(parameter).str());
    if (parameter.getStacked())
      here.insert("parameter|layer by layer");
  }
  std::set<std::string> types;
  spmd.walk([&](Operation *op) {
    if (auto attention = dyn_cast<graph::AttentionOp>(op)) {
      here.insert(attention.getWindow() ? "attention|window" : "attention|whole context");
      if (attention.getSoftcap())
        here.insert("attention|softcap");
      if (attention.getSinks())
        here.insert("attention|sinks");
    }
    if (auto repeat = dyn_cast<graph::RepeatOp>(op)) {
      if (repeat->getNumResults() > repeat.getInits().size())
        here.insert("loops|return stacks");
      if (!repeat.getStacks().empty())
        here.insert("loops|read stacks");
    }
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType());
          type && isa<FloatType>(type.getElementType()))
        types.insert(elementType(result));
  });
  types.erase("f64"); // casts on the way
  here.insert("floats|" + (types.size() > 1 ? "mixed" : types.empty() ? "none" : *types.begin()));
  for (const std::string &trait : here)
    ++traits[trait];
}

void Coverage::countWeights(ModuleOp exec) {
  std::set<std::string> here;
  exec.walk([&](exec::MatmulOp op) {
    here.insert(op.getParamAttr() ? "weights|packed" : "weights|plain");
    if (op.getStarts())
      here.insert(op.getParamAttr() ? "weights|packed by group" : "weights|plain by group");
    if (op.getBias())
      here.insert("epilogues|bias");
    if (op.getAddend())
      here.insert("epilogues|addend");
    if (op.getFunction())
      here.insert("epilogues|function");
  });
  for (const std::string &trait : here)
    ++traits[trait];
}

std::string Coverage::toJson() const {
  return nlohmann::json{
      {"redrawn", inVain}, {"ops", ops}, {"cells", cells}, {"pairs", pairs}, {"traits", traits}}
      .dump();
}

void Coverage::add(StringRef text) {
  auto json = nlohmann::json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return;
  inVain += json.value("redrawn", int64_t(0));
  for (auto &[name, count] : json["ops"].items())
    ops[name] += count.get<int64_t>();
  for (auto &[name, count] : json["cells"].items())
    cells[name] += count.get<int64_t>();
  for (auto &[name, count] : json["pairs"].items())
    pairs[name] += count.get<int64_t>();
  for (auto &[name, count] : json["traits"].items())
    traits[name] += count.get<int64_t>();
}

bool Coverage::write(StringRef path, MLIRContext &context) const {
  nlohmann::json json{
      {"redrawn", inVain}, {"ops", ops}, {"cells", cells}, {"pairs", pairs}, {"traits", traits}};
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.getDialectNamespace() == graph::GraphDialect::getDialectNamespace() &&
        !op.hasTrait<OpTrait::HasParent<ModuleOp>::Impl>() &&
        op.getStringRef() != graph::PartialOp::getOperationName() && // only while kernels are made
        op.getStringRef() != graph::PartOp::getOperationName())
      json["dialect"].push_back(op.getStringRef().str());
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file << json.dump(1) << "\n";
  file.flush();
  return !error && !file.has_error();
}
