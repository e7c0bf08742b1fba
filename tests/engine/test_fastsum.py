"""Fast sums against long doubles and ball arithmetic: every form and dimension, faint rows, and what is refused."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from theory.engine import Form, Pairs, dense, fastsum, gauge, spectrum, transform
from theory.evidence import stream

FORMS = (Form.DISTANCE, Form.DOT, Form.TORUS)
ROUNDING = 1e-13  # of the long-double oracle's inputs: scores up to a hundred, rounded once, and a few operations


def pairs_of(form, queries, keys, c):
    return Pairs(form, np.array(queries, dtype=float), np.array(keys, dtype=float), np.array([float(c)]))


def slow(pairs, values, log_weights=None):
    """Rows in extended precision, by the definition of each score; no code of the engine."""
    q = pairs.queries.astype(np.longdouble)
    k = pairs.keys.astype(np.longdouble)
    c = np.longdouble(pairs.coefficients[0])
    outputs, partitions = [], []
    for x in q:
        if pairs.form is Form.DOT:
            s = c * (k * x).sum(axis=1)
        elif pairs.form is Form.DISTANCE:
            s = -c * ((k - x) ** 2).sum(axis=1)
        else:
            s = -c * ((np.cos(k) - np.cos(x)) ** 2 + (np.sin(k) - np.sin(x)) ** 2).sum(axis=1)
        s = s if log_weights is None else s + log_weights
        w = np.exp(s - s.max())
        outputs.append((w[:, np.newaxis] * values).sum(axis=0) / w.sum())
        partitions.append(s.max() + np.log(w.sum()))
    return np.array(outputs), np.array(partitions)


def worst(pairs, values, log_weights=None, rows=30, **options):
    """Return what is found and the largest error of an output and of a log-partition among some rows."""
    found = fastsum.attention(pairs, values, log_weights=log_weights, **options)
    some = np.unique(np.linspace(0, len(pairs.queries) - 1, rows).astype(int))
    few = Pairs(pairs.form, pairs.queries[some], pairs.keys, pairs.coefficients)
    output, partition = slow(few, values, log_weights)
    scale = np.abs(values).max()
    gaps = np.abs(found.output[some] - output).max() / scale, np.abs(found.log_partition[some] - partition).max()
    return found, float(gaps[0]), float(gaps[1])


def spied(monkeypatch):
    """Record how many rows are computed exactly, call by call."""
    sizes = []
    whole = dense.attention

    def spy(pairs, values, **options):
        sizes.append(len(pairs.queries))
        return whole(pairs, values, **options)

    monkeypatch.setattr(dense, "attention", spy)
    return sizes


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("accuracy", [1e-12, 1e-9, 1e-5, 1e-1])
def test_promise(form, d, accuracy):
    rng = stream("tests.fastsum.promise", 10 * d + int(form))
    x = rng.normal(size=(700, d))
    y = rng.normal(size=(900, d))
    v = rng.normal(size=(900, 3))
    found, output, partition = worst(pairs_of(form, x, y, 1.5), v + 5.0, rng.normal(size=900), accuracy=accuracy)
    assert found.method == "nufft"
    assert found.output.shape == (700, 3)
    assert found.output.flags.c_contiguous
    assert max(output, partition) <= accuracy + ROUNDING
    assert found.error <= accuracy + ROUNDING


@pytest.mark.parametrize("d_v", [1, 2, 4, 5])
def test_every_column_of_the_values_is_its_own(d_v):
    rng = stream("tests.fastsum.columns", d_v)
    x = rng.normal(size=(500, 2))
    v = rng.normal(size=(500, d_v)) * 10.0 ** np.arange(d_v)
    pairs = pairs_of(Form.DISTANCE, x, x, 2.0)
    found = fastsum.attention(pairs, v)
    whole = slow(pairs, v)[0]
    assert (np.abs(found.output - whole).max(axis=0) <= 1e-12 * np.abs(v).max(axis=0)).all()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_axes_are_not_exchanged(form):
    """Clouds of three extents, so that every axis has its own number of modes."""
    rng = stream("tests.fastsum.axes", int(form))
    scale = np.array([0.1, 1.0, 4.0])
    x = scale * rng.normal(size=(300, 3))
    y = scale[::-1] * rng.normal(size=(400, 3))
    _, output, partition = worst(pairs_of(form, x, y, 0.7), rng.normal(size=(400, 2)))
    assert max(output, partition) <= 1e-12 + ROUNDING


@pytest.mark.parametrize("n", [100_000])
@pytest.mark.parametrize(("form", "d", "c"), [(Form.TORUS, 1, 500.0), (Form.DOT, 2, 1.0), (Form.DISTANCE, 2, 50.0)])
def test_large_clouds_need_few_exact_rows(form, d, c, n, monkeypatch):
    rng = stream("tests.fastsum.large", d)
    x, v = rng.normal(size=(n, d)), rng.normal(size=(n, 1))
    sizes = spied(monkeypatch)
    _, output, partition = worst(pairs_of(form, x, x, c), v, rows=10)
    assert max(output, partition) <= 1e-12
    assert sum(sizes) <= 400


def test_weights_over_three_hundred_orders():
    rng = stream("tests.fastsum.orders", 0)
    x = rng.uniform(-3.0, 3.0, size=(500, 2))
    v = rng.normal(size=(500, 1))
    weights = rng.uniform(-345.0, 345.0, size=500)
    for form in FORMS:
        _, output, partition = worst(pairs_of(form, x, x, 1.0), v, weights)
        assert max(output, partition) <= 1e-12 + 1e-12  # gamma of some operations on exponents of size 345


@pytest.mark.parametrize("form", [Form.DISTANCE, Form.DOT], ids=lambda form: form.name)
def test_outliers_are_exact(form, monkeypatch):
    rng = stream("tests.fastsum.outliers", int(form))
    x, v = rng.normal(size=(3000, 2)), rng.normal(size=(3000, 2))
    x[:3] = [[60.0, 0.0], [-30.0, 45.0], [0.0, 9.0]]
    sizes = spied(monkeypatch)
    pairs = pairs_of(form, x, x[3:], 0.5)
    found = fastsum.attention(pairs, v[3:])
    output, partition = slow(pairs_of(form, x[:3], x[3:], 0.5), v[3:])
    assert np.abs(found.output[:3] - output).max() <= ROUNDING
    assert np.abs(found.log_partition[:3] - partition).max() <= 1e-12
    assert len(sizes) == 2  # the second call is for the faint rows


SHAPES = {
    "one of each": (1, 1, 1.0, 1.0),
    "one key": (40, 1, 1.0, 1.0),
    "one query": (1, 40, 1.0, 1.0),
    "equal keys": (40, 40, 1.0, 0.0),
    "equal queries": (40, 40, 0.0, 1.0),
    "equal tokens": (40, 40, 0.0, 0.0),
    "tiny": (40, 40, 1e-150, 1e-150),
    "tiny keys": (40, 40, 1.0, 1e-150),
}


@pytest.mark.parametrize("c", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_degenerate(form, shape, c):
    m, n, wide, tall = SHAPES[shape]
    rng = stream("tests.fastsum.degenerate", m + n)
    x = 0.5 + wide * rng.normal(size=(m, 2))
    y = 0.25 + tall * rng.normal(size=(n, 2))
    _, output, partition = worst(pairs_of(form, x, y, c), rng.normal(size=(n, 2)))
    assert max(output, partition) <= 1e-12 + 1e-12  # scores of some hundreds, rounded


def test_scores_of_ten_thousand():
    rng = stream("tests.fastsum.scores", 0)
    x = 100.0 * rng.normal(size=(200, 1))
    v = rng.normal(size=(200, 1))
    for form in FORMS:
        _, output, partition = worst(pairs_of(form, x, x, 1.0), v)
        assert max(output, partition) <= 1e-12 + 16 * 2.0**-53 * 1e5  # gamma of the operations on such scores


def test_far_clouds_are_centred():
    rng = stream("tests.fastsum.far", 0)
    x = rng.integers(-64, 64, size=(400, 2)) / 32.0
    v = rng.normal(size=(400, 1))
    near = fastsum.attention(pairs_of(Form.DISTANCE, x, x, 1.0), v)
    far = fastsum.attention(pairs_of(Form.DISTANCE, x + 2.0**40, x + 2.0**40, 1.0), v)
    assert np.abs(near.output - far.output).max() <= 1e-12
    assert np.abs(near.log_partition - far.log_partition).max() <= 1e-12


def test_angles_are_turned():
    rng = stream("tests.fastsum.turns", 0)
    x = rng.uniform(-math.pi, math.pi, size=(400, 1))
    v = rng.normal(size=(400, 1))
    turns = 2.0 * math.pi * rng.integers(-50, 50, size=(400, 1))
    near, far = (fastsum.attention(pairs_of(Form.TORUS, a, x, 3.0), v).output for a in (x, x + turns))
    assert np.abs(near - far).max() <= 1e-12 + 6.0 * 2.0**-53 * 400.0  # slope of an output times rounded angles


def test_values_that_are_nearly_equal_or_constant():
    rng = stream("tests.fastsum.spread", 0)
    x = rng.normal(size=(300, 2))
    v = np.stack([np.full(300, 7.0), 1.0 + 1e-9 * rng.normal(size=300)], axis=1)
    pairs = pairs_of(Form.DISTANCE, x, x, 1.0)
    found = fastsum.attention(pairs, v).output
    assert np.array_equal(found[:, 0], np.full(300, 7.0))
    assert np.abs(found - slow(pairs, v)[0]).max() <= 4 * 2.0**-53  # the middle of a range is added back


@pytest.mark.parametrize("z", [1e-3, 1.0, 80.0, 1e4, 1e6])
def test_coefficients_of_the_circle(z):
    angle = np.zeros((1, 1))
    kernel = spectrum.circle(angle, angle, z, 1e-16).coefficients[0]
    band = (kernel.size - 1) // 2
    before, ctx.prec = ctx.prec, 160
    try:
        for k in np.unique(np.linspace(0, band, 9).astype(int)):
            truth = float((arb(z).bessel_i(arb(int(k))) * (-arb(z)).exp()).mid())
            assert abs(kernel[band + k] - truth) <= 4 * 2.0**-53 * kernel[band]
            assert kernel[band + k] == kernel[band - k]
    finally:
        ctx.prec = before
    assert abs(math.fsum(kernel) - 1.0) <= kernel.size * 2.0**-53 * kernel[band] * 4 + 2.0**-52


@pytest.mark.parametrize("eps", [1e-15, 1e-8, 1e-3])
@pytest.mark.parametrize("extent", [0.0, 3.0, 200.0])
def test_series_of_the_line_is_within_its_bound(extent, eps):
    """One unit key at one end: the peak is 1, so the series must be within eps of the Gaussian everywhere."""
    x = np.linspace(0.0, extent, 401)[np.newaxis]
    series = spectrum.line(x, np.zeros((1, 1)), eps)
    band = (series.coefficients[0].size - 1) // 2
    k = np.arange(-band, band + 1)
    phases = np.exp(1j * np.outer(series.queries[0] - series.keys[0], k))
    gap = np.abs((phases @ series.coefficients[0]).real - np.exp(-0.5 * x[0] ** 2)).max()
    assert gap <= eps + 2.0**-53 * (20.0 + 4.0 * extent)  # phases are rounded in units of the period


def test_gauges_agree():
    """The score of a pair is the exponent of the kernel, less tilt and rise, in every gauge."""
    rng = stream("tests.fastsum.gauges", 0)
    x = rng.normal(size=(5, 2)) + 3.0
    y = 0.3 * rng.normal(size=(6, 2)) - 1.0
    for form in (Form.DISTANCE, Form.DOT):
        pairs = pairs_of(form, x, y, -0.7 if form is Form.DOT else 0.7)
        frame = gauge._frame(pairs)
        scores = -0.7 * (x @ y.T if form is Form.DOT else ((x[:, np.newaxis] - y) ** 2).sum(axis=2))
        for slope, shift in gauge._candidates(frame, np.zeros(6), frame.x[:, :3], frame.y[:, :3]):
            stiff = np.sqrt(1.0 / slope)
            here = stiff[:, np.newaxis] * (slope[:, np.newaxis] * frame.x + shift[:, np.newaxis])
            there = frame.y
            gaps = here.T[:, np.newaxis] - (stiff[:, np.newaxis] * there).T
            tilt = gauge._tilt(frame, slope, shift)
            rise = gauge._rise(frame, slope, shift)
            constant = scores - (-0.5 * (gaps**2).sum(axis=2) + tilt + rise[:, np.newaxis])
            assert np.abs(constant).max() <= 1e-12


def test_threads_change_rounding_only(monkeypatch):
    rng = stream("tests.fastsum.threads", 0)
    x, v = rng.normal(size=(5000, 2)), rng.normal(size=(5000, 1))
    pairs = pairs_of(Form.DISTANCE, x, x, 3.0)
    found = []
    for asked in ("1", "2"):
        monkeypatch.setenv("THEORY_THREADS", asked)
        found.append(fastsum.attention(pairs, v).output)
    assert np.abs(found[0] - found[1]).max() <= 1e-12 * np.abs(v).max()


def test_inputs_are_not_written_to():
    rng = stream("tests.fastsum.inputs", 0)
    given = [rng.normal(size=(50, 2)), rng.normal(size=(60, 2)), rng.normal(size=(60, 1)), rng.normal(size=60)]
    before = [array.copy() for array in given]
    for form in FORMS:
        fastsum.attention(Pairs(form, given[0], given[1], np.ones(1)), given[2], log_weights=given[3])
    assert all(np.array_equal(a, b) for a, b in zip(given, before, strict=True))


def test_a_broken_promise_is_retried_and_then_an_error(monkeypatch):
    rng = stream("tests.fastsum.broken", 0)
    x, v = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 1))
    pairs = pairs_of(Form.DISTANCE, x, x, 1.0)
    honest = transform.fields
    asked = []

    def spoiled(series, strengths, eps, workers):
        asked.append(eps)
        sums, peak = honest(series, strengths, eps, workers)
        return sums * (1.0 + (1e-6j if len(asked) <= wrong else 0.0)), peak

    monkeypatch.setattr(transform, "fields", spoiled)
    wrong = 1
    assert fastsum.attention(pairs, v, accuracy=1e-9).error <= 1e-9
    assert asked == [fastsum._tolerance(1e-9), fastsum._FINEST]
    assert asked[0] > 1e-13
    asked, wrong = [], 2
    with pytest.raises(ArithmeticError, match=r"^accuracy: expected an error of at most 1e-09, got [0-9.]+e-0"):
        fastsum.attention(pairs, v, accuracy=1e-9)
    assert len(asked) == 2


def test_the_error_is_the_one_seen(monkeypatch):
    """Numerators moved by a known share of the mass move every row that is not faint by as much."""
    rng = stream("tests.fastsum.seen", 0)
    x = rng.uniform(size=(2000, 1))
    v = rng.choice([-2.0, 2.0], size=(2000, 1))
    honest = transform.fields

    def spoiled(*given):
        sums, peak = honest(*given)
        return sums + 1e-4j * sums.real, peak

    monkeypatch.setattr(transform, "fields", spoiled)
    found = fastsum.attention(pairs_of(Form.TORUS, x, x, 1.0), v, accuracy=1e-3)
    assert abs(found.error - 1e-4) <= 1e-5


BAD = [
    ({"form": Form.ADDITIVE}, r"method: expected a form among DISTANCE, DOT, TORUS for nufft, got ADDITIVE"),
    ({"d": 4}, r"method: expected at most 3 dimensions for nufft, got 4"),
    ({"accuracy": 1e-14}, r"accuracy: expected a number from 1e-13 to 0.1, got 1e-14"),
    ({"accuracy": math.nan}, r"accuracy: expected a number from 1e-13 to 0.1, got nan"),
    ({"accuracy": 0.5}, r"accuracy: expected a number from 1e-13 to 0.1, got 0.5"),
    ({"c": -1.0}, r"coefficients: expected a positive sharpness, got -1.0"),
    ({"c": math.inf}, r"coefficients: expected finite numbers, got"),
    ({"query": math.nan}, r"queries: expected finite numbers, got"),
    ({"value": math.inf}, r"values: expected finite numbers, got"),
    (
        {"c": 1e12, "form": Form.DISTANCE, "d": 3},
        r"method: expected a kernel wide enough for a grid of 67108864",
    ),
    ({"c": 1e20, "form": Form.TORUS}, r"method: expected a kernel wide enough for a grid of 67108864"),
    ({"query": 1e300, "form": Form.DISTANCE}, r"(method|score): expected "),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda x: next(iter(x)) if isinstance(x, dict) else "")
def test_refusals(change, message):
    form = change.get("form", Form.TORUS)
    d = change.get("d", 2)
    c = change.get("c", 1.0)
    x = np.linspace(0.0, 1.0, 6 * d).reshape(6, d)
    v = np.linspace(0.0, 1.0, 6)[:, np.newaxis]
    y, u = x.copy(), v.copy()
    y[0, 0], u[0, 0] = change.get("query", 0.0), change.get("value", 0.0)
    with pytest.raises(ValueError, match=rf"^{message}"):
        fastsum.attention(pairs_of(form, y, x, c), u, accuracy=change.get("accuracy", 1e-12))


def test_too_many_faint_rows_are_refused(monkeypatch):
    rng = stream("tests.fastsum.faint", 0)
    x = rng.uniform(size=(500, 1))
    v = np.ones((500, 1))
    weights = np.where(np.arange(500) == 0, 60.0, 0.0)
    pairs = pairs_of(Form.DISTANCE, 40.0 * x, 40.0 * x, 1.0)
    assert np.abs(fastsum.attention(pairs, v, log_weights=weights).output - 1.0).max() <= 1e-12
    monkeypatch.setattr(fastsum, "_EXACT", 500)
    with pytest.raises(ValueError, match=r"^method: expected partitions of like size for accuracy 1e-12, got \d+ of"):
        fastsum.attention(pairs, v, log_weights=weights)


@pytest.mark.parametrize("form", [Form.DISTANCE, Form.DOT], ids=lambda form: form.name)
@pytest.mark.parametrize("accuracy", [1e-12, 1e-6])
def test_many_faint_rows_are_done_over_cells(form, accuracy, monkeypatch):
    """Clusters of density ratio ten thousand, and queries far from all keys, which widen no grid."""
    rng = stream("tests.fastsum.cells", int(form))
    keys = rng.normal(size=(2000, 2))
    keys[200:] = 2.0 + 0.01 * keys[200:]
    queries = keys.copy()
    queries[::10] += 300.0 if form is Form.DISTANCE else 3.0
    monkeypatch.setattr(fastsum, "_FEW", 1000)
    found, output, partition = worst(pairs_of(form, queries, keys, 10.0), keys, rows=200, accuracy=accuracy)
    assert found.method == "nufft+cells"
    assert found.error <= accuracy
    slack = 64 * 2.0**-53 * 10.0 * 310.0**2 * 2  # of the exponents
    assert max(output, partition) <= accuracy + slack
    far = fastsum._outside(pairs_of(form, queries, keys, 10.0))
    assert np.array_equal(far, np.arange(0, 2000, 10) if form is Form.DISTANCE else np.arange(0))


def test_cost():
    x = np.linspace(0.0, 1.0, 10)[:, np.newaxis]
    fits = pairs_of(Form.DISTANCE, x, x, 1.0)
    small, large = (fastsum.cost(fits, n, n, 1, 1e-12) for n in (10**4, 10**6))
    assert small < 1e8
    assert large < 1e12 / 1000
    assert large > small
    assert fastsum.cost(fits, 10**6, 10**6, 9, 1e-12) > large
    narrow = pairs_of(Form.TORUS, x, x, 1e9)
    assert math.isfinite(fastsum.cost(narrow, 3, 3, 1, 1e-8))
    for pairs, accuracy in (
        (narrow, 1e-12),
        (fits, 1e-14),
        (pairs_of(Form.ADDITIVE, x, x, 1.0), 1e-12),
        (pairs_of(Form.DISTANCE, x, x, -1.0), 1e-12),
        (pairs_of(Form.DISTANCE, x, x, 1e20), 1e-12),
        (pairs_of(Form.TORUS, x, x, 1e20), 1e-12),
        (pairs_of(Form.DISTANCE, 1e300 * x, x, 1.0), 1e-12),
        (pairs_of(Form.DOT, np.zeros((3, 4)), np.zeros((3, 4)), 1.0), 1e-12),
    ):
        assert fastsum.cost(pairs, 3, 3, 1, accuracy) == math.inf


def test_gauges_leave_few_rows_faint():
    """The gauge that serves the faintest row best may leave all others faint; most rows count more."""
    rng = stream("tests.fastsum.few", 0)
    keys = rng.normal(size=(3000, 3))
    queries = keys.copy()
    queries[:300] *= 4.0
    pairs, added = pairs_of(Form.DISTANCE, queries, keys, 0.5), np.zeros(3000)
    known = fastsum._known(pairs, keys, added)
    eps = fastsum._tolerance(1e-12)
    threshold = fastsum._threshold(1e-12, eps)
    relative = np.ones((1, 3000))
    assert fastsum._sums(pairs, relative, added, known, eps, threshold, 1e-12).faint.mean() < 0.5


def test_faint_rows_are_guessed():
    rng = stream("tests.fastsum.guess", 0)
    keys = rng.normal(size=(3000, 2))
    tight = pairs_of(Form.DISTANCE, 0.1 * keys, 0.1 * keys, 1.0)
    wide = pairs_of(Form.DISTANCE, np.concatenate([keys[:1500], 0.1 + 2.5 * keys[1500:]]), keys, 1.0)
    eps = fastsum._tolerance(1e-12)
    assert fastsum._faint_share(tight, 1e-12, eps) == 0.0
    assert fastsum._faint_share(wide, 1e-12, eps) > 0.1
    assert fastsum.cost(wide, 3000, 3000, 2, 1e-12) - fastsum.cost(tight, 3000, 3000, 2, 1e-12) > 0.1 * 3000**2


def test_noise_of_the_transform():
    """The measured constant: a unit of mass here and there, and the field between, which is known."""
    rng = stream("tests.fastsum.noise", 0)
    for eps in (fastsum._FINEST, 1e-12, 1e-8, 1e-4):
        for d in (1, 2, 3):
            x = rng.uniform(0.0, 9.0, size=(d, 30))
            y = rng.uniform(0.0, 9.0, size=(d, 2000))
            kernel = np.exp(-0.5 * ((x[:, :, np.newaxis] - y[:, np.newaxis]) ** 2).sum(axis=0))
            sums, peak = transform.fields(spectrum.line(x, y, eps / 8.0), np.ones((1, 2000), dtype=complex), eps, 1)
            gap = np.abs(sums[0].real - kernel.sum(axis=1)).max()
            assert gap <= fastsum._NOISE * eps * peak
            assert peak >= 0.99 * kernel.sum(axis=1).max()
