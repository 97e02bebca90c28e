// What may become of the sums of a matrix product before they are rounded: one definition for the compiler,
// the manifest and the runtime. Plain data, header only.
#ifndef TESSERA_RUNTIME_CORE_PRODUCTFUNCTION_H
#define TESSERA_RUNTIME_CORE_PRODUCTFUNCTION_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class ProductFunction : int32_t {
  None,
  Relu,     // max(x, 0)
  GeluTanh, // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
};

// The names in IR and manifest.
constexpr const char *productFunctionName(ProductFunction function) {
  constexpr const char *names[] = {"none", "relu", "gelu_tanh"};
  return names[int(function)];
}
inline std::optional<ProductFunction> productFunctionFromName(std::string_view name) {
  for (ProductFunction function : {ProductFunction::None, ProductFunction::Relu, ProductFunction::GeluTanh})
    if (name == productFunctionName(function))
      return function;
  return std::nullopt;
}

} // namespace tessera
#endif
