//===- Explain.cpp - Decisions as remarks ---------------------------------===//
#include "Explain.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// Where remarks of this thread go in place of being said.
static thread_local HeldRemarks *holder = nullptr;

void HeldRemarks::hold(llvm::function_ref<void()> work) {
  HeldRemarks *before = std::exchange(holder, this);
  work();
  holder = before;
}

void HeldRemarks::emit() {
  for (Remark &remark : std::exchange(held, {}))
    say(std::move(remark));
}

void HeldRemarks::say(Remark remark) {
  if (holder) {
    holder->held.push_back(std::move(remark));
    return;
  }
  const auto options = remark::RemarkOpts::name(remark.name).category(kRemarkCategory);
  if (remark.missed)
    remark::missed(remark.loc, options) << remark.text;
  else
    remark::passed(remark.loc, options) << remark.text;
}

void tessera::dist::explain(Location loc, StringRef name, const std::string &text) {
  HeldRemarks::say({/*missed=*/false, loc, name.str(), text});
}

void tessera::dist::explainMissed(Location loc, StringRef name, const std::string &text) {
  HeldRemarks::say({/*missed=*/true, loc, name.str(), text});
}
