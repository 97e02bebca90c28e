// The manifest (docs/Manifest.md) as data.
#ifndef TESSERA_RUNTIME_CORE_MANIFEST_H
#define TESSERA_RUNTIME_CORE_MANIFEST_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/core/CallTree.h"
#include "tessera/runtime/core/Collective.h"
#include "tessera/runtime/core/Mesh.h"
#include "tessera/runtime/core/ProductFunction.h"
#include "tessera/runtime/io/DType.h"

#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::runtime {

using Shape = std::vector<int64_t>;
int64_t elementCount(const Shape &shape);
std::string toString(const Shape &shape); // [3, 64]

struct ParamSource {
  std::string name; // may hold "{}", the layer
  Shape shape;      // as in the file
  Shape reshape;
  std::vector<std::pair<int64_t, int64_t>> slice; // [begin, end) per dimension of `reshape`
  std::vector<int64_t> permute;
};

struct ParamSpec {
  std::string name;
  io::DType dtype = io::DType::F32; // as held, unless `held` says otherwise; whatever floats or blocks the
                                    // file has are converted at load
  int64_t layers = 0;               // 0: not stacked
  Shape shape, local;               // of one layer
  int64_t layerBytes = 0; // from a layer to the next, of plain ones and of gathered ones in blocks; 0: as
                          // many as a layer has
  Sharding sharding;
  AxisList layerSharding;
  std::vector<ParamSource> sources;
  double mean = 0;                    // what made-up values lie around
  double deviation = 0.02;            // and how far: their standard deviation
  std::optional<int64_t> packOutDims; // a matmul weight; else plain row-major
  // Types of blocks that a packed weight is held in, as its file has them: of each layer, or one of all.
  // Empty: it is held in `dtype`. Products and lookups expand them to what they are in float32.
  std::vector<io::DType> held;
  bool isHeldInBlocks() const { return !held.empty(); }
  io::DType heldType(int64_t layer) const { return held.size() > 1 ? held[size_t(layer)] : held.front(); }
  bool variable =
      false; // updated in place by entries: held plain, and packed beside it if packOutDims says so
  // A state of an optimizer, "exp_avg" say, and which parameter it belongs to. It begins as zeros, no model
  // has it, and saves hold it under the names of that parameter's tensors. Empty, -1: a weight.
  std::string state;
  int64_t of = -1;
  bool isState() const { return of >= 0; }
  // Of a stage of a pipeline, which knows neither (StagePrograms.h). The number of its first layer in the
  // model, whose layers are meant where tensors are named and weights made up.
  int64_t firstLayer = 0;
  // Only ranks at this coordinate of the axis hold it. No axis: all ranks do.
  AxisList heldAlong;
  int64_t heldAt = 0;
};

// Whether `rank` holds a piece of it.
bool holds(const ParamSpec &param, const Mesh &mesh, int64_t rank);

// A named buffer in the arena: state, input or output.
struct BufferSpec {
  std::string name;
  io::DType dtype = io::DType::F32;
  Shape shape, local;
  Sharding sharding;
  int64_t offset = 0, bytes = 0;
};

// What fills an input of an entry, or a state.
enum class Fill {
  Caller,    // whoever calls the entry
  TokenIds,  // of the places that the entry works on
  Positions, // of those places; -1: inert
  LastIndex, // for each row the index within the chunk of the position whose logits are wanted
  Output,    // what another entry gave last
  Logits,    // those that the call before gave, in their place
  // How tokens are drawn; of each row the number of its prompt, and that one's length (-1: it draws nothing).
  Seed,
  Temperature,
  TopK,
  TopP,
  MinP,
  RepeatPenalty,
  SeenTokens, // of each row and id whether the row's text has it: not 0
  PromptNumbers,
  PromptLengths,
  // Of each row how many pages from its own place each page of its KV caches stands: zeros are the identity.
  Pages,
  // Ids behind which a row is inert, [n] (-1: none): if it was the likeliest token, if it was drawn.
  EndTokens,
  DrawnEndTokens,
  // What a training step takes beside token ids and positions. Targets: the id that each place is to predict;
  // -1: no loss. TokenWeight: 1 / number of targets that count in the step.
  Targets,
  TokenWeight,
  LearningRate,
  WeightDecay,
  Beta1,
  Beta2,
  Epsilon,
  Momentum,
  Clip,            // the largest norm of the gradient; 0: any
  FirstCorrection, // 1 / (1 - beta1^t), t the number of the update from 1
  SecondCorrection,
  LossScale,  // what the loss is multiplied with before gradients are taken; they are divided by it
  DropoutKey, // i64: 64 random bits of the step
  Dropout,    // the share of elements that are dropped
  // What a stage of a pipeline takes: from the stage before what that sends, and from the stage behind the
  // gradient of what was sent to it, each under its name; the number of its first layer and of its
  // micro-batch; what all stages give under this name, added up; what the other holder of a parameter gives.
  Received,
  ReceivedGradient,
  FirstLayer,
  MicroBatch,
  StageSum,
  SharedGradient
};
bool fillsTraining(Fill fill); // Targets and what comes after it, but for what stages take
struct InputSpec : BufferSpec {
  Fill fill = Fill::Caller;
  int64_t entry = -1, output = -1; // Fill::Output
};
// What an output holds, where the runtime has to know.
enum class Gives {
  Other,
  Logits,
  NextTokens,
  Loss,
  GradNorm,
  // Of a stage of a pipeline: what fills inputs of the same name of other stages.
  Sent,
  SentGradient,
  StageSum,
  SharedGradient
};
struct OutputSpec : BufferSpec {
  Gives gives = Gives::Other;
};
enum class Clear { AtStart, BeforePrompts };
struct StateSpec : BufferSpec {
  Clear clear = Clear::AtStart;
  // TokenIds, Positions: what the entry with the role Next takes of every row. The entries leave it there for
  // the next call; who wants others writes them there. How tokens are drawn, and where pages stand, stay as
  // they were written. Fill::Caller: none of these.
  Fill fill = Fill::Caller;
  std::string holds; // of what a micro-batch keeps: what the value is called; empty: nobody says
};
// How long a micro-batch has a state of its own: the slots of ts_call. Whole: from its forward to the end of
// its backward; also what a group of rows has while it generates.
enum class Slot { Whole, UntilInputGradient, FromInputGradient };
constexpr int kSlots = 3;
const char *slotName(Slot slot); // as the manifest has it

struct MatmulSpec {
  int64_t m = 0, n = 0, k = 0;
  int64_t param = -1; // -1: plain weights given at run time
  io::DType x = io::DType::F32, w = io::DType::F32, y = io::DType::F32;
  static constexpr io::DType sum = io::DType::F32; // what products are added up in; the manifest must say so
  // How operands lie: x as [k, m], plain weights as [k, n].
  bool xTransposed = false, wTransposed = false;
  // y = function(sum + addend + bias), rounded once. Both have the type of y.
  bool bias = false;   // [n]: one element for each column
  bool addend = false; // [m, n]; may be y's own memory
  ProductFunction function = ProductFunction::None;
  // Not 0: by group. Rows of x lie one group's after the other's, the weight is [groups * n, k], and each
  // group's rows are multiplied with its n rows of that; how many each has is data (starts, i32 [groups +
  // 1]). Rows that no group has are 0. Nothing is transposed or added.
  int64_t groups = 0;
  // Not empty: the weight is `param` gathered as it is held, in blocks. How many ranks' pieces there are
  // along each dimension of a layer, more than one along one of them; they lie one behind the other. n and k
  // are those of the whole.
  Shape pieces = {};
  int64_t weightRows() const { return groups ? groups * n : n; }
};
// What is wrong with the sizes and types of a product's parameter; empty: nothing.
std::string wrongWeight(const MatmulSpec &product, const ParamSpec &param);

struct CollectiveSpec {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Reduction op = Reduction::None;
  io::DType type = io::DType::F32;
  int64_t group = 0;
  int64_t elements = 0; // of src
  int64_t rows = 1;     // AllGather, ReduceScatter: of a block (BlockRows of Collective.h)
  int64_t cut = 0;      // ... and elements that the longer side lacks
  Shape global;         // GroupedSend: unpadded sizes
  Shape at, size;       // ... and of the part that is sent: where it begins, its sizes. Empty: all of it
  Sharding from, to;    // GroupedSend, and CollectivePermute if nothing is mirrored
  AxisList mirrored;    // CollectivePermute
  const Shape &sentSizes() const { return size.empty() ? global : size; }
  int64_t mostMoved = 0; // GroupedSend: elements that the busiest rank sends or receives; of rows: may send
  // AllToAll of rows by counts, which are data: elements of a row (0: equal blocks), elements that dst has
  // room for, and those that a rank sends if every expert has as many rows.
  int64_t width = 0, received = 0, evenMoved = 0;
  bool hasWholeRows() const {
    return kind == CollectiveKind::AllToAll && received >= 0 && elements % width == 0 &&
           received % width == 0 && evenMoved >= 0 && evenMoved <= mostMoved && mostMoved <= elements;
  }
  std::string why;
};

// How often the loops that use one of a call's counts may run.
struct CountSpec {
  int64_t least = 1, most = 1;
};

// What an entry is for, where the runtime calls it by itself.
enum class Role {
  None,
  Prompt,      // takes a chunk of prompts; gives logits and next tokens of one position a row
  Next,        // takes one token a row; gives logits and next tokens
  Logits,      // gives the logits of another position of the chunk that the prompt entry took last
  Draw,        // draws next tokens from the logits of the call before it
  Train,       // a training step: gives loss and norm, updates variables
  Evaluate,    // the loss of a step's rows; updates nothing
  TrainDropout // a training step in which elements are dropped
};

// Which part of a stage's step an entry is (docs/Pipelines.md).
enum class StagePart {
  Whole,          // no part: the entry is a step
  Begin,          // once, before the micro-batches
  Forward,        // of a micro-batch
  Backward,       // the two below at once
  InputGradient,  // gives what the stage before needs
  WeightGradient, // adds to the gradients of the weights
  Share,          // once: gives the gradients of weights that another stage has too
  Sum,            // once: gives what is added up over all stages
  Update          // once: gives loss and norm, updates variables
};
// Forward to WeightGradient: called once for each micro-batch, on a slot.
constexpr bool isOfMicroBatch(StagePart part) {
  return part >= StagePart::Forward && part <= StagePart::WeightGradient;
}

struct EntrySpec {
  std::string name;
  Role role = Role::None;
  StagePart part = StagePart::Whole;
  std::vector<CountSpec> counts;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::vector<int64_t> statesRead, statesWritten, paramsRead, paramsUpdated; // numbers, ascending
  std::vector<std::pair<int64_t, int64_t>> collectives;                      // id, executions
  std::vector<CallSpec> calls;         // empty: the manifest does not name them
  int64_t paddingFlops = 0, flops = 0; // of a rank in one run; both 0 where nothing is padded

  const InputSpec *input(std::string_view name) const; // null if there is none
  const OutputSpec *output(std::string_view name) const;
  const InputSpec *input(Fill fill) const;
  const OutputSpec *output(Gives gives) const;
  // Throws Error unless `values` are as many as `counts` and within their bounds.
  void checkCounts(const std::vector<int64_t> &values) const;
};

// How a program generates text: sizes, and the numbers of the entries that do it.
struct GenerateSpec {
  int64_t batch = 1, chunk = 1, maxSeqLen = 1, vocab = 1;
  std::vector<int64_t> eos;
  // By how many positions a row may go back from the end of what was written of it, and find all that it
  // sees; its beginning sees nothing, and may be gone back to in any case. None: by any number.
  std::optional<int64_t> rewind;
  // Entries that take prompts, by the positions of a row that they take; ascending, the last one takes
  // `chunk`. `prompt` is that one.
  struct Prompt {
    int64_t positions = 0, entry = -1;
  };
  std::vector<Prompt> prompts;
  int64_t prompt = -1, next = -1;
  int64_t logits = -1, draw = -1; // -1: there is none
  // States that hold the token and the position of every row for the entry `next`. -1: they are its inputs.
  int64_t tokenState = -1, positionState = -1;
};

// How a program trains: sizes, and the numbers of the entries that do it.
struct TrainSpec {
  int64_t batch = 1, seq = 1, microBatches = 1, vocab = 1; // batch: rows of a step, over all micro-batches
  // -1: there is none. Of stages, whose steps are in parts, and of pipelines none of them is there.
  int64_t train = -1, evaluate = -1, trainDropout = -1;
  std::optional<double> lossScale; // the first one; none: the step takes no scale
  int64_t flopsPerToken = 0; // of the model, forward and backward, for a token of a whole row; 0: nobody says
  // The optimizer's state that an update leaves the gradient in where all numbers that it takes are 0. Every
  // weight with states has it. Empty: there is none.
  std::string gradientState;
  int64_t microRows() const { return (batch + microBatches - 1) / microBatches; }
};

// A pipeline: which stages there are, and in which order ranks run them.
struct PipelineSpec {
  struct Stage {
    int64_t program = 0; // number in ts_program.programs
    int64_t firstLayer = 0, layers = 0;
    int64_t at = 0; // coordinate on the axis
  };
  // A weight that two stages have: each has a copy.
  struct Shared {
    std::string parameter;
    int64_t stages[2] = {0, 0}; // ascending
  };
  std::string axis;
  std::vector<Stage> stages;
  std::string schedule;           // what it is called
  std::vector<std::string> lists; // by coordinate: actions with their messages (schedule/Text.h)
  int64_t sendBuffers = 1;        // of a rank
  int64_t groups = 0;             // of rows that are on their way at once, where stages generate
  std::vector<Shared> shared;
  // Seconds that the compiler predicts of a rank, by what is done: "forward", "link", ... (docs/Manifest.md).
  // By stage, of links by the lower of the two. Empty: nobody says.
  std::map<std::string, std::vector<double>> times;
};

// A value that forward saves for backward, as a rank holds it; of layers a stack. Empty value: it has no
// name.
struct SavedSpec {
  std::string value, dtype;
  Shape shape;
  int64_t bytes = 0;
};

// What a stream of the device is for.
enum class StreamKind { Compute, Communication };

struct Manifest {
  std::string task, dtype, target, model, architecture;
  std::string section; // the target's own, JSON that only its driver reads (Fields.h); empty: there is none
  Mesh mesh;
  std::vector<StreamKind> streams{StreamKind::Compute}; // by number; the first one computes
  int64_t events = 0;                                   // numbers of events that calls use are below it
  int64_t arenaBytes = 0;
  // Of them the first ones are those of a micro-batch, slot by slot: of states that the entries of a stage
  // keep for it. Calls may have others in their place (ts_call.slots).
  std::array<int64_t, kSlots> slotBytes{};
  // Where slot `number` begins in the arena; kSlots: where what is of no micro-batch does.
  int64_t slotBegin(int number) const {
    return std::accumulate(slotBytes.begin(), slotBytes.begin() + number, int64_t(0));
  }
  // Of the state at `offset`; kSlots: it is of no micro-batch.
  int slotAt(int64_t offset) const {
    int number = 0;
    while (number < kSlots && offset >= slotBegin(number + 1))
      ++number;
    return number;
  }
  // Bytes of the arena, by what they are for and type; empty: nobody says.
  std::map<std::string, std::map<std::string, int64_t>> memory;
  std::vector<SavedSpec> saved;
  std::vector<ParamSpec> params;
  std::vector<StateSpec> states;
  std::vector<MatmulSpec> matmuls;
  std::vector<AxisList> groups;
  std::vector<CollectiveSpec> collectives;
  std::vector<EntrySpec> entries;
  std::optional<GenerateSpec> generate; // none: the program does not generate text
  std::optional<TrainSpec> train;       // none: it does not train
  std::optional<PipelineSpec> pipeline; // the program is its stages' programs, and has no entries

  // Throws Error on text that is no manifest, that has a field nobody knows, or that contradicts itself (an
  // axis the mesh lacks, buffers beyond the arena, ids out of range, entries that lack what their role
  // needs): after this, ids, offsets and roles can be trusted.
  static Manifest parse(std::string_view json);
  // Whether parse takes it; the failure names the part of the manifest, for whoever writes one.
  static Status check(std::string_view json);

  int64_t entryIndex(std::string_view name) const; // -1 if there is none
  const StateSpec *state(Fill fill) const;         // null if there is none
  // The entry that is this part of a step; -1 if there is none. Manifest::parse lets no two be the same.
  int64_t partIndex(Role role, StagePart part) const;
};

// Bytes one rank sends in one execution (docs/Manifest.md, byte accounting); of rows by counts at even
// routing.
int64_t bytesSent(const Manifest &manifest, const CollectiveSpec &collective);
// Bytes that one rank sends at most: of rows by counts, whatever these are.
int64_t mostBytesSent(const Manifest &manifest, const CollectiveSpec &collective);

} // namespace tessera::runtime
#endif
