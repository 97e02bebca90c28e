// Which intrinsic of the NVPTX back end becomes what on the host. A file for each subject fills the table.
#ifndef TESSERA_STANDIN_INTRINSICS_H
#define TESSERA_STANDIN_INTRINSICS_H

#include "Sites.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"

#include <functional>

namespace standin {

// One call that is being replaced. Pointers are plain by then.
struct Lowering {
  llvm::IRBuilder<> &builder; // stands before the call
  llvm::CallBase &call;
  llvm::Value *thread; // the ThreadContext
  SiteTable &sites;
  bool races;

  llvm::Value *argument(unsigned i) const { return call.getArgOperand(i); }
  llvm::Type *type() const { return call.getType(); }
  llvm::Value *word(uint32_t value) const { return builder.getInt32(value); }
  // The site of this call, as a constant.
  llvm::Value *site(uint32_t bytes = 0, uint32_t flags = 0, uint32_t align = 1) const;
  // A field of the thread or of its block; never changes while a thread runs.
  llvm::Value *threadField(size_t offset, llvm::Type *type) const;
  llvm::Value *blockField(size_t offset, llvm::Type *type) const;
  // Words in the thread's frame, and the address of one of them.
  llvm::AllocaInst *words(unsigned count) const;
  llvm::Value *wordAt(llvm::Value *base, unsigned i) const;
  // Calls a function of Functions.h: `name` without "standin_"; the thread is its first argument.
  llvm::Value *engine(llvm::StringRef name, llvm::Type *result,
                      llvm::ArrayRef<llvm::Value *> arguments) const;
  // As `engine`, for what only computes: no thread, may be moved and merged.
  llvm::Value *pure(llvm::StringRef name, llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments) const;
};

// Gives the value that replaces the call (null for void).
using Rule = std::function<llvm::Value *(Lowering &)>;
using RuleTable = llvm::StringMap<Rule>; // by the intrinsic's name without "llvm.nvvm." and without the types
                                         // it is overloaded on

const RuleTable &rules();
void addSystemRules(RuleTable &table);
void addWarpRules(RuleTable &table);
void addMathRules(RuleTable &table);
void addConversionRules(RuleTable &table);
void addAsyncRules(RuleTable &table);
void addMatrixRules(RuleTable &table);

// float to bfloat16, or vectors of them: to nearest, ties to even, or towards zero.
llvm::Value *roundToBFloat(llvm::IRBuilder<> &builder, llvm::Value *value, bool nearest);

// What is kept as it is: intrinsics that the host's back end has too, and those that a rule replaces.
bool knowsFunction(const llvm::Function &function);
// Inline PTX that the engine carries out.
bool knowsAssembly(const llvm::CallBase &call);
llvm::Value *lowerAssembly(Lowering &lowering);

// The name that a rule is found by; empty when the function is no intrinsic of NVPTX.
std::string ruleName(const llvm::Function &function);

} // namespace standin
#endif
