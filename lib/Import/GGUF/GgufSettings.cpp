//===- GgufSettings.cpp ---------------------------------------------------===//
#include "tessera/Import/GGUF/GgufSettings.h"

#include "tessera/Import/Family.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <cstdio>

namespace tessera::importer {

SettingValue GgufSettings::lookup(llvm::StringRef key) const {
  using Kind = SettingValue::Kind;
  using Stored = io::GgufValue::Kind;
  SettingValue v;
  const io::GgufValue *found = file_.metadata(std::string_view(key.data(), key.size()));
  if (!found)
    return v;
  switch (found->kind) {
  case Stored::Int:
    v = {Kind::Integer, false, found->intValue, double(found->intValue), std::to_string(found->intValue)};
    break;
  case Stored::Uint:
    v = {Kind::Integer, false, found->intValue < 0 ? INT64_MAX : found->intValue, double(found->uintValue()),
         std::to_string(found->uintValue())};
    break;
  case Stored::Float: {
    char text[32]; // formatv has no shortest form
    std::snprintf(text, sizeof text, "%.9g", found->floatValue);
    v = {Kind::Number, false, 0, found->floatValue, text};
    break;
  }
  case Stored::Bool:
    v = {Kind::Bool, found->intValue != 0, 0, 0, found->intValue ? "true" : "false"};
    break;
  case Stored::String:
    v = {Kind::Text, false, 0, 0, std::string(found->string)};
    break;
  case Stored::Array:
    v = {Kind::Array, false, 0, 0, "a list"};
    break;
  }
  return v;
}

std::optional<std::vector<SettingValue>> GgufSettings::lookupList(llvm::StringRef key) const {
  using Kind = SettingValue::Kind;
  using Stored = io::GgufValue::Kind;
  const io::GgufValue *found = file_.metadata(std::string_view(key.data(), key.size()));
  // Of texts and floats no family has a list yet.
  if (!found || found->kind != Stored::Array || !found->strings.empty() || !found->floats.empty())
    return std::nullopt;
  std::vector<SettingValue> values;
  for (int64_t n : found->ints)
    if (found->elementKind == Stored::Bool)
      values.push_back({Kind::Bool, n != 0, 0, 0, n ? "true" : "false"});
    else
      values.push_back({Kind::Integer, false, n, double(n), std::to_string(n)});
  return values;
}

void GgufSettings::refuseUnreadSettings(llvm::StringRef architecture) {
  std::string prefix = architecture.str() + ".";
  for (const auto &[key, value] : file_.metadata()) {
    llvm::StringRef name = key;
    if (!name.consume_front(prefix) || wasRead(key))
      continue;
    SettingValue v = lookup(key);
    bool neutral =
        llvm::is_contained(
            {"tensor_data_layout", "rope.scaling.original_context_length", "rope.scaling.finetuned"}, name) ||
        (llvm::is_contained({"expert_count", "expert_used_count"}, name) &&
         v.kind == SettingValue::Kind::Integer && v.integer == 0) ||
        (name == "attention.causal" && v.boolean) || (name == "rope.scaling.attn_factor" && v.number == 1);
    if (!neutral)
      return unsupported(key, "no such setting");
  }
}

ModelConfig readGgufConfig(Settings &settings, const io::ModelFile &file, llvm::StringRef architecture,
                           llvm::StringRef normEpsKey) {
  auto key = [&](const char *name) { return architecture.str() + "." + name; };
  ModelConfig c;
  c.layers = settings.size(key("block_count"));
  c.hidden = settings.size(key("embedding_length"));
  c.heads = settings.size(key("attention.head_count"));
  c.kvHeads = settings.size(key("attention.head_count_kv"), c.heads);
  c.headDim = settings.has(key("attention.key_length")) ? settings.size(key("attention.key_length")) : 0;
  c.ffn = settings.size(key("feed_forward_length"));
  c.maxPositions = settings.size(key("context_length"));
  c.normEps = settings.positive(normEpsKey);
  c.tiedHead = file.find("output.weight") == nullptr;

  const io::TensorInfo *table = file.find("token_embd.weight");
  settings.require(table && table->shape.size() == 2, "tensor token_embd.weight",
                   "is missing or not a matrix");
  if (table && table->shape.size() == 2)
    c.vocab = settings.size(key("vocab_size"), table->shape[0]);

  checkHeads(settings, c, key("attention.head_count"), key("attention.head_count_kv"),
             key("embedding_length"));
  if (settings.has(key("attention.value_length")) &&
      settings.size(key("attention.value_length")) != c.headDim)
    settings.unsupported(key("attention.value_length"), "the same as key_length");
  return c;
}

void readExpertsGguf(Settings &settings, llvm::StringRef architecture, ModelConfig &config) {
  auto key = [&](const char *name) { return architecture.str() + "." + name; };
  SettingValue count = settings.value(key("expert_count"));
  if (count.absent() || (count.kind == SettingValue::Kind::Integer && count.integer == 0))
    return;
  config.experts = settings.size(key("expert_count"));
  config.expertsUsed = settings.size(key("expert_used_count"));
  config.expertFfn = settings.size(key("expert_feed_forward_length"), config.ffn);
  settings.require(config.expertsUsed <= config.experts, key("expert_used_count"),
                   "is " + llvm::Twine(config.expertsUsed) + " of " + llvm::Twine(config.experts) +
                       " experts");
}

} // namespace tessera::importer
