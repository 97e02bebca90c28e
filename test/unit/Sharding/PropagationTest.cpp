// The cases of the propagation facts, each named by its id. Text form: docs/Sharding.md.
#include "tessera/Analysis/Sharding/PropagationText.h"

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

#define FACT(ID, TEXT)                                                                                                 \
  TEST(Propagation, ID) { EXPECT_EQ(runCases(TEXT), ""); }

FACT(P1, R"(
mesh a2 b2
strategy basic
tensor A 8x8 [a/b]
tensor B 8x8
tensor C 8x16
tensor t 8x8
tensor out 8x16
op add A B -> t
op dot t C -> out : ([i, k], [k, j]) -> ([i, j]) reduction={k}
expect B [a?/b?]
expect t [a?/b?]
expect C [b?/?]
expect out [a?/?]
)")

FACT(P2, R"(
mesh a2 b2
strategy basic
tensor A 8x8 [a/-]
tensor B 8x16 [-/b]
tensor out 8x16 [-/?]
op dot A B -> out : ([i, k], [k, j]) -> ([i, j]) reduction={k}
expect out [-/b?]
)")

FACT(P3, R"(
mesh a2 b2
strategy basic
tensor A 8x8 [b,a/-]
tensor B 8x8 [b?/-]
tensor C 8x16
tensor t 8x8
tensor out 8x16
op add A B -> t
op dot t C -> out : ([i, k], [k, j]) -> ([i, j]) reduction={k}
expect B [b,a?/-]
expect t [b,a?/?]
expect out [b,a?/?]
)")

FACT(P5, R"(
mesh a2 b2
strategy basic
tensor A 8x8 [a,b/-]
tensor B 8x8
tensor t 8x8 [?/b?]
op add A B -> t
expect B [a?/?]
expect t [a?/b?]
)")

FACT(P6, R"(
mesh a2 b2
strategy basic
tensor A 8x8 [a,b/-]
tensor B 8x8 [?/?] R{a}
tensor t 8x8 [?/b?]
op add A B -> t
expect B [?/?] R{a}
expect t [?/b?]
)")

FACT(P7, R"(
mesh a16 b2
strategy basic
tensor A 32x32 [a?/?]
tensor B 32x32 [a:(1)2?/a:(4)2?]
tensor t 32x32 [?/b?]
op add A B -> t
expect B [a:(1)4?/a:(4)2?]
expect t [a:(1)4?/b?]
)")

FACT(P8, R"(
case merge-a
mesh a2 b2
strategy basic
tensor x 2x4 [a/-]
tensor y 8
op reshape x -> y : ([i, j]) -> ([i*j])
expect y [a?]
case merge-ab
mesh a2 b2
strategy basic
tensor x 2x4 [a/b]
tensor y 8
op reshape x -> y : ([i, j]) -> ([i*j])
expect y [a,b?]
case major-not-full
mesh a2 b2
strategy basic
tensor x 4x4 [a/b]
tensor y 16
op reshape x -> y : ([i, j]) -> ([i*j])
expect y [a?]
)")

FACT(P9, R"(
case split
mesh a2 b2
strategy basic
tensor x 8 [b,a]
tensor y 2x4
op reshape x -> y : ([i*j]) -> ([i, j])
expect y [b?/a?]
case split-major
mesh a2 b2
strategy basic
tensor x 16 [b,a]
tensor y 4x4
op reshape x -> y : ([i*j]) -> ([i, j])
expect y [b,a?/?]
case split-axis
mesh a4
strategy basic
tensor x 8 [a]
tensor y 2x4
op reshape x -> y : ([i*j]) -> ([i, j])
expect y [a:(1)2?/a:(2)2?]
case split-twice-and-merge-back
mesh a16
strategy basic
tensor x 32 [a]
tensor y 8x4
tensor z 2x4x4
tensor back 32
op reshape x -> y : ([i*j]) -> ([i, j])
op reshape y -> z : ([i*j, k]) -> ([i, j, k])
op reshape z -> back : ([i, j, k]) -> ([i*j*k])
expect y [a:(1)8?/a:(8)2?]
expect z [a:(1)2?/a:(2)4?/a:(8)2?]
expect back [a?]
)")

FACT(P10, R"(
mesh a4 b2 c2
strategy basic
tensor x 8x4 [c,a/b]
tensor y 2x16
op reshape x -> y : ([i*j, k]) -> ([i, j*k])
expect y [c?/a,b?]
)")

FACT(P12, R"(
mesh a2 b2
strategy basic
tensor A 8x8
tensor B 8x16
tensor t 8x16
tensor result 8x16 [a/b]
op dot A B -> t : ([i, k], [k, j]) -> ([i, j]) reduction={k}
op return t -> result
expect t [a?/b?]
expect A [a?/?]
expect B [?/b?]
)")

FACT(P13, R"(
case forward
mesh a2 b2
strategy basic
tensor x 8x8 [a?/?]
tensor y 8x8 [?/b?]
barrier forward x -> y
expect x [a?/?]
expect y [a?/b?]
case backward
mesh a2 b2
strategy basic
tensor x 8x8 [a?/?]
tensor y 8x8 [?/b?]
barrier backward x -> y
expect x [a?/b?]
expect y [?/b?]
case none
mesh a2 b2
strategy basic
tensor x 8x8 [a?/?]
tensor y 8x8 [?/b?]
barrier none x -> y
expect x [a?/?]
expect y [?/b?]
)")

FACT(P14, R"(
mesh a2 b2
strategy basic
tensor x 4x64x8 [-/-/b]
tensor y 4x8
op reduce x -> y : ([i, k, j]) -> ([i, j]) reduction={k}
expect y [?/b?]
)")

// The dot's result is a partial sum over b: b cannot also shard it. (Who makes it partial: placement, from the contraction over b.)
FACT(P15, R"(
mesh a2 b2
tensor A 8x8 [a/b]
tensor B 8x8 [b/-]
tensor t 8x8 [a?/?] U{b}
tensor s 8x8
tensor result 8x8 [?/b]
op dot A B -> t : ([i, k], [k, j]) -> ([i, j]) reduction={k}
op add t t -> s
op return s -> result
expect t [a?/?] U{b}
expect s [a?/b?]
)")

FACT(P16, R"(
mesh a2 b2
strategy aggressive
tensor A 256x512 [a?/?]
tensor B 128x512
tensor t 256x128 [?/a?]
op dot A B -> t : ([i, k], [j, k]) -> ([i, j]) reduction={k}
expect B [a?/?]
expect t [?/a?]
)")

FACT(P18, R"(
mesh a2 b2
strategy aggressive
tensor A 8x8 [a/?]
tensor B 8x8 [?/a]
tensor t 8x8
op add A B -> t
expect t [a?/?]
)")

FACT(P20, R"(
mesh a2 b2
strategy aggressive
tensor A 8x8 [-/a]
tensor B 8x8 [b,a/-]
tensor t 8x8
op add A B -> t
expect t [b,a?/?]
)")

FACT(P21, R"(
mesh a2 b2
strategy aggressive
tensor A 8x8 [a/-]
tensor B 8x8 [-/b,a]
tensor t 8x8
op dot A B -> t : ([i, k], [k, j]) -> ([i, j]) reduction={k}
expect t [a?/b?]
)")

FACT(P22, R"(
case closed
mesh a2 b2
strategy aggressive
tensor A 8 [a]
tensor B 8
tensor t 8 [-]
op add A B -> t
expect B [?]
case partly
mesh a2 b2
strategy aggressive
tensor A 8 [a,b]
tensor B 8
tensor t 8 [a]
op add A B -> t
expect B [a?]
)")

FACT(P23, R"(
mesh a2 b2
tensor A 8x8 [a?/?]
tensor B 8x8
tensor t 8x8
tensor u 8x8
tensor v 8x8
tensor result 8x8 [?/a?]
op dot A B -> t : ([i, k], [k, j]) -> ([i, j]) reduction={k}
op add t t -> u
op add u u -> v
op return v -> result
expect t [?/a?]
expect B [?/a?]
)")

FACT(P25, R"(
mesh a2
tensor A 8x8 [a/-]
tensor B 8x8
tensor C 8x8
tensor s 8x8
tensor t 8x8
tensor u 8x8
tensor p 8x8
tensor q 8x8
tensor r1 8x8 [-/a]
tensor r2 8x8 [-/a]
op sine A -> s
op add s B -> t
op add s C -> u
op cosine t -> p
op cosine u -> q
op return p -> r1
op return q -> r2
expect s [a?/?]
expect t [?/a?]
expect u [?/a?]
expect p [?/a?]
expect q [?/a?]
)")

FACT(P26, R"(
mesh a2 b2
tensor A 32x1024
tensor B 1024x16 [a?/b?]
tensor t 32x16
tensor result 32x16 [a?/b?]
op dot A B -> t : ([i, k], [k, j]) -> ([i, j]) reduction={k}
op return t -> result
expect A [a?/?]
)")

FACT(P27, R"(
mesh a2 b2
tensor A 8x8 [a p0/?]
tensor B 8x8
tensor W 8x16 [?/a p1]
tensor s 8x8
tensor out 8x16
op add A B -> s
op dot s W -> out : ([i, k], [k, j]) -> ([i, j]) reduction={k}
expect B [a?/?]
expect s [a?/?]
expect out [a?/?]
expect W [?/a]
)")

FACT(P28, R"(
mesh a2 b2 c2
tensor arg 8x8 [a? p1/b p1]
tensor x 8x8
tensor y 8x8
tensor z 8x8
tensor s 8x8
tensor t 8x8
tensor d 8x8 [c p0/?]
op add arg x -> s
op add s y -> t
op divide t z -> d
expect arg [a?/b]
expect x [c?/b?]
expect y [c?/b?]
expect z [c?/b?]
expect s [c?/b?]
expect t [c?/b?]
expect d [c/b?]
)")

FACT(P30, R"(
mesh a2
tensor x 32 [a]
tensor y 32x16
tensor z 32x16x8
tensor result 32x16x8 [-/a/-]
op broadcast x -> y : ([i]) -> ([i, j])
op broadcast y -> z : ([i, j]) -> ([i, j, k])
op return z -> result
expect y [?/a?]
expect z [?/a?/?]
)")

FACT(P32, R"(
case overflow-in-minor-most
mesh a4 b4
strategy basic
tensor x 8 [a,b]
tensor y 2x4
op reshape x -> y : ([i*j]) -> ([i, j])
expect y [a:(1)2?/a:(2)2,b?]
case not-minor-most-must-divide
mesh a3 b3
strategy basic
tensor x 6x4 [a,b/-]
tensor y 24
op reshape x -> y : ([i, j]) -> ([i*j])
expect y [a?]
case minor-most-uneven
mesh a2 b3
strategy basic
tensor x 2x4 [a/b]
tensor y 8
op reshape x -> y : ([i, j]) -> ([i*j])
expect y [a,b?]
)")

FACT(C1, R"(
mesh a2 b2
strategy basic
tensor arg1 4 [a]
tensor arg2 4
tensor edge 4
tensor result 4
edge arg1 arg2 -> edge
op return edge -> result
expect edge [a?]
expect arg2 [a?]
expect result [a?]
)")

FACT(C2, R"(
case common-prefix
mesh a2 b2 c2
strategy basic
tensor x 8 [a,b]
tensor y 8 [a,c]
tensor edge 8
edge x y -> edge
expect edge [a?]
case nothing-in-common
mesh a2 b2 c2
strategy basic
tensor x 8 [a,b,c]
tensor y 8 [c]
tensor edge 8
edge x y -> edge
expect edge [?]
)")

FACT(C4, R"(
mesh a2 b2
strategy basic
tensor arg 32x96
tensor carried 32x96
tensor body 32x96
tensor result 32x96 [a/b]
edge arg body -> carried
op add carried carried -> body
op return carried -> result
expect arg [a?/b?]
expect body [a?/b?]
expect carried [a?/b?]
)")

FACT(C5, R"(
mesh a2 b2
strategy basic
tensor arg 32x96 [a?/?]
tensor carried 32x96
tensor body 32x96
tensor result 32x96 [?/b?]
edge arg body -> carried
op add carried carried -> body
op return carried -> result
expect arg [a?/b?]
expect body [a?/b?]
expect carried [a?/b?]
expect result [a?/b?]
)")

FACT(C8, R"(
mesh a2
strategy basic
tensor arg 8x8 [a?/?]
tensor const 8x8
tensor t 8x8
tensor c1 8x8
tensor blocked 8x8
tensor sum 8x8
op tanh arg -> t
barrier none c1 -> blocked
op add t blocked -> sum
group const sum
expect const [a?/?]
expect sum [a?/?]
expect c1 [?/?]
)")

// Tensors of two functions stand in one graph: nothing but the group joins them.
FACT(C9, R"(
mesh a2 b2
strategy basic
tensor main.arg 8x8 [b?/?]
tensor main.t 8x8
tensor private.arg 8x8
tensor private.t 8x8
op tanh main.arg -> main.t
op add private.arg private.arg -> private.t
group main.t private.t
expect private.t [b?/?]
expect private.arg [b?/?]
)")

TEST(Propagation, C11) {
  std::string report;
  EXPECT_EQ(runCases(R"(
mesh a2 b2
tensor x 8x8
tensor y 8x8
tensor A 8x8 [a/-]
tensor B 8x8 [b/-]
tensor u 8x8
tensor v 8x8
op use A -> u
op use B -> v
group x y
group A B
expect A [a/-]
expect B [b/-]
expect u [b?/?]
expect v [b?/?]
)",
                     &report),
            "");
  EXPECT_NE(report.find("warning: sharding group 1:"), std::string::npos) << report;
  EXPECT_NE(report.find("A' [b?/?]"), std::string::npos) << report;
  EXPECT_NE(report.find("B' [b?/?]"), std::string::npos) << report;
}

// Out stays as it is: an op without a rule stands before it.
FACT(M1, R"(
mesh a2 b2
strategy basic
tensor arg 32x32
tensor in 32x32 [b?/?]
tensor inner 16x32
tensor sum 16x32 [a?/?]
tensor opaque 16x32
tensor out 32x32 [b?/?]
op bind arg -> in
manual {b} in -> inner
op add inner inner -> sum
manual {b} out -> opaque
expect arg [b,a?/?]
expect in [b,a?/?]
expect inner [a?/?]
expect out [b?/?]
)")

FACT(M2, R"(
mesh a2 b2
strategy basic
tensor x 32x32 [b,a?/?]
tensor in 32x32 [b?/?]
tensor inner 16x32
tensor sum 16x32
op bind x -> in
manual {b} in -> inner
op add inner inner -> sum
expect in [b,a?/?]
expect inner [a?/?]
expect sum [a?/?]
)")

FACT(M4, R"(
mesh a2 b2
strategy basic
tensor x 32x32
tensor y 32x32 [b,a?/?]
tensor in0 32x32 [?/?] R{b}
tensor in1 32x32 [b?/?]
tensor inner0 32x32
tensor inner1 16x32
op bind x -> in0
op bind y -> in1
manual {b} in0 -> inner0
manual {b} in1 -> inner1
expect in0 [?/?] R{b}
expect inner0 [?/?]
expect in1 [b,a?/?]
expect inner1 [a?/?]
)")

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

// FSDP: the weight's hidden dimension is sharded over the batch axis; the activations must stay batch-sharded.
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
       {"nonsense", "mesh a0", "mesh a2\ntensor A 8 [b]", "tensor A 8x", "tensor A 8\ntensor A 8", "op add A -> B",
        "mesh a2\ntensor A 8\ntensor B 4\nop add A -> B", "strategy best", "tensor A 8\nbarrier up A -> A",
        "mesh a2\ntensor A 8\nexpect A [a/-]", "tensor A 8\nedge A", "mesh a2\ntensor A 8\nmanual b A -> A"}) {
    std::string error;
    EXPECT_FALSE(parsePropagationCases(text, error)) << text;
    EXPECT_NE(error.find("line "), std::string::npos) << text;
  }
}
