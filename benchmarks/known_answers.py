"""Errors of libraries on the files of known answers: NumPy, SciPy, scikit-learn, PyTorch, POT, entmax, this package."""

from __future__ import annotations

import importlib.util
import json
import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from theory import attend
from theory.attention import DotProduct, Measure
from theory.distance import w1
from theory.evidence.files import write_whole
from theory.figures._style import style
from theory.maxent import entmax as our_entmax, entmax_vjp, log_softmax, softmax, softmax_value, softmax_vjp
from theory.maxent.sparse import entmax_alpha_derivative, entmax_threshold

TITLE = "errors of libraries on the known answers"
TIMED = False  # nothing here depends on how quiet the machine is
FOLDER = Path(__file__).parent.parent / "reference"
EPSILON = {"binary64": 2.0**-52, "binary32": 2.0**-23, "binary16": 2.0**-10, "bfloat16": 2.0**-7}
LEAST = {"binary64": 2.0**-1074, "binary32": 2.0**-149, "binary16": 2.0**-24, "bfloat16": 2.0**-133}
HALVINGS = 60  # of the bracket of the entmax package, more than float64 has digits
FAR = {"binary64": 1e6, "binary32": 1e3, "binary16": 8.0, "bfloat16": 8.0}  # epsilons: what is called far off
Case = dict[str, Any]
Found = dict[str, Any]
Array = NDArray[Any]


class Entry(NamedTuple):
    """A function of a library, and what it answers to a case of a file; nothing where it takes no such case."""

    library: str
    function: str
    file: str
    call: Callable[[Case], Found]


def load(file: str) -> list[Case]:
    """Return the cases of a file."""
    cases: list[Case] = json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8"))["cases"]
    return cases


def array(tensor: Case, key: str = "data") -> Array:
    """Return what a tensor holds."""
    numbers = [float.fromhex(x) if isinstance(x, str) else x for x in tensor[key]]
    return np.array(numbers).reshape(tensor["shape"])


def inputs(case: Case) -> dict[str, Array]:
    """Return the inputs of a case."""
    return {name: array(tensor) for name, tensor in case["inputs"].items()}


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row for each function and answer."""
    rows = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for entry in entries():
            rows += list(_judged(entry, load(entry.file)[:3] if quick else load(entry.file)))
    return rows


def _judged(entry: Entry, cases: list[Case]) -> Iterator[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for case in cases:
        try:
            found = entry.call(case)
        except Exception as error:  # whatever a library raises is an answer
            found = dict.fromkeys(case["answers"], type(error).__name__)
        for name, values in found.items():
            if name in case["answers"]:
                row = rows.setdefault(name, _row(entry, name))
                row["cases"] += 1
                _add(row, case, values)
    yield from (row for row in rows.values() if row["cases"] > row["refused"].count("("))


def _row(entry: Entry, answer: str) -> dict[str, Any]:
    of = {"library": entry.library, "function": entry.function, "file": entry.file, "answer": answer}
    worst = {"epsilons": 0.0, "in": "", "got": "", "right": "", "ulps": 0.0, "ulps in": ""}
    return {**of, "cases": 0, "refused": "", "not finite": "", "far off": "", **worst}


def _add(row: dict[str, Any], case: Case, values: Any) -> None:
    """Take an answer into the row of its function."""
    if isinstance(values, str):
        row["refused"] = " ".join(filter(None, [row["refused"], f"{case['name']} ({values})"]))
        return
    answer = case["answers"][row["answer"]]
    right = array(answer, "nearest")
    got = np.asarray(values, dtype=float).reshape(right.shape)
    finite = np.isfinite(right)
    if not np.array_equal(got[~finite], right[~finite]) or not np.isfinite(got[finite]).all():
        row["not finite"] = " ".join(filter(None, [row["not finite"], case["name"]]))
        return
    epsilons, ulps = errors(got[finite], right[finite], answer["format"])
    if epsilons.max(initial=0.0) > FAR[answer["format"]]:
        row["far off"] = " ".join(filter(None, [row["far off"], case["name"]]))
    for key, place, sizes in (("epsilons", "in", epsilons), ("ulps", "ulps in", ulps)):
        if sizes.max(initial=0.0) > row[key]:
            row[key], row[place] = float(sizes.max()), case["name"]
            if key == "epsilons":
                at = int(sizes.argmax())
                row["got"], row["right"] = repr(float(got[finite][at])), repr(float(right[finite][at]))


def errors(got: Array, right: Array, form: str) -> tuple[Array, Array]:
    """Return the errors of finite entries, in epsilons of the largest and in units of each one's last place.

    Where all entries are zero, epsilons are those of one, and no last place is known.
    """
    off = np.abs(got - right)
    if not right.any():
        return off / EPSILON[form], np.zeros(off.shape)
    exponents = np.frexp(np.where(right == 0.0, LEAST[form], right))[1] - 1
    units = np.maximum(np.ldexp(EPSILON[form], np.maximum(exponents, -1000)), LEAST[form])
    return off / max(float(np.abs(right).max()) * EPSILON[form], LEAST[form]), off / units


# --- rows ---


def _plain(case: Case, *names: str) -> dict[str, Array] | None:
    """Return the inputs if they are these and no others."""
    given = inputs(case)
    return given if set(given) == set(names) else None


def _rows_of(law: Callable[[Array], Any], name: str, case: Case) -> Found:
    given = _plain(case, "scores")
    return {} if given is None else {name: law(given["scores"])}


def _shifted(scores: Array) -> Array:
    terms = np.exp(scores - scores.max())
    found: Array = terms / terms.sum()
    return found


def _logaddexp(scores: Array) -> Any:
    return np.logaddexp.reduce(scores)


def _our_sum(scores: Array) -> Any:
    return softmax_value(scores)


def _rows() -> Iterator[Entry]:
    from scipy import special  # noqa: PLC0415

    yield Entry("numpy", "exp(s - max) / sum", "softmax", partial(_rows_of, _shifted, "weights"))
    yield Entry("numpy", "logaddexp.reduce", "logsumexp", partial(_rows_of, _logaddexp, "value"))
    yield Entry("scipy", "special.softmax", "softmax", partial(_rows_of, special.softmax, "weights"))
    yield Entry("scipy", "special.log_softmax", "softmax", partial(_rows_of, special.log_softmax, "log_weights"))
    yield Entry("scipy", "special.logsumexp", "logsumexp", _scipy_sum)
    yield Entry("theory", "softmax", "softmax", _our_softmax)
    yield Entry("theory", "log_softmax", "softmax", partial(_rows_of, log_softmax, "log_weights"))
    yield Entry("theory", "softmax_value", "logsumexp", partial(_rows_of, _our_sum, "value"))
    yield Entry("theory", "softmax_vjp", "jacobian_products", _our_product)
    if importlib.util.find_spec("sklearn") is not None:
        yield Entry("scikit-learn", "utils.extmath.softmax", "softmax", _sklearn)
    if importlib.util.find_spec("torch") is not None:
        import torch  # noqa: PLC0415

        torch.set_num_threads(1)
        over = partial(torch.softmax, dim=-1), partial(torch.log_softmax, dim=-1), partial(torch.logsumexp, dim=-1)
        yield Entry("torch", "softmax", "softmax", partial(_torch_row, over[0], "weights"))
        yield Entry("torch", "log_softmax", "softmax", partial(_torch_row, over[1], "log_weights"))
        yield Entry("torch", "logsumexp", "logsumexp", partial(_torch_row, over[2], "value"))
        yield Entry("torch", "softmax, backward", "jacobian_products", partial(_torch_vjp, over[0], "softmax"))
        yield Entry(
            "torch", "log_softmax, backward", "jacobian_products", partial(_torch_vjp, over[1], "log_softmax_vjp")
        )
        yield Entry("torch", "logsumexp, backward", "logsumexp", partial(_torch_gradient, "gradient"))
        for file in ("float32", "float16", "bfloat16"):
            yield Entry("torch", "logsumexp, backward", file, partial(_torch_gradient, "weights"))
            yield Entry("torch", "softmax", file, partial(_torch_row, over[0], "weights"))
            yield Entry("torch", "logsumexp", file, partial(_torch_row, over[2], "log_partition"))
    for file in ("float32", "float16"):
        yield Entry("numpy", "exp(s - max) / sum", file, partial(_narrow, _shifted, "weights"))
        yield Entry("scipy", "special.softmax", file, partial(_narrow, special.softmax, "weights"))
        yield Entry("scipy", "special.logsumexp", file, partial(_narrow, special.logsumexp, "log_partition"))


def _narrow(law: Callable[[Array], Any], name: str, case: Case) -> Found:
    given = _plain(case, "scores")
    if given is None:
        return {}
    kind = {"binary32": np.float32, "binary16": np.float16}[case["inputs"]["scores"]["format"]]
    return {name: law(given["scores"].astype(kind))}


def _scipy_sum(case: Case) -> Found:
    from scipy.special import logsumexp  # noqa: PLC0415

    given = inputs(case)
    return {"value": logsumexp(given["scores"], b=given.get("weights"))}


def _our_softmax(case: Case) -> Found:
    given = inputs(case)
    if "prior" in given and given["prior"].sum() != 1.0:
        return {}
    tau = float(given.get("tau", 1.0))
    return {"weights": softmax(given["scores"], prior=given.get("prior"), tau=tau)}


def _our_product(case: Case) -> Found:
    given = _plain(case, "scores", "vector")
    return {} if given is None else {"softmax": softmax_vjp(softmax(given["scores"]), given["vector"])}


def _sklearn(case: Case) -> Found:
    from sklearn.utils.extmath import softmax as peer  # noqa: PLC0415

    given = _plain(case, "scores")
    return {} if given is None else {"weights": peer(given["scores"][np.newaxis])[0]}


def _tensor(values: Array, form: str, *, gradient: bool = False) -> Any:
    import torch  # noqa: PLC0415

    kinds = {
        "binary64": torch.float64, "binary32": torch.float32, "binary16": torch.float16, "bfloat16": torch.bfloat16,
        "boolean": torch.bool,
    }  # fmt: skip
    return torch.tensor(values.tolist(), dtype=kinds[form]).reshape(values.shape).requires_grad_(gradient)


def _number(tensor: Any) -> Array:
    found: Array = tensor.detach().double().numpy()
    return found


def _torch_row(law: Callable[[Any], Any], name: str, case: Case) -> Found:
    given = _plain(case, "scores")
    form = case["inputs"].get("scores", {}).get("format")
    return {} if given is None else {name: _number(law(_tensor(given["scores"], form)))}


def _torch_vjp(law: Callable[[Any], Any], name: str, case: Case) -> Found:
    given = _plain(case, "scores", "vector")
    if given is None:
        return {}
    scores = _tensor(given["scores"], "binary64", gradient=True)
    law(scores).backward(_tensor(given["vector"], "binary64"))
    return {name: _number(scores.grad)}


def _torch_gradient(name: str, case: Case) -> Found:
    import torch  # noqa: PLC0415

    given = _plain(case, "scores")
    if given is None:
        return {}
    scores = _tensor(given["scores"], case["inputs"]["scores"]["format"], gradient=True)
    torch.logsumexp(scores, dim=-1).backward()
    return {name: _number(scores.grad)}


# --- attention ---


def _attention() -> Iterator[Entry]:
    yield Entry("theory", "attend", "attention", _our_attention)
    yield Entry("numpy", "softmax(q k^T) v", "attention", _numpy_attention)
    if importlib.util.find_spec("torch") is not None:
        for file in ("attention", "float32", "float16", "bfloat16"):
            yield Entry("torch", "scaled_dot_product_attention", file, partial(_sdpa, backward=False))
        yield Entry("torch", "scaled_dot_product_attention, is_causal", "attention", _sdpa_causal)
        backward = "scaled_dot_product_attention, backward"
        yield Entry("torch", backward, "jacobian_products", partial(_sdpa, backward=True))
        yield Entry("torch", "MultiheadAttention, masks", "attention", _multihead)


def _our_attention(case: Case) -> Found:
    given = inputs(case)
    mask = given.pop("mask", None)
    if {"bias", "sink"} & set(given) or "queries" not in given:
        return {}
    causal = mask is not None and mask.shape[0] == mask.shape[1] and np.array_equal(mask, np.tril(np.ones_like(mask)))
    if mask is not None and not causal:
        return {}
    points = given["queries"], given["keys"], given["values"]
    score = DotProduct(scale=float(given["scale"]))
    return {"output": attend(*points, score=score, weights=given.get("masses"), causal=bool(causal))}


def _numpy_attention(case: Case) -> Found:
    given = inputs(case)
    if {"masses", "sink"} & set(given):
        return {}
    scores = given["queries"] @ given["keys"].T * given["scale"] + given.get("bias", 0.0)
    scores = np.where(given.get("mask", True), scores, -np.inf)
    terms = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"output": terms / terms.sum(axis=1, keepdims=True) @ given["values"]}


def _sdpa(case: Case, *, backward: bool) -> Found:
    import torch  # noqa: PLC0415

    given = inputs(case)
    if {"masses", "sink"} & set(given) or "queries" not in given:
        return {}
    form = case["inputs"]["queries"]["format"]
    names = "queries", "keys", "values"
    points = [_tensor(given[name], form, gradient=backward) for name in names]
    bias = None
    if "bias" in given:
        bias = _tensor(np.where(given.get("mask", True), given["bias"], -np.inf), form, gradient=backward)
    elif "mask" in given:
        bias = _tensor(given["mask"], "boolean")
    attention = torch.nn.functional.scaled_dot_product_attention
    output = attention(
        *(x[None, None] for x in points), attn_mask=None if bias is None else bias[None, None],
        scale=float(given["scale"]),
    )[0, 0]  # fmt: skip
    if not backward:
        return {"output": _number(output)}
    output.backward(_tensor(given["cotangent"], form))
    found = {f"grad_{name}": _number(x.grad) for name, x in zip(names, points, strict=True)}
    return {**found, "grad_bias": _number(bias.grad)} if "bias" in given and bias is not None else found


def _sdpa_causal(case: Case) -> Found:
    import torch  # noqa: PLC0415

    given = inputs(case)
    if not case["name"].startswith("causal"):
        return {}
    points = [_tensor(given[name], "binary64")[None, None] for name in ("queries", "keys", "values")]
    attention = torch.nn.functional.scaled_dot_product_attention
    return {"output": _number(attention(*points, is_causal=True, scale=float(given["scale"]))[0, 0])}


def _multihead(case: Case) -> Found:
    """Ask the function below the module, with the identity for all matrices; it scales by the root itself."""
    import torch  # noqa: PLC0415

    given = inputs(case)
    d = given["queries"].shape[1]
    if {"masses", "sink", "bias"} & set(given) or "mask" not in given or given["values"].shape[1] > d:
        return {}
    values = np.zeros((len(given["keys"]), d))
    values[:, : given["values"].shape[1]] = given["values"]
    if float(given["scale"]) * math.sqrt(d) != 1.0:
        return {}
    module = torch.nn.MultiheadAttention(d, 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(d).double().repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(d).double())
    points = [_tensor(x, "binary64") for x in (given["queries"], given["keys"], values)]
    output, _ = module(*points, attn_mask=~_tensor(given["mask"], "boolean"), need_weights=True)
    return {"output": _number(output)[:, : given["values"].shape[1]]}


# --- entmax and distances ---


def _others() -> Iterator[Entry]:
    yield Entry("theory", "entmax", "entmax", _our_entmax)
    yield Entry("theory", "entmax_vjp, entmax_alpha_derivative", "entmax_derivatives", _our_derivatives)
    yield Entry("theory", "w1", "w1", _our_distance)
    yield Entry("scipy", "stats.wasserstein_distance_nd", "w1", _scipy_distance)
    yield Entry("scipy", "stats.wasserstein_distance", "w1", _scipy_line)
    yield Entry("POT", "emd2", "w1", _pot)
    if importlib.util.find_spec("entmax") is not None and importlib.util.find_spec("torch") is not None:
        yield Entry("entmax", "entmax_bisect", "entmax", _package)
        yield Entry("entmax", "entmax15, sparsemax", "entmax", _package_sorted)
        yield Entry("entmax", "entmax_bisect, backward", "entmax_derivatives", _package_derivatives)


def _our_entmax(case: Case) -> Found:
    given = inputs(case)
    scores, alpha = given["scores"], float(given["alpha"])
    return {"weights": our_entmax(scores, alpha), "threshold": entmax_threshold(scores, alpha) + scores.max()}


def _our_derivatives(case: Case) -> Found:
    given = inputs(case)
    law, alpha = our_entmax(given["scores"], float(given["alpha"])), float(given["alpha"])
    product = entmax_vjp(law, given["vector"], alpha)
    return {"weights": law, "product": product, "order_derivative": entmax_alpha_derivative(law, alpha)}


def _package(case: Case) -> Found:
    import entmax as peer  # noqa: PLC0415

    given = inputs(case)
    if float(given["alpha"]) == 1.0:
        return {}
    return {
        "weights": _number(
            peer.entmax_bisect(_tensor(given["scores"], "binary64"), float(given["alpha"]), n_iter=HALVINGS)
        )
    }


def _package_sorted(case: Case) -> Found:
    import entmax as peer  # noqa: PLC0415

    given = inputs(case)
    law = {1.5: peer.entmax15, 2.0: peer.sparsemax}.get(float(given["alpha"]))
    return {} if law is None else {"weights": _number(law(_tensor(given["scores"], "binary64"), dim=-1))}


def _package_derivatives(case: Case) -> Found:
    import entmax as peer  # noqa: PLC0415

    given = inputs(case)
    if float(given["alpha"]) == 1.0:
        return {}
    scores = _tensor(given["scores"], "binary64", gradient=True)
    alpha = _tensor(given["alpha"].reshape(1), "binary64", gradient=True)
    peer.entmax_bisect(scores, alpha, n_iter=HALVINGS).backward(_tensor(given["vector"], "binary64"))
    return {"product": _number(scores.grad)}


def _our_distance(case: Case) -> Found:
    given = inputs(case)
    sides = (Measure.normalised(given[side], given[f"{side}_counts"]) for side in ("left", "right"))
    return {"distance": w1(*sides).mid}


def _scipy_distance(case: Case) -> Found:
    from scipy.stats import wasserstein_distance_nd  # noqa: PLC0415

    given = inputs(case)
    return {"distance": wasserstein_distance_nd(*(given[k] for k in ("left", "right", "left_counts", "right_counts")))}


def _scipy_line(case: Case) -> Found:
    from scipy.stats import wasserstein_distance  # noqa: PLC0415

    given = inputs(case)
    if given["left"].shape[1] != 1:
        return {}
    left, right = given["left"][:, 0], given["right"][:, 0]
    return {"distance": wasserstein_distance(left, right, given["left_counts"], given["right_counts"])}


def _pot(case: Case) -> Found:
    import ot  # noqa: PLC0415

    given = inputs(case)
    masses = [given[f"{side}_counts"] / given[f"{side}_counts"].sum() for side in ("left", "right")]
    return {"distance": ot.emd2(*masses, ot.dist(given["left"], given["right"], metric="euclidean"))}


def entries() -> Iterator[Entry]:
    """Yield every function that is judged, of the libraries that are installed."""
    yield from _rows()
    yield from _attention()
    yield from _others()


PAGE = FOLDER / "README.md"
BEGIN, END = "<!-- libraries -->", "<!-- end of libraries -->"


def page() -> str:
    """Return what the page says of the libraries, from the committed table."""
    from benchmarks.summary import read  # noqa: PLC0415

    machine, rows = read(FOLDER.parent / "benchmarks" / "results" / "known_answers.csv")
    lines = [
        f"Measured with Python{machine.partition(', Python')[2]}, on one thread.",
        "",
        "| library | function | file: answer | cases | largest error, epsilons | in | NaN or infinite | refused |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        of = f"{row['file']}: {row['answer']}"
        bad = [
            str(len(row[name].replace(" (", "(").split())) if row[name] else "" for name in ("not finite", "refused")
        ]
        size = f"{float(row['epsilons']):.2g}"
        lines.append(
            " | ".join(
                ["", row["library"], f"`{row['function']}`", of, row["cases"], size, row["in"], *bad, ""]
            ).strip()
        )
    lines += [
        "",
        "What is far off: more than $10^6$ epsilons in float64, $10^3$ in float32, 8 in the narrow formats.",
        "",
        "| library | function | file: answer | cases far off | worst: computed | right |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['library']} | `{row['function']}` | {row['file']}: {row['answer']} | {row['far off']} | "
        f"{_short(row['got'])} | {_short(row['right'])} |"
        for row in rows
        if row["far off"]
    ]
    return "\n".join(lines)


def _short(number: str) -> str:
    return f"{float(number):.12g}"


def renew() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    write_whole(PAGE, f"{before}{BEGIN}\n\n{page()}\n\n{END}{rest.partition(END)[2]}")


def draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Plot the largest error of each function, by library."""
    names = list(dict.fromkeys(row["library"] for row in rows))
    looks = dict(
        zip(names, (style.BLACK, style.BLUE, style.GREEN, style.VERMILION, style.GREY, style.ORANGE), strict=False)
    )
    for name in names:
        some = [(k, row["epsilons"]) for k, row in enumerate(rows) if row["library"] == name]
        heights = [max(size, 0.01) for _, size in some]
        axes.plot([k for k, _ in some], heights, "o", markersize=3, color=looks.get(name, style.GREY), label=name)
    axes.set(yscale="log", xlabel="function and answer", ylabel="largest error, epsilons")
    axes.set_title("errors on the known answers")


if __name__ == "__main__":
    renew()
