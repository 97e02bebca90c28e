// What becomes of the tokens that a run makes: when an answer is over, and how answers are printed.
#ifndef TESSERA_RUNTIME_APP_ANSWERS_H
#define TESSERA_RUNTIME_APP_ANSWERS_H

#include "Generate.h"
#include "StopTexts.h"
#include "Terminal.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// Why an answer is over: an end token of the model, a text of --stop, or the most tokens that it may have.
enum class Finish { None, End, Stop, Length };
const char *nameOf(Finish finish); // as --json has it

// The answers to a job's prompts. Every rank holds them, for all have to know when one is over; the root
// prints them, one after another in the order of the prompts, each as it comes once those before it are
// complete.
class Answers {
public:
  // `out`: of the root; null: nothing is printed.
  Answers(const GenerateJob &job, StandardOutput *out);

  // One more token. Returns whether the answer is over with it.
  bool add(size_t prompt, int32_t id);
  // It is over without one more.
  void end(size_t prompt, Finish finish);
  // What is done before something is printed; null: nothing.
  void onText(std::function<void()> before) { before_ = std::move(before); }
  // The run ends before its answers do: what is held back of the one that is being printed goes out.
  void interrupt();

  const std::vector<int32_t> &tokens(size_t prompt) const { return rows_[prompt].tokens; }
  const std::string &text(size_t prompt) const { return rows_[prompt].text; } // empty where nobody wants it
  Finish finish(size_t prompt) const { return rows_[prompt].finish; }

private:
  struct Row {
    std::vector<int32_t> tokens;
    std::optional<text::StreamDecoder> decoder;
    std::optional<StopTexts> stops;
    std::string text;
    size_t printed = 0; // bytes of it
    Finish finish = Finish::None;
  };

  void addText(Row &row, const std::string &text);
  void print();
  void write(std::string_view text);
  void begin(size_t prompt);
  void close(size_t prompt);

  const GenerateJob &job_;
  StandardOutput *out_;
  std::function<void()> before_;
  std::vector<Row> rows_;
  size_t current_ = 0; // that is being printed
  bool begun_ = false;
};

} // namespace tessera::runtime
#endif
