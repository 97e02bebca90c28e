#include "Answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

const char *nameOf(Finish finish) {
  switch (finish) {
  case Finish::End:
    return "end";
  case Finish::Stop:
    return "stop";
  case Finish::Length:
    return "length";
  default:
    return "";
  }
}

Answers::Answers(const GenerateJob &job, StandardOutput *out)
    : job_(job), out_(out), rows_(job.prompts.size()) {
  if (!job.tokenizer || (!out && job.stops.empty()))
    return;
  for (Row &row : rows_) {
    row.decoder.emplace(*job.tokenizer);
    row.stops.emplace(job.stops);
  }
}

void Answers::addText(Row &row, const std::string &text) {
  row.text += row.stops->push(text);
  if (row.stops->isMet())
    row.finish = Finish::Stop;
}

bool Answers::add(size_t prompt, int32_t id) {
  Row &row = rows_[prompt];
  row.tokens.push_back(id);
  auto isOneOf = [&](const std::vector<int32_t> &ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  Finish finish = Finish::None;
  if (isOneOf(job_.stopTokens))
    finish = Finish::Stop;
  else if (isOneOf(job_.endTokens))
    finish = Finish::End;
  else if (int64_t(row.tokens.size()) >= job_.limits[prompt])
    finish = Finish::Length;
  // An end token is no text of the answer, though its vocabulary may not call it special.
  if (row.decoder && finish != Finish::End)
    addText(row, row.decoder->push(id));
  if (row.finish == Finish::None && finish == Finish::None) {
    print();
    return false;
  }
  end(prompt, finish);
  return true;
}

void Answers::end(size_t prompt, Finish finish) {
  Row &row = rows_[prompt];
  if (row.decoder && row.finish == Finish::None)
    addText(row, row.decoder->flush()); // which may complete a stop text
  if (row.finish == Finish::None) {
    if (row.stops)
      row.text += row.stops->flush();
    row.finish = finish;
  }
  print();
}

void Answers::interrupt() {
  if (current_ < rows_.size() && rows_[current_].finish == Finish::None && rows_[current_].stops) {
    rows_[current_].text += rows_[current_].stops->flush();
    print();
  }
  if (out_ && !job_.json)
    out_->freshLine();
}

void Answers::write(std::string_view text) {
  if (!text.empty() && before_)
    before_();
  out_->write(text);
}

void Answers::begin(size_t prompt) {
  begun_ = true;
  if (!job_.headings.empty() && !job_.json)
    write(job_.headings[prompt] + "\n");
}

void Answers::print() {
  if (!out_)
    return;
  while (current_ < rows_.size()) {
    Row &row = rows_[current_];
    if (!begun_ && (!row.tokens.empty() || row.finish != Finish::None))
      begin(current_);
    if (!job_.json) {
      write(std::string_view(row.text).substr(row.printed));
      row.printed = row.text.size();
    }
    if (row.finish == Finish::None)
      return;
    close(current_++);
    begun_ = false;
  }
}

void Answers::close(size_t prompt) {
  const Row &row = rows_[prompt];
  if (job_.json) {
    nlohmann::ordered_json line = {
        {"index", prompt}, {"text", nullptr}, {"tokens", row.tokens}, {"finish", nameOf(row.finish)}};
    if (row.decoder)
      line["text"] = row.text;
    write(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return;
  }
  out_->freshLine();
  if (!job_.printTokens)
    return;
  std::string line = "tokens: ";
  for (size_t i = 0; i < row.tokens.size(); ++i)
    line += (i ? "," : "") + std::to_string(row.tokens[i]);
  write(line + "\n");
}

} // namespace tessera::runtime
