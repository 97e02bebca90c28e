"""with_loss.py FILE: a model of rung `graph` whose result is a loss instead of logits: each token is its own label."""
import re
import sys

text = open(sys.argv[1]).read()
value, shape = re.search(r"return (%\w+) : tensor<(\S+)xf32>\n", text).groups()
rows = shape.rsplit("x", 1)[0]
loss = f"""%rows, %lse = graph.cross_entropy {value}, %arg0 : (tensor<{shape}xf32>, tensor<{rows}xi32>) -> (tensor<{rows}xf32>, tensor<{rows}xf32>)
    %loss = graph.reduce sum %rows dims = [0, 1] : (tensor<{rows}xf32>) -> tensor<f32>
    return %loss : tensor<f32>
"""
text = re.sub(r"return %\w+ : tensor<\S+xf32>\n", lambda _: loss, text)
text = re.sub(r'-> \(tensor<\S+xf32> \{(.*?)graph.name = "logits"\}\)', '-> (tensor<f32> {graph.kind = #graph.kind<output>, graph.name = "loss"})', text)
print(text)
