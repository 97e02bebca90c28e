"""What one layer of an entry launches, from the text of rung kernels: count_launches.py [ENTRY] < KERNELS.mlir (@decode)

One line a launch, with its iterations, or a product, with what else it does; then how many launches read each weight of a layer, where that is not one; then
what the entry launches after its layers."""
import collections
import re
import sys

entry = sys.argv[1] if len(sys.argv) > 1 else "decode"
lines = sys.stdin.read().splitlines()
begin = next(i for i, line in enumerate(lines) if f"func.func @{entry}(" in line)
end = next((i for i, line in enumerate(lines) if i > begin and "func.func" in line), len(lines))
weight = {}  # SSA name -> parameter
readers = collections.Counter()
inside, launches, products, tail = False, 0, 0, []
for line in lines[begin:end]:
    if match := re.search(r"(%\w+) = exec\.param @([\w.]+)", line):
        weight[match[1]] = match[2]
    elif match := re.search(r"(%\w+) = exec\.layer (%\w+)\[", line):
        if match[2] in weight:
            weight[match[1]] = weight[match[2]]
            readers[weight[match[2]]] += 0
    elif "exec.for" in line:
        inside = True
    elif "exec.yield" in line:
        inside, tail = False, []
    elif not inside and (match := re.search(r"exec\.launch (@\w+).* count = (\d+)", line)):
        tail.append(f"{match[1]} iterations {match[2]}")
    elif inside and (match := re.search(r"exec\.(launch @\w+|matmul|collective \w+)", line)):
        launches += "launch" in match[1]
        products += match[1] == "matmul"
        count = re.search(r"count = (\d+)", line)
        does = re.findall(r" (bias|addend)\(| function (\w+)", line) if match[1] == "matmul" else []
        print(f"{match[1]}" + (f" iterations {count[1]}" if count else "") + "".join(f" {name or function}" for name, function in does))
        taken = re.search(r"ins\(([^:]*) :", line)
        for name in {weight[name] for name in re.findall(r"%[\w#]+", taken[1]) if name in weight} if taken else []:
            readers[name] += 1
print(f"{launches} launches and {products} products a layer")
for name, count in sorted(readers.items()):
    if count != 1:
        print(f"{name} is read by {count}")
for line in tail:
    print(f"then {line}")
