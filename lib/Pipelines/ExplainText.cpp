//===- ExplainText.cpp - An explanation in words, and as JSON -------------===//
#include "tessera/Pipelines/Explanation.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tessera {

static llvm::StringRef kindText(const TensorExplanation &tensor) {
  return tensor.kind ? graph::stringifyKind(*tensor.kind) : "activation";
}

static std::string endpointText(const Endpoint &end) {
  return end.op + (end.where.empty() ? "" : " [" + end.where + "]");
}

static std::string signedText(double value) {
  return llvm::formatv("{0}{1:F0}", value < 0 ? "" : "+", value).str();
}
static std::string micro(double seconds) { return llvm::formatv("{0:F2} us", seconds * 1e6).str(); }

static StepTotals sum(const std::vector<StepTotals> &steps) {
  StepTotals total;
  for (const StepTotals &step : steps) {
    total.collectives += step.collectives;
    total.collectiveBytes += step.collectiveBytes;
    total.flops += step.flops;
    total.seconds += step.seconds;
    // The functions of one program share weights and states, and run one at a time.
    total.weightBytes = std::max(total.weightBytes, step.weightBytes);
    total.stateBytes = std::max(total.stateBytes, step.stateBytes);
    total.activationBytes = std::max(total.activationBytes, step.activationBytes);
  }
  return total;
}

std::string priceText(const Explanation &explanation, const Suggestion &suggestion) {
  StepTotals before = sum(explanation.steps), after = sum(suggestion.after);
  return "collective bytes " + signedText(double(after.collectiveBytes - before.collectiveBytes)) +
         ", collectives " + signedText(double(after.collectives - before.collectives)) + ", FLOPs " +
         signedText(after.flops - before.flops) + ", weight bytes " +
         signedText(double(after.weightBytes - before.weightBytes)) + ", state bytes " +
         signedText(double(after.stateBytes - before.stateBytes)) + ", activation bytes " +
         signedText(double(after.activationBytes - before.activationBytes)) + ", time " +
         (after.seconds < before.seconds ? "" : "+") + micro(after.seconds - before.seconds);
}

static std::string saidText(const SaidSharding &said) {
  return (said.sharding.empty() ? "" : said.sharding + " of ") + said.what +
         (said.where.empty() ? "" : " [" + said.where + "]");
}

std::string changeText(const Suggestion &suggestion) {
  std::string text;
  if (!suggestion.items.empty() || !suggestion.without.empty()) // a change has one of them
    text = (suggestion.shard.empty() ? "neither --shard nor --template" : "--shard=" + suggestion.shard) +
           (suggestion.items.empty() ? " (without: " + suggestion.without : " (new: " + suggestion.items) +
           ")";
  for (const SaidSharding &said : suggestion.leftOut)
    text += (text.empty()                           ? "leaving out "
             : &said == &suggestion.leftOut.front() ? ", leaving out "
                                                    : " and ") +
            saidText(said);
  return suggestion.becomes.empty() ? text : text + "; then " + suggestion.becomes + " stands there";
}

std::string endsText(const CollectiveExplanation &c) {
  std::string from = endpointText(c.producer), to = endpointText(c.consumer);
  return c.producer.identity && c.producer.identity == c.consumer.identity
             ? "within: " + from
             : "between: " + from + " and " + to;
}

static void print(const CollectiveExplanation &c, size_t number, const Explanation &all,
                  llvm::raw_ostream &os) {
  os << "collective " << number << " of " << all.collectives.size() << " (" << c.function << "): " << c.kind
     << " over {" << llvm::join(c.axes, ", ") << "}, " << c.from << " -> " << c.to << "\n"
     << "  " << endsText(c) << "\n"
     << "  disagree on: " << c.dimension << (c.why.empty() ? "" : ": " + c.why) << "\n"
     << "  costs: "
     << (c.messages ? "the busiest rank sends or receives " + std::to_string(c.bytes) + " bytes in up to " +
                          std::to_string(c.messages) + " messages"
         : c.mostBytes ? "each rank sends " + std::to_string(c.bytes) + " bytes at even routing, and " +
                             std::to_string(c.mostBytes) + " at most"
                       : "each rank sends " + std::to_string(c.bytes) + " bytes and receives as many")
     << ", " << c.executions << " times a step: " << c.bytes * c.executions << " bytes, predicted "
     << micro(c.seconds * double(c.executions)) << "\n";
  if (c.searchEnded) {
    os << "  removed by: none of the changes that were tried; not all were, for each is a compilation\n";
    return;
  }
  if (!c.decidedBy.empty()) {
    os << "  removed by: no change of --shard and no sharding less in the program: decided by ";
    for (const SaidSharding &said : c.decidedBy)
      os << (&said == &c.decidedBy.front() ? "" : " and ") << saidText(said);
    os << (c.decidedByItems.empty() ? "" : " and --shard=" + c.decidedByItems) << "\n";
    return;
  }
  if (!c.remove) {
    os << "  removed by: none of the changes of --shard, or of what the program says itself, that were "
          "tried\n";
    return;
  }
  os << "  removed by: " << changeText(*c.remove) << "\n"
     << "  that changes, per rank: " << priceText(all, *c.remove) << "\n";
}

static void print(const dist::PaddedDim &dim, const dist::PaddingShare &total, llvm::raw_ostream &os) {
  std::vector<std::string> costs = dist::shares(dim, total);
  os << "padding: " << dist::headline(dim) << "\n  in: " << llvm::join(dim.values, ", ")
     << "\n  of each rank: " << (costs.empty() ? "inputs only" : llvm::join(costs, ", ")) << "\n";
}

static void print(const TensorExplanation &t, llvm::raw_ostream &os) {
  os << "tensor (" << t.function << "): " << kindText(t) << " " << t.name << " [" << llvm::join(t.dims, ", ")
     << "] of " << (t.shape.empty() ? "one number" : "");
  for (auto [i, size] : llvm::enumerate(t.shape))
    os << (i ? "x" : "") << size;
  os << " lies " << t.sharding << ", " << t.bytes << " bytes per rank\n";
  for (const std::string &reason : t.reasons)
    os << "  " << reason << "\n";
}

void print(const Explanation &explanation, llvm::raw_ostream &os) {
  for (auto [i, collective] : llvm::enumerate(explanation.collectives))
    print(collective, i + 1, explanation, os);
  for (const dist::PaddedDim &dim : explanation.padding.dims)
    print(dim, explanation.padding.total, os);
  for (const TensorExplanation &tensor : explanation.tensors)
    print(tensor, os);
  for (const StepTotals &step : explanation.steps)
    os << "step (" << step.function << "): per rank " << step.collectiveBytes << " collective bytes in "
       << step.collectives << " collectives, " << llvm::formatv("{0:F0}", step.flops) << " FLOPs, "
       << step.weightBytes << " weight bytes, " << step.stateBytes << " state bytes, " << step.activationBytes
       << " activation bytes at most, predicted " << micro(step.seconds) << "\n";
  if (explanation.nominal)
    os << "predicted times: of a nominal machine (no --machine), on which bytes decide and a message's "
          "latency counts as little as 10 bytes; "
          "they rank plans, they are no forecast\n";
  else
    os << "predicted times: of the machine " << explanation.predictedFor << "\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Value json(const std::vector<StepTotals> &steps) {
  llvm::json::Array list;
  for (const StepTotals &step : steps)
    list.push_back(llvm::json::Object{{"function", step.function},
                                      {"collectives", step.collectives},
                                      {"collective_bytes", step.collectiveBytes},
                                      {"flops", step.flops},
                                      {"seconds", step.seconds},
                                      {"weight_bytes", step.weightBytes},
                                      {"state_bytes", step.stateBytes},
                                      {"activation_bytes", step.activationBytes}});
  return list;
}

static llvm::json::Array json(const std::vector<SaidSharding> &list) {
  llvm::json::Array array;
  for (const SaidSharding &said : list)
    array.push_back(
        llvm::json::Object{{"what", said.what}, {"where", said.where}, {"sharding", said.sharding}});
  return array;
}

static llvm::json::Value json(const Suggestion &suggestion) {
  return llvm::json::Object{{"items", suggestion.items},     {"without", suggestion.without},
                            {"shard", suggestion.shard},     {"left_out", json(suggestion.leftOut)},
                            {"becomes", suggestion.becomes}, {"after", json(suggestion.after)}};
}

static llvm::json::Value json(const dist::PaddingShare &share) {
  return llvm::json::Object{{"weight_bytes", share.weightBytes},
                            {"state_bytes", share.stateBytes},
                            {"activation_bytes_written", share.activationBytes},
                            {"collective_bytes", share.sentBytes},
                            {"flops", share.flops}};
}

static llvm::json::Value json(const dist::PaddingCost &cost) {
  llvm::json::Array dims;
  for (const dist::PaddedDim &dim : cost.dims)
    dims.push_back(llvm::json::Object{{"dim", dim.name},
                                      {"axes", dim.axesText},
                                      {"size", dim.size},
                                      {"padded", dim.padded},
                                      {"values", llvm::json::Array(dim.values)},
                                      {"padding", json(dim.share)}});
  return llvm::json::Object{{"dims", std::move(dims)}, {"total", json(cost.total)}};
}

static llvm::json::Value json(const Endpoint &end) {
  return llvm::json::Object{{"op", end.op}, {"where", end.where}};
}

llvm::json::Value toJson(const Explanation &explanation) {
  llvm::json::Array collectives, tensors;
  for (const CollectiveExplanation &c : explanation.collectives) {
    llvm::json::Object object{{"function", c.function},
                              {"kind", c.kind},
                              {"axes", llvm::json::Array(c.axes)},
                              {"producer", json(c.producer)},
                              {"consumer", json(c.consumer)},
                              {"dimension", c.dimension},
                              {"from", c.from},
                              {"to", c.to},
                              {"why", c.why},
                              {"bytes", c.bytes},
                              {"messages", c.messages},
                              {"executions", c.executions},
                              {"seconds", c.seconds}};
    if (c.mostBytes)
      object["most_bytes"] = c.mostBytes;
    if (c.searchEnded) // without this, no `remove` says that there is none
      object["search_ended"] = true;
    if (c.remove)
      object["remove"] = json(*c.remove);
    if (!c.decidedBy.empty())
      object["decided_by"] = json(c.decidedBy);
    if (!c.decidedByItems.empty())
      object["decided_by_items"] = c.decidedByItems;
    collectives.push_back(std::move(object));
  }
  for (const TensorExplanation &t : explanation.tensors)
    tensors.push_back(llvm::json::Object{{"function", t.function},
                                         {"name", t.name},
                                         {"kind", kindText(t)},
                                         {"dims", llvm::json::Array(t.dims)},
                                         {"shape", llvm::json::Array(t.shape)},
                                         {"sharding", t.sharding},
                                         {"bytes", t.bytes},
                                         {"reasons", llvm::json::Array(t.reasons)}});
  return llvm::json::Object{{"mesh", explanation.mesh},
                            {"shard", explanation.shard},
                            {"nominal", explanation.nominal},
                            {"machine", explanation.predictedFor},
                            {"steps", json(explanation.steps)},
                            {"collectives", std::move(collectives)},
                            {"padding", json(explanation.padding)},
                            {"tensors", std::move(tensors)}};
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ExplainPass : public PassWrapper<ExplainPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExplainPass)
  ExplainPass() = default;
  ExplainPass(const ExplainPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "tessera-explain"; }
  StringRef getDescription() const override {
    return "Prints what the sharding pipeline would do and why, and which flags would remove its "
           "collectives; changes nothing";
  }

  void runOnOperation() override {
    Result<Explanation> explanation = explainSharding(getOperation(), {mesh, shard, machine});
    markAllAnalysesPreserved();
    if (!explanation) {
      getOperation().emitError() << explanation.failure().message();
      return signalPassFailure();
    }
    if (json)
      llvm::errs() << toJson(*explanation) << "\n";
    else
      print(*explanation, llvm::errs());
  }

  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("as of tessera-shard")};
  Option<std::string> shard{*this, "shard", llvm::cl::desc("as of tessera-shard")};
  Option<std::string> machine{*this, "machine", llvm::cl::desc("as of tessera-shard")};
  Option<bool> json{*this, "json", llvm::cl::desc("one line of JSON instead of paragraphs"),
                    llvm::cl::init(false)};
};
} // namespace

void registerExplainPass() { PassRegistration<ExplainPass>(); }

} // namespace tessera
