#include "tessera/runtime/io/Json.h"
#include "tessera/runtime/text/Tokenizer.h"

#include <algorithm>

namespace tessera::text {

Result<std::vector<int32_t>> endTokens(const io::ModelFile &model, int64_t vocab) {
  auto bad = [](const std::string &where) {
    return Failure{"cannot read model", where, "the end token is not a token id or a list of them",
                   "correct that file"};
  };
  std::vector<int32_t> ids;
  if (model.format() == io::ModelFormat::Gguf) {
    // The end of a text, of a turn, and of a message that a tool is to answer.
    for (const char *name : {"eos", "eot", "eom"}) {
      const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
      const io::GgufValue *value = model.metadata(key);
      if (!value)
        continue;
      if ((value->kind != io::GgufValue::Kind::Uint && value->kind != io::GgufValue::Kind::Int) ||
          value->intValue < 0 || value->intValue > INT32_MAX)
        return bad(model.path() + ", " + key);
      if (value->intValue >= vocab)
        continue;
      if (std::find(ids.begin(), ids.end(), int32_t(value->intValue)) == ids.end())
        ids.push_back(int32_t(value->intValue));
    }
    return ids;
  }
  for (const char *name : {"generation_config.json", "config.json"}) {
    const std::string_view *text = model.text(name);
    if (!text)
      continue;
    std::string where = model.path() + "/" + name;
    Result<nlohmann::json> json = io::parseJson(*text, where);
    if (!json)
      return json.takeFailure();
    if (!json->is_object())
      return Failure{"cannot read model", where, "must hold a JSON object",
                     "take the files of the model afresh"};
    if (!json->contains("eos_token_id") || (*json)["eos_token_id"].is_null())
      continue;
    const nlohmann::json &value = (*json)["eos_token_id"];
    nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
    for (const nlohmann::json &id : list) {
      if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX)
        return bad(where + ", eos_token_id");
      if (id.get<int64_t>() >= vocab)
        continue;
      ids.push_back(id.get<int32_t>());
    }
    return ids;
  }
  return ids;
}

} // namespace tessera::text
