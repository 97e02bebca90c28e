// The part of Open MPI's binary interface that we use, as a symbol table. No header of MPI is needed: its
// handles are pointers to objects that libmpi exports, stable over the life of libmpi.so.40 (Open MPI 1.10 to
// 5).
#ifndef TESSERA_RUNTIME_COMM_MPI_MPILIBRARY_H
#define TESSERA_RUNTIME_COMM_MPI_MPILIBRARY_H

#include <cstddef>
#include <mutex>
#include <string>

namespace tessera::runtime {

using MpiComm = void *;
using MpiType = void *;
using MpiRequest = void *;
using MpiErrorHandler = void *;

// name, result, arguments
#define TESSERA_MPI_FUNCTIONS(X)                                                                             \
  X(Init_thread, int, (int *, char ***, int, int *))                                                         \
  X(Finalize, int, (void))                                                                                   \
  X(Comm_rank, int, (MpiComm, int *))                                                                        \
  X(Comm_size, int, (MpiComm, int *))                                                                        \
  X(Comm_set_errhandler, int, (MpiComm, MpiErrorHandler))                                                    \
  X(Comm_get_attr, int, (MpiComm, int, void *, int *))                                                       \
  X(Error_string, int, (int, char *, int *))                                                                 \
  X(Isend, int, (const void *, int, MpiType, int, int, MpiComm, MpiRequest *))                               \
  X(Irecv, int, (void *, int, MpiType, int, int, MpiComm, MpiRequest *))                                     \
  X(Type_create_hvector, int, (int, int, std::ptrdiff_t, MpiType, MpiType *))                                \
  X(Type_commit, int, (MpiType *))                                                                           \
  X(Type_free, int, (MpiType *))                                                                             \
  X(Test, int, (MpiRequest *, int *, void *))                                                                \
  X(Testall, int, (int, MpiRequest *, int *, void *))

#define TESSERA_MPI_OBJECTS(X)                                                                               \
  X(world, "ompi_mpi_comm_world")                                                                            \
  X(byte, "ompi_mpi_byte")                                                                                   \
  X(errorsReturn, "ompi_mpi_errors_return")                                                                  \
  X(requestNull, "ompi_request_null")

constexpr int mpiThreadSerialized = 2, mpiThreadMultiple = 3, mpiMaxErrorString = 256;
constexpr int mpiTagUpperBound = 0; // the key of an attribute of the world

struct MpiLibrary {
#define TESSERA_MPI_MEMBER(name, result, arguments) result(*name) arguments;
  TESSERA_MPI_FUNCTIONS(TESSERA_MPI_MEMBER)
#undef TESSERA_MPI_MEMBER
#define TESSERA_MPI_MEMBER(name, symbol) void *name;
  TESSERA_MPI_OBJECTS(TESSERA_MPI_MEMBER)
#undef TESSERA_MPI_MEMBER

  // Held by whoever sends, receives and tests for a rank: its streams may run on threads of their own, and
  // one of them at a time calls MPI. The heartbeats between machines do without it: with them MPI was started
  // with MPI_THREAD_MULTIPLE (MpiWorld.h), and the watch must not wait for a rank that hangs in a call.
  mutable std::mutex mutex;

  // Opens libmpi.so.40 on the first call. Throws Error if it is missing.
  static const MpiLibrary &get();
  // Throws Error naming `what` unless `code` is success.
  void expect(int code, const char *what) const;
};

} // namespace tessera::runtime
#endif
