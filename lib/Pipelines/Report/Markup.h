//===- Markup.h - Pieces of HTML and SVG ------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_REPORT_MARKUP_H
#define TESSERA_LIB_PIPELINES_REPORT_MARKUP_H

#include "PipelineData.h"
#include "ProgramData.h"

#include "tessera/Pipelines/Explanation.h"

#include "llvm/Support/raw_ostream.h"

namespace tessera::report {

/// `text` for element content and quoted attributes: markup escaped, control characters and bad UTF-8
/// replaced.
std::string escape(llvm::StringRef text);
/// At most `characters` of `text`, the middle replaced by an ellipsis. Cuts between characters.
std::string shorten(llvm::StringRef text, size_t characters);
/// Characters, not bytes.
size_t length(llvm::StringRef text);

/// `24.0 KiB`
std::string bytesText(double bytes);
/// `12.3 µs`
std::string timeText(double seconds);
/// `tp+dp`; `-` if empty
std::string axesText(llvm::ArrayRef<AxisUse> axes, llvm::StringRef empty = "-");
/// `seq 128/tp`: name, global size, axes.
std::string dimText(const Dim &dim, size_t index);
/// Number of the colour of an axis.
int colour(int axis);

/// Gives collectives the flags that would remove them, with their price, and large tensors the reasons of
/// their shardings. `explanation` is of the same program.
void addExplanation(Program &program, const Explanation &explanation);

/// The graph of a function as one SVG element. `id`: unique in the page, a legal identifier.
void drawGraph(llvm::raw_ostream &os, const Program &program, const Function &function, llvm::StringRef id);

/// The whole as JSON without `<`, `>` and `&`: safe inside a script element. Of a pipeline an object with it
/// and its programs.
void writeJson(llvm::raw_ostream &os, llvm::ArrayRef<Program> programs, const Pipeline *pipeline);

/// The page of one program, or of a pipeline with the programs of its stages. Self-contained: no address of
/// anything outside.
void writePage(llvm::raw_ostream &os, llvm::ArrayRef<Program> programs, const Pipeline *pipeline = nullptr);

} // namespace tessera::report
#endif
