// The stand-in of libcublasLt: what the runtime calls of it, on memory of the stand-in's libcuda, in the
// order of its streams. Descriptors, leading dimensions, alignments, the workspace and the addresses are
// checked; what an algorithm was made for is kept in it, so that it serves no other product.
#include "../cuda/Work.h"
#include "MoreFunctions.h"
#include "Problem.h"

#include <cstdio>
#include <memory>

namespace standin {

void refuse(const char *call, const std::string &why, cublasStatus_t status) {
  fprintf(stderr, "stand-in: %s: %s\n", call, why.c_str());
  throw Refused{status};
}

template <typename Body> static cublasStatus_t guarded(Body &&body) {
  try {
    body();
    return CUBLAS_STATUS_SUCCESS;
  } catch (const Refused &refused) {
    return refused.status;
  } catch (const std::bad_alloc &) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
}

// Copies a value of the size that the attribute has.
template <typename Value> static void set(const char *call, Value &to, const void *from, size_t bytes) {
  if (!from || bytes != sizeof(Value))
    refuse(call,
           "the attribute has " + std::to_string(sizeof(Value)) + " bytes, not " + std::to_string(bytes));
  memcpy(&to, from, sizeof(Value));
}

template <typename Value>
static void get(const char *call, const Value &value, void *to, size_t bytes, size_t *written) {
  if (bytes == 0 && written) {
    *written = sizeof(Value);
    return;
  }
  if (!to || bytes != sizeof(Value))
    refuse(call,
           "the attribute has " + std::to_string(sizeof(Value)) + " bytes, not " + std::to_string(bytes));
  memcpy(to, &value, sizeof(Value));
  if (written)
    *written = sizeof(Value);
}

static const Algorithm &algorithmAt(const cublasLtMatmulAlgo_t *algo, const char *call) {
  auto *algorithm = reinterpret_cast<const Algorithm *>(algo);
  if (!algo || algorithm->mark != Algorithm::kMark || algorithm->splits == 0)
    refuse(call, "that is no algorithm of this library");
  return *algorithm;
}

static Problem problemOf(const char *call, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  Objects &objects = Objects::get();
  return Problem::make(call, objects.descs.at(desc, call, "the product's descriptor"),
                       objects.layouts.at(a, call, "A's layout"), objects.layouts.at(b, call, "B's layout"),
                       objects.layouts.at(c, call, "C's layout"), objects.layouts.at(d, call, "D's layout"));
}

namespace {
// What a stream runs, again and again where it is part of a graph.
struct Job {
  Problem problem;
  Operands operands;
  Algorithm algorithm;
  void *workspace;
  size_t workspaceBytes;
};
} // namespace

static void enqueue(const char *call, const Job &given, CUstream stream) {
  const Problem &p = given.problem;
  StandinAccess accesses[6];
  size_t count = 0;
  auto touch = [&](const void *address, size_t bytes, bool writes) {
    if (bytes)
      accesses[count++] = {address, bytes, writes};
  };
  touch(given.operands.a, spanBytes(p.a), false);
  touch(given.operands.b, spanBytes(p.b), false);
  if (given.operands.beta != 0 && given.operands.c != given.operands.d)
    touch(given.operands.c, spanBytes(p.c), false);
  if (p.hasBias())
    touch(given.operands.bias, p.m * elementBytes(p.d.type), false);
  touch(given.operands.d, spanBytes(p.d), true);
  touch(given.workspace, given.workspaceBytes, true);
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      auto begin = [&](size_t which) { return static_cast<const char *>(accesses[which].address); };
      if (i != j && accesses[i].writes && begin(i) < begin(j) + accesses[j].bytes &&
          begin(j) < begin(i) + accesses[i].bytes)
        refuse(call, "what it writes overlaps what it reads");
    }

  std::string name = std::string(call) + " " + p.name();
  auto job = std::make_unique<Job>(given);
  StandinWork work = {};
  work.name = name.c_str();
  work.accesses = accesses;
  work.accessCount = count;
  work.context = job.get();
  work.begin = [](void *context) { return context; };
  work.advance = [](void *run) {
    const Job &job = *static_cast<Job *>(run);
    multiply(job.problem, job.operands, job.algorithm);
    if (job.workspaceBytes) // the parts of the sums went through there
      memset(job.workspace, 0xFF, job.workspaceBytes);
    return 1;
  };
  work.release = [](void *context) { delete static_cast<Job *>(context); };
  int result = standinEnqueue(stream, &work);
  if (result != CUDA_SUCCESS)
    refuse(call, "the stream did not take it: error " + std::to_string(result),
           CUBLAS_STATUS_EXECUTION_FAILED);
  job.release();
}

} // namespace standin

using namespace standin;

// The same declarations that the runtime calls through.
namespace tessera::cuda {
TESSERA_CUBLASLT_DECLARE_FUNCTIONS
extern "C" {
STANDIN_MORE_CUBLASLT_FUNCTIONS(TESSERA_CUBLASLT_DECLARE_FUNCTION)
}

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  return guarded([&] {
    if (!handle)
      refuse("cublasLtCreate", "the handle's address is null");
    *handle = reinterpret_cast<cublasLtHandle_t>(new char);
    std::lock_guard<std::mutex> lock(Objects::get().mutex);
    Objects::get().handles.insert(*handle);
  });
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return guarded([&] {
    Objects::get().expectHandle(handle, "cublasLtDestroy");
    std::lock_guard<std::mutex> lock(Objects::get().mutex);
    Objects::get().handles.erase(handle);
    delete reinterpret_cast<char *>(handle);
  });
}

size_t cublasLtGetVersion() { return 130100; }

const char *cublasLtGetStatusName(cublasStatus_t status) {
#define STATUS_NAME(name, value)                                                                             \
  if (status == name)                                                                                        \
    return #name;
  TESSERA_CUBLASLT_STATUSES(STATUS_NAME)
  return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t computeType,
                                        cudaDataType scaleType) {
  return guarded([&] {
    MatmulDesc object;
    object.compute = computeType;
    object.scale = scaleType;
    *desc = Objects::get().descs.create(object);
  });
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return guarded([&] { Objects::get().descs.destroy(desc, "cublasLtMatmulDescDestroy", "the descriptor"); });
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute, const void *value,
                                              size_t bytes) {
  const char *call = "cublasLtMatmulDescSetAttribute";
  return guarded([&] {
    MatmulDesc &object = Objects::get().descs.at(desc, call, "the descriptor");
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return set(call, object.compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return set(call, object.scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return set(call, object.pointerMode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(call, object.transA, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(call, object.transB, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return set(call, object.transC, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(call, object.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(call, object.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return set(call, object.biasType, value, bytes);
    }
    refuse(call, "attribute " + std::to_string(attribute) + " is not known here");
  });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leadingDimension) {
  return guarded([&] {
    Layout object;
    object.type = type;
    object.rows = rows;
    object.columns = columns;
    object.leading = leadingDimension;
    *layout = Objects::get().layouts.create(object);
  });
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return guarded(
      [&] { Objects::get().layouts.destroy(layout, "cublasLtMatrixLayoutDestroy", "the layout"); });
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *value,
                                                size_t bytes) {
  const char *call = "cublasLtMatrixLayoutSetAttribute";
  return guarded([&] {
    Layout &object = Objects::get().layouts.at(layout, call, "the layout");
    switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: {
      uint32_t type = 0;
      set(call, type, value, bytes);
      object.type = cudaDataType(type);
      return;
    }
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return set(call, object.order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return set(call, object.rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return set(call, object.columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return set(call, object.leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return set(call, object.batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return set(call, object.batchStride, value, bytes);
    }
    refuse(call, "attribute " + std::to_string(attribute) + " is not known here");
  });
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  return guarded([&] { *preference = Objects::get().preferences.create(Preference()); });
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return guarded([&] {
    Objects::get().preferences.destroy(preference, "cublasLtMatmulPreferenceDestroy", "the preference");
  });
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes) {
  const char *call = "cublasLtMatmulPreferenceSetAttribute";
  return guarded([&] {
    Preference &object = Objects::get().preferences.at(preference, call, "the preference");
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
      return set(call, object.searchMode, value, bytes);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return set(call, object.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return set(call, object.reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return set(call, object.alignA, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return set(call, object.alignB, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return set(call, object.alignC, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return set(call, object.alignD, value, bytes);
    }
    refuse(call, "attribute " + std::to_string(attribute) + " is not known here");
  });
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int *found) {
  const char *call = "cublasLtMatmulAlgoGetHeuristic";
  return guarded([&] {
    Objects::get().expectHandle(handle, call);
    if (requested <= 0 || !results || !found)
      refuse(call, "it asks for no algorithm");
    Problem problem = problemOf(call, desc, a, b, c, d);
    *found = 0;
    for (const Algorithm &algorithm :
         problem.algorithms(Objects::get().preferences.at(preference, call, "the preference"))) {
      if (*found == requested)
        break;
      cublasLtMatmulHeuristicResult_t &result = results[(*found)++];
      result = {};
      memcpy(&result.algo, &algorithm, sizeof(algorithm));
      result.workspaceSize = algorithm.workspace;
      result.state = CUBLAS_STATUS_SUCCESS;
      result.wavesCount = 1;
    }
  });
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *result) {
  const char *call = "cublasLtMatmulAlgoCheck";
  return guarded([&] {
    Objects::get().expectHandle(handle, call);
    Problem problem = problemOf(call, desc, a, b, c, d);
    auto *algorithm = reinterpret_cast<const Algorithm *>(algo);
    // Callers ask to find out: no line.
    if (!algo || algorithm->mark != Algorithm::kMark || algorithm->problem != problem.digest())
      throw Refused{CUBLAS_STATUS_NOT_SUPPORTED};
    *result = {};
    result->algo = *algo;
    result->workspaceSize = algorithm->workspace;
    result->state = CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute, void *value,
                                                 size_t bytes, size_t *written) {
  const char *call = "cublasLtMatmulAlgoCapGetAttribute";
  return guarded([&] {
    const Algorithm &algorithm = algorithmAt(algo, call);
    switch (attribute) {
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return get(call, algorithm.numerics, value, bytes, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
      return get(call, algorithm.alignA, value, bytes, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
      return get(call, algorithm.alignB, value, bytes, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
      return get(call, algorithm.alignC, value, bytes, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      return get(call, algorithm.alignD, value, bytes, written);
    }
    refuse(call, "attribute " + std::to_string(attribute) + " is not known here");
  });
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void *value, size_t bytes, size_t *written) {
  const char *call = "cublasLtMatmulAlgoConfigGetAttribute";
  return guarded([&] {
    const Algorithm &algorithm = algorithmAt(algo, call);
    switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_ID:
      return get(call, int32_t(algorithm.splits), value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM:
      return get(call, int32_t(algorithm.splits), value, bytes, written);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME:
      return get(call,
                 uint32_t(algorithm.narrowParts  ? CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE
                          : algorithm.splits > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                                 : CUBLASLT_REDUCTION_SCHEME_NONE),
                 value, bytes, written);
    default:
      return get(call, uint32_t(0), value, bytes, written);
    }
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
                              cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceBytes,
                              CUstream stream) {
  const char *call = "cublasLtMatmul";
  return guarded([&] {
    Objects::get().expectHandle(handle, call);
    if (!alpha || !beta)
      refuse(call, "alpha or beta is null");
    if (!algo) // legal: the library chooses by itself, at every call
      refuse(call, "no algorithm is given: each call would ask the heuristic anew");
    Job job{problemOf(call, desc, aLayout, bLayout, cLayout, dLayout), {}, {}, workspace, 0};
    const Algorithm &algorithm = algorithmAt(algo, call);
    if (algorithm.problem != job.problem.digest())
      refuse(call, "the algorithm was made for another product than " + job.problem.name());
    job.algorithm = algorithm;
    job.operands = {a, b, c, d, job.problem.desc.bias, 0, 0};
    memcpy(&job.operands.alpha, alpha, sizeof(float));
    memcpy(&job.operands.beta, beta, sizeof(float));
    const struct {
      const char *name;
      const void *address;
      uint32_t alignment;
    } operands[] = {{"A", a, algorithm.alignA},
                    {"B", b, algorithm.alignB},
                    {"C", job.operands.beta != 0 ? c : nullptr, algorithm.alignC},
                    {"D", d, algorithm.alignD},
                    {"the workspace", algorithm.workspace ? workspace : nullptr, 256}};
    for (const auto &[name, address, alignment] : operands)
      if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
        refuse(call, std::string(name) + " is not aligned to " + std::to_string(alignment) +
                         " bytes, as the algorithm was promised (" + job.problem.name() + ")");
    if (algorithm.workspace > workspaceBytes || (algorithm.workspace && !workspace))
      refuse(call, "the algorithm needs a workspace of " + std::to_string(algorithm.workspace) +
                       " bytes, and it is given " + std::to_string(workspaceBytes));
    job.workspaceBytes = algorithm.workspace;
    if (job.problem.hasBias() && !job.problem.desc.bias)
      refuse(call, "the epilogue adds a bias, and there is none");
    enqueue(call, job, stream);
  });
}
}

} // namespace tessera::cuda
