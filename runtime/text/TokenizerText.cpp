#include "TokenizerText.h"

namespace tessera::text {

namespace {
class Handler : public io::JsonBuilder {
public:
  TokenizerText text;

  bool start_object(size_t size) override {
    if (region_ != Region::Elsewhere)
      return damaged();
    if (isModelMember("vocab"))
      region_ = Region::Vocabulary;
    return JsonBuilder::start_object(size);
  }
  bool key(string_t &name) override {
    if (region_ == Region::Vocabulary)
      return token_ = std::move(name), true;
    if (depth() == 1)
      inModel_ = name == "model";
    return JsonBuilder::key(name);
  }
  bool end_object() override {
    region_ = Region::Elsewhere;
    return JsonBuilder::end_object();
  }
  bool start_array(size_t size) override {
    if (region_ == Region::Merges) {
      region_ = Region::Pair;
      parts_ = 0;
      return true;
    }
    if (region_ != Region::Elsewhere)
      return damaged();
    if (isModelMember("merges"))
      region_ = Region::Merges;
    return JsonBuilder::start_array(size);
  }
  bool end_array() override {
    if (region_ == Region::Pair) {
      region_ = Region::Merges;
      return parts_ == 2 || damaged();
    }
    region_ = Region::Elsewhere;
    return JsonBuilder::end_array();
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (region_ == Region::Elsewhere)
      return JsonBuilder::number_unsigned(value);
    if (region_ != Region::Vocabulary || value > uint64_t(INT32_MAX))
      return damaged();
    text.tokens.add(token_);
    text.ids.push_back(int32_t(value));
    return true;
  }
  bool string(string_t &value) override {
    switch (region_) {
    case Region::Elsewhere:
      return JsonBuilder::string(value);
    case Region::Merges: { // the older spelling, "a b"
      size_t blank = value.find(' ');
      if (blank == std::string::npos)
        return fail("the merge \"" + value + "\" is missing or damaged", "is the file whole?");
      text.merges.add(std::string_view(value).substr(0, blank));
      text.merges.add(std::string_view(value).substr(blank + 1));
      return true;
    }
    case Region::Pair: // since 2024, ["a", "b"]
      text.merges.add(value);
      ++parts_;
      return true;
    case Region::Vocabulary:
      break;
    }
    return damaged();
  }
  bool null() override { return region_ == Region::Elsewhere ? JsonBuilder::null() : damaged(); }
  bool boolean(bool value) override {
    return region_ == Region::Elsewhere ? JsonBuilder::boolean(value) : damaged();
  }
  bool number_integer(number_integer_t value) override {
    return region_ == Region::Elsewhere ? JsonBuilder::number_integer(value) : damaged();
  }
  bool number_float(number_float_t value, const string_t &spelling) override {
    return region_ == Region::Elsewhere ? JsonBuilder::number_float(value, spelling) : damaged();
  }

private:
  enum class Region { Elsewhere, Vocabulary, Merges, Pair };

  // About to enter the member `name` of the outermost object's "model".
  bool isModelMember(const char *name) const { return depth() == 2 && inModel_ && lastKey() == name; }
  bool damaged() {
    return fail(region_ == Region::Vocabulary ? "the id of token \"" + token_ + "\" is missing or damaged"
                                              : "an entry of \"merges\" is missing or damaged",
                "is the file whole?");
  }

  Region region_ = Region::Elsewhere;
  bool inModel_ = false;
  std::string token_; // whose id comes next
  int parts_ = 0;     // of the open pair, so far
};
} // namespace

Result<TokenizerText> parseTokenizerText(std::string_view json, const std::string &where) {
  Handler handler;
  handler.where = where;
  handler.what = "cannot use the tokenizer";
  if (json.size() > (size_t(256) << 20))
    handler.fail("larger than 256 MiB");
  else if (readJson(json, handler)) {
    handler.text.rest = std::move(handler.result);
    return std::move(handler.text);
  }
  return *handler.failure;
}

} // namespace tessera::text
