#include "Sites.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace standin {

static constexpr char kMetadata[] = "standin.site";

// "store", "shfl.sync.bfly", "memcpy"
static std::string kindOf(const Instruction &inst) {
  if (auto *call = dyn_cast<CallBase>(&inst))
    if (const Function *callee = call->getCalledFunction()) {
      StringRef name = callee->getName();
      if (!name.consume_front("llvm.nvvm."))
        name.consume_front("llvm.");
      return name.str();
    }
  return inst.getOpcodeName();
}

static std::string lineOf(const DILocation &location) {
  return sys::path::filename(location.getFilename()).str() + ":" + std::to_string(location.getLine());
}

void nameSites(Module &module) {
  LLVMContext &context = module.getContext();
  ModuleSlotTracker slots(&module);
  for (Function &function : module) {
    bool counted = false;
    for (Instruction &inst : instructions(function)) {
      if (!isa<LoadInst, StoreInst, AtomicRMWInst, AtomicCmpXchgInst, FenceInst, CallBase>(inst) ||
          isa<DbgInfoIntrinsic>(inst))
        continue;
      std::string text;
      if (const DebugLoc &location = inst.getDebugLoc()) {
        // Where a function was inlined, the kernel's line comes first.
        const DILocation *outer = location.get();
        while (outer->getInlinedAt())
          outer = outer->getInlinedAt();
        text = kindOf(inst) + " at " + lineOf(*outer);
        if (outer != location.get())
          text += " (" + lineOf(*location) + ")";
      } else {
        if (!counted)
          slots.incorporateFunction(function);
        counted = true;
        raw_string_ostream stream(text);
        inst.print(stream, slots);
        text = "`" + StringRef(text).trim().split(", !").first.str() + "` in @" + function.getName().str();
      }
      inst.setMetadata(kMetadata, MDNode::get(context, MDString::get(context, text)));
    }
  }
}

std::string siteText(const Instruction &inst) {
  if (MDNode *node = inst.getMetadata(kMetadata))
    return cast<MDString>(node->getOperand(0))->getString().str();
  return kindOf(inst);
}

void SiteTable::emit(Module &module, StringRef name) const {
  LLVMContext &context = module.getContext();
  Type *word = Type::getInt32Ty(context);
  Type *pointer = PointerType::get(context, 0);
  StructType *type = StructType::get(context, {word, word, word, word, word, word, pointer});
  StringMap<Constant *> texts;
  std::vector<Constant *> rows;
  for (const Entry &entry : entries) {
    Constant *&text = texts[entry.text];
    if (!text) {
      Constant *value = ConstantDataArray::getString(context, entry.text);
      text = new GlobalVariable(module, value->getType(), true, GlobalValue::PrivateLinkage, value, "text");
    }
    uint32_t words[] = {entry.bytes, entry.flags, entry.align, entry.objectOffset, entry.objectBytes, 0};
    std::vector<Constant *> fields;
    for (uint32_t value : words)
      fields.push_back(ConstantInt::get(word, value));
    fields.push_back(text);
    rows.push_back(ConstantStruct::get(type, fields));
  }
  ArrayType *array = ArrayType::get(type, rows.size());
  new GlobalVariable(module, array, true, GlobalValue::ExternalLinkage, ConstantArray::get(array, rows),
                     name);
  Constant *count = ConstantInt::get(word, rows.size());
  new GlobalVariable(module, word, true, GlobalValue::ExternalLinkage, count, name + ".count");
}

} // namespace standin
