// Quantized weights of safetensors: what "quantization_config" of config.json says of them, and how their
// parts, which stand in tensors of their own, become blocks of DType.h.
//
// fp8 (also fbgemm_fp8, and compressed-tensors with the format float-quantized): W.weight as F8_E4M3 [out,
// in] with a scale, W.weight_scale_inv or W.weight_scale: of the tensor, of each row [out] or [out, 1], or of
// each block [out / o, in / i], rounded up, with "weight_block_size": [o, i]. gptq: W.qweight I32 [in / 8,
// out], 8 inputs a word, the first lowest; W.qzeros I32 [in / group, out / 8], each less 1 but for
// "checkpoint_format": "gptq_v2"; W.scales F16 [in / group, out]; W.g_idx I32 [in], the group of each input,
// if there. awq, version gemm: W.qweight I32 [in, out / 8], 8 outputs a word in the order 0, 2, 4, 6, 1, 3,
// 5, 7; W.qzeros I32 [in / group, out / 8] in the same; W.scales as gptq's. docs/Quantization.md says what is
// refused.
#ifndef TESSERA_RUNTIME_IO_QUANTIZATION_H
#define TESSERA_RUNTIME_IO_QUANTIZATION_H

#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/ModelFile.h"

#include <nlohmann/json_fwd.hpp>

namespace tessera::io {

struct Quantization {
  enum class Method { None, Fp8, Gptq, Awq, Mxfp4 };
  Method method = Method::None;
  int64_t group = 0;                       // Gptq, Awq: inputs that share a scale; -1: all
  bool zerosLessOne = false;               // Gptq: 1 is added to what qzeros holds
  int64_t blockRows = 0, blockColumns = 0; // Fp8: of one scale; 0: as the scale's shape says
};

// Of the value of "quantization_config"; a Failure without a place (`where` is the caller's) if it names what
// is not read. Null gives None.
Result<Quantization> readQuantization(const nlohmann::json &config, const std::string &where);

// Replaces the parts of quantized weights by the weights: W.weight [out, in], in blocks. Fails if parts are
// missing or do not fit together, and names the one at fault. Of Mxfp4 it only looks whether parts are
// missing: joinBlocksAndScales puts them together.
Status assembleQuantized(const Quantization &quantization, std::vector<TensorInfo> &tensors,
                         const std::string &where);

} // namespace tessera::io
#endif
