// What a manifest must not contradict.
#include "ManifestCheck.h"
#include "CallReader.h"
#include "tessera/runtime/core/Fields.h"
#include "tessera/runtime/core/SourceView.h"

#include <algorithm>
#include <set>

namespace tessera::runtime {

// Structural mistakes that later code must not meet; `where` names the entry.
namespace {
struct Checker {
  const Manifest &m;

  void require(bool ok, const std::string &where, const std::string &why) const {
    if (!ok)
      damaged(where, why);
  }
  void axes(const AxisList &axes, const std::string &where) const {
    for (const SubAxis &axis : axes)
      require(m.mesh.has(axis), where, "axis " + axis.axis + " does not fit the mesh " + m.mesh.describe());
  }
  void shards(const Shape &shape, const Shape &local, const Sharding &sharding,
              const std::string &where) const {
    require(shape.size() == local.size() && shape.size() == sharding.size(), where,
            "shape, local and sharding differ in rank");
    for (size_t i = 0; i < shape.size(); ++i) {
      axes(sharding[i], where);
      require(shape[i] >= 0 && local[i] >= 0 && local[i] * shardCount(sharding[i]) >= shape[i], where,
              "shards of " + toString(local) + " do not cover " + toString(shape));
    }
  }
  void buffer(const BufferSpec &b, const std::string &where) const {
    shards(b.shape, b.local, b.sharding, where);
    require(b.bytes >= io::bytesOf(b.dtype, elementCount(b.local)), where,
            "holds fewer bytes than its elements have");
    require(b.offset >= 0 && b.bytes >= 0 && b.offset <= m.arenaBytes - b.bytes, where,
            "lies outside the arena");
  }
  void param(const ParamSpec &p) const {
    std::string where = "parameter " + p.name;
    shards(p.shape, p.local, p.sharding, where);
    axes(p.layerSharding, where);
    require(io::traits(p.dtype).narrow, where,
            std::string("no weights can be held as ") + io::traits(p.dtype).name);
    require(!p.packOutDims || io::traits(p.dtype).pack, where,
            std::string("there is no packed form of ") + io::traits(p.dtype).name);
    require(p.layers >= 0, where, "a negative number of layers");
    bool mayLieApart = p.isHeldInBlocks() || (!p.packOutDims && !p.variable &&
                                              p.layerBytes >= io::bytesOf(p.dtype, elementCount(p.local)));
    require(p.layerBytes == 0 || (p.layers > 0 && p.layerBytes > 0 && mayLieApart), where,
            "its layers cannot be held " + std::to_string(p.layerBytes) + " bytes apart");
    require(p.layerSharding.empty(), where, "its layers are sharded, which needs pipelines");
    require(!p.packOutDims || (*p.packOutDims >= 0 && *p.packOutDims <= int64_t(p.shape.size())), where,
            "out_dims is out of range");
    int64_t rowElements = p.shape.empty() ? 1 : elementCount(Shape(p.shape.begin() + 1, p.shape.end()));
    int64_t total = 0;
    for (const ParamSource &s : p.sources) {
      require(s.slice.size() == s.reshape.size() && s.permute.size() == s.reshape.size(), where,
              "slice, permute and reshape differ in rank");
      require(elementCount(s.shape) == elementCount(s.reshape), where,
              "reshape changes the number of elements");
      std::vector<bool> seen(s.permute.size());
      int64_t count = 1;
      for (size_t i = 0; i < s.slice.size(); ++i) {
        auto [begin, end] = s.slice[i];
        require(0 <= begin && begin <= end && end <= s.reshape[i], where, "slice is out of range");
        count *= end - begin;
        int64_t to = s.permute[i];
        require(to >= 0 && to < int64_t(seen.size()) && !seen[to], where, "permute is no permutation");
        seen[to] = true;
      }
      require(rowElements > 0 && count % rowElements == 0, where, "a source does not fill whole rows");
      total += count;
    }
    require(total == elementCount(p.shape), where, "the sources do not fill the shape");
    heldInBlocks(p, where);
    optimizerState(p, where);
  }
  // Rows of the packed matrix are rows of the file, in whole blocks.
  void heldInBlocks(const ParamSpec &p, const std::string &where) const {
    if (!p.isHeldInBlocks())
      return;
    require(p.packOutDims && !p.variable, where, "is held in blocks, and not packed or updated");
    require(p.held.size() == 1 || int64_t(p.held.size()) == p.layers, where,
            "has " + std::to_string(p.held.size()) + " types of layers");
    int64_t columns = elementCount(Shape(p.shape.begin() + *p.packOutDims, p.shape.end()));
    for (io::DType type : p.held)
      require(io::isQuantized(type) && columns % io::blockElements(type) == 0, where,
              std::string("cannot be held as ") + io::dtypeName(type));
    for (const ParamSource &s : p.sources)
      require(SourceView(s).hasWholeRows(columns), where, "rows of its blocks are no rows of the file");
  }
  // A state lies as its weight does in the file: it is saved under the same names.
  void optimizerState(const ParamSpec &p, const std::string &where) const {
    require(p.state.empty() == (p.of < 0), where, "of \"state\" and \"of\" there is one");
    if (!p.isState())
      return;
    require(p.of < int64_t(m.params.size()) && !m.params[p.of].isState(), where,
            "is a state of a parameter that does not exist");
    const ParamSpec &weight = m.params[p.of];
    require(p.variable && weight.variable, where, "of it and its weight one is no variable");
    require(!p.packOutDims, where, "a state is packed");
    require(p.state != "model" && p.state.find('/') == std::string::npos, where,
            "no file of a save can be called \"" + p.state + ".safetensors\"");
    require(p.layers == weight.layers && p.shape == weight.shape && sameSources(p.sources, weight.sources),
            where, "is shaped differently from its weight " + weight.name);
  }
  static bool sameSources(const std::vector<ParamSource> &a, const std::vector<ParamSource> &b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ParamSource &x, const ParamSource &y) {
      return x.name == y.name && x.shape == y.shape && x.reshape == y.reshape && x.slice == y.slice &&
             x.permute == y.permute;
    });
  }
  void collective(const CollectiveSpec &c, size_t id) const {
    std::string where = "collective " + std::to_string(id) + " " + collectiveName(c.kind);
    require(communicates(c.kind), where, "it does not communicate");
    require(c.group >= 0 && c.group < int64_t(m.groups.size()), where, "no such group");
    require(c.elements >= 0 && c.mostMoved >= 0, where, "a number of elements is negative");
    require(reduces(c.kind) == (c.op != Reduction::None), where,
            std::string("op ") + reductionName(c.op) + " does not belong to it");
    require(!reduces(c.kind) || io::traits(c.type).reduce, where,
            std::string("dtype ") + io::dtypeName(c.type) + " cannot be combined");
    int64_t ranks = shardCount(m.groups[c.group]);
    require(c.kind != CollectiveKind::AllToAll || c.width > 0 || c.elements % ranks == 0, where,
            "elements do not divide by the group");
    require(c.width == 0 || c.hasWholeRows(), where, "it is no exchange of whole rows");
    require(areBlockRows(c.kind, ranks, c.elements, c.rows, c.cut), where,
            "elements are not rows of the group's blocks, less what is cut off");
    bool sends = c.kind == CollectiveKind::GroupedSend,
         permutes = c.kind == CollectiveKind::CollectivePermute;
    require(sends || (c.global.empty() && c.at.empty()), where, "global does not belong to it");
    require(sends || permutes || (c.from.empty() && c.to.empty()), where, "from and to do not belong to it");
    require(permutes || c.mirrored.empty(), where, "mirrored does not belong to it");
    require(c.mirrored.empty() || (c.from.empty() && c.to.empty()), where,
            "pieces are mirrored or go to another sharding");
    axes(c.mirrored, where);
    require(c.from.size() == c.to.size(), where, "from and to differ in rank");
    for (const Sharding *sharding : {&c.from, &c.to})
      for (const AxisList &dim : *sharding)
        axes(dim, where);
    if (!sends)
      return;
    require(c.global.size() == c.from.size(), where, "global and from differ in rank");
    for (int64_t size : c.global)
      require(size >= 0, where, "a size of global is negative");
    require(c.at.empty() || (c.at.size() == c.global.size() && c.size.size() == c.global.size()), where,
            "at, size and global differ in rank");
    for (size_t d = 0; d < c.at.size(); ++d)
      require(c.at[d] >= 0 && c.size[d] >= 0 && c.size[d] <= c.global[d] - c.at[d], where,
              "at and size are no part of global");
    require(c.elements == elementCount(localShape(c.global, c.from)), where,
            "elements are not those of a shard of global");
  }
  // What the arena is for adds up to the arena.
  void memory() const {
    int64_t sum = 0;
    for (const auto &[kind, types] : m.memory)
      for (const auto &[type, bytes] : types) {
        require(bytes >= 0, "memory, " + kind, "a size is negative");
        sum += bytes;
      }
    require(m.memory.empty() || sum == m.arenaBytes, "memory", "is not all of the arena");
    for (const SavedSpec &saved : m.saved)
      require(saved.bytes >= 0 && saved.bytes <= m.arenaBytes, "saved, " + saved.value,
              "a size is impossible");
  }
  void all() const {
    require(m.arenaBytes >= 0 && m.mesh.size() > 0, "top level", "a size is not positive");
    memory();
    require(!m.streams.empty() && m.streams[0] == StreamKind::Compute, "streams",
            "the first one does not compute");
    require(m.events >= 0, "events", "are fewer than none");
    for (const AxisList &group : m.groups)
      axes(group, "groups");
    for (const ParamSpec &p : m.params)
      param(p);
    for (const StateSpec &s : m.states) {
      buffer(s, "state " + s.name);
      require(s.fill != Fill::LastIndex && s.fill != Fill::Output && s.fill != Fill::Logits &&
                  s.fill < Fill::Targets,
              "state " + s.name, "what fills it is no state");
      // Pages stand in their own place where nobody says anything else.
      require(s.fill == Fill::Caller || s.fill == Fill::Pages || m.generate, "state " + s.name,
              "nothing fills it: the program does not generate text");
      require(s.fill != Fill::Pages ||
                  (s.dtype == io::DType::I32 && s.shape.size() == 2 && s.clear == Clear::AtStart &&
                   (!m.generate || s.shape[0] == m.generate->batch)),
              "state " + s.name, "is no table of pages: i32 [batch, pages], kept from prompt to prompt");
    }
    for (size_t i = 0; i < m.matmuls.size(); ++i) {
      const MatmulSpec &mm = m.matmuls[i];
      std::string where = "matmul " + std::to_string(i);
      require(mm.m >= 0 && mm.n >= 0 && mm.k >= 0 && mm.param < int64_t(m.params.size()), where,
              "out of range");
      for (io::DType type : {mm.x, mm.w, mm.y})
        require(io::traits(type).pack, where,
                std::string("there are no products of ") + io::traits(type).name);
      require(mm.param < 0 || m.params[mm.param].packOutDims, where, "its parameter is not packed");
      require(mm.param < 0 || !mm.wTransposed, where, "reads a packed parameter transposed");
      require(mm.groups >= 0, where, "has fewer groups than none");
      require(mm.groups == 0 || !(mm.xTransposed || mm.wTransposed || mm.bias || mm.addend ||
                                  mm.function != ProductFunction::None),
              where, "is by group, and does more than multiply");
      if (mm.param >= 0) {
        std::string wrong = wrongWeight(mm, m.params[mm.param]);
        require(wrong.empty(), where, wrong);
      } else {
        require(mm.pieces.empty(), where, "takes pieces of no parameter");
      }
    }
    for (size_t i = 0; i < m.collectives.size(); ++i)
      collective(m.collectives[i], i);
    for (const EntrySpec &e : m.entries) {
      uses(e);
      for (const CountSpec &c : e.counts)
        require(c.least >= 0 && c.least <= c.most, "entry " + e.name,
                "a count has no values between its bounds");
      for (const InputSpec &b : e.inputs) {
        buffer(b, "entry " + e.name + ", input " + b.name);
        fill(e, b);
      }
      for (const OutputSpec &b : e.outputs)
        buffer(b, "entry " + e.name + ", output " + b.name);
      checkCalls(e.calls, m, e);
      for (auto [id, executions] : e.collectives)
        require(id >= 0 && id < int64_t(m.collectives.size()) && executions >= 0, "entry " + e.name,
                "names a collective that does not exist");
    }
    if (m.generate)
      generate(*m.generate);
    if (m.train)
      train(*m.train);
    for (const EntrySpec &e : m.entries)
      require(m.train || (e.role != Role::Train && e.role != Role::Evaluate && e.role != Role::TrainDropout),
              "entry " + e.name, "trains, and the program does not");
  }

  void numbers(const EntrySpec &e, const std::vector<int64_t> &list, size_t count, const char *what) const {
    for (int64_t number : list)
      require(number >= 0 && number < int64_t(count), "entry " + e.name,
              std::string("names a ") + what + " that does not exist");
  }
  void uses(const EntrySpec &e) const {
    numbers(e, e.statesRead, m.states.size(), "state");
    numbers(e, e.statesWritten, m.states.size(), "state");
    numbers(e, e.paramsRead, m.params.size(), "parameter");
    numbers(e, e.paramsUpdated, m.params.size(), "parameter");
    for (int64_t p : e.paramsUpdated)
      require(m.params[p].variable, "entry " + e.name,
              "updates parameter " + m.params[p].name + ", which is no variable");
  }
  // What another entry gives must lie on the ranks as it is wanted.
  void fill(const EntrySpec &e, const InputSpec &input) const {
    std::string where = "entry " + e.name + ", input " + input.name;
    if (input.fill == Fill::TokenIds || input.fill == Fill::Positions || input.fill == Fill::LastIndex)
      require(input.dtype == io::DType::I32, where, "token ids, positions and indices are i32");
    if (input.fill != Fill::Output)
      return;
    require(input.entry >= 0 && input.entry < int64_t(m.entries.size()) && input.output >= 0 &&
                input.output < int64_t(m.entries[input.entry].outputs.size()),
            where, "is filled by an output that does not exist");
    const OutputSpec &from = m.entries[input.entry].outputs[input.output];
    require(from.dtype == input.dtype && from.shape == input.shape && from.local == input.local &&
                from.sharding == input.sharding,
            where, "is sharded or shaped differently from what fills it");
  }

  // The entries of `generate` have all that the runtime gives them and takes from them.
  void generate(const GenerateSpec &g) const {
    require(g.batch > 0 && g.chunk > 0 && g.maxSeqLen >= g.chunk && g.vocab > 0, "generate",
            "a size is not positive");
    require(g.rewind.value_or(0) >= 0, "generate", "rows cannot go back by less than nothing");
    for (int64_t id : g.eos)
      require(id >= 0, "generate", "an end token is negative");
    if (m.pipeline) // its stages have the entries
      return;
    require(g.prompt >= 0 && g.next >= 0, "generate", "no entry has the role prompt, or none the role next");
    kept(g);
    draws(g);
    ends(g);
    for (const GenerateSpec::Prompt &prompt : g.prompts)
      role(g, prompt.entry, {g.batch, prompt.positions}, /*picks=*/true);
    require(g.prompts.back().positions == g.chunk, "entry " + m.entries[g.prompt].name,
            "takes " + std::to_string(g.prompts.back().positions) +
                " positions of a prompt, and the chunk is " + std::to_string(g.chunk));
    role(g, g.next, {g.batch, 1}, /*picks=*/false);
    if (g.logits < 0)
      return;
    role(g, g.logits, {}, /*picks=*/true);
    for (const InputSpec &input : m.entries[g.logits].inputs)
      require(input.fill != Fill::Output || input.entry == g.prompt, "entry " + m.entries[g.logits].name,
              "needs what another entry gives than the one that takes prompts");
  }
  // Those that take prompts, and `others`.
  static std::vector<int64_t> entriesOf(const GenerateSpec &g, std::vector<int64_t> others) {
    for (const GenerateSpec::Prompt &prompt : g.prompts)
      others.push_back(prompt.entry);
    return others;
  }
  // The rows of the next step that are states: all entries leave them.
  void kept(const GenerateSpec &g) const {
    if (g.tokenState < 0 && g.positionState < 0)
      return;
    require(g.tokenState >= 0 && g.positionState >= 0, "generate",
            "of tokens and positions of the next step one is a state, the other is not");
    for (int64_t number : {g.tokenState, g.positionState}) {
      const StateSpec &state = m.states[number];
      require(state.dtype == io::DType::I32 && state.shape == Shape{g.batch, 1}, "state " + state.name,
              "is not i32 [batch, 1]");
      for (int64_t entry : entriesOf(g, {g.next, g.draw})) {
        if (entry < 0)
          continue;
        const std::vector<int64_t> &writes = m.entries[entry].statesWritten;
        require(std::count(writes.begin(), writes.end(), number), "entry " + m.entries[entry].name,
                "does not leave state " + state.name + " for the next step");
      }
    }
    const EntrySpec &next = m.entries[g.next];
    require(!next.input(Fill::TokenIds) && !next.input(Fill::Positions), "entry " + next.name,
            "takes its rows from states and from inputs");
  }
  // The state that `fill` fills must be there, once.
  void setting(Fill fill, io::DType type, const Shape &shape, const char *what) const {
    int64_t count = 0;
    for (const StateSpec &state : m.states)
      count += state.fill == fill;
    require(count == 1, "generate", std::string("not one state holds ") + what);
    const StateSpec &state = *m.state(fill);
    require(state.dtype == type && state.shape == shape, "state " + state.name,
            std::string("does not hold ") + what + ": it is " + io::traits(state.dtype).name + " " +
                toString(state.shape));
  }
  // What draws finds the logits where the entries before leave them.
  void draws(const GenerateSpec &g) const {
    if (g.draw < 0)
      return;
    const EntrySpec &e = m.entries[g.draw];
    std::string where = "entry " + e.name;
    require(e.counts.size() == 0, where, "takes counts that nothing gives");
    for (const InputSpec &input : e.inputs)
      require(input.fill == Fill::Logits ||
                  (input.fill == Fill::Positions && g.tokenState < 0 && input.shape == Shape{g.batch, 1}),
              where, "nothing fills input " + input.name);
    const InputSpec *logits = e.input(Fill::Logits);
    require(logits, where, "it takes no logits");
    for (int64_t entry : entriesOf(g, {g.next})) {
      const OutputSpec *given = m.entries[entry].output(Gives::Logits);
      require(given && given->offset == logits->offset && given->dtype == logits->dtype &&
                  given->local == logits->local && given->sharding == logits->sharding,
              where, "entry " + m.entries[entry].name + " leaves no logits where it takes them");
    }
    require(g.tokenState >= 0 || e.input(Fill::Positions), where, "it takes no positions");
    const OutputSpec *next = e.output(Gives::NextTokens);
    require(next && next->dtype == io::DType::I32 && next->shape == Shape{g.batch, 1}, where,
            "it gives no next tokens [batch, 1]");
    setting(Fill::Seed, io::DType::I64, {}, "the seed");
    setting(Fill::Temperature, io::DType::F64, {}, "the temperature");
    setting(Fill::TopK, io::DType::I32, {}, "how many tokens are drawn from");
    setting(Fill::TopP, io::DType::F64, {}, "the probability that is drawn from");
    setting(Fill::MinP, io::DType::F64, {}, "the least probability that is drawn");
    setting(Fill::RepeatPenalty, io::DType::F32, {}, "the penalty on tokens of the text");
    setting(Fill::SeenTokens, io::DType::I32, {g.batch, 1, g.vocab}, "the tokens of the text");
    setting(Fill::PromptNumbers, io::DType::I32, {g.batch, 1}, "the prompts' numbers");
    setting(Fill::PromptLengths, io::DType::I32, {g.batch, 1}, "the prompts' lengths");
  }
  // The entries of `train` have all that the runtime gives them and takes from them.
  void train(const TrainSpec &t) const {
    require(t.batch > 0 && t.seq > 0 && t.microBatches > 0 && t.vocab > 0, "train", "a size is not positive");
    require(t.flopsPerToken >= 0, "train", "the FLOPs of a token are negative");
    require(t.microBatches <= t.batch, "train", "there are more micro-batches than rows");
    gradients(t);
    require(!t.lossScale || *t.lossScale > 0, "train", "the loss scale is not positive");
    bool inParts = std::any_of(m.entries.begin(), m.entries.end(),
                               [](const EntrySpec &e) { return e.part != StagePart::Whole; });
    if (m.pipeline || inParts) {
      require(t.train < 0 && t.evaluate < 0 && t.trainDropout < 0, "train",
              "of its entries some are parts of a stage's step, others whole steps");
      return;
    }
    require(t.train >= 0, "train", "no entry has the role train");
    trains(t, t.train, /*updates=*/true);
    require(t.lossScale.has_value() == bool(m.entries[t.train].input(Fill::LossScale)), "train",
            "either its entry takes a loss scale or it has a first one, and not both");
    if (t.evaluate >= 0)
      trains(t, t.evaluate, /*updates=*/false);
    if (t.trainDropout < 0)
      return;
    trains(t, t.trainDropout, /*updates=*/true);
    const EntrySpec &drops = m.entries[t.trainDropout], &e = m.entries[t.train];
    require(drops.input(Fill::DropoutKey) && drops.input(Fill::Dropout), "entry " + drops.name,
            "it drops elements, and takes no key or no share");
    require(drops.paramsUpdated == e.paramsUpdated, "entry " + drops.name,
            "it updates other parameters than entry " + e.name);
  }
  // Gradients of all weights that have states are found in one of them.
  void gradients(const TrainSpec &t) const {
    std::set<int64_t> found;
    for (const ParamSpec &p : m.params)
      if (p.state == t.gradientState)
        found.insert(p.of);
    for (const ParamSpec &p : m.params)
      require(t.gradientState.empty() || !p.isState() || found.count(p.of), "train",
              "gradients are read from " + t.gradientState + ", which the weight of " + p.name + " has not");
  }
  void trains(const TrainSpec &t, int64_t number, bool updates) const {
    const EntrySpec &e = m.entries[number];
    std::string where = "entry " + e.name;
    require(e.counts.empty(), where, "takes counts, which nothing gives");
    for (const InputSpec &input : e.inputs) {
      bool ids = input.fill == Fill::TokenIds || input.fill == Fill::Positions || input.fill == Fill::Targets;
      require(ids || fillsTraining(input.fill), where, "nothing fills input " + input.name);
      require(!ids || (input.dtype == io::DType::I32 &&
                       input.shape == Shape{t.microBatches, t.microRows(), t.seq}),
              where, "input " + input.name + " is not i32 [micro-batches, rows, seq]");
      bool isKey = input.fill == Fill::DropoutKey;
      require(ids || (input.dtype == (isKey ? io::DType::I64 : io::DType::F32) && input.shape.empty()), where,
              "input " + input.name + " is no number of type " + (isKey ? "i64" : "f32"));
      require((!isKey && input.fill != Fill::Dropout) || number == t.trainDropout, where,
              "drops elements, which is not its role");
    }
    for (Fill needed : {Fill::TokenIds, Fill::Targets, Fill::TokenWeight})
      require(e.input(needed), where, "it takes no token ids, no targets, or no weight of a token");
    auto number32 = [&](Gives gives) {
      const OutputSpec *output = e.output(gives);
      return output && output->dtype == io::DType::F32 && output->shape.empty();
    };
    require(number32(Gives::Loss), where, "it gives no loss, one number of type f32");
    require(!updates || number32(Gives::GradNorm), where, "it gives no norm, one number of type f32");
    require(updates || e.paramsUpdated.empty(), where, "it evaluates, and updates parameters");
  }
  // What leaves the rows of the next step reads which ids end them.
  void ends(const GenerateSpec &g) const {
    const StateSpec *chosen = m.state(Fill::EndTokens), *drawn = m.state(Fill::DrawnEndTokens);
    require(bool(drawn) == (chosen && g.draw >= 0), "generate",
            "of the ids that end rows those of chosen or of drawn tokens are no state");
    if (!chosen)
      return;
    require(g.tokenState >= 0, "state " + chosen->name, "ends rows, which are no states");
    auto readBy = [&](const StateSpec &state, int64_t entry) {
      const std::vector<int64_t> &reads = m.entries[entry].statesRead,
                                 &writes = m.entries[entry].statesWritten;
      int64_t number = &state - m.states.data();
      require(std::count(reads.begin(), reads.end(), number) &&
                  !std::count(writes.begin(), writes.end(), number),
              "entry " + m.entries[entry].name, "does not read state " + state.name + ", or writes it");
    };
    auto list = [&](Fill fill, const StateSpec &state) {
      require(state.shape.size() == 1 && state.local == state.shape, "state " + state.name,
              "is no list of ids that all ranks have");
      setting(fill, io::DType::I32, state.shape, "the end tokens");
    };
    list(Fill::EndTokens, *chosen);
    for (int64_t entry : entriesOf(g, {g.next}))
      readBy(*chosen, entry);
    if (!drawn)
      return;
    list(Fill::DrawnEndTokens, *drawn);
    readBy(*drawn, g.draw);
  }
  void role(const GenerateSpec &g, int64_t number, const Shape &ids, bool picks) const {
    const EntrySpec &e = m.entries[number];
    std::string where = "entry " + e.name;
    require(e.counts.empty(), where, "takes counts, which nothing gives");
    const bool isPart = e.part != StagePart::Whole; // of a stage, which may take and give what others do
    for (const InputSpec &input : e.inputs) {
      require(input.fill == Fill::TokenIds || input.fill == Fill::Positions ||
                  input.fill == Fill::LastIndex || input.fill == Fill::Output ||
                  (isPart && (input.fill == Fill::Received || input.fill == Fill::FirstLayer)),
              where, "nothing fills input " + input.name);
      require(input.fill != Fill::TokenIds || input.shape == ids, where,
              "its token ids are " + toString(input.shape));
      require(input.fill != Fill::Positions || input.shape == ids, where,
              "its positions are " + toString(input.shape));
      require(input.fill != Fill::LastIndex || (picks && input.shape == Shape{g.batch}), where,
              "its indices are " + toString(input.shape));
    }
    if (isPart && e.output(Gives::Sent))
      return;
    require(ids.empty() || isPart || e.input(Fill::TokenIds) || (number == g.next && g.tokenState >= 0),
            where, "it takes no token ids");
    require(!picks || e.input(Fill::LastIndex), where, "it takes no index of the wanted position");
    const OutputSpec *logits = e.output(Gives::Logits), *next = e.output(Gives::NextTokens);
    require(logits && io::isFloatLike(logits->dtype) && !io::isQuantized(logits->dtype) &&
                logits->shape == Shape{g.batch, 1, g.vocab},
            where, "it gives no logits [batch, 1, vocab] of floats");
    require(next && next->dtype == io::DType::I32 && next->shape == Shape{g.batch, 1}, where,
            "it gives no next tokens [batch, 1]");
  }
};
} // namespace

void checkManifest(const Manifest &manifest) {
  Checker{manifest}.all();
  checkPipeline(manifest);
}

} // namespace tessera::runtime
