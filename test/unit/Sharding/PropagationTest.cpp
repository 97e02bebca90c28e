// The rows of the propagation facts (test/Facts), and what is beyond them. Text form: docs/Sharding.md.
#include "tessera/Analysis/Sharding/PropagationText.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace tessera;

static std::string runCases(const char *text, std::string *report = nullptr) {
  std::string error;
  auto cases = parsePropagationCases(text, error);
  if (!cases)
    return error;
  std::string all;
  for (PropagationCase &c : *cases) {
    EXPECT_FALSE(c.expectations.empty());
    for (const std::string &failure : c.run(report))
      all += failure + "\n";
  }
  return all;
}

#define FACT(ID, TEXT)                                                                                       \
  TEST(Propagation, ID) { EXPECT_EQ(runCases(TEXT), ""); }

TEST(Propagation, Facts) {
  auto file = llvm::MemoryBuffer::getFile(TESSERA_PROPAGATION_FACTS);
  ASSERT_TRUE(file);
  EXPECT_EQ(runCases((*file)->getBuffer().str().c_str()), "");
}

// Beyond the facts.

// A dimension that the op must have whole neither takes axes nor hands them on.
FACT(NeedReplicationStopsPropagation, R"(
mesh a2 b2
tensor x 8x8 [a/b]
tensor y 8x8
op sort x -> y : ([i, j]) -> ([i, j]) need_replication={j}
expect y [a?/?]
)")

// What the first priority did to a tensor stays when its own annotation is revealed.
FACT(PrioritiesKeepWhatWasFound, R"(
mesh a2 b2 c2
tensor x 8x8 [a/b p4]
tensor y 8x8
tensor t 8x8 [?/c? p1]
op add x y -> t
expect x [a/b]
expect y [a?/c?]
expect t [a?/c?]
)")

// FSDP: the weight's hidden dimension is sharded over the batch axis; the activations must stay
// batch-sharded.
FACT(FsdpWeightsDoNotShardActivations, R"(
mesh fsdp4
tensor x 8x16x32 [fsdp/-/-]
tensor w 64x32 [-/fsdp]
tensor y 8x16x64
op linear x w -> y : ([b, s, h], [f, h]) -> ([b, s, f]) reduction={h}
expect y [fsdp?/?/?]
)")

TEST(Propagation, TraceNamesTheOpThatShardedATensor) {
  PropagationGraph graph;
  graph.mesh.axes.push_back({"a", 2});
  Sharding sharded(1);
  sharded.dims[0].axes = {wholeAxis(graph.mesh, 0)};
  int x = graph.addTensor({8}, sharded), y = graph.addTensor({8});
  graph.ops.push_back({elementwiseRule({8}, 1), {x}, {y}});
  std::vector<PropagationStep> trace;
  propagate(graph, PropagationStrategy::Full, &trace);
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace[0].op, 0);
  EXPECT_EQ(trace[0].tensor, y);
}

TEST(Propagation, WrongCasesAreErrors) {
  for (const char *text :
       {"nonsense", "mesh a0", "mesh a2\ntensor A 8 [b]", "tensor A 8x", "tensor A 8\ntensor A 8",
        "op add A -> B", "mesh a2\ntensor A 8\ntensor B 4\nop add A -> B", "strategy best",
        "tensor A 8\nbarrier up A -> A", "mesh a2\ntensor A 8\nexpect A [a/-]", "tensor A 8\nedge A",
        "mesh a2\ntensor A 8\nmanual b A -> A"}) {
    std::string error;
    EXPECT_FALSE(parsePropagationCases(text, error)) << text;
    EXPECT_NE(error.find("line "), std::string::npos) << text;
  }
}
