#include "Mark.h"

#include "tessera/runtime/io/Checksum.h"
#include "tessera/runtime/io/Json.h"

namespace tessera::checkpoint {

std::string stepName(int64_t step) { return "step-" + std::to_string(step); }

int64_t stepOfName(std::string_view name) {
  if (name.substr(0, 5) != "step-" || name.size() < 6 || name.size() > 20)
    return -1;
  int64_t step = 0;
  for (char c : name.substr(5)) {
    if (c < '0' || c > '9')
      return -1;
    step = step * 10 + (c - '0');
  }
  return stepName(step) == name ? step : -1;
}

int64_t stepOfIndex(const std::string &index) {
  Result<nlohmann::json> json = io::parseJson(index, indexName);
  if (!json || !json->is_object() || !json->contains("metadata") || !(*json)["metadata"].is_object())
    return -1;
  const nlohmann::json &metadata = (*json)["metadata"];
  auto step = metadata.find("step");
  return step != metadata.end() && step->is_number_unsigned() ? step->get<int64_t>() : -1;
}

namespace {
// Fields of an object; `whole` is false once one was missing or of another type.
struct FieldReader {
  const nlohmann::json &object;
  bool &whole;

  const nlohmann::json *find(const char *name) {
    auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end())
      return whole = false, nullptr;
    return &*found;
  }
  uint64_t number(const char *name) {
    const nlohmann::json *field = find(name);
    if (!field || !field->is_number_unsigned())
      return whole = false, 0;
    return field->get<uint64_t>();
  }
  // Of steps, rows and the like: sums of them stay in 64 bits.
  int64_t count(const char *name) {
    const uint64_t value = number(name);
    whole = whole && value <= uint64_t(1) << 60;
    return int64_t(value);
  }
  double real(const char *name) {
    const nlohmann::json *field = find(name);
    if (!field || !field->is_number())
      return whole = false, 0;
    return field->get<double>();
  }
  uint64_t digits(const char *name) {
    const nlohmann::json *field = find(name);
    uint64_t value = 0;
    if (!field || !field->is_string() || !io::readHexText(field->get_ref<const std::string &>(), value))
      whole = false;
    return value;
  }
};
} // namespace

Result<Mark> readMark(std::string_view text, const std::string &where) {
  auto bad = [&](const std::string &why) {
    return Failure{"cannot resume", where, why, "name an earlier save with --resume=DIR/step-N"};
  };
  uint64_t expected = 0;
  const size_t begin = markBegin.size() + 16;
  if (text.substr(0, markBegin.size()) != markBegin || text.size() < begin ||
      !io::readHexText(text.substr(markBegin.size(), 16), expected) ||
      io::checksum(text.substr(begin)) != expected)
    return bad("its bytes are not those that were saved");
  Result<nlohmann::json> json = io::parseJson(text, where);
  if (!json)
    return bad(json.failure().why);
  bool whole = true;
  FieldReader fields{*json, whole};
  if (fields.number("format") != uint64_t(markVersion))
    return bad("it was written by another version");
  Mark mark;
  mark.place = {fields.count("step"),
                fields.count("updates"),
                fields.count("rows"),
                fields.real("loss_scale"),
                fields.count("good_steps"),
                0,
                std::nullopt,
                0,
                false};
  if (json->contains("pass_rows")) // marks of earlier versions do not say
    mark.place.passRows = fields.count("pass_rows");
  if (json->contains("shuffle"))
    mark.place.shuffle = fields.number("shuffle");
  if (json->contains("data")) {
    mark.place.fingerprint = fields.digits("data");
    mark.place.documents = json->value("documents", nlohmann::json()) == true;
  }
  whole = whole && mark.place.lossScale >= 0;
  const nlohmann::json *files = fields.find("files");
  if (!files || !files->is_object())
    return bad("it names no files");
  for (const auto &[name, entry] : files->items()) {
    FieldReader file{entry, whole};
    MarkedFile &marked = mark.files[name];
    marked.bytes = file.number("bytes");
    marked.head = file.digits("checksum");
    marked.isText = !entry.contains("tensors");
    marked.headBytes = marked.isText ? marked.bytes : file.number("header_bytes");
    if (!marked.isText && entry["tensors"].is_object())
      for (const auto &[tensor, sum] : entry["tensors"].items())
        marked.tensors[tensor] = FieldReader{entry["tensors"], whole}.digits(tensor.c_str());
    whole = whole && marked.headBytes <= marked.bytes;
  }
  if (!whole)
    return bad("it is damaged");
  return mark;
}

} // namespace tessera::checkpoint
