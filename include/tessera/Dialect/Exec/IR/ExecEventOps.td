#ifndef TESSERA_DIALECT_EXEC_EXECEVENTOPS_TD
#define TESSERA_DIALECT_EXEC_EXECEVENTOPS_TD

// Included by ExecOps.td, which defines the classes used here.

def Exec_EventRecordOp : Exec_StreamOp<"event_record", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "An event: this place of a stream";
  let description = [{
    Rung `exec` only; made by `exec-assign-streams`. The event stands for this place until it is recorded again: of a loop's rounds, for that of the last
    one. `exec-verify-order` proves that streams wait for each other where they must.
    ```mlir
    // given %x: memref<8x64xf32>, %y: memref<8x64xf32>, %z: memref<8x64xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.copy %x to %y stream 1 : memref<8x64xf32>, memref<8x64xf32>
    exec.event_record 1 stream 1
    exec.event_wait 1
    exec.copy %y to %z : memref<8x64xf32>, memref<8x64xf32>
    ```
  }];
  let arguments = (ins I64Attr:$event, Exec_Stream:$stream);
  let assemblyFormat = "$event (`stream` $stream^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = "::std::optional<int64_t> getRecordedEvent() { return int64_t(getEvent()); }";
}

def Exec_EventWaitOp : Exec_StreamOp<"event_wait", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "What a stream is given from here on runs after the place of an event";
  let description = [{
    Rung `exec` only. The place is the last one recorded before this op, in the order of the program and in the same call of the entry: in a loop perhaps the
    one of the round before. See `exec.event_record`.
    ```mlir
    exec.event_record 0 stream 1
    exec.event_wait 0
    ```
  }];
  let arguments = (ins I64Attr:$event, Exec_Stream:$stream);
  let assemblyFormat = "$event (`stream` $stream^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = "::std::optional<int64_t> getAwaitedEvent() { return int64_t(getEvent()); }";
}

#endif
