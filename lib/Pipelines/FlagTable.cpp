//===- FlagTable.cpp ------------------------------------------------------===//
#include "FlagTable.h"

#include "tessera/Target/Targets.h"

#include "llvm/Option/Option.h"

using llvm::StringRef;
namespace opt = llvm::opt;
using opt::DefaultVis, opt::HelpHidden; // named by the table

namespace tessera {

namespace {

#define OPTTABLE_STR_TABLE_CODE
#include "CompileOptions.inc"
#undef OPTTABLE_STR_TABLE_CODE
#define OPTTABLE_PREFIXES_TABLE_CODE
#include "CompileOptions.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr opt::OptTable::Info kFlagInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "CompileOptions.inc"
#undef OPTION
};

class FlagTable : public opt::GenericOptTable {
public:
  FlagTable() : GenericOptTable(OptionStrTable, OptionPrefixesTable, kFlagInfos) {}
};

} // namespace

const opt::OptTable &flagTable() {
  static const FlagTable table;
  return table;
}

std::vector<std::string> targetFlags() {
  std::vector<std::string> flags;
  for (const TargetDescription &target : registeredTargets())
    for (const TargetOption &option : target.options)
      if (std::string flag = "--" + option.name; !llvm::is_contained(flags, flag)) // of two targets
        flags.push_back(std::move(flag));
  return flags;
}

cli::ProgramText compileProgramText() {
  cli::CommandText command{"", "", "MODEL -o OUT", {}, {}};
  const opt::OptTable &table = flagTable();
  for (unsigned id = 1; id <= table.getNumOptions(); ++id) {
    const char *help = table.getOptionHelpText(id), *value = table.getOptionMetaVar(id);
    if (!help || table.getOption(id).hasFlag(HelpHidden))
      continue;
    const bool mayStandAlone = id == OPT_help;
    command.flags.push_back(
        {table.getOptionPrefixedName(id).rtrim('=').str(), value ? value : "", help, mayStandAlone});
  }
  registerTargets();
  for (const TargetDescription &target : registeredTargets())
    for (const TargetOption &option : target.options) {
      const std::string flag = "--" + option.name, help = "of target " + target.name + ": " + option.help;
      auto known = llvm::find_if(command.flags, [&](const auto &other) { return other.name == flag; });
      if (known == command.flags.end())
        command.flags.push_back({flag, option.value, help});
      else // several targets have it
        known->help += "; " + help;
    }
  command.examples = {"smollm2.gguf -o smol",
                      "models/llama --mesh=tp=2 --dtype=bf16 --max-seq-len=4096 -o llama",
                      "models/llama --task=train --mesh=fsdp=2 --batch=8 -o trainer"};
  return {"llm-compile",
          "compiles a transformer into one executable for a mesh of ranks; MODEL is a Hugging Face "
          "directory, a .gguf "
          "file or a .mlir file",
          {command}};
}

} // namespace tessera
