// What a product may say of the parameter that it reads, whole or gathered.
#include "tessera/runtime/core/Manifest.h"

#include <algorithm>

namespace tessera::runtime {

// A layer of `param` as the product reads it; `why` says what is wrong with its pieces.
static Shape readShape(const MatmulSpec &product, const ParamSpec &param, std::string &why) {
  Shape shape = param.local;
  if (product.pieces.empty())
    return shape;
  auto several = std::count_if(product.pieces.begin(), product.pieces.end(), [](int64_t n) { return n > 1; });
  if (!param.isHeldInBlocks())
    why = "takes pieces of parameter " + param.name + ", which is not held in blocks";
  else if (product.pieces.size() != shape.size() || several > 1 ||
           std::any_of(product.pieces.begin(), product.pieces.end(),
                       [](int64_t n) { return n < 1 || n > (int64_t(1) << 20); }))
    why = "takes pieces " + toString(product.pieces) + " of parameter " + param.name +
          ", of whose dimensions one at most has several";
  else if (param.held.size() > 1 && param.layerBytes == 0)
    why = "takes pieces of parameter " + param.name + ", whose layers are not equally far apart";
  for (size_t d = 0; d < shape.size() && why.empty(); ++d)
    shape[d] = std::min(shape[d] * product.pieces[d], param.shape[d]);
  return shape;
}

std::string wrongWeight(const MatmulSpec &product, const ParamSpec &param) {
  if (product.w != param.dtype)
    return "takes weights as " + std::string(io::traits(product.w).name) + ", parameter " + param.name +
           " is held as " + io::traits(param.dtype).name;
  std::string why;
  Shape shape = readShape(product, param, why);
  if (!why.empty())
    return why;
  int64_t rows = elementCount(Shape(shape.begin(), shape.begin() + *param.packOutDims)),
          groups = std::max<int64_t>(product.groups, 1);
  if (rows % groups != 0 || product.n != rows / groups || rows * product.k != elementCount(shape))
    return "does not fit parameter " + param.name;
  return "";
}

} // namespace tessera::runtime
