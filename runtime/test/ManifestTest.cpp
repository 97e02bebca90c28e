// What the runtime reads of a manifest, and what it refuses.
#include "ManifestRefusals.h"
#include "tessera/runtime/core/Fields.h"

namespace tessera::runtime {

TEST(Manifest, Reads) {
  Manifest m = Manifest::parse(tiny);
  EXPECT_EQ(m.mesh.describe(), "tp=2");
  EXPECT_EQ(m.entryIndex("decode"), 0);
  EXPECT_EQ(m.entries[0].input("tokens")->bytes, 8);
}

static void expectRefused(const std::string &piece, const std::string &by, const std::string &why) {
  expectRefusedIn(tiny, piece, by, why);
}

// Who writes a manifest hears which part of it the runtime would refuse.
TEST(Manifest, ChecksWithoutThrowing) {
  EXPECT_TRUE(bool(Manifest::check(tiny)));
  std::string text = tiny;
  text.replace(text.find("\"arena_bytes\": 1024"), 19, "\"arena_bytes\": 10");
  Status status = Manifest::check(text);
  ASSERT_FALSE(bool(status));
  EXPECT_NE(status.failure().where.find("entry decode"), std::string::npos) << status.failure().where;
  EXPECT_EQ(status.failure().why, "lies outside the arena");
  EXPECT_FALSE(bool(Manifest::check("no json")));
}

// What the arena is for adds up to it; saved values lie in it.
TEST(Manifest, MemoryAddsUp) {
  auto with = [](const std::string &fields) {
    std::string text = tiny;
    return text.replace(text.find("\"arena_bytes\""), 0, fields + ", ");
  };
  EXPECT_TRUE(
      bool(Manifest::check(with(R"("memory": {"saved": {"bf16": 24}, "scratch": {"f32": 900, "untyped": 100}},
              "saved": [{"value": "q", "dtype": "bf16", "shape": [3, 4], "bytes": 24}])"))));
  Status status = Manifest::check(with(R"("memory": {"scratch": {"f32": 1023}})"));
  ASSERT_FALSE(bool(status));
  EXPECT_EQ(status.failure().why, "is not all of the arena");
  EXPECT_FALSE(bool(Manifest::check(with(R"("memory": {"scratch": {"f32": 1025, "untyped": -1}})"))));
  EXPECT_FALSE(bool(Manifest::check(
      with(R"("saved": [{"value": "q", "dtype": "bf16", "shape": [3, 400], "bytes": 2400}])"))));
}

// Counts of loops are data: what is outside of the bounds, or not given, must not reach generated code.
TEST(Manifest, RefusesCountsOutsideTheirBounds) {
  std::string text = tiny;
  text.replace(text.find("\"inputs\""), 0, "\"counts\": [[0, 5], [2, 3]], ");
  EntrySpec entry = Manifest::parse(text).entries[0];
  EXPECT_NO_THROW(entry.checkCounts({0, 2}));
  EXPECT_NO_THROW(entry.checkCounts({5, 3}));
  for (std::vector<int64_t> bad : {std::vector<int64_t>{-1, 2}, {6, 2}, {0, 1}, {0, 4}, {0}, {0, 2, 1}, {}})
    EXPECT_THROW(entry.checkCounts(bad), Error);
  EXPECT_NO_THROW(Manifest::parse(tiny).entries[0].checkCounts({}));
  expectRefused("\"inputs\"", "\"counts\": [[6, 5]], \"inputs\"", "no values between its bounds");
}

// A field that the runtime would not honour must not be there.
TEST(Manifest, RefusesFieldsItDoesNotKnow) {
  expectRefused("\"params\": []", "\"params\": [], \"lanes\": 2", "a field \"lanes\"");
  expectRefused("\"executions\": 2", "\"executions\": 2, \"overlap\": true", "a field \"overlap\"");
  expectRefused("\"offset\": 64", "\"offset\": 64, \"alias\": 0", "a field \"alias\"");
  expectRefused("\"op\": \"sum\"", "\"op\": \"sum\", \"stream\": 1", "a field \"stream\"");
  expectRefused("\"name\": \"decode\"", "\"name\": \"decode\", \"when\": 1", "a field \"when\"");
}

// Without a word there is one stream, which computes.
TEST(Manifest, ReadsStreamsAndEvents) {
  Manifest one = Manifest::parse(tiny);
  EXPECT_EQ(one.streams, std::vector<StreamKind>{StreamKind::Compute});
  EXPECT_EQ(one.events, 0);
  std::string text = tiny;
  text.replace(text.find("\"params\""), 0, "\"streams\": [\"compute\", \"communication\"], \"events\": 3, ");
  Manifest two = Manifest::parse(text);
  EXPECT_EQ(two.streams, (std::vector<StreamKind>{StreamKind::Compute, StreamKind::Communication}));
  EXPECT_EQ(two.events, 3);
  expectRefused("\"params\"", "\"streams\": [\"communication\"], \"params\"",
                "the first one does not compute");
  expectRefused("\"params\"", "\"streams\": [\"compute\", \"copy\"], \"params\"",
                "unknown kind of stream, \"copy\"");
  expectRefused("\"params\"", "\"events\": -1, \"params\"", "fewer than none");
}

// The target's own section is its driver's to read; that of another target is a field that nobody reads.
TEST(Manifest, KeepsTheSectionOfItsTarget) {
  std::string text = tiny;
  text.replace(text.find("\"cpu\""), 5, "\"abacus\", \"abacus\": {\"beads\": [7, 2]}");
  Manifest m = Manifest::parse(text);
  EXPECT_EQ(m.target, "abacus");
  std::vector<int> beads;
  readSection(m, [&](Fields &fields) { beads = fields.get<std::vector<int>>("beads"); });
  EXPECT_EQ(beads, (std::vector<int>{7, 2}));
  EXPECT_THROW(readSection(m, [](Fields &) {}), Error); // what the driver does not ask for
  EXPECT_THROW(readSection(m, [](Fields &fields) { fields.get<std::string>("beads"); }), Error);
  readSection(Manifest::parse(tiny), [](Fields &fields) { EXPECT_FALSE(fields.find("beads")); });
  expectRefused("\"target\": \"cpu\"", "\"target\": \"cpu\", \"abacus\": {}", "a field \"abacus\"");
}

// The same program with all that `generate` needs, one entry for everything.
static std::string generating() {
  std::string text = tiny;
  auto replace = [&](const std::string &piece, const std::string &by) {
    text.replace(text.find(piece), piece.size(), by);
  };
  replace("\"params\": []",
          "\"params\": [], \"generate\": {\"batch\": 1, \"chunk\": 3, \"max_seq_len\": 8, \"vocab\": 5}");
  auto port = [](const char *name, const char *dtype, const char *shape, const char *axes, const char *more) {
    return std::string("{\"name\": \"") + name + "\", \"dtype\": \"" + dtype + "\", \"shape\": " + shape +
           ", \"local\": " + shape + ", \"sharding\": " + axes + ", \"offset\": 128, " + more + "}";
  };
  std::string outputs = port("l", "f32", "[1, 1, 5]", "[[], [], []]", "\"gives\": \"logits\"") + ", " +
                        port("n", "i32", "[1, 1]", "[[], []]", "\"gives\": \"next_tokens\"");
  replace("\"outputs\": []", "\"role\": \"prompt\", \"outputs\": [" + outputs + "]");
  replace("\"offset\": 64}]", "\"offset\": 64, \"fill\": \"token_ids\"}, " +
                                  port("i", "i32", "[1]", "[[]]", "\"fill\": \"last_index\"") + "]");
  replace("\"entries\": [", "\"entries\": [{\"name\": \"go\", \"role\": \"next\", \"outputs\": [" + outputs +
                                "], \"inputs\": [" +
                                port("t", "i32", "[1, 1]", "[[], []]", "\"fill\": \"token_ids\"") + "]}, ");
  return text;
}

TEST(Manifest, SaysHowFarRowsGoBack) {
  std::string text = generating();
  EXPECT_EQ(Manifest::parse(text.insert(text.find("\"vocab\""), "\"rewind\": 4, ")).generate->rewind, 4);
}

TEST(Manifest, FindsTheEntriesOfGenerateByTheirRoles) {
  Manifest m = Manifest::parse(generating());
  ASSERT_TRUE(m.generate);
  EXPECT_EQ(m.generate->prompt, 1);
  EXPECT_EQ(m.generate->next, 0);
  EXPECT_EQ(m.generate->logits, -1);
  EXPECT_EQ(m.entries[1].input(Fill::LastIndex)->name, "i");
  EXPECT_EQ(m.entries[0].output(Gives::Logits)->name, "l");
  EXPECT_FALSE(Manifest::parse(tiny).generate);
}

TEST(Manifest, RefusesEntriesThatLackWhatTheirRoleNeeds) {
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(generating(), piece, by, why);
  };
  refused("\"role\": \"next\"", "\"role\": null", "none the role next");
  refused("\"role\": \"next\"", "\"role\": \"prompt\"", "none the role next");
  refused("\"role\": \"next\"", "\"role\": \"decode\"", "is not known");
  refused(", \"fill\": \"last_index\"", ", \"fill\": null", "nothing fills input i");
  refused("\"fill\": \"token_ids\"", "\"fill\": \"positions\"", "takes no token ids");
  refused("\"vocab\": 5", "\"vocab\": 6", "gives no logits");
  refused("\"chunk\": 3", "\"chunk\": 4", "takes 3 positions of a prompt, and the chunk is 4");
  refused("\"gives\": \"next_tokens\"", "\"gives\": null", "gives no next tokens");
  refused("\"name\": \"t\", \"dtype\": \"i32\"", "\"name\": \"t\", \"dtype\": \"i64\"", "indices are i32");
  refused("\"role\": \"next\"", "\"role\": \"next\", \"counts\": [[0, 2]]",
          "takes counts, which nothing gives");
  refused("\"shape\": [1], \"local\": [1]", "\"shape\": [2], \"local\": [2]", "its indices are [2]");
  refused("\"fill\": \"last_index\"", "\"fill\": {\"entry\": 7, \"output\": 0}", "does not exist");
  refused("\"fill\": \"last_index\"", "\"fill\": {\"entry\": 0, \"output\": 0}", "shaped differently");
}

// Entries for prompts of different sizes, in the order of their sizes; two of one size are one too many.
TEST(Manifest, FindsAllEntriesThatTakePrompts) {
  const Json whole = Json::parse(generating());
  auto with = [&](const Json &more) {
    Json all = whole;
    all["entries"].push_back(more);
    return all.dump();
  };
  Json few = whole["entries"][1];
  few["name"] = "few";
  for (Json &input : few["inputs"])
    if (input["name"] == "tokens")
      input["shape"] = {1, 2}, input["local"] = {1, 1};
  const Manifest m = Manifest::parse(with(few));
  ASSERT_EQ(m.generate->prompts.size(), 2u);
  EXPECT_EQ(m.generate->prompts[0].positions, 2);
  EXPECT_EQ(m.generate->prompts[0].entry, 2);
  EXPECT_EQ(m.generate->prompts[1].positions, 3);
  EXPECT_EQ(m.generate->prompt, 1);
  auto refused = [&](const Json &more, const std::string &why) {
    try {
      Manifest::parse(with(more));
      ADD_FAILURE() << "taken: " << why;
    } catch (const Error &e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  };
  Json same = whole["entries"][1];
  same["name"] = "again";
  refused(same, "has the role of entry decode");
  Json lacks = few;
  lacks["outputs"] = Json::array();
  refused(lacks, "it gives no logits");
  lacks = few;
  lacks["counts"] = {{0, 2}};
  refused(lacks, "takes counts, which nothing gives");
}

// Zeros are the identity: a table is there from the start, and prompts leave it.
TEST(Manifest, KnowsTheTableOfPages) {
  auto paged = [](const std::string &state) {
    std::string text = generating(), none = "\"states\": []";
    return text.replace(text.find(none), none.size(), "\"states\": [" + state + "]");
  };
  std::string state =
      R"({"name": "p", "dtype": "i32", "shape": [1, 2], "local": [1, 2], "sharding": [[], []], "offset": 192,
      "bytes": 8, "clear": "at_start", "fill": "pages"})";
  EXPECT_EQ(Manifest::parse(paged(state)).state(Fill::Pages)->name, "p");
  expectRefusedIn(paged(state), "\"at_start\"", "\"before_prompts\"", "is no table of pages");
  expectRefusedIn(paged(state), "[1, 2], \"local\": [1, 2], \"sharding\": [[], []]",
                  "[2, 1], \"local\": [2, 1], \"sharding\": [[], []]", "is no table of pages");
}

// It runs between two prompts: what the last one left is there, what the next token left is not yet, or is
// that of another round.
TEST(Manifest, LogitsOfPromptsAreMadeFromWhatPromptsGive) {
  std::string text = generating();
  size_t outputs = text.find("\"outputs\": ["), inputs = text.find("], \"inputs\"", outputs);
  std::string head =
      ", {\"name\": \"head\", \"role\": \"logits\", " + text.substr(outputs, inputs - outputs) +
      R"(], "inputs": [{"name": "i", "dtype": "i32", "shape": [1], "local": [1], "sharding": [[]], "offset": 0, "fill": "last_index"},
        {"name": "h", "dtype": "f32", "shape": [1, 1, 5], "local": [1, 1, 5], "sharding": [[], [], []], "offset": 64,
         "fill": {"entry": 1, "output": 0}}]})";
  text.insert(text.rfind("]}"), head);
  EXPECT_EQ(Manifest::parse(text).generate->logits, 2);
  expectRefusedIn(text, "\"entry\": 1", "\"entry\": 0", "needs what another entry gives");
}

TEST(Manifest, RefusesContradictions) {
  expectRefused("\"version\": 2", "\"version\": 1", "version");
  expectRefused("\"offset\": 64", "\"offset\": 1020", "outside the arena");
  expectRefused("\"offset\": 64", "\"offset\": -4", "outside the arena");
  expectRefused("\"offset\": 64", "\"offset\": 64, \"bytes\": 7", "fewer bytes than its elements");
  expectRefused("\"executions\": 2}]", "\"executions\": 2}], \"states\": {\"reads\": [], \"writes\": [0]}",
                "names a state that does not exist");
  expectRefused("\"groups\": [[[\"tp\"", "\"groups\": [[[\"ep\"", "axis ep");
  expectRefused("{\"version\"", "{{\"version\"", "cannot read");
  expectRefused("\"local\": [1, 2]", "\"local\": [1, 1]", "do not cover");
  expectRefused("\"group\": 0", "\"group\": 1", "no such group");
  expectRefused("\"id\": 0", "\"id\": 9", "does not exist");
  expectRefused("[[], [[\"tp\", 1, 2]]]", "[[], [[\"tp\", 2, 2]]]", "does not fit the mesh");
  expectRefused("\"kind\": \"all_reduce\"", "\"kind\": \"all_reduse\"", "unknown kind or op: all_reduse");
}

// Parameters, products and what moves pieces, with all their fields.
static const char *full =
    R"({"version": 2, "task": "", "dtype": "f32", "target": "cpu", "model": "/m",
  "mesh": [["dp", 2], ["tp", 2]], "arena_bytes": 256, "states": [],
  "params": [{"name": "w", "dtype": "bf16", "layers": 3, "shape": [8, 6], "local": [4, 6], "sharding": [[["tp", 1, 2]], []],
     "layer_sharding": [], "sources": [{"name": "a.{}", "shape": [48], "reshape": [6, 8], "slice": [[0, 6], [0, 8]], "permute": [1, 0]}],
     "pack": {"out_dims": 1}, "variable": true, "mean": 0.5, "deviation": 0.25}],
  "matmuls": [{"m": 2, "n": 4, "k": 6, "param": 0, "x": "bf16", "w": "bf16", "y": "f32", "sum": "f32",
     "x_transposed": true, "bias": true, "addend": true, "function": "gelu_tanh"}],
  "groups": [[["tp", 1, 2]], [["dp", 1, 2]], [["dp", 1, 2], ["tp", 1, 2]]],
  "collectives": [{"kind": "reduce_scatter", "op": "max", "dtype": "f16", "group": 1, "elements": 6, "rows": 1, "cut": 4, "why": "because"},
    {"kind": "grouped_send", "dtype": "f32", "group": 2, "elements": 6, "global": [8, 3], "at": [2, 0], "size": [6, 3], "most_moved": 5,
     "from": [[["tp", 1, 2], ["dp", 1, 2]], []], "to": [[["dp", 1, 2]], [["tp", 1, 2]]]},
    {"kind": "collective_permute", "dtype": "i32", "group": 0, "elements": 2, "mirrored": [["tp", 1, 2]]},
    {"kind": "all_to_all", "dtype": "bf16", "group": 1, "elements": 15, "width": 5, "received": 20, "even_moved": 5, "most_moved": 10}],
  "entries": [{"name": "one", "counts": [[1, 4]], "inputs": [], "collectives": [{"id": 1, "executions": 3}], "padding_flops": [1, 9],
      "params": {"reads": [], "updates": [0]},
      "outputs": [{"name": "y", "dtype": "f32", "shape": [4, 2], "local": [2, 2], "sharding": [[["tp", 1, 2]], []], "offset": 64}]},
    {"name": "two", "outputs": [],
      "inputs": [{"name": "y", "dtype": "f32", "shape": [4, 2], "local": [2, 2], "sharding": [[["tp", 1, 2]], []], "offset": 128,
                  "fill": {"entry": 0, "output": 0}}]}]})";

// A weight that is held in blocks, and which weights cannot be.
static const char *inBlocks = R"({"version": 2, "task": "", "dtype": "f32", "target": "cpu", "model": "/m",
  "mesh": [["tp", 2]], "arena_bytes": 0, "states": [], "matmuls": [], "groups": [], "collectives": [], "entries": [],
  "params": [{"name": "w", "dtype": "f32", "layers": 2, "shape": [6, 512], "local": [6, 256], "sharding": [[], [["tp", 1, 2]]],
     "sources": [{"name": "a.{}", "shape": [6, 512], "reshape": [3, 2, 512], "permute": [1, 0, 2]}],
     "pack": {"out_dims": 1}, "held": ["Q4_K", "Q8_0"]}]})";

TEST(Manifest, WeightsInBlocks) {
  Manifest m = Manifest::parse(inBlocks);
  EXPECT_TRUE(m.params.at(0).isHeldInBlocks());
  EXPECT_EQ(m.params[0].heldType(1), io::DType::Q8_0);
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(inBlocks, piece, by, why);
  };
  refused("\"Q4_K\", ", "\"Q4_K\", \"Q6_K\", ", "has 3 types of layers");
  refused("Q4_K", "Q2_K", "cannot be held as");
  refused("Q4_K", "F16", "cannot be held as F16");
  refused("\"pack\": {\"out_dims\": 1}", "\"pack\": null", "is held in blocks, and not packed");
  refused("\"layers\": 2", "\"layers\": 2, \"variable\": true",
          "is held in blocks, and not packed or updated");
  refused("[3, 2, 512], \"permute\": [1, 0, 2]", "[6, 2, 256], \"permute\": [0, 2, 1]",
          "no rows of the file");
  refused("[3, 2, 512], \"permute\": [1, 0, 2]", "[2, 6, 256], \"permute\": [1, 0, 2]",
          "no rows of the file");
}

// A product by group has a matrix of the packed weight for each.
TEST(Manifest, StatesInBlocks) {
  std::string text = tiny, none = "\"states\": []";
  text.replace(text.find(none), none.size(),
               R"("states": [{"name": "keys", "dtype": "Q8_0", "shape": [2, 64], "local": [1, 64],
    "sharding": [[["tp", 1, 2]], []], "offset": 128, "bytes": 68, "clear": "before_prompts"}])");
  Manifest m = Manifest::parse(text);
  EXPECT_EQ(m.states.at(0).dtype, io::DType::Q8_0);
  EXPECT_EQ(m.states[0].bytes, 68);
  expectRefusedIn(text, "\"bytes\": 68", "\"bytes\": 67", "fewer bytes than its elements");
  expectRefusedIn(text, "[2, 64], \"local\": [1, 64]", "[2, 63], \"local\": [1, 63]",
                  "is in blocks that its rows are not made of");
  expectRefusedIn(text, "[[[\"tp\", 1, 2]], []]", "[[], [[\"tp\", 1, 2]]]", "do not cover");
  expectRefusedIn(text, "[2, 64], \"local\": [1, 64],\n    \"sharding\": [[[\"tp\", 1, 2]], []]",
                  "[1, 128], \"local\": [1, 64],\n    \"sharding\": [[], [[\"tp\", 1, 2]]]",
                  "is in blocks that its rows are not made of");
  expectRefusedIn(text, "\"Q8_0\"", "\"Q8_1\"", "dtype Q8_1 is not supported");
  // Nobody fills blocks, and calls are given none.
  expectRefusedIn(text, "\"before_prompts\"", "\"at_start\", \"fill\": \"pages\"",
                  "is in blocks that its rows are not made of");
  expectRefusedIn(text, "\"i32\"", "\"Q8_0\"", "dtype Q8_0 is not supported");
}

TEST(Manifest, ProductsByGroup) {
  auto with = [](const std::string &product) {
    std::string text = inBlocks;
    text.replace(
        text.find("\"matmuls\": []"), 13,
        "\"matmuls\": [{\"m\": 9, \"n\": 2, \"k\": 256, \"param\": 0, \"x\": \"f32\", \"w\": \"f32\", "
        "\"y\": \"f32\", \"sum\": \"f32\"" +
            product + "}]");
    return text;
  };
  MatmulSpec spec = Manifest::parse(with(", \"groups\": 3")).matmuls.at(0);
  EXPECT_EQ(std::tuple(spec.groups, spec.n, spec.weightRows()), std::tuple(3, 2, 6));
  expectRefusedIn(with(", \"groups\": 3"), "3}", "2}", "does not fit parameter w");
  expectRefusedIn(with(", \"groups\": 3"), "3}", "-3}", "has fewer groups than none");
  expectRefusedIn(with(", \"groups\": 3"), "3}", "3, \"bias\": true}", "does more than multiply");
}

// A product may read what ranks hold of a weight in blocks, gathered: along one dimension, and what the
// pieces have beyond the whole does not count.
TEST(Manifest, ProductsOfGatheredPieces) {
  std::string text = inBlocks;
  text.replace(text.find("\"matmuls\": []"), 13,
               "\"matmuls\": [{\"m\": 9, \"n\": 6, \"k\": 512, \"param\": 0, \"x\": \"f32\", \"w\": \"f32\", "
               "\"y\": \"f32\", \"sum\": \"f32\", \"pieces\": [1, 2]}]");
  const std::string held = "\"held\": [\"Q4_K\", \"Q8_0\"]";
  auto with = [&](std::string changed) {
    changed.replace(changed.find(held), held.size(), held + ", \"layer_bytes\": 8192");
    return changed;
  };
  Manifest m = Manifest::parse(with(text));
  EXPECT_EQ(m.matmuls.at(0).pieces, (Shape{1, 2}));
  EXPECT_EQ(m.params.at(0).layerBytes, 8192);
  expectRefusedIn(text, "\"f32\"", "\"f32\"", "whose layers are not equally far apart");
  expectRefusedIn(with(text), "[1, 2]", "[1, 1]", "does not fit parameter w");
  expectRefusedIn(with(text), "[1, 2]", "[2, 1]", "does not fit parameter w");
  expectRefusedIn(with(text), "[1, 2]", "[1, 0]", "of whose dimensions one at most has several");
  expectRefusedIn(with(text), "[1, 2]", "[2, 2]", "of whose dimensions one at most has several");
  expectRefusedIn(with(text), "[1, 2]", "[2]", "of whose dimensions one at most has several");
  expectRefusedIn(with(text), "\"param\": 0", "\"param\": -1", "takes pieces of no parameter");
  expectRefusedIn(with(text), held + ", \"layer_bytes\": 8192", "\"held\": []",
                  "which is not held in blocks");
}

TEST(Manifest, WhatNoProductDoesAndNoWeightCan) {
  expectRefusedIn(full, "gelu_tanh", "gelu", "has the function \"gelu\", which no product computes");
  expectRefusedIn(full, "\"mean\": 0.5", "\"mean\": 0.5, \"layer_bytes\": 64",
                  "cannot be held 64 bytes apart");
}

TEST(Manifest, ReadsEveryField) {
  Manifest m = Manifest::parse(full);
  const ParamSpec &p = m.params.at(0);
  EXPECT_EQ(p.dtype, io::DType::BF16);
  EXPECT_EQ(p.layers, 3);
  EXPECT_EQ(*p.packOutDims, 1);
  EXPECT_TRUE(p.variable);
  EXPECT_EQ(p.mean, 0.5);
  EXPECT_EQ(p.deviation, 0.25);
  EXPECT_EQ(p.sources.at(0).reshape, (Shape{6, 8}));
  EXPECT_EQ(p.sources.at(0).permute, (std::vector<int64_t>{1, 0}));
  const MatmulSpec &mm = m.matmuls.at(0);
  EXPECT_EQ(std::tuple(mm.m, mm.n, mm.k, mm.param), std::tuple(2, 4, 6, 0));
  EXPECT_EQ(std::tuple(mm.x, mm.w, mm.y), std::tuple(io::DType::BF16, io::DType::BF16, io::DType::F32));
  EXPECT_EQ(std::tuple(mm.xTransposed, mm.wTransposed), std::tuple(true, false));
  EXPECT_EQ(std::tuple(mm.bias, mm.addend, mm.function), std::tuple(true, true, ProductFunction::GeluTanh));
  const CollectiveSpec &scatter = m.collectives.at(0), &send = m.collectives.at(1),
                       &mirror = m.collectives.at(2);
  EXPECT_EQ(scatter.kind, CollectiveKind::ReduceScatter);
  EXPECT_EQ(scatter.op, Reduction::Max);
  EXPECT_EQ(scatter.type, io::DType::F16);
  EXPECT_EQ(scatter.group, 1);
  EXPECT_EQ(std::tuple(scatter.rows, scatter.cut, send.rows, send.cut), std::tuple(1, 4, 1, 0));
  EXPECT_EQ(scatter.why, "because");
  EXPECT_EQ(send.global, (Shape{8, 3}));
  EXPECT_EQ(send.mostMoved, 5);
  EXPECT_EQ(localShape(send.global, send.from), (Shape{2, 3}));
  EXPECT_EQ(send.at, (Shape{2, 0}));
  EXPECT_EQ(localShape(send.sentSizes(), send.to), (Shape{3, 2}));
  EXPECT_EQ(shardCount(mirror.mirrored), 2);
  const CollectiveSpec &rows = m.collectives.at(3);
  EXPECT_EQ(std::tuple(rows.width, rows.elements, rows.received), std::tuple(5, 15, 20));
  EXPECT_EQ(bytesSent(m, rows), 10);
  EXPECT_EQ(mostBytesSent(m, rows), 20);
  EXPECT_EQ(mostBytesSent(m, scatter), bytesSent(m, scatter));
  EXPECT_EQ(m.entries.at(0).counts.at(0).least, 1);
  EXPECT_EQ(m.entries[0].counts[0].most, 4);
  EXPECT_EQ(m.entries[0].collectives.at(0), (std::pair<int64_t, int64_t>(1, 3)));
  EXPECT_EQ(m.entries[0].paddingFlops, 1);
  EXPECT_EQ(m.entries[0].flops, 9);
  EXPECT_EQ(m.entries[0].paramsUpdated, (std::vector<int64_t>{0}));
  EXPECT_EQ(m.entries[1].inputs.at(0).fill, Fill::Output);
}

TEST(Manifest, RefusesWhatDoesNotFitTogether) {
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(full, piece, by, why);
  };
  refused("\"layer_sharding\": []", "\"layer_sharding\": [[\"dp\", 1, 2]]", "needs pipelines");
  refused("\"x_transposed\"", "\"w_transposed\"", "reads a packed parameter transposed");
  refused("\"at\": [2, 0]", "\"at\": [3, 0]", "at and size are no part of global");
  refused("\"at\": [2, 0]", "\"at\": [2]", "at, size and global differ in rank");
  refused("\"n\": 4", "\"n\": 8", "does not fit parameter w");
  refused("\"k\": 6", "\"k\": 5", "does not fit parameter w");
  refused("\"w\": \"bf16\"", "\"w\": \"f32\"", "takes weights as f32");
  refused("\"x\": \"bf16\"", "\"x\": \"i32\"", "no products of i32");
  refused("\"sum\": \"f32\"", "\"sum\": \"bf16\"", "adds up in bf16");
  refused("\"pack\": {\"out_dims\": 1}", "\"pack\": null", "is not packed");
  refused("\"out_dims\": 1", "\"out_dims\": 3", "out_dims is out of range");
  refused("\"variable\": true", "\"variable\": false", "is no variable");
  refused("\"updates\": [0]", "\"updates\": [1]", "names a parameter that does not exist");
  refused("\"shape\": [48]", "\"shape\": [47]", "changes the number of elements");
  refused("[[0, 6], [0, 8]]", "[[0, 6], [0, 4]]", "sources do not fill the shape");
  refused("[[0, 6], [0, 8]]", "[[0, 6], [1, 9]]", "slice is out of range");
  refused("\"permute\": [1, 0]", "\"permute\": [1, 1]", "is no permutation");
  refused("\"group\": 1, \"elements\": 6", "\"group\": 1, \"elements\": 7", "are not rows of");
  refused("\"elements\": 6, \"rows\": 1", "\"elements\": 6, \"rows\": 2", "are not rows of");
  refused("\"elements\": 6, \"rows\": 1", "\"elements\": 6, \"rows\": 0", "are not rows of");
  refused("\"cut\": 4", "\"cut\": 8", "are not rows of");
  refused("\"group\": 0, \"elements\": 2", "\"group\": 0, \"elements\": 2, \"rows\": 2", "are not rows of");
  refused("\"width\": 5", "\"width\": 0", "a row has 0 elements");
  refused("\"width\": 5", "\"width\": 4", "of whole rows");
  refused("\"received\": 20", "\"received\": 21", "of whole rows");
  refused("\"even_moved\": 5", "\"even_moved\": 15", "of whole rows");
  refused("\"most_moved\": 10", "\"most_moved\": 20", "of whole rows");
  refused("\"elements\": 2, \"mirrored\": [[\"tp\", 1, 2]]",
          "\"elements\": 2, \"mirrored\": [[\"tp\", 1, 2]], \"width\": 1, \"received\": 2, \"even_moved\": "
          "0, \"most_moved\": 0",
          "of whole rows");
  refused("\"op\": \"max\"", "\"op\": \"none\"", "does not belong to it");
  refused("\"dtype\": \"f16\"", "\"dtype\": \"i1\"", "cannot be combined");
  refused("\"global\": [8, 3]", "\"global\": [9, 3]", "not those of a shard");
  refused("\"counts\": [[1, 4]]", "\"counts\": [[5, 4]]", "no values between its bounds");
  refused("\"mirrored\": [[\"tp\", 1, 2]]", "\"mirrored\": [[\"ep\", 1, 2]]",
          "axis ep does not fit the mesh");
  refused("\"offset\": 128", "\"offset\": 244", "outside the arena");
  refused("\"fill\": {\"entry\": 0, \"output\": 0}", "\"fill\": {\"entry\": 0, \"output\": 1}",
          "does not exist");
  std::string sharding = "\"sharding\": [[[\"tp\", 1, 2]], []], \"offset\": 128";
  refused(sharding, "\"sharding\": [[[\"dp\", 1, 2]], []], \"offset\": 128", "sharded or shaped differently");
}

} // namespace tessera::runtime
