// Numbers the places in the code that can be wrong, and what to call them.
#ifndef TESSERA_STANDIN_SITES_H
#define TESSERA_STANDIN_SITES_H

#include "Context.h"

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace standin {

class SiteTable {
public:
  struct Entry {
    uint32_t bytes, flags, align, objectOffset, objectBytes;
    std::string text;
  };
  uint32_t add(Entry entry) {
    entries.push_back(std::move(entry));
    return entries.size() - 1;
  }
  size_t size() const { return entries.size(); }
  // Emits the table as the constant `name` of the module.
  void emit(llvm::Module &module, llvm::StringRef name) const;

private:
  std::vector<Entry> entries;
};

// Before anything changes: writes on each instruction that may become a site what a person would call it.
void nameSites(llvm::Module &module);
// What `nameSites` wrote.
std::string siteText(const llvm::Instruction &inst);

} // namespace standin
#endif
