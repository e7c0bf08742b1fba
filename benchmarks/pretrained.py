"""Certify two attention layers of a network that others trained, at the tokens of a picture that it reads.

    pip download --no-deps rapidocr_onnxruntime==1.4.4 && pip install onnx onnxruntime
    python -m benchmarks.pretrained rapidocr_onnxruntime-1.4.4-py3-none-any.whl --out DIR

PP-OCRv4 (Apache 2.0) reads lines of text; its recogniser ends in two transformer blocks, of 120 numbers a token and
eight heads. Weights and tokens of each are written as ``layer1.npz``, ``tokens1.npy`` and so on, for ``theory
certify``; a table of norms at the tokens is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from theory.lipschitz.certificate import certify_at

MODEL = "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"
FUSED = {"linear_77": "linear_78", "linear_81": "linear_82"}  # queries, keys and values of a block, and its outputs
HEADS = 8
WORDS = "Lipschitz 2026"
SIZE = (320, 48)


def picture(words: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return a picture of words in the font that comes with Pillow, as the network wants it, shape (1, 3, 48, 320)."""
    image = Image.new("RGB", SIZE, "white")
    ImageDraw.Draw(image).text((10, 4), words, fill="black", font=ImageFont.load_default(34))
    return ((np.asarray(image, dtype=np.float32) / 255.0 - 0.5) / 0.5).transpose(2, 0, 1)[np.newaxis]


def layers(wheel: Path) -> tuple[str, list[tuple[dict[str, Any], Any]]]:
    """Return what the network reads in the picture, and for every block the weights and the tokens that reach it."""
    import onnx  # noqa: PLC0415  not a package of this suite
    import onnxruntime  # noqa: PLC0415

    with zipfile.ZipFile(wheel) as files:
        model = onnx.load_model_from_string(files.read(MODEL))
    constants = {x.name: onnx.numpy_helper.to_array(x) for x in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            (value,) = (a.t for a in node.attribute if a.name == "value")
            constants[node.output[0]] = onnx.numpy_helper.to_array(value)
    reached = [
        next(node.input[0] for node in model.graph.node if f"{name}.w_0" in node.input and node.op_type == "MatMul")
        for name in FUSED
    ]
    for name in reached:
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    scores, *tokens = session.run(None, {session.get_inputs()[0].name: picture(WORDS)})
    found = []
    for (fused, out), x in zip(FUSED.items(), tokens, strict=True):
        joined, bias = constants[f"{fused}.w_0"].astype(np.float64), constants[f"{fused}.b_0"].astype(np.float64)
        query, key, value = np.split(joined, 3, axis=1)
        weights = {"w_query": query.T, "w_key": key.T, "w_value": value.T, "b_query": np.split(bias, 3)[0],
                   "w_out": constants[f"{out}.w_0"].astype(np.float64).T}  # fmt: skip
        found.append((weights, x.reshape(-1, len(joined)).astype(np.float64)))
    letters = ["", *session.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    best = scores[0].argmax(axis=1)
    kept = [k for k, before in zip(best, [0, *best[:-1]], strict=True) if k != before]
    return "".join(letters[k] for k in kept), found


def main() -> None:
    """Write weights and tokens, and print norms at the tokens."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path, help="of rapidocr_onnxruntime 1.4.4")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of what is written")
    options = parser.parse_args()
    words, blocks = layers(options.wheel)
    sys.stdout.write(f"it reads {words!r}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    for number, (weights, tokens) in enumerate(blocks, start=1):
        np.savez(options.out / f"layer{number}.npz", **weights)
        np.save(options.out / f"tokens{number}.npy", tokens)
        begun = time.process_time()
        here = certify_at(tokens, **weights, heads=HEADS)
        for row in here.rows:
            at = f"{row.norm.lo:.7g} to {row.norm.hi:.7g} at {here.n} tokens"
            sys.stdout.write(f"block {number}, {row.metric}: {at}, {row.bound:.4g} within {row.reach:.2g}\n")
        sys.stdout.write(f"block {number}: {time.process_time() - begun:.0f} s of the processor\n")


if __name__ == "__main__":
    main()
