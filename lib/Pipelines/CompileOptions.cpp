//===- CompileOptions.cpp - The command line of llm-compile ---------------===//
#include "tessera/Pipelines/CompileOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

namespace tessera {

static constexpr llvm::StringLiteral kRungs[] = {"graph",   "step", "sharded", "spmd",
                                                 "kernels", "exec", "binary"};

StringRef rungName(Rung rung) { return kRungs[int(rung)]; }

namespace {

Failure badFlag(const llvm::Twine &flag, const llvm::Twine &why, const llvm::Twine &hint = "") {
  return {"cannot compile", flag.str(), why.str(), hint.str()};
}

/// A flag of design section 6 whose feature does not exist yet is refused, never ignored.
Failure missingFeature(StringRef flag, StringRef feature) {
  return badFlag(flag, feature + " is not implemented", "leave the flag out");
}

Status readCount(StringRef flag, StringRef value, int64_t largest, int64_t &out) {
  if (value.getAsInteger(10, out) || out < 1 || out > largest)
    return badFlag(flag + "=" + value, "must be an integer from 1 to " + llvm::Twine(largest));
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

/// A partial plan with a name: the axis that a mesh must have for it, and what it adds to --shard.
struct Template {
  llvm::StringLiteral name, axis, shard; // no axis: not implemented
};
constexpr Template kTemplates[] = {
    {"ddp", "dp", ""},
    {"fsdp", "fsdp", ""},
    {"megatron", "tp", "residual:seq=tp"}, // sequence parallelism: the stream between blocks
    {"3d", "", ""},
    {"ring", "", ""},
    {"ulysses", "", ""},
    {"moe", "", ""},
};

class Parser {
public:
  explicit Parser(llvm::ArrayRef<const char *> arguments) : arguments(arguments) {}

  Result<CompileOptions> parse();

private:
  struct Flag {
    llvm::StringLiteral name;
    bool takesValue;
    Status (Parser::*read)(StringRef flag, StringRef value);
  };
  static const Flag kFlags[];

  Status readFlag(StringRef argument);
  Status finish();

  Status task(StringRef flag, StringRef value) {
    Result<int> task = readChoice(flag, value, {{"generate", "train"}});
    if (!task)
      return task.takeFailure();
    return *task == 1 ? Status(missingFeature("--task=train", "training")) : Status();
  }
  Status target(StringRef flag, StringRef value) {
    Result<int> target = readChoice(flag, value, {{"cpu", "cuda"}});
    if (!target)
      return target.takeFailure();
    return *target == 1 ? Status(missingFeature("--target=cuda", "the CUDA target")) : Status();
  }
  Status dtype(StringRef flag, StringRef value) {
    Result<int> dtype = readChoice(flag, value, {{"f32", "bf16", "f16"}});
    if (!dtype)
      return dtype.takeFailure();
    options.dtype = value.str();
    return {};
  }
  Status templateName(StringRef flag, StringRef value) {
    auto known = llvm::map_to_vector(kTemplates, [](const Template &t) { return t.name; });
    Result<int> name = readChoice(flag, value, known);
    if (!name)
      return name.takeFailure();
    if (kTemplates[*name].axis.empty())
      return missingFeature((flag + "=" + value).str(), "this template");
    chosen = &kTemplates[*name];
    return {};
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
  Status cpu(StringRef flag, StringRef value) { return text(flag, value, options.cpu); }
  Status machine(StringRef flag, StringRef value) { return text(flag, value, options.machine); }
  Status dumpRungs(StringRef flag, StringRef value) { return text(flag, value, options.dumpRungs); }
  Status text(StringRef flag, StringRef value, std::string &out) {
    if (value.empty())
      return badFlag(flag, "has an empty value");
    out = value.str();
    return {};
  }
  Status batch(StringRef flag, StringRef value) { return readCount(flag, value, 1 << 20, options.batch); }
  Status maxSeqLen(StringRef flag, StringRef value) {
    return readCount(flag, value, 1 << 30, options.maxSeqLen);
  }
  Status microBatches(StringRef flag, StringRef value) {
    int64_t n = 0;
    if (Status s = readCount(flag, value, 1 << 20, n); !s)
      return s;
    return n == 1 ? Status()
                  : Status(badFlag(flag + "=" + value, "belongs to training, which is not implemented",
                                   "leave the flag out"));
  }
  Status compileTo(StringRef flag, StringRef value) {
    Result<int> rung = readChoice(flag, value, kRungs);
    if (!rung)
      return rung.takeFailure();
    options.compileTo = Rung(*rung);
    return {};
  }
  Status cluster(StringRef flag, StringRef) { return missingFeature(flag, "choosing a mesh for a cluster"); }
  Status plan(StringRef flag, StringRef) { return missingFeature(flag, "reading a plan"); }
  Status report(StringRef flag, StringRef value) { return text(flag, value, options.report); }
  Status embedWeights(StringRef, StringRef) { return set(options.embedWeights); }
  Status explain(StringRef, StringRef) { return set(options.explain); }
  Status help(StringRef, StringRef) { return set(options.help); }
  static Status set(bool &flag) {
    flag = true;
    return {};
  }

  llvm::ArrayRef<const char *> arguments;
  CompileOptions options;
  llvm::StringSet<> seen;
  const Template *chosen = nullptr;
};

const Parser::Flag Parser::kFlags[] = {
    {"--task", true, &Parser::task},
    {"--target", true, &Parser::target},
    {"--dtype", true, &Parser::dtype},
    {"--mesh", true, &Parser::mesh},
    {"--cluster", true, &Parser::cluster},
    {"--shard", true, &Parser::shard},
    {"--machine", true, &Parser::machine},
    {"--template", true, &Parser::templateName},
    {"--plan", true, &Parser::plan},
    {"--batch", true, &Parser::batch},
    {"--max-seq-len", true, &Parser::maxSeqLen},
    {"--micro-batches", true, &Parser::microBatches},
    {"--cpu", true, &Parser::cpu},
    {"--embed-weights", false, &Parser::embedWeights},
    {"--compile-to", true, &Parser::compileTo},
    {"--dump-rungs", true, &Parser::dumpRungs},
    {"--explain", false, &Parser::explain},
    {"--report", true, &Parser::report},
    {"--help", false, &Parser::help},
};

Status Parser::readFlag(StringRef argument) {
  auto [name, value] = argument.split('=');
  bool hasValue = argument.contains('=');
  const Flag *found = nullptr, *nearest = nullptr;
  unsigned distance = 4; // farther away it is no slip of the finger
  for (const Flag &flag : kFlags) {
    if (name == flag.name)
      found = &flag;
    if (unsigned d = name.edit_distance(flag.name, true, distance); d < distance) {
      distance = d;
      nearest = &flag;
    }
  }
  if (!found)
    return badFlag(argument, "unknown flag",
                   nearest ? "did you mean " + nearest->name + "?" : llvm::Twine("see --help"));
  if (!seen.insert(name).second)
    return badFlag(argument, name + " is given twice", "give it once");
  if (found->takesValue != hasValue)
    return badFlag(argument, found->takesValue ? "has no value" : "takes no value",
                   found->takesValue ? "write " + name + "=VALUE" : "write " + name);
  return (this->*found->read)(name, value);
}

Result<CompileOptions> Parser::parse() {
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    if (argument == "-o") {
      if (++i == arguments.size())
        return badFlag("-o", "has no value", "write -o OUT");
      if (!options.output.empty())
        return badFlag("-o", "is given twice", "give it once");
      options.output = arguments[i];
      if (options.output.empty())
        return badFlag("-o", "has an empty value", "write -o OUT");
    } else if (argument.starts_with("-") && argument != "-") {
      if (Status s = readFlag(argument); !s)
        return s.takeFailure();
    } else if (!options.model.empty()) {
      return badFlag("MODEL", "both " + options.model + " and " + argument + " are given", "name one model");
    } else {
      options.model = argument.str();
    }
  }
  if (options.help)
    return options;
  if (options.model.empty())
    return badFlag("MODEL", "no model is named", "write llm-compile MODEL -o OUT; see --help");
  if (options.output.empty() && options.compileTo == Rung::Binary)
    return badFlag("-o", "no output is named", "write llm-compile MODEL -o OUT");
  // Shardings and collectives do not ask what a number is; kernels do.
  if (options.dtype != "f32" && options.compileTo > Rung::Spmd)
    return missingFeature("--dtype=" + options.dtype, "computing in 16 bits (weights of any type are read)");
  if (options.embedWeights && options.compileTo != Rung::Binary)
    return badFlag("--embed-weights",
                   "there is no executable to embed them in with --compile-to=" + rungName(options.compileTo),
                   "leave one of the flags out");
  if (!options.report.empty() && options.compileTo < Rung::Spmd)
    return badFlag("--report=" + options.report,
                   "there are no collectives yet with --compile-to=" + rungName(options.compileTo),
                   "choose --compile-to=spmd or leave it out");
  if (!options.report.empty() && options.report == options.output)
    return badFlag("--report=" + options.report, "is the output, too", "name another file");
  if (!options.shard.empty() && options.mesh.empty())
    return badFlag("--shard=" + options.shard, "there is no mesh to shard over",
                   "give --mesh=AXIS=SIZE,... as well");
  if (chosen) {
    if (!StringRef("," + options.mesh).contains(("," + chosen->axis + "=").str()))
      return badFlag("--template=" + chosen->name, "the mesh has no axis " + chosen->axis,
                     "give --mesh=" + chosen->axis + "=SIZE");
    // What the user says of the same dimension replaces what the template says.
    bool replaced = ("," + options.shard).find(("," + chosen->shard.split('=').first + "=").str()) != std::string::npos;
    if (!chosen->shard.empty() && !replaced)
      options.shard += (options.shard.empty() ? "" : ",") + chosen->shard.str();
  }
  return options;
}

} // namespace

Result<CompileOptions> parseCompileOptions(llvm::ArrayRef<const char *> arguments) {
  return Parser(arguments).parse();
}

std::string compileUsage() {
  return R"(llm-compile MODEL [flags] -o OUT

Compiles a transformer into one executable for a mesh of ranks. MODEL is a Hugging Face directory, a .gguf file or a .mlir file.

  --mesh=dp=2,tp=2       named axes and their sizes (default: one rank)
  --shard=ITEMS          [VALUE:]DIM=AXIS[+AXIS...] or [VALUE:]DIM=- (whole), separated by commas
  --machine=FILE         speed of ranks and of links, in JSON
  --template=NAME        ddp, fsdp, megatron
  --batch=N              sequences a step over all ranks (default 1)
  --max-seq-len=N        longest context (default: the smaller of 2048 and the model's)
  --task=generate  --target=cpu  --dtype=f32  --micro-batches=1
                         (--dtype=bf16|f16: up to --compile-to=spmd)
  --cpu=NAME             native (default), x86-64-v3, x86-64-v4 or a name LLVM knows
  --embed-weights        put the model's files into OUT
  --compile-to=RUNG      stop at graph, step, sharded, spmd, kernels or exec and print it to OUT or standard output
  --dump-rungs=DIR       write every rung to DIR/RUNG.mlir
  --report=FILE.html     write one page: graph, shardings, collectives, memory
  --explain              print the reason of every decision
)";
}

} // namespace tessera
