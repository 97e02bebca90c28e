"""Sharding a very large model over 16,384 ranks costs little.

    check_large.py --compiler LLM_COMPILE --config DIR --out PREFIX

Llama-3.1-405B, bf16, --batch=2048 --max-seq-len=8192 on dp=64,fsdp=16,tp=16 to rung spmd: at most 1 GiB, and against fsdp=8 at most 1.5
times the ops; what placement searches is bounded. So is what a step of training with Megatron's sequence parallelism and four micro-batches
searches, whose loops are priced many times for sums that may stay open."""
import compile_work

args = compile_work.arguments(__doc__)
command = [args.compiler, args.config, "--dtype=bf16", "--batch=2048", "--max-seq-len=8192", "--compile-to=spmd", "-o", args.out + ".mlir"]
small = compile_work.work(command + ["--mesh=fsdp=8"], args.out)
large = compile_work.work(command + ["--mesh=dp=64,fsdp=16,tp=16", "--shard=residual:seq=tp"], args.out)
for what in sorted(large):
    if what.startswith("bytes"):
        compile_work.judge(what, large[what], 2**30)
    elif what.startswith("lines"):
        compile_work.judge(what, large[what], 1.5 * small[what])
    else:
        print(f"{what} on fsdp=8: {small[what]}")
        compile_work.judge(what, large[what], 30 * small[what])
train = compile_work.work(command + ["--mesh=dp=64,fsdp=16,tp=16", "--task=train", "--template=megatron", "--micro-batches=4"], args.out)
for what, bound in (("bytes at the peak", 2**30), ("steps of reshards looked at", 300_000), ("table entries compared", 70_000_000)):
    compile_work.judge("training: " + what, train[what], bound)
compile_work.finish()
