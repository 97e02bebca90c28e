#include "KernelHarness.h"

#include "mlir/Parser/Parser.h"

#include <random>

namespace tessera::test {

using namespace mlir;

Buffer<float> randomFloats(size_t size, unsigned seed, float low, float high) {
  Buffer<float> values(size);
  std::mt19937 generator(seed);
  for (size_t i = 0; i < size; ++i)
    values[i] = low + (high - low) * float(generator() >> 8) / float(1 << 24);
  return values;
}

static CompiledKernels compile(llvm::function_ref<OwningOpRef<ModuleOp>(MLIRContext &)> make,
                               const std::string &cpu) {
  CompiledKernels result;
  DialectRegistry registry;
  registerKernelDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = make(context);
  if (!module) {
    result.error = "the test's MLIR does not parse";
    return result;
  }
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      diagnostics += diagnostic.str() + "\n";
    return success();
  });
  if (!compileKernels(*module, cpu, result) && result.error.empty())
    result.error = diagnostics.empty() ? "unknown failure" : diagnostics;
  return result;
}

CompiledKernels CompiledKernels::fromText(const std::string &text, const std::string &cpu) {
  return compile([&](MLIRContext &context) { return parseSourceString<ModuleOp>(text, &context); }, cpu);
}

CompiledKernels CompiledKernels::fromBuilder(const std::function<void(ModuleOp)> &fill,
                                             const std::string &cpu) {
  auto make = [&](MLIRContext &context) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
    fill(*module);
    return module;
  };
  return compile(make, cpu);
}

double maxRelativeError(const float *x, const std::vector<double> &y, double floor) {
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i)
    worst = std::isnan(x[i]) ? INFINITY
                             : std::max(worst, std::fabs(x[i] - y[i]) / std::max(std::fabs(y[i]), floor));
  return worst;
}

double maxAbsoluteError(const float *x, const std::vector<double> &y) {
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i)
    worst = std::isnan(x[i]) ? INFINITY : std::max(worst, std::fabs(x[i] - y[i]));
  return worst;
}

} // namespace tessera::test
