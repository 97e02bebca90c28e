"""Writes a GGUF file with every tensor as F32 (or BF16): what a peer needs for a fair run at that precision.

    python bench/llamacpp/gguf_as.py IN.gguf OUT.gguf [f32|bf16]

Needs the package gguf (PyPI) and numpy."""
import sys

import gguf
import numpy as np


def main(source, target, kind="f32"):
    reader = gguf.GGUFReader(source)
    arch = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, arch)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        value_type = field.types[0]
        sub_type = field.types[-1] if value_type == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), value_type, sub_type)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32 if kind == "f32" else gguf.LlamaFileType.MOSTLY_BF16)
    for tensor in reader.tensors:
        data = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if kind == "bf16" and data.ndim > 1:
            packed = gguf.quants.quantize(data, gguf.GGMLQuantizationType.BF16)
            writer.add_tensor(tensor.name, packed, raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(tensor.name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
