// What is asked of "quantization_config".
#include "tessera/runtime/io/Quantization.h"
#include "Readers.h"

#include <cctype>
#include <nlohmann/json.hpp>

namespace tessera::io {

static const char *const takeAnother =
    "use a model in fp8, in 4-bit GPTQ or AWQ, in GGUF, or one that is not quantized";

namespace {
// The settings of one method, each of which says what else it may be.
struct Reader {
  const nlohmann::json &config;
  std::string where;
  std::optional<Failure> failure;

  void fail(const std::string &key, const std::string &why) {
    if (!failure)
      failure = Failure{cannotReadModel, where + ", quantization_config." + key, why, takeAnother};
  }
  const nlohmann::json *find(const std::string &key) const {
    auto found = config.find(key);
    return found == config.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const std::string &key, const std::string &fallback = {}) {
    const nlohmann::json *found = find(key);
    if (found && !found->is_string())
      fail(key, "is " + found->dump().substr(0, 40) + ", must be a text");
    return found && found->is_string() ? found->get<std::string>() : fallback;
  }
  // The first of `keys` that is there.
  int64_t integer(std::initializer_list<const char *> keys, int64_t fallback) {
    for (const char *key : keys)
      if (const nlohmann::json *found = find(key)) {
        if (found->is_number_integer() &&
            (!found->is_number_unsigned() || found->get<uint64_t>() <= uint64_t(INT32_MAX)))
          return found->get<int64_t>();
        fail(key, "is " + found->dump().substr(0, 40) + ", must be a whole number of 32 bits");
      }
    return fallback;
  }
  bool flag(const std::string &key, bool fallback) {
    const nlohmann::json *found = find(key);
    if (!found)
      return fallback;
    if (!found->is_boolean())
      fail(key, "is " + found->dump().substr(0, 40) + ", must be true or false");
    return found->is_boolean() && found->get<bool>();
  }
};
} // namespace

static void readFp8(Reader &reader, Quantization &quantization) {
  if (std::string format = reader.text("fmt", "e4m3"); format != "e4m3")
    reader.fail("fmt", "is " + format + ", must be e4m3");
  const nlohmann::json *sizes = reader.find("weight_block_size");
  if (!sizes)
    return;
  auto isSize = [](const nlohmann::json &size) {
    return size.is_number_integer() && size.get<int64_t>() > 0 && size.get<int64_t>() <= INT32_MAX;
  };
  if (!sizes->is_array() || sizes->size() != 2 || !isSize((*sizes)[0]) || !isSize((*sizes)[1]))
    return reader.fail("weight_block_size", "is " + sizes->dump().substr(0, 40) + ", must be two sizes");
  quantization.blockRows = (*sizes)[0].get<int64_t>();
  quantization.blockColumns = (*sizes)[1].get<int64_t>();
}

static void readInt4(Reader &reader, Quantization &quantization) {
  int64_t bits = reader.integer({"bits", "w_bit"}, 0);
  if (bits != 4)
    reader.fail("bits", "is " + std::to_string(bits) + ", must be 4");
  quantization.group = reader.integer({"group_size", "q_group_size"}, 128);
  if (quantization.group != -1 &&
      (quantization.group <= 0 || quantization.group > INT32_MAX || quantization.group % 32 != 0))
    reader.fail("group_size",
                "is " + std::to_string(quantization.group) + ", must be -1 or a multiple of 32");
}

Result<Quantization> readQuantization(const nlohmann::json &config, const std::string &where) {
  Quantization quantization;
  if (config.is_null())
    return quantization;
  Reader reader{config, where, {}};
  if (!config.is_object()) {
    reader.fail("quant_method", "is missing: quantization_config is no object");
    return *reader.failure;
  }
  const std::string method = reader.text("quant_method");
  if (method == "mxfp4") {
    quantization.method = Quantization::Method::Mxfp4; // its other settings the family reads
    return quantization;
  }
  if (method == "fp8" || method == "fbgemm_fp8") {
    quantization.method = Quantization::Method::Fp8;
    readFp8(reader, quantization);
  } else if (method == "compressed-tensors") {
    quantization.method = Quantization::Method::Fp8;
    if (std::string format = reader.text("format"); format != "float-quantized")
      reader.fail("format", "is " + (format.empty() ? "missing" : format) + ", must be float-quantized");
  } else if (method == "gptq") {
    quantization.method = Quantization::Method::Gptq;
    readInt4(reader, quantization);
    if (reader.flag("desc_act", false))
      reader.fail("desc_act", "is true: inputs in an order of their own are not read");
    std::string format = reader.text("checkpoint_format", "gptq");
    if (format != "gptq" && format != "gptq_v2")
      reader.fail("checkpoint_format", "is " + format + ", must be gptq or gptq_v2");
    quantization.zerosLessOne = format == "gptq";
  } else if (method == "awq") {
    quantization.method = Quantization::Method::Awq;
    readInt4(reader, quantization);
    if (!reader.flag("zero_point", true))
      reader.fail("zero_point", "is false, must be true: what its zeros are then nobody says");
    std::string version = reader.text("version", "gemm");
    for (char &c : version)
      c = char(std::tolower(static_cast<unsigned char>(c)));
    if (version != "gemm")
      reader.fail("version", "is " + version + ", must be gemm");
  } else {
    reader.fail("quant_method",
                "is " + (method.empty() ? "missing" : method) + ", must be fp8, gptq, awq or mxfp4");
  }
  if (reader.failure)
    return *reader.failure;
  return quantization;
}

} // namespace tessera::io
