"""Communication beside computation: a step of training of 16 equal layers on fsdp=2, over a network slowed to a given latency and bandwidth.

    overlap.py [--rounds=N] [--ratio=R,...] [--latency=MICROSECONDS] [--mpi] [--compiler=build/bin/llm-compile]

Of each round: a step without overlap on the machine's own network is what is computed; how much longer it takes on the slow one is what is communicated; a step with
overlap on the slow network is compared with the larger of both, and that with what nothing can hide: the first layer's gather and the last one's reduction. The
bandwidth is chosen so that communication takes R times as long as computation. Medians of rounds, whose four runs take turns. --mpi: two processes instead of
two threads. The last line compares both programs where there is next to nothing to hide."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--ratio", default="0.5,1,2")
parser.add_argument("--latency", type=float, default=50)
parser.add_argument("--mpi", action="store_true")
parser.add_argument("--compiler", default="build/bin/llm-compile")
args = parser.parse_args()

LAYERS = 16
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": LAYERS,
    "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 32, "vocab_size": 512, "max_position_embeddings": 1024, "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "tie_word_embeddings": False, "hidden_act": "silu",
}


def step(program, delay=None):
    """Seconds of a step of `program`."""
    env = dict(os.environ)
    if delay:
        env["TESSERA_COMM_DELAY"] = delay
    launcher = ["mpirun", "-np", "2", "--oversubscribe", "--allow-run-as-root"] if args.mpi else []
    threads = ["--threads=1"] if args.mpi else ["--threads=2"]
    ran = subprocess.run(launcher + [program, "bench", "--json", "--init=random:1"] + threads, env=env, check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)["step_s"]


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(CONFIG, file)
    programs = {}
    for overlap in ("on", "off"):
        programs[overlap] = os.path.join(folder, overlap)
        subprocess.run([args.compiler, folder, "--task=train", "--mesh=fsdp=2", "--template=fsdp", "--batch=2", "--max-seq-len=512",
                        f"--overlap={overlap}", "-o", programs[overlap]], check=True)
    collectives = json.loads(subprocess.run([programs["on"], "info", "--json"], check=True, capture_output=True, text=True).stdout)["steps"]["train"]["collectives"]
    sent = sum(c["bytes_per_rank"] for c in collectives)
    ofLayers = [c for c in collectives if c["executions"] >= LAYERS]
    edges = sum(c["bytes_per_rank"] for c in ofLayers) / LAYERS * 2 / 3  # of a layer's three exchanges the first gather and the last reduction
    print(f"{sent / 1e6:.1f} MB a rank and step in {sum(c['executions'] for c in collectives)} exchanges; first and last {edges / 1e6:.2f} MB")
    compute = statistics.median(step(programs["off"]) for _ in range(3))
    for ratio in map(float, args.ratio.split(",")):
        bandwidth = sent / (compute * ratio)
        delay = f"{args.latency:g},{bandwidth:.0f}"
        rounds = []
        for _ in range(args.rounds):
            fast = step(programs["off"])
            beside = step(programs["on"], delay)
            apart = step(programs["off"], delay)
            rounds.append((fast, apart - fast, beside))
        ratios = [beside / (max(work, exchange) + edges / bandwidth) for work, exchange, beside in rounds]
        work, exchange, beside = (statistics.median(column) for column in zip(*rounds))
        print(f"{delay}: computed {work * 1e3:.0f} ms, exchanged {exchange * 1e3:.0f} ms, beside each other {beside * 1e3:.0f} ms: "
              f"{statistics.median(ratios):.2f} x the larger with first and last ({', '.join(f'{r:.2f}' for r in sorted(ratios))})")
    pairs = []
    for _ in range(args.rounds):
        pairs.append(step(programs["on"]) / step(programs["off"]))
    print(f"nothing to hide: {statistics.median(pairs):.3f} x ({', '.join(f'{r:.3f}' for r in sorted(pairs))})")
