//===- Diagnostics.cpp ----------------------------------------------------===//
#include "tessera/Pipelines/Diagnostics.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tessera {

std::string describeLocation(Location location) {
  return llvm::TypeSwitch<LocationAttr, std::string>(location)
      .Case<FileLineColLoc>([](FileLineColLoc l) {
        return l.getFilename().str() + ":" + std::to_string(l.getLine()) + ":" + std::to_string(l.getColumn());
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

DiagnosticCollector::DiagnosticCollector(MLIRContext &context, llvm::raw_ostream *remarks)
    : remarks(remarks), handler(&context, [this](Diagnostic &diagnostic) { return handle(diagnostic); }) {}

LogicalResult DiagnosticCollector::handle(Diagnostic &diagnostic) {
  std::lock_guard lock(mutex);
  std::string where = describeLocation(diagnostic.getLocation());
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
    if (!first)
      first = Error{where, diagnostic.str()};
  } else if (remarks && diagnostic.getSeverity() != DiagnosticSeverity::Note) {
    bool remark = diagnostic.getSeverity() == DiagnosticSeverity::Remark;
    *remarks << (remark ? "remark" : "warning") << (where.empty() ? "" : " (" + where + ")") << ": " << diagnostic.str() << "\n";
  }
  return success();
}

Failure DiagnosticCollector::failure(const std::string &what, const std::string &where) const {
  if (!first)
    return {what, where, "a pass failed without saying why", "report it with the command line"};
  return {what, first->where.empty() ? where : first->where, first->why, ""};
}

} // namespace tessera
