// Our declarations of the driver API and of cuBLASLt beside the toolkit's own headers: values, layouts,
// signatures, and the version in which each function came. All of it is checked while this file compiles; it
// is built only where a toolkit is installed (CMakeLists.txt).

// Ours first: the toolkit's headers rename functions by macros.
#include "../../test/standin/cublaslt/MoreFunctions.h"
#include "../../test/standin/cuda/MoreFunctions.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cudaTypedefs.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace ours = tessera::cuda;

namespace {

template <typename T, typename = void> constexpr size_t sizeOrZero = 0; // of what is declared only
template <typename T> constexpr size_t sizeOrZero<T, std::void_t<decltype(sizeof(T))>> = sizeof(T);

// "CUstream_st": without its namespace.
template <typename T> constexpr std::string_view typeName() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  return text.substr(text.rfind(':') + 1);
}

template <typename Ours, typename Real> constexpr bool same();

// The parameters of functions, one by one.
template <typename Ours, typename Real> struct SameFunction : std::false_type {};
template <typename OurResult, typename... Ours, typename RealResult, typename... Real>
struct SameFunction<OurResult(Ours...), RealResult(Real...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(Ours) == sizeof...(Real))
      return same<OurResult, RealResult>() && (same<Ours, Real>() && ...);
    else
      return false;
  }
  static constexpr bool value = compare();
};

// The same to a caller: enumerations are as wide as each other, structures as large, handles have the same
// name, pointers point to the same, functions agree in result and parameters.
template <typename Ours, typename Real> constexpr bool same() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Real>) {
    using OurTarget = std::remove_pointer_t<Ours>;
    using RealTarget = std::remove_pointer_t<Real>;
    return std::is_const_v<OurTarget> == std::is_const_v<RealTarget> &&
           same<std::remove_const_t<OurTarget>, std::remove_const_t<RealTarget>>();
  } else if constexpr (std::is_function_v<Ours> && std::is_function_v<Real>) {
    return SameFunction<Ours, Real>::value;
  } else if constexpr (std::is_enum_v<Ours> && std::is_enum_v<Real>) {
    return sizeof(Ours) == sizeof(Real);
  } else if constexpr (std::is_class_v<Ours> || std::is_union_v<Ours>) {
    return std::is_class_v<Real> == std::is_class_v<Ours> && std::is_union_v<Real> == std::is_union_v<Ours> &&
           sizeOrZero<Ours> == sizeOrZero<Real> &&
           (sizeOrZero<Ours> != 0 || typeName<Ours>() == typeName<Real>());
  } else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Real>) {
    return sizeof(Ours) == sizeof(Real) && std::is_signed_v<Ours> == std::is_signed_v<Real>;
  } else {
    return std::is_same_v<Ours, Real>;
  }
}

// --- Values ---

#define CHECK_VALUE(name, number)                                                                            \
  static_assert(static_cast<unsigned long long>(name) == static_cast<unsigned long long>(number), #number);

TESSERA_CUDA_RESULTS(CHECK_VALUE)
TESSERA_CUDA_DEVICE_ATTRIBUTES(CHECK_VALUE)
TESSERA_CUDA_FUNCTION_ATTRIBUTES(CHECK_VALUE)
TESSERA_CUDA_POINTER_ATTRIBUTES(CHECK_VALUE)
TESSERA_CUDA_JIT_OPTIONS(CHECK_VALUE)
TESSERA_CUDA_LIBRARY_OPTIONS(CHECK_VALUE)
TESSERA_CUDA_CAPTURE_MODES(CHECK_VALUE)
TESSERA_CUDA_CAPTURE_STATUSES(CHECK_VALUE)
TESSERA_CUDA_PROC_ADDRESS_RESULTS(CHECK_VALUE)
TESSERA_CUDA_LAUNCH_ATTRIBUTES(CHECK_VALUE)
TESSERA_CUDA_MEMORY_TYPES(CHECK_VALUE)
TESSERA_CUDA_FLAGS(CHECK_VALUE)

TESSERA_CUBLASLT_STATUSES(CHECK_VALUE)
TESSERA_CUBLASLT_DATA_TYPES(CHECK_VALUE)
TESSERA_CUBLASLT_COMPUTE_TYPES(CHECK_VALUE)
TESSERA_CUBLASLT_OPERATIONS(CHECK_VALUE)
TESSERA_CUBLASLT_ORDERS(CHECK_VALUE)
TESSERA_CUBLASLT_LAYOUT_ATTRIBUTES(CHECK_VALUE)
TESSERA_CUBLASLT_DESC_ATTRIBUTES(CHECK_VALUE)
TESSERA_CUBLASLT_POINTER_MODES(CHECK_VALUE)
TESSERA_CUBLASLT_EPILOGUES(CHECK_VALUE)
TESSERA_CUBLASLT_PREFERENCE_ATTRIBUTES(CHECK_VALUE)
TESSERA_CUBLASLT_REDUCTION_SCHEMES(CHECK_VALUE)
TESSERA_CUBLASLT_ALGO_CAPABILITIES(CHECK_VALUE)
TESSERA_CUBLASLT_ALGO_SETTINGS(CHECK_VALUE)
TESSERA_CUBLASLT_FLAGS(CHECK_VALUE)

// --- Structures ---

#define CHECK_MEMBER(type, member)                                                                           \
  static_assert(offsetof(ours::type, member) == offsetof(::type, member));                                   \
  static_assert(sizeof(ours::type::member) == sizeof(::type::member));
#define CHECK_SIZE(type)                                                                                     \
  static_assert(sizeof(ours::type) == sizeof(::type) && alignof(ours::type) == alignof(::type));

CHECK_SIZE(CUdevice)
CHECK_SIZE(CUdeviceptr)
CHECK_SIZE(CUuuid)
CHECK_SIZE(CUDA_MEMCPY3D)
CHECK_MEMBER(CUDA_MEMCPY3D, srcXInBytes)
CHECK_MEMBER(CUDA_MEMCPY3D, srcY)
CHECK_MEMBER(CUDA_MEMCPY3D, srcZ)
CHECK_MEMBER(CUDA_MEMCPY3D, srcLOD)
CHECK_MEMBER(CUDA_MEMCPY3D, srcMemoryType)
CHECK_MEMBER(CUDA_MEMCPY3D, srcHost)
CHECK_MEMBER(CUDA_MEMCPY3D, srcDevice)
CHECK_MEMBER(CUDA_MEMCPY3D, srcArray)
CHECK_MEMBER(CUDA_MEMCPY3D, srcPitch)
CHECK_MEMBER(CUDA_MEMCPY3D, srcHeight)
CHECK_MEMBER(CUDA_MEMCPY3D, dstXInBytes)
CHECK_MEMBER(CUDA_MEMCPY3D, dstY)
CHECK_MEMBER(CUDA_MEMCPY3D, dstZ)
CHECK_MEMBER(CUDA_MEMCPY3D, dstLOD)
CHECK_MEMBER(CUDA_MEMCPY3D, dstMemoryType)
CHECK_MEMBER(CUDA_MEMCPY3D, dstHost)
CHECK_MEMBER(CUDA_MEMCPY3D, dstDevice)
CHECK_MEMBER(CUDA_MEMCPY3D, dstArray)
CHECK_MEMBER(CUDA_MEMCPY3D, dstPitch)
CHECK_MEMBER(CUDA_MEMCPY3D, dstHeight)
CHECK_MEMBER(CUDA_MEMCPY3D, WidthInBytes)
CHECK_MEMBER(CUDA_MEMCPY3D, Height)
CHECK_MEMBER(CUDA_MEMCPY3D, Depth)
CHECK_SIZE(CUlaunchAttributeValue)
CHECK_MEMBER(CUlaunchAttributeValue, cooperative)
CHECK_MEMBER(CUlaunchAttributeValue, clusterDim)
CHECK_MEMBER(CUlaunchAttributeValue, programmaticStreamSerializationAllowed)
CHECK_MEMBER(CUlaunchAttributeValue, programmaticEvent)
CHECK_MEMBER(CUlaunchAttributeValue, priority)
CHECK_SIZE(CUlaunchAttribute)
CHECK_MEMBER(CUlaunchAttribute, id)
CHECK_MEMBER(CUlaunchAttribute, value)
CHECK_SIZE(CUlaunchConfig)
CHECK_MEMBER(CUlaunchConfig, gridDimX)
CHECK_MEMBER(CUlaunchConfig, gridDimZ)
CHECK_MEMBER(CUlaunchConfig, blockDimX)
CHECK_MEMBER(CUlaunchConfig, blockDimZ)
CHECK_MEMBER(CUlaunchConfig, sharedMemBytes)
CHECK_MEMBER(CUlaunchConfig, hStream)
CHECK_MEMBER(CUlaunchConfig, attrs)
CHECK_MEMBER(CUlaunchConfig, numAttrs)
CHECK_SIZE(cublasLtMatrixLayoutOpaque_t)
CHECK_SIZE(cublasLtMatmulDescOpaque_t)
CHECK_SIZE(cublasLtMatmulPreferenceOpaque_t)
CHECK_SIZE(cublasLtMatmulAlgo_t)
CHECK_SIZE(cublasLtMatmulHeuristicResult_t)
CHECK_MEMBER(cublasLtMatmulHeuristicResult_t, workspaceSize)
CHECK_MEMBER(cublasLtMatmulHeuristicResult_t, state)
CHECK_MEMBER(cublasLtMatmulHeuristicResult_t, wavesCount)

} // namespace

// --- Functions ---
// The types of ours, by name, where the names of their parameters' types are ours.
namespace tessera::cuda {
#define OUR_TYPE(base, suffix, version, parameters) using Type_##base = CUresult parameters;
TESSERA_CUDA_FIRST_FUNCTION(OUR_TYPE)
TESSERA_CUDA_FUNCTIONS(OUR_TYPE)
STANDIN_MORE_FUNCTIONS(OUR_TYPE)
#define OUR_LT_TYPE(name, result, parameters) using Type_##name = result parameters;
TESSERA_CUBLASLT_FUNCTIONS(OUR_LT_TYPE)
STANDIN_MORE_CUBLASLT_FUNCTIONS(OUR_LT_TYPE)
} // namespace tessera::cuda

namespace {

// The exported function, and the form that cuGetProcAddress gives for the version.
#define CHECK_FUNCTION(base, suffix, version, parameters)                                                    \
  static_assert(same<ours::Type_##base, decltype(::base##suffix)>(), #suffix #parameters);                   \
  static_assert(same<ours::Type_##base *, PFN_##base##_v##version>(), #parameters);
TESSERA_CUDA_FIRST_FUNCTION(CHECK_FUNCTION)
TESSERA_CUDA_FUNCTIONS(CHECK_FUNCTION)
STANDIN_MORE_FUNCTIONS(CHECK_FUNCTION) // that the stand-in alone has

#define CHECK_LT_FUNCTION(name, result, parameters)                                                          \
  static_assert(same<ours::Type_##name, decltype(::name)>(), #name);
TESSERA_CUBLASLT_FUNCTIONS(CHECK_LT_FUNCTION)
STANDIN_MORE_CUBLASLT_FUNCTIONS(CHECK_LT_FUNCTION)

// The comparison tells what differs.
static_assert(!same<int(int), int(long)>());
static_assert(!same<int(int), int(int, int)>());
static_assert(!same<int(const int *), int(int *)>());
static_assert(!same<ours::CUdeviceptr, ::CUstream>());
static_assert(!same<ours::CUevent, ::CUstream>());
static_assert(!same<ours::CUuuid *, ::CUlaunchConfig *>());

TEST(CudaApi, AgreesWithTheToolkit) { SUCCEED() << "compared while this file was compiled"; }

} // namespace
