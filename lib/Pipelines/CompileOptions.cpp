//===- CompileOptions.cpp - The command line of llm-compile ---------------===//
#include "tessera/Pipelines/CompileOptions.h"

#include "FlagTable.h"
#include "ParseBytes.h"
#include "Templates.h"

#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/Transforms/Optimizer.h"
#include "tessera/Target/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"

#include <cmath>

using llvm::StringRef;
namespace opt = llvm::opt;

namespace tessera {

static constexpr llvm::StringLiteral kRungs[] = {"graph",   "step", "sharded", "spmd",
                                                 "kernels", "exec", "binary"};

StringRef rungName(Rung rung) { return kRungs[int(rung)]; }

namespace {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Failure badFlag(const llvm::Twine &flag, const llvm::Twine &why, const llvm::Twine &hint = "") {
  return {"cannot compile", flag.str(), why.str(), hint.str()};
}

/// A flag of design section 6 whose feature does not exist yet is refused, never ignored.
Failure missingFeature(StringRef flag, StringRef feature) {
  return badFlag(flag, feature + " is not implemented", "leave the flag out");
}

Status readCount(StringRef flag, StringRef value, int64_t largest, int64_t &out) {
  if (value.getAsInteger(10, out) || out < 1 || out > largest)
    return badFlag(flag + "=" + value, "must be an integer from 1 to " + llvm::Twine(largest),
                   "write " + flag + "=1, for example, or leave it out");
  return {};
}

/// One of `choices`: its number.
Result<int> readChoice(StringRef flag, StringRef value, llvm::ArrayRef<llvm::StringLiteral> choices) {
  for (auto [i, choice] : llvm::enumerate(choices))
    if (value == choice)
      return int(i);
  return badFlag(flag + "=" + value, "is none of the known values",
                 "choose one of " + llvm::join(choices, ", "));
}

class Parser {
public:
  explicit Parser(llvm::ArrayRef<const char *> arguments) : arguments(arguments) { registerTargets(); }

  Result<CompileOptions> parse();

private:
  using Reader = Status (Parser::*)(StringRef flag, StringRef value);
  static Reader readerOf(unsigned id);

  Status takeTargetFlags();
  Status takeTexts(const opt::InputArgList &parsed);
  Status readArgument(const opt::Arg &argument);
  Failure unknownFlag(StringRef argument);
  Status checkTask();
  bool isPipeline();
  Result<CompileOptions> finish();

  Status task(StringRef flag, StringRef value) {
    Result<int> task = readChoice(flag, value, {{"generate", "train"}});
    if (!task)
      return task.takeFailure();
    options.task = Task(*task);
    return {};
  }
  Status target(StringRef flag, StringRef value) { return text(flag, value, options.target); }
  Status dtype(StringRef flag, StringRef value) {
    Result<int> dtype = readChoice(flag, value, {{"f32", "bf16", "f16"}});
    if (!dtype)
      return dtype.takeFailure();
    options.dtype = value.str();
    return {};
  }
  Status cache(StringRef flag, StringRef value) {
    Result<int> type = readChoice(flag, value, {{"f32", "bf16", "f16", "q8_0"}});
    if (!type)
      return type.takeFailure();
    options.cache = value.str();
    return {};
  }
  Status templateName(StringRef flag, StringRef value) {
    std::vector<llvm::StringLiteral> known;
    for (const Template &one : kTemplates) {
      if (!one.axes.empty())
        known.push_back(one.name);
      if (one.name != value)
        continue;
      if (one.axes.empty())
        return missingFeature((flag + "=" + value).str(), "this template");
      chosen = &one;
      return {};
    }
    return readChoice(flag, value, known).takeFailure();
  }
  Status mesh(StringRef flag, StringRef value) {
    if (value.empty())
      return badFlag(flag, "names no axis", "write --mesh=tp=2, or leave the flag out for one rank");
    options.mesh = value.str();
    return {};
  }
  Status shard(StringRef flag, StringRef value) {
    if (value.empty())
      return badFlag(flag, "has no item", "write --shard=DIM=AXIS");
    options.shard = value.str();
    return {};
  }
  Status machine(StringRef flag, StringRef value) { return text(flag, value, options.machine); }
  Status dumpRungs(StringRef flag, StringRef value) { return text(flag, value, options.dumpRungs); }
  Status text(StringRef flag, StringRef value, std::string &out) {
    if (value.empty())
      return badFlag(flag, "has an empty value", "write one behind it, or leave the flag out");
    out = value.str();
    return {};
  }
  Status batch(StringRef flag, StringRef value) { return readCount(flag, value, 1 << 20, options.batch); }
  Status maxSeqLen(StringRef flag, StringRef value) {
    return readCount(flag, value, 1 << 30, options.maxSeqLen);
  }
  Status microBatches(StringRef flag, StringRef value) {
    return readCount(flag, value, 1 << 20, options.microBatches);
  }
  Status lossChunks(StringRef flag, StringRef value) {
    return readCount(flag, value, 1 << 30, options.lossChunks);
  }
  Status optimizer(StringRef flag, StringRef value) {
    if (!graph::findOptimizer(value))
      return badFlag(flag + "=" + value, "is none of the known values",
                     "choose one of " + graph::optimizerNames());
    options.optimizer = value.str();
    return {};
  }
  Status compileTo(StringRef flag, StringRef value) {
    Result<int> rung = readChoice(flag, value, kRungs);
    if (!rung)
      return rung.takeFailure();
    options.compileTo = Rung(*rung);
    return {};
  }
  Status recompute(StringRef flag, StringRef value) {
    llvm::SmallVector<StringRef> names(llvm::split(value, ","));
    for (StringRef name : names)
      if (name.empty())
        return badFlag(flag + "=" + value, "has an empty name", "write none, full, or names as in gate,mlp");
      else if (names.size() > 1 && (name == "none" || name == "full"))
        return badFlag(flag + "=" + value, name + " is no name of a value", "give it alone, or names");
    options.recompute = value.str();
    return {};
  }
  Status overlap(StringRef flag, StringRef value) {
    Result<int> chosen = readChoice(flag, value, {{"off", "on"}});
    if (!chosen)
      return chosen.takeFailure();
    options.overlap = *chosen == 1;
    return {};
  }
  Status memory(StringRef flag, StringRef value) {
    options.memory = parseBytes(value).value_or(0);
    if (!options.memory)
      return badFlag(flag + "=" + value, "is no number of bytes", "write " + flag + "=16G, for example");
    return {};
  }
  Status gradDtype(StringRef flag, StringRef value) {
    if (Result<int> chosen = readChoice(flag, value, {{"f32", "bf16"}}); !chosen)
      return chosen.takeFailure();
    options.gradDtype = value.str();
    return {};
  }
  Status lossScale(StringRef flag, StringRef value) {
    if (value.getAsDouble(options.lossScale) ||
        !(float(options.lossScale) > 0 && std::isfinite(float(options.lossScale))))
      return badFlag(flag + "=" + value, "must be a positive number of at most 3.4e38",
                     "write " + flag + "=65536, for example, or leave it out");
    return {};
  }
  Status pipeline(StringRef flag, StringRef value) { return text(flag, value, options.pipeline); }
  Status stages(StringRef flag, StringRef value) { return text(flag, value, options.stages); }
  Status cluster(StringRef flag, StringRef) { return missingFeature(flag, "choosing a mesh for a cluster"); }
  Status plan(StringRef flag, StringRef) { return missingFeature(flag, "reading a plan"); }
  Status report(StringRef flag, StringRef value) { return text(flag, value, options.report); }
  Status check(StringRef, StringRef) { return set(options.check); }
  Status embedWeights(StringRef, StringRef) { return set(options.embedWeights); }
  Status explain(StringRef, StringRef) { return set(options.explain); }
  Status output(StringRef flag, StringRef value) {
    return value.empty() ? Status(badFlag(flag, "has an empty value", "write -o OUT"))
                         : text(flag, value, options.output);
  }
  static Status set(bool &flag) {
    flag = true;
    return {};
  }

  std::vector<const char *> arguments;
  CompileOptions options;
  llvm::SmallSet<unsigned, 16> seen;
  const Template *chosen = nullptr;
};

Parser::Reader Parser::readerOf(unsigned id) {
  static constexpr std::pair<unsigned, Reader> readers[] = {
      {OPT_output, &Parser::output},
      {OPT_task, &Parser::task},
      {OPT_target, &Parser::target},
      {OPT_dtype, &Parser::dtype},
      {OPT_cache, &Parser::cache},
      {OPT_mesh, &Parser::mesh},
      {OPT_cluster, &Parser::cluster},
      {OPT_shard, &Parser::shard},
      {OPT_machine, &Parser::machine},
      {OPT_template, &Parser::templateName},
      {OPT_plan, &Parser::plan},
      {OPT_batch, &Parser::batch},
      {OPT_max_seq_len, &Parser::maxSeqLen},
      {OPT_micro_batches, &Parser::microBatches},
      {OPT_pipeline, &Parser::pipeline},
      {OPT_stages, &Parser::stages},
      {OPT_optimizer, &Parser::optimizer},
      {OPT_recompute, &Parser::recompute},
      {OPT_loss_chunks, &Parser::lossChunks},
      {OPT_overlap, &Parser::overlap},
      {OPT_memory, &Parser::memory},
      {OPT_grad_dtype, &Parser::gradDtype},
      {OPT_loss_scale, &Parser::lossScale},
      {OPT_embed_weights, &Parser::embedWeights},
      {OPT_check, &Parser::check},
      {OPT_compile_to, &Parser::compileTo},
      {OPT_dump_rungs, &Parser::dumpRungs},
      {OPT_explain, &Parser::explain},
      {OPT_report, &Parser::report},
  };
  auto found = llvm::find_if(readers, [&](const auto &reader) { return reader.first == id; });
  assert(found != std::end(readers) && "every flag of CompileOptions.td is above");
  return found->second;
}

/// The flags of targets, `--cpu`, leave the arguments: the table does not know them. Whether the chosen
/// target has them is checked at the end.
Status Parser::takeTargetFlags() {
  std::vector<const char *> others;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto [flag, value] = StringRef(arguments[i]).split('=');
    if (!llvm::is_contained(targetFlags(), flag)) {
      others.push_back(arguments[i]);
      continue;
    }
    if (flag.size() == strlen(arguments[i])) {
      if (++i == arguments.size())
        return badFlag(flag, "has no value", "write " + flag + "=VALUE");
      value = arguments[i];
    }
    std::string &option = options.targetOptions[flag.drop_front(2).str()];
    if (!option.empty())
      return badFlag(flag, "is given twice", "give it once");
    if (Status s = text(flag, value, option); !s)
      return s;
  }
  arguments = std::move(others);
  return {};
}

/// All that the help has.
std::vector<std::string> flagNames() {
  const cli::ProgramText program = compileProgramText();
  std::vector<std::string> names;
  for (const cli::FlagText &flag : program.commands.front().flags)
    names.push_back(flag.name);
  return names;
}

/// `--batch=N`, `-o OUT`: as the help has it.
std::string withValue(StringRef flag) {
  for (unsigned id = 1; id <= flagTable().getNumOptions(); ++id) {
    const char *value = flagTable().getOptionHelpText(id) ? flagTable().getOptionMetaVar(id) : nullptr;
    if (value && StringRef(flagTable().getOptionPrefixedName(id)).rtrim('=') == flag)
      return (flag + (flag.starts_with("--") ? "=" : " ") + value).str();
  }
  return (flag + "=VALUE").str();
}

Failure Parser::unknownFlag(StringRef argument) {
  // A flag without a value that was given one is unknown to the table.
  auto [name, value] = argument.split('=');
  std::string exact;
  if (argument.contains('=') && flagTable().findExact(name.str(), exact, opt::Visibility()))
    return badFlag(argument, "takes no value", "write " + name);
  const StringRef bare = name.ltrim('-');
  if (unsigned size; dist::findStandardAxis(bare))
    return badFlag(argument, "unknown flag",
                   "did you mean --mesh=" + bare + "=" + (value.getAsInteger(10, size) ? "2" : value) + "?");
  const std::string nearest = cli::nearestOf(name.str(), flagNames());
  const bool isOutput = argument.starts_with("-o") || name == "--o" || name == "--out" || name == "--output";
  return badFlag(argument, "unknown flag",
                 !nearest.empty() && nearest != "-o" ? "did you mean " + nearest + "?"
                 : isOutput                          ? "write -o OUT"
                                                     : "see --help");
}

Status Parser::readArgument(const opt::Arg &argument) {
  unsigned id = argument.getOption().getID();
  if (id == OPT_INPUT) {
    if (!options.model.empty())
      return badFlag("MODEL", "both " + options.model + " and " + argument.getValue() + " are given",
                     "name one model");
    options.model = argument.getValue();
    return {};
  }
  if (id == OPT_UNKNOWN)
    return unknownFlag(argument.getSpelling());
  StringRef name = StringRef(argument.getSpelling()).split('=').first;
  if (!seen.insert(id).second)
    return badFlag(name, "is given twice", "give it once");
  return (this->*readerOf(id))(name, argument.getNumValues() ? argument.getValue() : "");
}

Result<CompileOptions> Parser::parse() {
  // `llm-compile help` like `llm-compile --help`: a model of that name would be ./help.
  if (!arguments.empty() && StringRef(arguments.front()) == "help") {
    for (StringRef word : llvm::drop_begin(arguments))
      if (!llvm::is_contained({"help", "--help", "-h"}, word))
        return badFlag("help " + word, "help takes no further words",
                       "see llm-compile --help; a model of that name is ./help");
    options.text = cli::helpText(compileProgramText());
    return options;
  }
  if (Status s = takeTargetFlags(); !s)
    return s.takeFailure();
  unsigned missing = 0, missingCount = 0;
  opt::InputArgList parsed = flagTable().ParseArgs(arguments, missing, missingCount);
  if (Status s = takeTexts(parsed); !s)
    return s.takeFailure();
  if (!options.text.empty())
    return options;
  for (const opt::Arg *argument : parsed)
    if (Status s = readArgument(*argument); !s)
      return s.takeFailure();
  if (missingCount) {
    StringRef name = arguments[missing];
    return badFlag(name, "has no value", "write " + withValue(name));
  }
  return finish();
}

/// Flags that ask for a text, and for nothing else.
Status Parser::takeTexts(const opt::InputArgList &parsed) {
  if (parsed.hasArg(OPT_help))
    options.text = cli::helpText(compileProgramText());
  if (parsed.hasArg(OPT_version))
    options.text = std::string("Tessera ") + cli::version + "\n";
  if (const opt::Arg *page = parsed.getLastArg(OPT_help_page)) {
    if (StringRef(page->getValue()) != "man")
      return badFlag("--help=" + StringRef(page->getValue()), "there is no such form",
                     "write --help or --help=man");
    options.text = cli::manPage(compileProgramText());
  }
  if (const opt::Arg *shell = parsed.getLastArg(OPT_completion)) {
    std::optional<std::string> script = cli::completionScript(compileProgramText(), shell->getValue());
    if (!script)
      return badFlag("--completion=" + StringRef(shell->getValue()), "there are no completions for it",
                     "use bash, zsh or fish");
    options.text = *script;
  }
  return {};
}

/// Whether the mesh, as far as its grammar is known here, has the axis that stages lie along.
bool Parser::isPipeline() {
  llvm::SmallVector<StringRef> axes;
  StringRef(options.mesh).split(axes, ',');
  return llvm::any_of(axes, [](StringRef axis) { return axis.starts_with("pp=") && axis != "pp=1"; });
}

/// Flags that the other task has no use for, or that training does not honour yet.
Status Parser::checkTask() {
  if (!seen.contains(OPT_micro_batches) && isPipeline())
    options.microBatches =
        0; // chosen with the schedule; of generation, it says how many groups of rows there are
  if (options.task == Task::Generate) {
    if (seen.contains(OPT_micro_batches) && !isPipeline())
      return badFlag("--micro-batches=" + llvm::Twine(options.microBatches),
                     "belongs to training and to pipelines",
                     "give --task=train or --mesh=pp=2 as well, or leave the flag out");
    if (seen.contains(OPT_optimizer))
      return badFlag("--optimizer=" + options.optimizer, "belongs to training",
                     "give --task=train as well, or leave the flag out");
    for (auto [id, flag] : {std::pair(OPT_grad_dtype, std::string("--grad-dtype")),
                            std::pair(OPT_loss_scale, std::string("--loss-scale")),
                            std::pair(OPT_loss_chunks, std::string("--loss-chunks")),
                            std::pair(OPT_recompute, "--recompute=" + options.recompute)})
      if (seen.contains(id))
        return badFlag(flag, "belongs to training", "give --task=train as well, or leave the flag out");
    return {};
  }
  if (!options.cache.empty())
    return badFlag("--cache=" + options.cache, "training keeps no keys and values between steps",
                   "leave one of the flags out");
  options.isRecomputeGiven = seen.contains(OPT_recompute);
  if (options.target != "cpu")
    return badFlag("--target=" + options.target, "training is not implemented for it", "choose --target=cpu");
  if (options.gradDtype == "bf16" && options.dtype != "bf16")
    return badFlag("--grad-dtype=bf16", "belongs to training in bf16",
                   "give --dtype=bf16 as well, or leave it out");
  if (options.lossScale && options.dtype != "f16")
    return badFlag("--loss-scale", "belongs to training in f16, whose gradients it keeps from vanishing",
                   "give --dtype=f16 as well, or leave it out");
  if (options.dtype == "f16" && !options.lossScale)
    options.lossScale = 65536;
  // A program in text has a batch of its own.
  int64_t rows = std::max<int64_t>(options.batch, 1);
  bool known = options.batch || !StringRef(options.model).ends_with(".mlir");
  if (known && options.microBatches > rows)
    return badFlag("--micro-batches=" + llvm::Twine(options.microBatches),
                   "a step has " + llvm::Twine(rows) + (rows == 1 ? " row" : " rows"),
                   "use a larger --batch or fewer micro-batches");
  return {};
}

Result<CompileOptions> Parser::finish() {
  if (options.model.empty())
    return badFlag("MODEL", "no model is named", "write llm-compile MODEL -o OUT; see --help");
  if (Status s = checkTask(); !s)
    return s.takeFailure();
  if (auto target = resolveTarget(options.target, options.targetOptions); !target)
    return target.takeFailure();
  // As others have it: that is standard output, no file of that name.
  if (options.output == "-") {
    if (options.compileTo == Rung::Binary)
      return badFlag("-o -", "an executable is not printed", "name a file, as in -o OUT");
    options.output.clear();
  }
  if (options.report == "-")
    return badFlag("--report=-", "a page is not printed", "name a file, as in --report=report.html");
  if (options.dumpRungs == "-")
    return badFlag("--dump-rungs=-", "rungs are not printed", "name a folder, as in --dump-rungs=rungs");
  if (options.output.empty() && options.compileTo == Rung::Binary)
    return badFlag("-o", "no output is named", "write llm-compile MODEL -o OUT");
  if (options.check && options.compileTo != Rung::Binary)
    return badFlag("--check",
                   "there is no executable to check with --compile-to=" + rungName(options.compileTo),
                   "leave one of them out");
  if (options.embedWeights && options.compileTo != Rung::Binary)
    return badFlag("--embed-weights",
                   "there is no executable to embed them in with --compile-to=" + rungName(options.compileTo),
                   "leave one of the flags out");
  if (!options.report.empty() && options.compileTo < Rung::Spmd)
    return badFlag("--report=" + options.report,
                   "there are no collectives yet with --compile-to=" + rungName(options.compileTo),
                   "choose --compile-to=spmd or leave it out");
  if (!options.shard.empty() && options.mesh.empty())
    return badFlag("--shard=" + options.shard, "there is no mesh to shard over",
                   "give --mesh=AXIS=SIZE,... as well");
  if (chosen)
    if (Status filled = fillIn(*chosen, options); !filled)
      return filled.takeFailure();
  return options;
}

} // namespace

Result<CompileOptions> parseCompileOptions(llvm::ArrayRef<const char *> arguments) {
  return Parser(arguments).parse();
}

} // namespace tessera
