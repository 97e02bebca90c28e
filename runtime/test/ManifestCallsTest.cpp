// Following the calls of an entry by what the manifest says of them.
#include "ManifestRefusals.h"

namespace tessera::runtime {

// Calls are followed by their order alone: loops run as often as they say, and iterations of the program are
// told by the loops around a call.
TEST(Manifest, NamesCalls) {
  std::string text = tiny;
  text.replace(text.find("\"inputs\""), 0, R"("counts": [[0, 4]], "calls": [
      {"do": "launch", "kernel": "k", "gives": [["bf16", 6, "layer"]], "value": "x"},
      {"loop": 4, "step": 2, "count": 0, "calls": [
        {"loop": 2, "calls": [{"do": "collective", "id": 0, "value": "y",
            "at": [["layer", -1, 1], ["micro-batch", 1, 1]]}]},
        {"loop": 3, "calls": []},
        {"do": "wait", "at": [["layer", 0, 7], ["micro-batch", 1, 0]]}]},
      {"do": "copy"}], )");
  EntrySpec entry = Manifest::parse(text).entries[0];
  const std::vector<int64_t> three{3}, none{0};
  CallCursor cursor(entry.calls, three); // iterations 0 and 2
  const CallSpec &first = cursor.next(CallKind::Launch);
  EXPECT_EQ(first.kernel + " " + first.value + cursor.place(), "k x");
  EXPECT_EQ(first.gives[0].elements, 6);
  EXPECT_TRUE(first.gives[0].oneLayer);
  for (const char *outer : {"0", "2"}) {
    for (const char *layer : {"1", "0"}) {
      EXPECT_EQ(cursor.next(CallKind::Collective).value, "y");
      EXPECT_EQ(cursor.place(),
                std::string("layer ") + layer + ", micro-batch " + (outer[0] == '0' ? "1" : "3"));
    }
    cursor.next(CallKind::Wait);
    EXPECT_EQ(cursor.place(), std::string("layer 7, micro-batch ") + outer);
  }
  EXPECT_THROW(cursor.next(CallKind::Wait), Error);
  cursor.next(CallKind::Copy);
  EXPECT_THROW(cursor.next(CallKind::Copy), Error);
  CallCursor skipping(entry.calls, none);
  skipping.next(CallKind::Launch);
  skipping.next(CallKind::Copy);
  expectRefusedIn(text, "\"id\": 0, \"value\"", "\"id\": 1, \"value\"", "a number is none of its table");
  expectRefusedIn(text, "\"do\": \"copy\"", "\"do\": \"jump\"", "an unknown call");
  expectRefusedIn(text, "\"count\": 0", "\"count\": 1", "as often as no count says");
  expectRefusedIn(text, "\"step\": 2", "\"step\": 0", "stands still");
}

// Which of two loops runs is known once the flag is: whoever follows the calls says what was read.
TEST(Manifest, NamesCallsOfTheBranchThatRuns) {
  std::string text = tiny;
  text.replace(text.find("\"inputs\""), 0, R"("calls": [
      {"loop": 2, "calls": [
        {"do": "read_flag", "id": 0},
        {"loop": 1, "if": 0, "calls": [{"do": "launch", "kernel": "yes", "at": [["layer", 1, 0]]}]},
        {"do": "copy"},
        {"loop": 1, "unless": 0, "calls": [{"do": "launch", "kernel": "no", "at": [["layer", 1, 0]]}]}]}], )");
  EntrySpec entry = Manifest::parse(text).entries[0];
  const std::vector<int64_t> none;
  CallCursor cursor(entry.calls, none);
  for (bool flag : {true, false}) {
    cursor.next(CallKind::ReadFlag);
    cursor.tellFlag(flag);
    if (flag) {
      EXPECT_EQ(cursor.next(CallKind::Launch).kernel, "yes");
      EXPECT_EQ(cursor.place(), "layer 0"); // of the loop around the branch, which is none
    }
    cursor.next(CallKind::Copy);
    if (!flag) {
      EXPECT_EQ(cursor.next(CallKind::Launch).kernel, "no");
      EXPECT_EQ(cursor.place(), "layer 1");
    }
  }
  EXPECT_THROW(cursor.next(CallKind::ReadFlag), Error);
  expectRefusedIn(text, "read_flag\", \"id\": 0", "read_flag\", \"id\": 1", "a number is none of its table");
  expectRefusedIn(text, "\"if\": 0", "\"if\": 1", "by a flag that nobody has read before");
}

} // namespace tessera::runtime
