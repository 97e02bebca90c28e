// Work of streams: operations, as calls or captured nodes describe them, and units, each one run of one.
#ifndef TESSERA_STANDIN_CUDA_UNIT_H
#define TESSERA_STANDIN_CUDA_UNIT_H

#include "../../../runtime/cuda/api/Cuda.h"
#include "AccessHistory.h"
#include "Memory.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace standin {

using tessera::runtime::AccessHistory;
using tessera::runtime::Clock;
using tessera::runtime::merge;
using tessera::runtime::TaskPlace;
using tessera::runtime::timeOf;
using tessera::runtime::TouchedBytes;

struct Context;
struct Unit;

enum class Progress { Done, Later };
using Run = std::function<Progress(Unit &)>; // goes on with a unit; called again after Later

// What a stream is asked to do. Arguments are frozen in it: a graph runs it again and again.
struct Operation {
  std::string kind;                             // of a line of the trace: "copy", "kernel"
  tessera::cuda::CUfunction function = nullptr; // of a kernel
  std::string what;                             // for messages: "cuMemcpyHtoDAsync of 64 bytes"
  std::vector<TouchedBytes> touched;            // exactly; of a kernel: see Unit::touched
  std::vector<AllocationRef> uses;              // what it may touch: all of it must live until it has run
  // Makes what carries out one run; called by the host thread that gives it to a stream. Null: nothing to do.
  std::function<Run()> start;
};
using OperationRef = std::shared_ptr<const Operation>;

// One run of an operation, or, without one, a place that others wait for.
struct Unit {
  OperationRef operation;
  Context *context = nullptr;
  TaskPlace place;
  Run run;
  uint64_t key = 0;    // of those that may run, the one with the largest goes first
  int64_t missing = 0; // so many units must be done before
  std::vector<std::shared_ptr<Unit>> followers;
  bool reports = false; // the operation is a kernel, which tells what it touched when it has run
  bool started = false; // it may be touching memory now
  bool done = false;
  std::chrono::steady_clock::time_point doneAt;
};
using UnitRef = std::shared_ptr<Unit>;

} // namespace standin
#endif
