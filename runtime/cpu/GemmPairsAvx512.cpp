// Products of rows of bfloat16 with packed weights of bfloat16, for CPUs with AVX512-BF16: half as many
// instructions as after widening both.
#include "GemmKernelsImpl.h"

namespace tessera::runtime {
namespace {

// Two neighbours in k, as a packed group has them: the first one in the low half.
struct BF16Pairs {
  typedef uint32_t Element;
  typedef uint32_t Input __attribute__((aligned(2), may_alias)); // an array of bfloat16 begins anywhere
  typedef Bits Words;
  static constexpr int group = 1;
  static void packed(const Element *p, Bits *w) { w[0] = *reinterpret_cast<const Bits *>(p); }
  static Vec added(Vec sum, uint32_t x, Bits w) {
    typedef __bf16 Pairs __attribute__((vector_size(64)));
    return __builtin_ia32_dpbf16ps_512(sum, reinterpret_cast<Pairs>(x - Bits{}), reinterpret_cast<Pairs>(w));
  }
};

void packedPairs(const PackedWeight &w, const void *data, int64_t m, const uint16_t *x, float *y,
                 int64_t begin, int64_t end) {
  const PackedWeight pairs = {w.n, w.k / 2, w.block, w.paddedN, w.paddedK / 2};
  packedColumns<BF16Pairs>(pairs, data, m, reinterpret_cast<const BF16Pairs::Input *>(x), y, begin, end);
}

} // namespace

extern const PackedPairColumns packedPairsAvx512;
const PackedPairColumns packedPairsAvx512 = packedPairs;

} // namespace tessera::runtime
