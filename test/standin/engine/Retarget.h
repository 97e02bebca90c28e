// From device code to host code: one address space, and functions that get their thread as first argument.
#ifndef TESSERA_STANDIN_RETARGET_H
#define TESSERA_STANDIN_RETARGET_H

#include "Plan.h"
#include "Sites.h"

#include "llvm/Target/TargetMachine.h"

namespace standin {

constexpr char kSitesSymbol[] = "standin.sites";
constexpr char kSiteRangesSymbol[] = "standin.sites.ranges";
// The host function that runs kernel number `index`: Entry of Scheduler.h.
std::string entrySymbol(uint32_t index);

// `plan` was made from `module`. Afterwards the module is one for the host.
void retarget(llvm::Module &module, const Plan &plan, llvm::TargetMachine &host, bool races);

// Puts a check before every access (Instrument.cpp); `thread` is the argument that holds the ThreadContext.
void instrument(llvm::Function &function, llvm::Value *thread, SiteTable &sites, bool races);

} // namespace standin
#endif
