// Our declarations of NCCL beside the real header, where there is one: all of it at compile time.
#include "../cuda/api/Nccl.h"

#include <gtest/gtest.h>
#include <nccl.h>
#include <type_traits>

namespace ours = tessera::nccl;

#define TESSERA_SAME_VALUE(name, value)                                                                      \
  static_assert(int(::name) == value && int(ours::name) == value, #name);
TESSERA_NCCL_RESULTS(TESSERA_SAME_VALUE)
TESSERA_NCCL_OPERATIONS(TESSERA_SAME_VALUE)
TESSERA_NCCL_TYPES(TESSERA_SAME_VALUE)
static_assert(ours::kNoColor == NCCL_SPLIT_NOCOLOR);

static_assert(sizeof(ours::ncclUniqueId) == sizeof(::ncclUniqueId));
static_assert(alignof(ours::ncclUniqueId) == alignof(::ncclUniqueId));
static_assert(sizeof(ours::ncclResult_t) == sizeof(::ncclResult_t));
static_assert(sizeof(ours::ncclRedOp_t) == sizeof(::ncclRedOp_t));
static_assert(sizeof(ours::ncclDataType_t) == sizeof(::ncclDataType_t));

// Passed in the same way: both pointers, or of one size and kind. Types of our own differ by name.
template <typename A, typename B>
constexpr bool alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                       std::is_class_v<A> == std::is_class_v<B>;
template <typename A, typename B> struct SameCall : std::false_type {};
template <typename R, typename... A, typename S, typename... B> struct SameCall<R(A...), S(B...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(A) == sizeof...(B))
      return alike<R, S> && (alike<A, B> && ...);
    return false;
  }
  static constexpr bool value = check();
};
#define TESSERA_SAME_CALL(name, result, parameters)                                                          \
  static_assert(SameCall<decltype(::name), result parameters>::value, #name);
namespace tessera::nccl {
TESSERA_NCCL_FUNCTIONS(TESSERA_SAME_CALL)
} // namespace tessera::nccl

// The oldest release that the runtime takes, in the numbers of the real header.
static_assert(ours::kOldestNccl == 2 * 10000 + 18 * 100 && ours::kOldestNccl <= NCCL_VERSION_CODE);

TEST(NcclApi, OurDeclarationsAreThoseOfTheRealHeader) { SUCCEED(); } // this file compiles
