// What of the compiler reads bytes from outside (docs/Fuzzing.md).
#ifndef TESSERA_TEST_FUZZ_TARGETS_H
#define TESSERA_TEST_FUZZ_TARGETS_H

#include "../../runtime/fuzz/Targets.h"

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/MLIRContext.h"

namespace tessera::fuzz {

/// A context with our dialects and one thread. It is another one after so many calls: what programs name
/// stays in a context.
mlir::MLIRContext &contextOfTarget();

/// What words of llm-compile mean. A refusal is one line: then none.
std::optional<CompileOptions> optionsOf(const std::vector<std::string> &words);

void runImport(std::string_view input);
void runImportGguf(std::string_view input);
void runProgram(std::string_view input);
void runCompileFlags(std::string_view input);

} // namespace tessera::fuzz
#endif
