"""Sharding a very large model over 16,384 ranks costs little (CPU seconds to rung spmd, least of at most N runs).

    check_large.py --compiler LLM_COMPILE --config DIR --out PREFIX [--runs 60]

Llama-3.1-405B, bf16, --batch=2048 --max-seq-len=8192 on dp=64,fsdp=16,tp=16: at most 3 s and 1 GiB, and 1.3 times the
seconds that fsdp=8 takes."""
import compile_cost

args = compile_cost.arguments(__doc__, runs=60)
command = [args.compiler, args.config, "--dtype=bf16", "--batch=2048", "--max-seq-len=8192", "--compile-to=spmd", "-o", args.out + ".mlir"]
RATIO = 1.3
(large, small), peak = compile_cost.least(
    [command + ["--mesh=dp=64,fsdp=16,tp=16", "--shard=residual:seq=tp"], command + ["--mesh=fsdp=8"]], args.runs,
    enough=lambda seconds: seconds[0] <= RATIO * seconds[1])
print(f"CPU s on fsdp=8: {small:.3f}")
compile_cost.judge("CPU s on dp=64,fsdp=16,tp=16", large, 3)
compile_cost.judge("times fsdp=8", large / small, RATIO)
compile_cost.judge("peak GiB", peak / 2**30, 1)
compile_cost.finish()
