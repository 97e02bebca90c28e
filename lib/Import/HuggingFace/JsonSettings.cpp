//===- JsonSettings.cpp ---------------------------------------------------===//
#include "tessera/Import/HuggingFace/JsonSettings.h"

#include "tessera/runtime/io/Quantization.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using nlohmann::json;

namespace tessera::importer {

const json *JsonSettings::find(llvm::StringRef key) const {
  const json *object = &object_;
  while (true) {
    auto [first, rest] = key.split('.');
    if (!object->is_object())
      return nullptr;
    auto it = object->find(first.str());
    if (it == object->end())
      return nullptr;
    if (rest.empty())
      return &*it;
    object = &*it;
    key = rest;
  }
}

static SettingValue valueOf(const json *found) {
  using Kind = SettingValue::Kind;
  SettingValue v;
  v.text = found->dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (v.text.size() > 60)
    v.text = v.text.substr(0, 57) + "...";
  switch (found->type()) {
  case json::value_t::null:
    v.kind = Kind::Null;
    break;
  case json::value_t::boolean:
    v.kind = Kind::Bool;
    v.boolean = found->get<bool>();
    break;
  case json::value_t::number_integer:
  case json::value_t::number_unsigned:
    v.kind = Kind::Integer;
    v.number = found->get<double>();
    v.integer = found->is_number_unsigned() && found->get<uint64_t>() > uint64_t(INT64_MAX)
                    ? INT64_MAX
                    : found->get<int64_t>();
    break;
  case json::value_t::number_float:
    v.kind = Kind::Number;
    v.number = found->get<double>();
    break;
  case json::value_t::string:
    v.kind = Kind::Text;
    v.text = found->get<std::string>();
    break;
  case json::value_t::object:
    v.kind = Kind::Object;
    break;
  default:
    v.kind = Kind::Array;
  }
  return v;
}

SettingValue JsonSettings::lookup(llvm::StringRef key) const {
  const json *found = find(key);
  return found ? valueOf(found) : SettingValue();
}

std::optional<std::vector<SettingValue>> JsonSettings::lookupList(llvm::StringRef key) const {
  const json *found = find(key);
  if (!found || !found->is_array())
    return std::nullopt;
  std::vector<SettingValue> values;
  for (const json &element : *found)
    values.push_back(valueOf(&element));
  return values;
}

/// Settings of any family that change the numbers, with the values (as JSON) that leave them alone; null
/// always does.
struct NeutralValues {
  llvm::StringLiteral key;
  std::initializer_list<llvm::StringLiteral> values;
};
static const NeutralValues kChangesNumbers[] = {
    {"add_cross_attention", {"false"}},
    {"alibi", {"false"}},
    {"attention_chunk_size", {}},
    {"attention_multiplier", {}},
    {"attn_logit_softcapping", {}},
    {"clip_qkv", {}},
    {"compression_config", {}},
    {"embedding_multiplier", {"1", "1.0"}},
    {"final_logit_softcapping", {}},
    {"is_encoder_decoder", {"false"}},
    {"logit_scale", {"1", "1.0"}},
    {"logits_scaling", {"1", "1.0"}},
    {"n_routed_experts", {"0"}},
    {"no_rope_layers", {"[]"}},
    {"num_experts", {"0"}},
    {"num_local_experts", {"0"}},
    {"parallel_attn", {"false"}},
    {"partial_rotary_factor", {"1", "1.0"}},
    {"pruned_heads", {"{}"}},
    {"qk_layernorm", {"false"}},
    {"qk_norm", {"false"}},
    {"qkv_bias", {"false"}},
    {"quantization_config", {}},
    {"query_pre_attn_scalar", {}},
    {"residual_multiplier", {"1", "1.0"}},
    {"rope_interleave", {"false"}},
    {"rope_interleaved", {"false"}},
    {"rotary_dim", {}},
    {"rotary_pct", {"1", "1.0"}},
    {"scale_attn_by_inverse_layer_idx", {"false"}},
    {"scale_depth", {}},
    {"scale_emb", {"1", "1.0"}},
    {"sliding_window", {}},
    {"use_alibi", {"false"}},
    {"use_parallel_residual", {"false"}},
    {"use_qk_norm", {"false"}},
};

/// Weights in parts that are put together as they are read; whose config.json stands alone may not say so.
static bool readsQuantization(const json &config) {
  Result<io::Quantization> quantization = io::readQuantization(config, "");
  return quantization && quantization->method != io::Quantization::Method::None &&
         quantization->method != io::Quantization::Method::Mxfp4; // a family reads that
}

void JsonSettings::refuseUnreadSettings() {
  for (const NeutralValues &setting : kChangesNumbers) {
    const json *found = find(setting.key);
    if (!found || found->is_null() || wasRead(setting.key) ||
        llvm::is_contained(setting.values, found->dump()))
      continue;
    if (setting.key == "quantization_config" && readsQuantization(*found))
      continue;
    if (setting.key == "sliding_window" && find("use_sliding_window") && *find("use_sliding_window") == false)
      continue;
    return unsupported(setting.key,
                       setting.values.size() ? llvm::StringRef(*setting.values.begin()) : "no such setting");
  }
  // One kind per layer; the families that mix kinds read it themselves.
  const json *kinds = find("layer_types");
  if (kinds && !wasRead("layer_types") && kinds->is_array() &&
      !llvm::all_of(*kinds, [](const json &kind) { return kind == "full_attention"; }))
    unsupported("layer_types", "full_attention");
}

} // namespace tessera::importer
