#ifndef TESSERA_DIALECT_EXEC_TRANSFORMS_PASSES_TD
#define TESSERA_DIALECT_EXEC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExecVerifyVariables : Pass<"exec-verify-variables", "::mlir::ModuleOp"> {
  let summary = "Check what entries write of parameters, and that no stale packed form is used";
  let description = [{
    Entries may write only parameters that are a `variable`, and only forms that are there: a packed parameter that is no variable has no plain form to read.
    Whoever writes the plain form of a packed variable leaves its packed form stale until `exec.pack` has made it again: a product or a lookup in between, or an
    entry that ends with a stale form, is an error. A layer that a loop updates counts as packed if the same iteration packs it.
    ```mlir
    // given %g: memref<16x8xf32>, %x: memref<2x8xf32>, %y: memref<2x16xf32>
    graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>]
    func.func private @step(memref<16x8xf32>, memref<16x8xf32>, index, index)
    %w = exec.param @w : memref<16x8xf32>
    exec.launch @step ins(%g : memref<16x8xf32>) outs(%w : memref<16x8xf32>) count = 16 grain = 4 modes(update)
    exec.pack @w // without it the product is an error
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    ```
  }];
}

def ExecPipelineLoops : Pass<"exec-pipeline-loops", "::mlir::ModuleOp"> {
  let summary = "Let collectives of a loop run one iteration before, or after, the work that they are for";
  let description = [{
    On rung `kernels`. A collective of a loop that needs nothing the loop carries (a gather of a layer's weights) is done in the iteration before; one whose results only go into
    what the loop returns (a sum of a layer's gradients) in the iteration after. What passes between iterations is carried, and two iterations are one of the new loop, so that
    places take turns and nothing is copied. The first and last iterations stand outside (docs/Overlap.md). Values do not change. Loops that hold loops, and those whose count the
    call gives, stay as they are.

    ```mlir
    // given %x: tensor<8xf32>
    dist.mesh @mesh = <["fsdp"=2]>
    func.func private @k(tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, index, index) -> tensor<8xf32>
    graph.parameter @w : tensor<8x4xf32> stacked from [#graph.source<"w.{}", file = [4]>]
    %w = exec.param @w : tensor<8x4xf32>
    // 8 iterations become 3 of two each, one before, one behind
    %r = exec.for %i = 8 step 1 carry(%h = %x : tensor<8xf32>) {
      %l = exec.layer %w[%i] : tensor<8x4xf32> -> tensor<4xf32>
      %e = tensor.empty() : tensor<8xf32>
      %g = exec.collective all_gather none over [#dist.axis_ref<"fsdp">] ins(%l : tensor<4xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      %f = tensor.empty() : tensor<8xf32>
      %y = exec.launch @k ins(%h, %g : tensor<8xf32>, tensor<8xf32>) outs(%f : tensor<8xf32>) count = 1 grain = 1 -> tensor<8xf32>
      exec.yield %y : tensor<8xf32>
    }
    ```
  }];
}

def ExecStartCollectives : Pass<"exec-start-collectives", "::mlir::ModuleOp"> {
  let summary = "Start collectives as early as memory allows and wait for them as late";
  let description = [{
    Runs after `kernels-to-exec`, for targets without a stream for communication. A collective begins behind the last op that touches what it needs (bytes, not values: places are
    shared) and is waited for before the first one that touches what it is at. Collectives begin in the order of the program. Where nothing would run between, it stays one op.

    ```mlir
    // given %x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>, %t: memref<4xf32>
    dist.mesh @mesh = <["tp"=2]>
    func.func private @k(memref<4xf32>, memref<4xf32>, index, index)
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    exec.launch @k ins(%z : memref<4xf32>) outs(%t : memref<4xf32>) count = 1 grain = 1 modes(write)
    // to
    dist.mesh @mesh = <["tp"=2]>
    func.func private @k(memref<4xf32>, memref<4xf32>, index, index)
    %s = exec.collective_start all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    exec.launch @k ins(%z : memref<4xf32>) outs(%t : memref<4xf32>) count = 1 grain = 1 modes(write)
    exec.wait %s
    ```
  }];
}

def ExecAssignStreams : Pass<"exec-assign-streams", "::mlir::ModuleOp"> {
  let summary = "Let communication run beside computation where the target has a stream for it";
  let description = [{
    Runs after `kernels-to-exec`, when it is known which bytes everything touches: values that share a place in the arena must be ordered too. What other ranks take part in goes
    to stream 1. Events stand where bytes cross streams, from the last task that touched them to the first that needs them; a stream waits as late as it may, and
    not for what it knows already. In loops a wait may be for the round before: then the event is recorded before the loop as well. At its end
    an entry waits for all streams. Without `communication` nothing changes.

    ```mlir
    // given %x: memref<4xf32>, %y: memref<4xf32>, %t: memref<4xf32>
    dist.mesh @mesh = <["tp"=2]>
    func.func private @k(memref<4xf32>, memref<4xf32>, index, index)
    exec.launch @k ins(%x : memref<4xf32>) outs(%t : memref<4xf32>) count = 1 grain = 1 modes(write)
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%t : memref<4xf32>) outs(%y : memref<4xf32>)
    // to
    dist.mesh @mesh = <["tp"=2]>
    func.func private @k(memref<4xf32>, memref<4xf32>, index, index)
    exec.launch @k ins(%x : memref<4xf32>) outs(%t : memref<4xf32>) count = 1 grain = 1 modes(write)
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%t : memref<4xf32>) outs(%y : memref<4xf32>) stream 1
    exec.event_record 0 stream 1
    exec.event_wait 0
    ```
  }];
  let options = [
    Option<"communication", "communication", "bool", /*default=*/"false", "The target has a stream for communication">
  ];
}

def ExecVerifyOrder : Pass<"exec-verify-order", "::mlir::ModuleOp"> {
  let summary = "Prove that streams and events order what must be ordered, on every rank alike";
  let description = [{
    On every compile, and for programs that are written by hand; changes nothing. Streams run side by side, each in the order of the program, and wait for each other by events. It is an error
    if two ops touch the same bytes (of the arena, or of a form of a parameter), one of them writing, and no stream, event or wait for a token orders them; if two ops that
    communicate could begin in another order on another rank; if a stream waits for an event that was not recorded in the same call; if an entry's work could begin
    before the call or go on after it (streams begin after stream 0, which waits for them at the end). Loops are followed for two rounds, whatever their count
    (docs/RationaleExec.md).

    ```mlir
    // given %x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>
    exec.event_record 0
    exec.event_wait 0 stream 1
    exec.copy %x to %y stream 1 : memref<4xf32>, memref<4xf32>
    exec.event_record 1 stream 1
    exec.event_wait 1 // without it the copy is an error
    exec.copy %y to %z : memref<4xf32>, memref<4xf32>
    ```
  }];
}

def VerifyExecMemory : Pass<"verify-exec-memory", "::mlir::ModuleOp"> {
  let summary = "Check that entries read what was written for them, and write where nothing is needed";
  let description = [{
    Runs after `kernels-to-exec`, on every compile; changes nothing. Every entry is run on ranges of bytes (docs/Arena.md): all iterations of all loops, every
    buffer with its views. An error is an access outside its buffer or the arena; a read of bytes that nobody wrote, or that were written through another buffer
    since; a write over what the same op reads, or work in flight still needs, or over an input, a state that `exec.returns` does not list or what another entry returns; a missing wait; an output, or a state that `exec.returns` lists, that is not
    written at the end; with `unread`, a value that nobody reads, which a program may ask for. Inputs and states are written by the runtime.

    ```mlir
    module attributes {exec.arena_bytes = 128 : i64} {
      func.func private @k(memref<4xf32>, memref<4xf32>, index, index)
      func.func @entry() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<4xf32>} ]} {
        %x = exec.buffer at 0 : memref<4xf32>
        %t = exec.buffer at 64 : memref<4xf32>
        exec.launch @k ins(%x : memref<4xf32>) outs(%t : memref<4xf32>) count = 1 grain = 1 modes(write)
        // error with unread: writes what nobody reads
        return
      }
    }
    ```
  }];
  let options = [
    Option<"unread", "unread", "bool", /*default=*/"false", "Values that nobody reads are errors, too: for programs that ask for nothing in vain">
  ];
}

#endif
