"""The files of known answers: as computed, as their schema says, and what the command does with them."""

import json
import re
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

from theory.__main__ import main
from theory.evidence import ball, precision
from theory.reference import known_answers
from theory.reference.cases import Case, Subject, document, is_in, scattered, schema, text
from theory.reference.digits import FORMATS, UnsettledError, certified, enclosing_decimals, hexadecimal, nearest_number
from theory.reference.files import SUBJECTS, run_command
from theory.reference.formulas import largest_eigenvalue, least_assignment, lift

FOLDER = Path(__file__).parent.parent.parent / "reference"
FILES = sorted(path for path in FOLDER.glob("*.json") if path.name != "schema.json")
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def faults(value, rule, at=""):
    """Where a value is not what a schema says; the words of JSON Schema that ours uses, and no others."""
    if "anyOf" in rule:
        each = [list(faults(value, one, at)) for one in rule["anyOf"]]
        return [] if not all(each) else each[0]
    found = []
    if "enum" in rule and value not in rule["enum"]:
        found.append(f"{at}: {value!r}")
    if "type" in rule and type(value) is not TYPES[rule["type"]]:
        return [*found, f"{at}: {type(value).__name__}"]
    if "pattern" in rule and not re.search(rule["pattern"], value):
        found.append(f"{at}: {value!r}")
    if len(value) < rule.get("minLength", 0) if isinstance(value, str) else False:
        found.append(f"{at}: {value!r}")
    if isinstance(value, int) and value < rule.get("minimum", value):
        found.append(f"{at}: {value!r}")
    if isinstance(value, list):
        for k, part in enumerate(value):
            found += faults(part, rule.get("items", {}), f"{at}[{k}]")
    if isinstance(value, dict):
        found += [f"{at}: {name} is missing" for name in rule.get("required", ()) if name not in value]
        for name, part in value.items():
            own = rule.get("properties", {}).get(name, rule.get("additionalProperties", {}))
            found += [f"{at}: {name} is not known"] if own is False else faults(part, own, f"{at}.{name}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_are_what_the_schema_says(path):
    read = json.loads(path.read_text(encoding="utf-8"))
    assert faults(read, SCHEMA) == []
    assert read["subject"] == path.stem
    names = [case["name"] for case in read["cases"]]
    assert len(set(names)) == len(names)
    used = {name for case in read["cases"] for part in ("inputs", "answers") for name in case[part]}
    assert used <= set(read["definitions"])
    assert set(read["definitions"]) <= used | {"prior", "weights", "masses", "bias", "sink", "mask"}
    for case in read["cases"]:
        for tensor in [*case["inputs"].values(), *case["answers"].values()]:
            size = int(np.prod(tensor["shape"]))
            if "recurrence" in tensor or "counts" in tensor:
                assert sum(tensor.get("counts", [size])) == size
                assert len(tensor.get("data", ())) == len(tensor.get("counts", ()))
                continue
            assert {len(tensor[key]) for key in ("data", "lo", "hi", "nearest") if key in tensor} == {size}


def test_the_package_jsonschema_agrees():
    """Where it is installed, which takes the draft from the schema; the suite does not need it."""
    validators = pytest.importorskip("jsonschema", minversion="4.0").validators
    kind = validators.validator_for(SCHEMA)
    kind.check_schema(SCHEMA)
    assert kind is validators.Draft202012Validator
    for path in FILES:
        assert kind(SCHEMA).is_valid(json.loads(path.read_text(encoding="utf-8"))), path.name
    wrong = json.loads((FOLDER / "heads.json").read_text(encoding="utf-8"))
    wrong["cases"][0]["inputs"]["queries"]["recurrence"]["bits"] = 0
    assert not kind(SCHEMA).is_valid(wrong)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_fifteen_digits_are_certain(path):
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        for answer in case["answers"].values():
            for lo, hi in zip(answer["lo"], answer["hi"], strict=True):
                if lo != hi and "e-100000" not in lo + hi:
                    assert (Fraction(hi) - Fraction(lo)) * 10**15 < abs(Fraction(lo))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"digits": "15"}, ".digits: str"),
        ({"subject": None}, ".subject: NoneType"),
        ({"more": 1}, ": more is not known"),
        ({"conventions": [""]}, ".conventions[0]: ''"),
    ],
)
def test_the_schema_refuses(change, where):
    read = json.loads((FOLDER / "w1.json").read_text(encoding="utf-8")) | change
    assert where in faults(read, SCHEMA)


def test_the_schema_refuses_a_number_that_is_no_text():
    read = json.loads((FOLDER / "w1.json").read_text(encoding="utf-8"))
    read["cases"][0]["answers"]["distance"]["lo"][0] = 2.23
    assert faults(read, SCHEMA) == [".cases[0].answers.distance.lo[0]: float"]
    del read["cases"][1]["answers"]["distance"]["shape"]
    assert ".cases[1].answers.distance: shape is missing" in faults(read, SCHEMA)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_files_are_as_computed(subject):
    assert known_answers(subject).encode() == (FOLDER / f"{subject}.json").read_bytes()
    assert f"{text(schema())}\n".encode() == (FOLDER / "schema.json").read_bytes()


def test_every_file_is_named():
    assert sorted(SUBJECTS) == [path.stem for path in FILES]


def test_command_writes_and_compares(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("theory.reference.files.SUBJECTS", ("w1",))
    assert main(["reference", "--out", str(tmp_path)]) == 0
    assert "2 of 2 files written" in capsys.readouterr().out
    assert (tmp_path / "w1.json").read_bytes() == (FOLDER / "w1.json").read_bytes()
    assert run_command(tmp_path, check=True) == 0
    path = tmp_path / "w1.json"
    path.write_text(path.read_text(encoding="utf-8").replace("2.2360679774997896964", "2.2360679774997896965"))
    assert main(["reference", "--check", "--out", str(tmp_path)]) == 1
    assert "w1.json: is not what is computed" in capsys.readouterr().out
    monkeypatch.setattr("theory.__file__", str(tmp_path / "theory" / "__init__.py"))
    assert main(["reference"]) == 2
    assert "a clone of the repository has it" in capsys.readouterr().err


# --- digits ---


@pytest.mark.parametrize(
    ("value", "ends"),
    [
        (lambda: ball("1/3"), ("0.33333333333333333333", "0.33333333333333333334")),
        (lambda: ball("-1/3"), ("-0.33333333333333333334", "-0.33333333333333333333")),
        (lambda: ball(0.5), ("0.5", "0.5")),
        (lambda: ball(0), ("0", "0")),
        (lambda: ball(1e15), ("1000000000000000", "1000000000000000")),
        (lambda: ball(10) ** 30, ("1e30", "1e30")),
        (lambda: ball(2.0**-80), ("8.2718061255302767487e-25", "8.2718061255302767488e-25")),
        (lambda: ball(-1e6).exp(), ("0", "1e-100000")),
        (lambda: -ball(-1e6).exp(), ("-1e-100000", "0")),
        (lambda: float("inf"), ("inf", "inf")),
    ],
)
def test_decimals_enclose(value, ends):
    with precision(192):
        assert enclosing_decimals(value()) == ends


def test_decimals_are_functions_of_the_number_alone():
    """A ball around a decimal of so many digits gets its two neighbours, whatever its radius."""
    for exponent in (-30, -40, -50):
        with precision(192):
            around = ball(0.5).union(ball(0.5) + ball(10) ** exponent).union(ball(0.5) - ball(10) ** exponent)
            assert enclosing_decimals(around) == ("0.49999999999999999999", "0.50000000000000000001")
    with pytest.raises(UnsettledError, match="20 digits"):
        enclosing_decimals(ball(0.5).union(ball(0.6)))
    with pytest.raises(UnsettledError, match="not zero"):
        enclosing_decimals(ball(-1).union(ball(1)))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_nearest_numbers_are_those_of_numpy(kind):
    target = FORMATS[f"binary{np.dtype(kind).itemsize * 8}"]
    rng = np.random.default_rng(0)
    drawn = np.ldexp(rng.uniform(-2.0, 2.0, 400), rng.integers(-30, 20, 400))
    special = [65504.0, 65519.0, 65520.0, 2.0**-24, 2.0**-25, 2.0**-25 * 1.0001, 2.0**-149, 2.0**-150, 3.0 * 2.0**-150]
    for x in [*drawn.tolist(), *special]:
        with np.errstate(over="ignore", under="ignore"):
            assert nearest_number(ball(x), target) == float(kind(x))


def test_bfloat16_is_single_precision_cut_to_eight_bits():
    for x, wanted in (
        (1.0 + 2.0**-8, 1.0),
        (1.0 + 3 * 2.0**-8, 1.0 + 2.0**-6),
        (3.4e38, float("inf")),
        (2.0**-134, 0.0),
    ):
        assert nearest_number(ball(x), FORMATS["bfloat16"]) == wanted
    assert is_in(1.0 + 2.0**-7, "bfloat16")
    assert not is_in(1.0 + 2.0**-8, "bfloat16")


def test_a_tie_that_is_not_exact_is_refused():
    with precision(192), pytest.raises(UnsettledError, match="one nearest number"):
        nearest_number(ball(1.0) + ball(2.0) ** -53 + ball(-1e-50).union(ball(1e-50)), FORMATS["binary64"])


def test_hexadecimals_come_back():
    for x in (0.0, -0.0, 1.5, -1.25e-310, 5e-324, 1.7976931348623157e308, float("inf"), -float("inf")):
        assert float.fromhex(hexadecimal(x)).hex() == x.hex()


def test_precision_grows_until_the_digits_are_certain():
    def cancelling():
        one = ball(1.0)
        return {"answer": np.array([one + ball(10) ** -300 / 3 - one, ball(2).log()], dtype=object)}

    answer = certified(cancelling)["answer"]
    assert answer["lo"][0] == "3.3333333333333333333e-301"
    with mpmath.workdps(40):
        assert mpmath.mpf(answer["lo"][1]) < mpmath.log(2) < mpmath.mpf(answer["hi"][1])
    with pytest.raises(UnsettledError):
        certified(lambda: {"answer": np.array([ball(1.0).union(ball(2.0))], dtype=object)})


def test_inputs_must_be_of_the_format():
    case = Case("third", {"x": [1.0 / 3.0]}, lambda inputs: {"y": lift(inputs["x"])}, "binary16")
    with pytest.raises(ValueError, match="inputs: expected numbers of the format binary16"):
        document(Subject("s", "t", {}, [case]))


def test_scattered_numbers_are_the_same_everywhere():
    assert scattered(3, seed=1).tolist() == [1.8125, 0.984375, 1.3125]
    drawn = scattered(500, seed=2, bits=8)
    assert all(is_in(x, "bfloat16") for x in drawn.tolist())
    assert abs(drawn.mean()) < 0.2
    assert np.unique(drawn).size > 150


# --- formulas ---


def test_eigenvalue_and_assignment_are_those_of_numpy():
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(5, 5))
    matrix = matrix + matrix.T
    with precision(192):
        found = largest_eigenvalue(lift(matrix))
    assert float(found.mid()) == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-13, abs=0.0)
    assert float(found.rad()) < 1e-25
    assert float(least_assignment(lift(np.array([[1.0, 2.0], [3.0, 5.0]]))).mid()) == 5.0


@pytest.mark.parametrize("alpha", [1.5, 3.0])
def test_entmax_is_that_of_mpmath(alpha):
    (case,) = [
        case
        for case in json.loads(known_answers("entmax"))["cases"]
        if case["name"] == f"ordinary-order-{alpha:.10g}".replace(".", "-")
    ]
    s = [float.fromhex(x) for x in case["inputs"]["scores"]["data"]]
    with mpmath.workdps(40):
        e = mpmath.mpf(alpha) - 1
        powers = lambda nu: [max(1 + e * (x - nu), 0) ** (1 / e) for x in s]  # noqa: E731
        nu = mpmath.findroot(lambda nu: sum(powers(nu)) - 1, (max(s), max(s) + 1 / e), solver="anderson", tol=1e-35)
        for p, lo, hi in zip(
            powers(nu), case["answers"]["weights"]["lo"], case["answers"]["weights"]["hi"], strict=True
        ):
            assert mpmath.mpf(lo) - mpmath.mpf("1e-25") <= p <= mpmath.mpf(hi) + mpmath.mpf("1e-25")
