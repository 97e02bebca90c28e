// abi.h: what generated code asks of its rank goes to the streams of its device. Generated code stands above
// these functions: errors end the run here instead of unwinding through it.
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/Rank.h"

using namespace tessera::runtime;

template <typename F> static void guarded(F &&f) {
  try {
    f();
  } catch (const std::exception &e) {
    endRun(e);
  }
}

// `f` may set the token of the call.
template <typename F> static void observed(Rank &rank, ObservedCall call, F &&f) {
  guarded([&] {
    CallObserver *observer = rank.observer();
    if (observer)
      observer->begin(call);
    f(call);
    if (observer)
      observer->end(call);
  });
}

extern "C" {

void ts_launch(ts_rank *handle, int32_t stream, int32_t kernel, void *const *buffers, const int64_t *scalars,
               int64_t count, int64_t grain) {
  Rank &rank = Rank::of(handle);
  observed(rank, {CallKind::Launch, kernel, buffers, scalars}, [&](ObservedCall &) {
    rank.stream(stream).launch(rank.module(), {kernel, buffers, scalars, count, grain});
    rank.shared().progress();
  });
}

void ts_matmul(ts_rank *handle, int32_t stream, int32_t id, int64_t layer, const void *x, const void *w,
               void *y, const void *bias, const void *addend) {
  Rank &rank = Rank::of(handle);
  const void *weights = w ? w : rank.weights(rank.manifest().matmuls[id].param, layer);
  observed(rank, {CallKind::Matmul, id, nullptr, nullptr, y}, [&](ObservedCall &) {
    rank.stream(stream).multiply(rank.product(id), {x, weights, y, bias, addend});
    rank.shared().progress();
  });
}

void ts_grouped_matmul(ts_rank *handle, int32_t stream, int32_t id, int64_t layer, const void *x,
                       const void *w, const int32_t *starts, void *y) {
  Rank &rank = Rank::of(handle);
  const void *weights = w ? w : rank.weights(rank.manifest().matmuls[id].param, layer);
  observed(rank, {CallKind::Matmul, id, nullptr, nullptr, y}, [&](ObservedCall &) {
    rank.stream(stream).multiply(rank.product(id), {x, weights, y, nullptr, nullptr, starts});
    rank.shared().progress();
  });
}

void ts_gather_packed(ts_rank *handle, int32_t stream, int32_t param, int64_t layer, const int32_t *ids,
                      int64_t base, int64_t rows, void *out) {
  Rank &rank = Rank::of(handle);
  observed(rank, {CallKind::GatherPacked, param, nullptr, nullptr, out}, [&](ObservedCall &) {
    rank.stream(stream).gather(*rank.plan().param(param).layout, rank.weights(param, layer), ids, base, rows,
                               out);
  });
}

void ts_pack(ts_rank *handle, int32_t stream, int32_t param, int64_t layer) {
  Rank &rank = Rank::of(handle);
  observed(rank, {CallKind::Pack, param},
           [&](ObservedCall &) { rank.pack(param, layer, rank.stream(stream)); });
}

void ts_collective(ts_rank *handle, int32_t stream, int32_t id, const void *src, void *dst) {
  Rank &rank = Rank::of(handle);
  observed(rank, {CallKind::Collective, id, nullptr, nullptr, dst},
           [&](ObservedCall &) { rank.collectives().run(id, src, dst, rank.stream(stream)); });
}

void ts_exchange_rows(ts_rank *handle, int32_t stream, int32_t id, const void *src, const int32_t *counts,
                      void *dst) {
  Rank &rank = Rank::of(handle);
  observed(rank, {CallKind::Collective, id, nullptr, nullptr, dst}, [&](ObservedCall &) {
    rank.collectives().exchangeRows(id, src, counts, dst, rank.stream(stream));
  });
}

int64_t ts_collective_start(ts_rank *handle, int32_t stream, int32_t id, const void *src, void *dst) {
  Rank &rank = Rank::of(handle);
  int64_t token = 0;
  observed(rank, {CallKind::Start, id, nullptr, nullptr, dst}, [&](ObservedCall &call) {
    call.token = token =
        rank.collectives().start(id, src, dst, rank.shared().beginCommunication(rank.stream(stream)));
  });
  return token;
}

int64_t ts_send(ts_rank *handle, int32_t stream, int32_t group, int64_t index, int64_t tag, const void *src,
                int64_t bytes) {
  Rank &rank = Rank::of(handle);
  int64_t token = 0;
  observed(rank, {CallKind::Send}, [&](ObservedCall &call) {
    call.token = token = rank.collectives().send(group, index, tag, src, size_t(bytes),
                                                 rank.shared().beginCommunication(rank.stream(stream)));
  });
  return token;
}

int64_t ts_receive(ts_rank *handle, int32_t stream, int32_t group, int64_t index, int64_t tag, void *dst,
                   int64_t bytes) {
  Rank &rank = Rank::of(handle);
  int64_t token = 0;
  observed(rank, {CallKind::Receive, -1, nullptr, nullptr, dst}, [&](ObservedCall &call) {
    call.token = token = rank.collectives().receive(group, index, tag, dst, size_t(bytes),
                                                    rank.shared().beginCommunication(rank.stream(stream)));
  });
  return token;
}

void ts_collective_wait(ts_rank *handle, int32_t stream, int64_t token) {
  Rank &rank = Rank::of(handle);
  observed(rank, {CallKind::Wait, -1, nullptr, nullptr, nullptr, token}, [&](ObservedCall &) {
    rank.collectives().wait(token, rank.shared().communication());
    rank.shared().joinCommunication(rank.stream(stream));
  });
}

int64_t ts_group_index(ts_rank *handle, int32_t group) { return Rank::of(handle).groupIndex(group); }

void ts_event_record(ts_rank *handle, int32_t stream, int32_t event) {
  Rank &rank = Rank::of(handle);
  guarded([&] { rank.stream(stream).record(rank.event(event)); });
}

void ts_event_wait(ts_rank *handle, int32_t stream, int32_t event) {
  Rank &rank = Rank::of(handle);
  guarded([&] { rank.stream(stream).wait(rank.event(event)); });
}

int64_t ts_read_flag(ts_rank *handle, int32_t, const void *flag) {
  Rank &rank = Rank::of(handle);
  int64_t value = 0;
  observed(rank, {CallKind::ReadFlag}, [&](ObservedCall &call) {
    char byte = 0;
    rank.read(&byte, static_cast<const char *>(flag), 1);
    call.flag = value = byte != 0;
  });
  return value;
}

void ts_copy(ts_rank *handle, int32_t stream, void *dst, const void *src, int64_t bytes) {
  Rank &rank = Rank::of(handle);
  observed(rank, {CallKind::Copy, -1, nullptr, nullptr, dst},
           [&](ObservedCall &) { rank.stream(stream).copy(dst, src, size_t(bytes)); });
}
}
