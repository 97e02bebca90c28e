#include "Suite.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace conformance {

[[noreturn]] static void end(const std::string &text) {
  fprintf(stderr, "error: %s\n", text.c_str());
  exit(2);
}

static Api open() {
  Api api;
  api.library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!api.library)
    end(std::string("no driver (libcuda.so.1): ") + dlerror() +
        "; run under scripts/standin, or where a GPU is");
  api.isStandin = dlsym(api.library, "standinEnqueue") != nullptr;
  api.cuGetProcAddress =
      reinterpret_cast<decltype(api.cuGetProcAddress)>(dlsym(api.library, "cuGetProcAddress_v2"));
  if (!api.cuGetProcAddress)
    end("old driver (libcuda.so.1): it has no cuGetProcAddress_v2; install one for CUDA 12 or later");
#define CONFORMANCE_LOAD(base, suffix, version, parameters)                                                  \
  if (api.cuGetProcAddress(#base, reinterpret_cast<void **>(&api.base), version, 0, nullptr) || !api.base)   \
    end("old driver (libcuda.so.1): it has no " #base "; install one for CUDA 12 or later");
  TESSERA_CUDA_DEVICE_FUNCTIONS(CONFORMANCE_LOAD)
  TESSERA_CUDA_MEMORY_FUNCTIONS(CONFORMANCE_LOAD)
  TESSERA_CUDA_STREAM_FUNCTIONS(CONFORMANCE_LOAD)
  TESSERA_CUDA_MODULE_FUNCTIONS(CONFORMANCE_LOAD)
  STANDIN_MORE_FUNCTIONS(CONFORMANCE_LOAD)
#undef CONFORMANCE_LOAD
  if (CUresult result = api.cuInit(0))
    end("cuInit gives " + std::to_string(result) + ": there is no GPU; run under scripts/standin");
  CUcontext context;
  if (api.cuDevicePrimaryCtxRetain(&context, 0) || api.cuCtxSetCurrent(context))
    end("no context on device 0: see above; look at the GPU with nvidia-smi");
  return api;
}

Api &api() {
  static Api api = open();
  return api;
}

std::string nameOf(CUresult result) {
  const char *name = nullptr;
  api().cuGetErrorName(result, &name);
  return name ? name : std::to_string(result);
}

void fail(const char *file, int line, const std::string &text) {
  const char *slash = strrchr(file, '/');
  throw Failure{std::string(slash ? slash + 1 : file) + ":" + std::to_string(line) + ": " + text};
}

std::vector<Test> &tests() {
  static std::vector<Test> all;
  return all;
}

uint32_t wordAt(CUdeviceptr address) {
  uint32_t word = 0;
  OK(api().cuMemcpyDtoH(&word, address, 4));
  return word;
}

ChildOutcome runAgain(const std::vector<std::string> &arguments, int descriptor, const char *variable,
                      const std::string &value) {
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  int text[2];
  if (pipe(text))
    return {-1, "no pipe"};
  pid_t child = fork();
  if (child == 0) {
    dup2(text[1], descriptor);
    close(text[0]);
    setenv(variable, value.c_str(), 1);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(text[1]);
  std::string said;
  char buffer[512];
  for (ssize_t n; (n = read(text[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, size_t(n));
  close(text[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), said};
}

} // namespace conformance
