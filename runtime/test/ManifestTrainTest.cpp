// What the runtime reads of a training program's manifest, and what it refuses.
#include "ManifestRefusals.h"

namespace tessera::runtime {

// A program that trains: one weight with one state, a step and its evaluation.
static std::string training() {
  return R"({"version": 2, "task": "train", "dtype": "f32", "target": "cpu", "model": "/m",
  "train": {"batch": 5, "seq": 4, "micro_batches": 2, "vocab": 7, "gradient_state": "exp_avg"},
  "mesh": [["dp", 2]], "arena_bytes": 4096, "states": [], "matmuls": [], "groups": [], "collectives": [],
  "params": [{"name": "w", "dtype": "f32", "shape": [7], "local": [7], "sharding": [[]], "variable": true,
              "sources": [{"name": "w", "shape": [7]}]},
             {"name": "m.w", "dtype": "f32", "shape": [7], "local": [4], "sharding": [[["dp", 1, 2]]], "variable": true,
              "sources": [{"name": "w", "shape": [7]}], "state": "exp_avg", "of": 0}],
  "entries": [{"name": "train", "role": "train", "params": {"reads": [0, 1], "updates": [0, 1]},
     "inputs": [{"name": "t", "fill": "token_ids", "dtype": "i32", "shape": [2, 3, 4], "local": [2, 2, 4], "sharding": [[], [["dp", 1, 2]], []], "offset": 0},
                {"name": "n", "fill": "targets", "dtype": "i32", "shape": [2, 3, 4], "local": [2, 2, 4], "sharding": [[], [["dp", 1, 2]], []], "offset": 64},
                {"name": "u", "fill": "token_weight", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 128},
                {"name": "r", "fill": "learning_rate", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 132}],
     "outputs": [{"name": "l", "gives": "loss", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 192},
                 {"name": "g", "gives": "grad_norm", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 196}]}]})";
}

TEST(Manifest, ReadsHowAProgramTrains) {
  Manifest m = Manifest::parse(training());
  ASSERT_TRUE(m.train);
  EXPECT_EQ(m.train->batch, 5);
  EXPECT_EQ(m.train->microRows(), 3);
  EXPECT_EQ(m.train->train, 0);
  EXPECT_EQ(m.train->evaluate, -1);
  EXPECT_FALSE(m.params[0].isState());
  EXPECT_EQ(m.params[1].state, "exp_avg");
  EXPECT_EQ(m.params[1].of, 0);
  EXPECT_EQ(m.train->gradientState, "exp_avg");
  EXPECT_EQ(m.entries[0].input(Fill::LearningRate)->name, "r");
  EXPECT_EQ(m.entries[0].output(Gives::GradNorm)->name, "g");
}

TEST(Manifest, RefusesTrainingThatNothingCarriesOut) {
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(training(), piece, by, why);
  };
  refused("\"batch\": 5", "\"batch\": 0", "a size is not positive");
  refused("\"batch\": 5", "\"batch\": 7", "is not i32 [micro-batches, rows, seq]");
  refused("\"micro_batches\": 2", "\"micro_batches\": 6", "more micro-batches than rows");
  refused("\"role\": \"train\"", "\"role\": \"evaluate\"", "no entry has the role train");
  refused("\"role\": \"train\"", "\"role\": \"train_dropout\"", "no entry has the role train");
  refused("\"fill\": \"learning_rate\"", "\"fill\": \"dropout\"", "drops elements, which is not its role");
  refused("\"fill\": \"learning_rate\"", "\"fill\": \"dropout_key\"", "is no number of type i64");
  refused("\"role\": \"train\"", "\"role\": \"train\", \"counts\": [[1, 2]]", "takes counts");
  refused("\"fill\": \"learning_rate\"", "\"fill\": \"seed\"", "nothing fills input r");
  refused("\"fill\": \"learning_rate\"", "\"fill\": \"speed\"", "\"speed\" is not known");
  refused("\"fill\": \"targets\"", "\"fill\": \"positions\"", "no targets");
  refused("\"gives\": \"loss\"", "\"gives\": \"logits\"", "gives no loss");
  refused("\"gives\": \"grad_norm\"", "\"gives\": \"loss\"", "gives no norm");
  refused("\"train\": {\"batch\": 5, \"seq\": 4, \"micro_batches\": 2, \"vocab\": 7, \"gradient_state\": "
          "\"exp_avg\"},",
          "", "trains, and the program does not");
  refused("\"gradient_state\": \"exp_avg\"", "\"gradient_state\": \"momentum\"",
          "gradients are read from momentum, which the weight of m.w has not");
  refused("\"of\": 0", "\"of\": 1", "a parameter that does not exist");
  refused(", \"of\": 0", "", "of \"state\" and \"of\" there is one");
  refused("\"state\": \"exp_avg\"", "\"state\": \"model\"", "no file of a save can be called");
  refused("\"name\": \"m.w\", \"dtype\": \"f32\", \"shape\": [7]",
          "\"name\": \"m.w\", \"dtype\": \"f32\", \"shape\": [7, 1]", "differ in rank");
  refused("[{\"name\": \"w\", \"shape\": [7]}], \"state\"", "[{\"name\": \"v\", \"shape\": [7]}], \"state\"",
          "is shaped differently from its weight w");
}

} // namespace tessera::runtime
