"""Steps of GPT-2 124M in PyTorch on the CPU, one for each line of standard input; answers each with a line of JSON (step_s, cpu_s, loss).

    python bench/train/torch_gpt2.py MODE [--compile] [--seq=N] [--batch=N] [--threads=N]

MODE: f32; bf16-autocast (float32 weights, torch.autocast); bf16-masters (bfloat16 weights, gradients and activations, AdamW on float32 copies,
which are rounded again after it); ddp and fsdp2 (float32; two processes of --threads each over gloo, --batch rows in all).

What OUT train does is what is timed: forward with scaled_dot_product_attention, cross entropy of all positions, backward, the norm over all
gradients and clipping, AdamW (fused) with decay of matrices alone."""
import argparse
import json
import os
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

LAYERS, HEADS, WIDTH, VOCABULARY, POSITIONS = 12, 12, 768, 50257, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.c_fc, self.mlp_proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):  # [batch, seq, width]
        batch, seq, _ = x.shape
        q, k, v = (t.view(batch, seq, HEADS, -1).transpose(1, 2) for t in self.c_attn(self.ln_1(x)).split(WIDTH, dim=2))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(attention.transpose(1, 2).reshape(batch, seq, WIDTH))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        for p in self.parameters():
            nn.init.normal_(p, std=0.02) if p.dim() > 1 else None

    def forward(self, ids, targets):  # the mean loss
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY).float(), targets.view(-1))


def made_up_rows(batch, seq, first):
    """The ids of OUT bench."""
    ids = torch.tensor([[(c * 7919 + (first + r) * 104729 + 1) % VOCABULARY for c in range(seq + 1)] for r in range(batch)])
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def adamw(parameters):
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1}, {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-5, betas=(0.9, 0.95), eps=1e-8, fused=True)


def make_step(mode, compiled, batch, seq, first):
    torch.manual_seed(1)
    model = GPT2()
    masters = None
    if mode == "bf16-masters":
        model = model.to(torch.bfloat16)
        masters = [p.detach().float() for p in model.parameters()]
    if mode == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    if mode == "fsdp2":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        mesh = init_device_mesh("cpu", (torch.distributed.get_world_size(),))
        for block in model.h:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = adamw(masters or list(model.parameters()))
    run = torch.compile(model) if compiled else model
    ids, targets = made_up_rows(batch, seq, first)

    def step():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "bf16-autocast"):
            loss = run(ids, targets)
        loss.backward()
        if masters:
            for master, p in zip(masters, model.parameters()):
                master.grad, p.grad = p.grad.float(), None
        torch.nn.utils.clip_grad_norm_(masters or model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if masters:
            with torch.no_grad():
                torch._foreach_copy_(list(model.parameters()), masters)
        return loss.item()

    return step


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def serve(step):
    for _ in sys.stdin:
        start, cpu = time.perf_counter(), cpu_seconds()
        loss = step()
        print(json.dumps({"step_s": time.perf_counter() - start, "cpu_s": cpu_seconds() - cpu, "loss": loss}), flush=True)


def serve_rank(rank, pipes, arguments, port):
    """One of two processes: a step for each message in its pipe."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2", GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(arguments.threads)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    mine = arguments.batch // 2
    step = make_step(arguments.mode, arguments.compile, mine, arguments.seq, rank * mine)
    pipe = pipes[rank][1]
    while pipe.recv():
        torch.distributed.barrier()
        start, cpu = time.perf_counter(), cpu_seconds()
        loss = step()
        torch.distributed.barrier()
        pipe.send((time.perf_counter() - start, cpu_seconds() - cpu, loss))
    torch.distributed.destroy_process_group()


def serve_ranks(arguments):
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    ranks = [context.Process(target=serve_rank, args=(r, pipes, arguments, port), daemon=True) for r in range(2)]
    for process in ranks:
        process.start()
    for _ in sys.stdin:
        for ours, _ in pipes:
            ours.send(True)
        seconds, cpu, loss = zip(*(ours.recv() for ours, _ in pipes))
        print(json.dumps({"step_s": max(seconds), "cpu_s": sum(cpu), "loss": sum(loss) / 2}), flush=True)
    for ours, _ in pipes:
        ours.send(False)
    for process in ranks:
        process.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["f32", "bf16-autocast", "bf16-masters", "ddp", "fsdp2"])
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.mode in ("ddp", "fsdp2"):
        serve_ranks(arguments)
    else:
        torch.set_num_threads(arguments.threads)
        serve(make_step(arguments.mode, arguments.compile, arguments.batch, arguments.seq, 0))
