// What becomes of tokens: why an answer is over, and what of it is printed when.
#include "Answers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera::runtime {
namespace {

using nlohmann::json;

// Letters are tokens, and so are some texts of several; <end> is special, <br> is not.
enum : int32_t { a, b, c, d, ab, bcd, end, br };

std::unique_ptr<text::Tokenizer> letters() {
  const json definition = {{"added_tokens",
                            {{{"id", end}, {"content", "<end>"}, {"special", true}},
                             {{"id", br}, {"content", "<br>"}, {"special", false}}}},
                           {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                           {"decoder", {{"type", "ByteLevel"}}},
                           {"model",
                            {{"type", "BPE"},
                             {"vocab", {{"a", a}, {"b", b}, {"c", c}, {"d", d}, {"ab", ab}, {"bcd", bcd}}},
                             {"merges", json::array()}}}};
  Result<std::unique_ptr<text::Tokenizer>> tokenizer =
      text::Tokenizer::fromJson(definition.dump(), "letters");
  EXPECT_TRUE(tokenizer) << tokenizer.failure().message();
  return tokenizer.take();
}

// A job of so many prompts, whose answers have three tokens at most.
struct Job : GenerateJob {
  explicit Job(size_t count) : own(letters()) {
    prompts.assign(count, {0});
    limits.assign(count, 3);
    endTokens = {end};
    tokenizer = own.get();
  }
  std::unique_ptr<text::Tokenizer> own;
};

// What is printed meanwhile.
template <typename F> std::string printed(F &&f) {
  testing::internal::CaptureStdout();
  f();
  return testing::internal::GetCapturedStdout();
}

TEST(Answers, EndForTheFirstReasonThatThereIs) {
  Job job(6);
  job.stops = {"bc", "<br>"};
  job.stopTokens = {br};
  Answers answers(job, nullptr);
  auto give = [&](size_t prompt, const std::vector<int32_t> &ids) {
    for (size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(answers.add(prompt, ids[i]), i + 1 == ids.size()) << "prompt " << prompt << ", token " << i;
  };
  give(0, {a, end}); // though it might go on
  EXPECT_EQ(answers.finish(0), Finish::End);
  EXPECT_EQ(answers.text(0), "a");
  give(1, {a, a, b}); // what might have begun a stop text was none
  EXPECT_EQ(answers.finish(1), Finish::Length);
  EXPECT_EQ(answers.text(1), "aab");
  give(2, {a, b, c}); // the last one that it may have
  EXPECT_EQ(answers.finish(2), Finish::Stop);
  EXPECT_EQ(answers.text(2), "a");
  give(3, {ab, end}); // what was held back comes with the end
  EXPECT_EQ(answers.finish(3), Finish::End);
  EXPECT_EQ(answers.text(3), "ab");
  give(4, {a, bcd}); // within a token
  EXPECT_EQ(answers.finish(4), Finish::Stop);
  EXPECT_EQ(answers.text(4), "a");
  EXPECT_EQ(answers.tokens(4), (std::vector<int32_t>{a, bcd}));
  give(5, {a, br});
  EXPECT_EQ(answers.finish(5), Finish::Stop);
  EXPECT_EQ(answers.text(5), "a");
}

// Nor would a conversation, which writes end tokens itself, have it twice.
TEST(Answers, AnEndTokenIsNoTextThoughItIsNotSpecial) {
  Job job(2);
  job.endTokens = {end, br, c};
  job.stops = {"never"}; // so that texts are made
  Answers answers(job, nullptr);
  EXPECT_FALSE(answers.add(0, a));
  EXPECT_TRUE(answers.add(0, br));
  EXPECT_EQ(answers.finish(0), Finish::End);
  EXPECT_EQ(answers.text(0), "a");
  EXPECT_EQ(answers.tokens(0), (std::vector<int32_t>{a, br}));
  EXPECT_FALSE(answers.add(1, b));
  EXPECT_TRUE(answers.add(1, c));
  EXPECT_EQ(answers.text(1), "b");
}

// So no stop text is looked for in it.
TEST(Answers, AnEndTokenThatIsAStopTextIsAnEnd) {
  Job job(1);
  job.endTokens = {br};
  job.stops = {"<br>"};
  Answers answers(job, nullptr);
  EXPECT_FALSE(answers.add(0, a));
  EXPECT_TRUE(answers.add(0, br));
  EXPECT_EQ(answers.finish(0), Finish::End);
  EXPECT_EQ(answers.text(0), "a");
}

TEST(Answers, AreLinesOfJsonInTheOrderOfTheirPrompts) {
  Job job(2);
  job.json = true;
  job.stops = {"bc"};
  StandardOutput out;
  Answers answers(job, &out);
  EXPECT_EQ(printed([&] { answers.add(1, a), answers.add(1, end), answers.add(0, b); }), "");
  EXPECT_EQ(printed([&] { answers.add(0, c); }),
            "{\"index\":0,\"text\":\"\",\"tokens\":[1,2],\"finish\":\"stop\"}\n"
            "{\"index\":1,\"text\":\"a\",\"tokens\":[0,6],\"finish\":\"end\"}\n");
}

TEST(GenerateTimes, NameWhatWasDone) {
  EXPECT_EQ(GenerateTimes().line("loaded"), "loaded"); // a conversation without a message
  EXPECT_EQ((GenerateTimes{0.5, 0, 1, 0}.line("loaded")), "loaded; prefill: 1 token in 0.50 s");
  EXPECT_EQ((GenerateTimes{0.5, 2, 3, 8}.line("loaded")),
            "loaded; prefill: 3 tokens in 0.50 s; decode: 8 tokens in 2.00 s (4.0 tokens/s)");
}

// What may begin a stop text waits. Where the run ends it goes out.
TEST(Answers, AnInterruptedOneIsPrintedToItsEnd) {
  Job job(2);
  job.stops = {"bcda"};
  StandardOutput out;
  Answers answers(job, &out);
  EXPECT_EQ(printed([&] { answers.add(1, d), answers.add(0, a), answers.add(0, bcd); }), "a");
  EXPECT_EQ(printed([&] { answers.interrupt(); }), "bcd\n"); // and nothing of the one behind it
}

} // namespace
} // namespace tessera::runtime
