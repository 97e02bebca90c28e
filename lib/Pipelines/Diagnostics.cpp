//===- Diagnostics.cpp ----------------------------------------------------===//
#include "tessera/Pipelines/Diagnostics.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera {

std::string describeLocation(Location location) {
  return llvm::TypeSwitch<LocationAttr, std::string>(location)
      .Case<FileLineColLoc>([](FileLineColLoc l) {
        return l.getFilename().str() + ":" + std::to_string(l.getLine()) + ":" +
               std::to_string(l.getColumn());
      })
      .Case<NameLoc>([](NameLoc l) { return l.getName().str(); })
      .Case<CallSiteLoc>([](CallSiteLoc l) { return describeLocation(l.getCallee()); })
      .Case<FusedLoc>([](FusedLoc l) {
        for (Location inner : l.getLocations())
          if (std::string text = describeLocation(inner); !text.empty())
            return text;
        return std::string();
      })
      .Default([](LocationAttr) { return std::string(); });
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context, llvm::raw_ostream *remarks,
                                         llvm::raw_ostream *warnings)
    : remarks(remarks), warnings(warnings),
      handler(&context, [this](Diagnostic &diagnostic) { return handle(diagnostic); }) {}

LogicalResult DiagnosticCollector::handle(Diagnostic &diagnostic) {
  std::lock_guard lock(mutex);
  std::string where = describeLocation(diagnostic.getLocation());
  auto print = [&](llvm::raw_ostream *os, StringRef kind) {
    if (os)
      *os << kind << (where.empty() ? "" : " (" + where + ")") << ": " << diagnostic.str() << "\n";
  };
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    if (!first)
      first = Error{where, diagnostic.str()};
    break;
  case DiagnosticSeverity::Warning:
    print(warnings, "warning");
    break;
  case DiagnosticSeverity::Remark:
    print(remarks, "remark");
    break;
  case DiagnosticSeverity::Note:
    break;
  }
  return success();
}

Failure DiagnosticCollector::failure(const std::string &what, const std::string &where) const {
  if (!first)
    return {what, where, "a pass failed without saying why", "report it with the command line"};
  return {what, first->where.empty() ? where : first->where, first->why, ""};
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

namespace {
class DecisionPrinter : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit DecisionPrinter(llvm::raw_ostream &os) : os(os) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string message;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      message += (arg.key == "Remark" ? "" : " " + arg.key + "=") + arg.val;
    std::string where = describeLocation(remark.getLocation());
    std::lock_guard lock(mutex);
    os << "remark: " << remark.getRemarkName() << (where.empty() ? "" : " (" + where + ")") << ": " << message
       << "\n";
  }

private:
  llvm::raw_ostream &os;
  std::mutex mutex;
};
} // namespace

LogicalResult explainDecisions(MLIRContext &context, llvm::raw_ostream &os) {
  remark::RemarkCategories all{".*", ".*", ".*", ".*", ".*"};
  return remark::enableOptimizationRemarks(context, std::make_unique<DecisionPrinter>(os),
                                           std::make_unique<remark::RemarkEmittingPolicyAll>(), all);
}

} // namespace tessera
