//===- OutputLayouts.cpp - How what functions hand out lies ---------------===//
#include "Reshard/OutputLayouts.h"
#include "Explain.h"
#include "Reshard/HandedOn.h"
#include "Reshard/SideBySide.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
/// A result or an argument of a function.
struct Port {
  func::FuncOp function;
  unsigned index;
  bool isResult;
};

/// What functions hand out, or are given, under one name and shape: it lies alike everywhere.
struct Output {
  std::string name;
  SmallVector<int64_t> shape;
  Sharding first; ///< as propagation has it
  Sharding now;
  SmallVector<Port> ports = {};
  bool isAsked = false; ///< somebody said how it lies
  std::vector<Sharding> others = {};
};

class OutputLayouts {
public:
  OutputLayouts(ModuleOp module, const ShardingAttributes &written, RegionCosts &costs)
      : module(module), written(written), costs(costs), asWritten(written.facts()) {}

  void run() {
    findOutputs();
    if (outputs.empty())
      return;
    const BlockPrice before = priceAll();
    if (!std::isfinite(before.time) || !offerMade(before))
      return;
    BlockPrice now = before;
    for (Output &output : outputs)
      for (const Sharding &other : output.others)
        tryOne(output, other, now);
    // A look knows what ops are offered as outputs lay at first; they are placed with what they are offered
    // now.
    if (llvm::any_of(outputs, [](const Output &one) { return !one.now.samePlacement(one.first); }))
      now = priceAll();
    if (now.time >= before.time * (1 - kNothing) || now.sent >= before.sent * (1 - kLittle)) {
      for (Output &output : outputs)
        write(output, output.first);
      return;
    }
    for (Output &output : outputs)
      if (!output.now.samePlacement(output.first))
        explain(output.ports.front().function.getLoc(), "output",
                llvm::formatv("{0} lies {1}, not {2}: functions that hand it out or are given it then send "
                              "for {3:F3} us, not {4:F3} us",
                              output.name, toString(output.now, costs.mesh()),
                              toString(output.first, costs.mesh()), now.sent * 1e6, before.sent * 1e6));
  }

private:
  static constexpr double kLittle = 0.01, kNothing = 1e-9,
                          kInfinity = std::numeric_limits<double>::infinity();

  /// Those of which no port was asked for, in program order.
  void findOutputs() {
    std::vector<Output> found;
    for (auto function : module.getOps<func::FuncOp>()) {
      for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
        addPort({function, unsigned(i), /*isResult=*/true}, type, found);
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
        addPort({function, unsigned(i), /*isResult=*/false}, type, found);
    }
    for (Output &output : found) {
      if (output.isAsked || output.shape.empty() ||
          llvm::none_of(output.ports, [](const Port &port) { return port.isResult; }))
        continue;
      for (const Port &port : output.ports)
        if (!llvm::is_contained(functions, port.function))
          functions.push_back(port.function);
      outputs.push_back(std::move(output));
    }
  }

  void addPort(Port port, Type type, std::vector<Output> &found) const {
    auto attribute = [&](StringRef name) {
      return port.isResult ? port.function.getResultAttr(port.index, name)
                           : port.function.getArgAttr(port.index, name);
    };
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto name = dyn_cast_or_null<StringAttr>(attribute(graph::kNameAttr));
    if (!tensor || !name)
      return;
    auto output = llvm::find_if(found, [&](const Output &known) {
      return known.name == name.getValue() && ArrayRef(known.shape) == tensor.getShape();
    });
    if (output == found.end()) {
      Sharding lies = written.read(attribute(kShardingAttr), tensor);
      output = found.insert(found.end(), Output{name.str(), llvm::to_vector(tensor.getShape()), lies, lies});
    }
    output->ports.push_back(port);
    output->isAsked |= !attribute(kUnaskedAttr) || port.function.isExternal();
  }

  /// Of all functions, as outputs are written.
  BlockPrice priceAll() {
    prices.assign(functions.size(), {});
    sideBySide(functions.size(), [&](size_t i) {
      for (Block &block : functions[i].getBody())
        add(prices[i], pricers.try_emplace(&block, block, asWritten, costs.in(block), /*idle=*/true)
                           .first->second.price());
    });
    return sum(prices);
  }

  static void add(BlockPrice &to, const BlockPrice &price) {
    to.time += price.time;
    to.sent += price.sent;
  }

  static BlockPrice sum(ArrayRef<BlockPrice> prices) {
    BlockPrice all;
    for (const BlockPrice &price : prices)
      add(all, price);
    return all;
  }

  bool isHandedOut(func::FuncOp function, unsigned result) const {
    return llvm::any_of(outputs, [&](const Output &output) {
      return llvm::any_of(output.ports, [&](const Port &port) {
        return port.isResult && port.function == function && port.index == result;
      });
    });
  }

  bool isGiven(Value value) const {
    auto arg = dyn_cast<BlockArgument>(value);
    auto function = arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()) : func::FuncOp();
    return function && llvm::any_of(outputs, [&](const Output &output) {
             return llvm::any_of(output.ports, [&](const Port &port) {
               return !port.isResult && port.function == function && port.index == arg.getArgNumber();
             });
           });
  }

  /// Places the functions as if outputs cost nothing: returned as they are made, and taken whole, which every
  /// sharding is a slice of. Offers the layouts that they are made in. False: that cannot gain anything.
  bool offerMade(const BlockPrice &before) {
    BlockFacts free = asWritten;
    free.needs = [this](Operation *op) {
      auto needs = written.outsideNeeds(op);
      auto returned = dyn_cast<func::ReturnOp>(op);
      if (!needs || !returned)
        return needs;
      // One need for each operand that is a tensor, in order.
      ValueNeeds kept;
      size_t next = 0;
      for (OpOperand &operand : returned->getOpOperands()) {
        if (!isa<RankedTensorType>(operand.get().getType()))
          continue;
        if (!isHandedOut(returned->getParentOfType<func::FuncOp>(), operand.getOperandNumber()))
          kept.push_back((*needs)[next]);
        ++next;
      }
      return std::optional(std::move(kept));
    };
    free.known = [this](Value value) {
      return isGiven(value) ? Sharding(cast<RankedTensorType>(value.getType()).getRank()) : written.of(value);
    };
    std::vector<BlockPrice> freely(functions.size());
    std::vector<BlockDecisions> decisions(functions.size());
    sideBySide(functions.size(), [&](size_t i) {
      for (Block &block : functions[i].getBody())
        add(freely[i], priceBlock(block, free, costs.in(block), /*widen=*/true, &decisions[i]));
    });
    if (sum(freely).sent >= before.sent * (1 - kLittle))
      return false;
    BlockDecisions all;
    for (BlockDecisions &some : decisions)
      all.insert(std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    bool isAny = false;
    for (Output &output : outputs) {
      for (Port port : output.ports) {
        if (!port.isResult)
          continue;
        Value value = port.function.getBody().back().getTerminator()->getOperand(port.index);
        auto result = dyn_cast<OpResult>(value);
        auto made = result ? all.find(result.getOwner()) : all.end();
        offer(output, made == all.end() ? written.of(value) : made->second.results[result.getResultNumber()]);
      }
      isAny |= !output.others.empty();
    }
    return isAny;
  }

  /// If a rank holds no more of it than now.
  static void offer(Output &output, Sharding other) {
    other.partial.clear(); // what is handed out is summed up
    other.partialKind = PartialKind::None;
    auto isKnown = [&](const Sharding &known) { return known.samePlacement(other); };
    if (!isKnown(output.now) && elementsOf(output.shape, other) <= elementsOf(output.shape, output.now) &&
        llvm::none_of(output.others, isKnown))
      output.others.push_back(std::move(other));
  }

  /// Keeps `other` if all functions then take less than `now`, which becomes less. They are looked at among
  /// what their ops were offered at first.
  void tryOne(Output &output, const Sharding &other, BlockPrice &now) {
    Sharding was = output.now;
    std::vector<BlockPrice> before = prices;
    write(output, other);
    sideBySide(functions.size(), [&](size_t i) {
      if (llvm::none_of(output.ports, [&](const Port &port) { return port.function == functions[i]; }))
        return;
      prices[i] = {};
      for (Block &block : functions[i].getBody())
        add(prices[i], pricers.find(&block)->second.lookBelow(kInfinity));
    });
    if (BlockPrice then = sum(prices); then.time < now.time * (1 - kNothing)) {
      now = then;
      return;
    }
    prices = std::move(before);
    write(output, was);
  }

  void write(Output &output, const Sharding &sharding) {
    for (Port port : output.ports)
      written.write(port.function, port.index, port.isResult, sharding);
    output.now = sharding;
  }

  ModuleOp module;
  const ShardingAttributes &written;
  RegionCosts &costs;
  std::vector<Output> outputs;
  SmallVector<func::FuncOp> functions; ///< that have one of their ports
  const BlockFacts asWritten;
  std::map<Block *, BlockPricer> pricers; ///< of functions
  std::vector<BlockPrice> prices;         ///< of each function, as outputs are written
};
} // namespace

void tessera::dist::layOutputs(ModuleOp module, const ShardingAttributes &written, RegionCosts &costs) {
  OutputLayouts(module, written, costs).run();
  auto name = StringAttr::get(module.getContext(), kUnaskedAttr);
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, name);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.removeResultAttr(i, name);
  }
}
