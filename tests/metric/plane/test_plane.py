"""The trained map, its certificate, and the layer on the law of the moons, against independent answers."""

import mpmath
import numpy as np
import pytest
from scipy import linalg, sparse

from theory.evidence import stream
from theory.experiments.data.moons import draw_two_moons
from theory.experiments.studies.trained import train_charts
from theory.metric import ResidualFeatures
from theory.metric.network import InformationPropagation
from theory.metric.plane import arcs
from theory.metric.plane.arcs import MoonsLaw, first_order, layer_change
from theory.metric.plane.chart import Chart, chart_of_first_layer, flatten_chart
from theory.metric.plane.embedding import count_undecided_pairs, weakest_stretch
from theory.metric.plane.semigroup import apply_semigroup, semigroup_change
from theory.metric.similarity import make_similarity

BOX = [[-1.6, -1.1], [2.6, 1.6]]
QUERIES = np.array([[0.1, 0.9], [1.2, -0.4], [0.5, 0.2], [-0.9, 0.1]])


def chart(seed=0, branch=0.6, dim=4, width=5):
    rng = stream("tests.trained", seed)
    g = ResidualFeatures(
        rng.normal(size=(dim, width)) * branch,
        0.3 * rng.normal(size=width),
        rng.normal(size=(width, dim)) * branch,
        rng.normal(size=dim),
    )
    return Chart(g, rng.normal(size=(2, dim)), 0.3 * rng.normal(size=dim))


def straight(matrix):
    """A linear map of the plane, without a branch."""
    matrix = np.asarray(matrix, dtype=float)
    d = matrix.shape[1]
    return Chart(ResidualFeatures(np.zeros((d, 1)), np.zeros(1), np.zeros((1, d)), np.zeros(d)), matrix, np.zeros(d))


def test_map_is_the_features_after_the_linear_map():
    c = chart()
    x = QUERIES
    tokens = x @ c.matrix + c.shift
    assert np.allclose(c(x), c.features(tokens), rtol=1e-14, atol=0.0)
    assert np.allclose(c.jacobian(x), c.features.jacobian(tokens) @ c.matrix.T, rtol=1e-12, atol=1e-14)
    bent = np.einsum("nabc,ib,jc->naij", c.features.hessian(tokens), c.matrix, c.matrix)
    assert np.allclose(c.hessian(x), bent, rtol=1e-11, atol=1e-13)
    j = c.jacobian(x)
    assert (
        np.linalg.norm(np.diff(c(x), axis=0), axis=1).max()
        <= c.lipschitz * np.linalg.norm(np.diff(x, axis=0), axis=1).max()
    )
    exact = [[float(v) for v in row] for row in precise(c, x)]
    assert 0.0 < np.linalg.norm(c(x) - exact, axis=1).max() <= c.rounding(x) < 1e-12
    assert np.allclose(c.metric(x), np.einsum("nai,naj->nij", j, j), rtol=1e-13, atol=0.0)


def precise(c, x):
    """The features in 40 digits."""
    with mpmath.workdps(40):
        matrix = [
            mpmath.matrix(np.atleast_2d(part).tolist()) for part in (x, c.matrix, c.features.inner, c.features.outer)
        ]
        z = matrix[0] * matrix[1]
        for i in range(z.rows):
            for k in range(z.cols):
                z[i, k] += mpmath.mpf(c.shift[k])
        hidden = z * matrix[2]
        for i in range(hidden.rows):
            for k in range(hidden.cols):
                hidden[i, k] = mpmath.tanh(hidden[i, k] + mpmath.mpf(c.features.inner_bias[k]))
        found = z + hidden * matrix[3]
        return [[found[i, k] + mpmath.mpf(c.features.outer_bias[k]) for k in range(z.cols)] for i in range(z.rows)]


def test_differences_are_accurate_for_small_steps():
    c = chart(1)
    for size, accuracy in ((1.0, 1e-13), (1e-9, 1e-8)):
        steps = size * stream("tests.steps", 0).normal(size=QUERIES.shape)
        first = np.einsum("nai,ni->na", c.jacobian(QUERIES), steps)
        expected = c(QUERIES + steps) - c(QUERIES) if size == 1.0 else first
        assert np.allclose(c.differences(QUERIES, steps), expected, rtol=accuracy, atol=accuracy * size)


def test_ranges_hold_at_random_places():
    c = chart(2)
    rng = stream("tests.ranges", 0)
    centre = rng.normal(size=(50, 2))
    half = rng.uniform(0.01, 1.0, size=(50, 2))
    change, beyond = c.bound_hidden_changes(centre, half)
    z = centre @ c.slopes + c.offset
    t = np.tanh(z)
    tightest = np.zeros(2)
    for _ in range(40):
        there = centre + half * rng.uniform(-1.0, 1.0, size=(50, 2))
        moved = there @ c.slopes + c.offset
        seen = abs(np.tanh(moved) ** 2 - t**2), abs(np.tanh(moved) - t - (1 - t**2) * (moved - z))
        assert (seen[0] <= change).all()
        assert (seen[1] <= beyond).all()
        tightest = np.maximum(tightest, [(seen[0] / change).max(), (seen[1] / beyond).max()])
    assert tightest.min() > 0.6


def test_first_layer_and_training():
    network = InformationPropagation(make_similarity("metric", 10, 10), 2, 2)
    theta = network.initial(stream("tests.network", 0))
    c = chart_of_first_layer(network, theta)
    x = QUERIES
    tokens = network.tokens(theta, x)
    score = -np.square(c(x)[:, np.newaxis] - c(x)).sum(axis=-1)
    weights = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    assert np.allclose(tokens[1], weights @ tokens[0], rtol=1e-12, atol=1e-14)
    before, after = train_charts(0, root=7, epochs=2)
    assert not np.array_equal(before.matrix, after.matrix)
    assert abs(before.matrix - after.matrix).max() < 0.05  # eight steps of 0.001 at most
    with pytest.raises(TypeError, match="network: expected metric-attention"):
        chart_of_first_layer(InformationPropagation(make_similarity("self", 10, 10), 2, 2), theta)
    with pytest.raises(ValueError, match="theta"):
        chart_of_first_layer(network, theta[1:])


@pytest.mark.parametrize("seed", range(3))
def test_weakest_stretch_encloses_a_fine_grid(seed):
    c = chart(seed)
    grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 301), np.linspace(-1.1, 1.6, 201)), axis=-1).reshape(-1, 2)
    smallest = np.linalg.svd(c.jacobian(grid), compute_uv=False)[:, -1].min()
    found = weakest_stretch(c, BOX)
    assert found.lo <= smallest
    assert found.hi <= smallest * 1.1
    assert found.lo >= 0.85 * smallest


@pytest.mark.parametrize("depth", [-0.9, -0.5, 0.8])
def test_weakest_stretch_of_one_unit_is_that_of_its_worst_point(depth):
    """With one hidden unit the bound over a rectangle is attained: less than it would leave out the worst point."""
    least = min(1.0, 1.0 + depth)  # at the first coordinate zero, or far from it
    for shift in np.linspace(0.0, 0.2, 7):
        found = weakest_stretch(fold(depth), np.add(BOX, [[shift, 0.0]]))
        slope = 1.0 - np.tanh(2.6 + shift) ** 2
        worst = least if depth < 0.0 else min(1.0, 1.0 + depth * slope)
        assert 0.9 * worst * 0.99 <= found.lo <= worst <= found.hi * (1.0 + 1e-12)
    for left in (1.0, 1.3):  # where slopes change most toward the edge that is worst
        found = weakest_stretch(fold(depth), [[left, -1.1], [2.6, 1.6]])
        worst = min(1.0, 1.0 + depth * (1.0 - np.tanh(left if depth < 0.0 else 2.6) ** 2))
        assert found.lo <= worst <= found.hi * (1.0 + 1e-12)


@pytest.mark.parametrize("least", [1.0, 1e-3, 1e-6, 5e-8, 1e-9, 0.0])
def test_weakest_stretch_encloses_the_truth_where_squares_cancel(least):
    found = weakest_stretch(straight([[1.0, 0.0], [0.0, least]]), BOX)
    assert found.lo <= least <= found.hi


def fold(depth):
    """Return x -> (x + depth tanh, y): its first coordinate turns back if the depth is below minus one."""
    g = ResidualFeatures([[1.0], [0.0]], [0.0], [[depth, 0.0]], [0.0, 0.0])
    return Chart(g, np.eye(2), np.zeros(2))


def test_certificate_knows_embeddings_from_folds():
    assert count_undecided_pairs(straight(np.eye(2)), BOX) == 0
    assert weakest_stretch(straight([[3.0, 0.0], [0.0, 0.5]]), BOX).lo == pytest.approx(0.5, rel=1e-9, abs=0)
    assert count_undecided_pairs(fold(-0.9), BOX) == 0  # stretch 0.1 at the origin
    assert weakest_stretch(fold(-0.9), BOX).lo > 0.08
    assert count_undecided_pairs(fold(-1.2), BOX, most=3000) > 0
    assert weakest_stretch(fold(-1.2), BOX, most=3000).lo == 0.0
    assert count_undecided_pairs(flatten_chart(chart()), BOX, most=1000) > 0
    assert count_undecided_pairs(straight([[1.0, 0.0], [0.0, 0.0]]), BOX, most=1000) > 0


def test_an_immersion_that_meets_itself_is_no_embedding():
    """A curve that comes back to itself in space, times a line: immersed, but far points have nearly one image."""
    inner = np.array([[8.0, 8.0, 8.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    outer = np.array([[0.0, 0.0, 1.0], [-0.8, 0.0, 0.0], [0.0, 0.0, -1.0]])
    g = ResidualFeatures(inner, [4.0, 0.0, -4.0], outer, np.zeros(3))
    c = Chart(g, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.zeros(3))
    box = [[-1.5, -0.5], [1.5, 0.5]]
    x = np.linspace(-1.5, 1.5, 4001)
    line = c(np.stack([x, 0 * x], axis=1))
    far = abs(x[:, np.newaxis] - x)[::8, ::8] > 0.3
    closest = np.linalg.norm(line[::8, np.newaxis] - line[::8], axis=-1)[far].min()
    assert weakest_stretch(c, box).lo > 0.0
    assert closest < 0.02
    assert count_undecided_pairs(c, box, most=3000) > 0


@pytest.mark.parametrize(
    "box", [[[0.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 2.0]], [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]
)
def test_bad_rectangles_are_refused(box):
    for find in (count_undecided_pairs, weakest_stretch):
        with pytest.raises(ValueError, match="box"):
            find(chart(), box)


def test_bad_maps_are_refused():
    with pytest.raises(ValueError, match="matrix"):
        Chart(chart().features, np.ones((2, 3)), np.ones(4))
    with pytest.raises(ValueError, match="shift"):
        Chart(chart().features, np.ones((2, 4)), np.ones(3))
    with pytest.raises(ValueError, match="chart"):
        count_undecided_pairs(Chart(chart().features, np.ones((3, 4)), np.ones(4)), BOX)
    with pytest.raises(ValueError, match="x"):
        chart()(np.ones((2, 3)))
    with pytest.raises(ValueError, match="outside"):
        semigroup_change(chart(), MoonsLaw(), [[9.0, 0.0]], 0.1)


def test_law_has_mass_moments_and_slopes_of_the_moons():
    law = MoonsLaw()
    h = 0.02
    grid = np.stack(np.meshgrid(np.arange(-3, 4, h), np.arange(-3, 3.5, h)), axis=-1).reshape(-1, 2)
    p = law.density(grid) * h * h
    assert p.sum() == pytest.approx(1.0, rel=1e-12, abs=0)
    assert np.allclose(
        p @ grid, [0.5, 0.25], rtol=1e-12, atol=0.0
    )  # the means of the half circles are (0, 2/pi), (1, 1/2 - 2/pi)
    x, y = draw_two_moons(40_000, 0.2, stream("tests.moons", 0))
    assert np.allclose(np.cov(x.T), np.cov(grid.T, aweights=p), rtol=0.0, atol=0.02)
    assert (law.odds(x)[y == 1] > 0.5).mean() > 0.9
    step = 1e-5
    for axis in np.eye(2):
        both = (np.log(law.density(QUERIES + s * step * axis)) for s in (1.0, -1.0))
        up, down = both
        assert np.allclose((up - down) / (2 * step), law.slope(QUERIES) @ axis, rtol=1e-6, atol=1e-6)
        odds = [np.log(o / (1 - o)) for o in (law.odds(QUERIES + s * step * axis) for s in (1.0, -1.0))]
        slope = (odds[0] - odds[1]) / (2 * step)
        across = law.across(QUERIES)
        assert np.allclose(
            across @ axis, slope / np.linalg.norm(gradient_of_odds(law, step), axis=1), rtol=1e-5, atol=1e-5
        )


def gradient_of_odds(law, step):
    parts = []
    for axis in np.eye(2):
        up, down = (law.odds(QUERIES + s * step * axis) for s in (1.0, -1.0))
        parts.append((np.log(up / (1 - up)) - np.log(down / (1 - down))) / (2 * step))
    return np.stack(parts, axis=1)


def posterior(law, matrix, x, epsilon):
    """The layer for a linear map is a posterior mean: of every Gaussian of the mixture, by its own formula."""
    precision, kernel = np.eye(2) / law.noise**2, matrix @ matrix.T / epsilon
    covariance = np.linalg.inv(precision + kernel)
    spread = np.linalg.inv(kernel) + np.eye(2) * law.noise**2
    moved = []
    for point in x:
        step = law.centres - point
        weights = law.masses * np.exp(-0.5 * np.einsum("ki,ij,kj->k", step, np.linalg.inv(spread), step))
        means = (law.centres / law.noise**2 + point @ kernel) @ covariance
        moved.append(weights @ means / weights.sum() - point)
    return np.array(moved)


@pytest.mark.parametrize("epsilon", [0.5, 0.02, 1e-4])
def test_layer_of_a_linear_map_is_a_posterior_mean(epsilon):
    matrix = np.array([[1.5, 0.3, -0.4], [-0.2, 0.6, 0.5]])
    found = layer_change(straight(matrix), MoonsLaw(), QUERIES, epsilon)
    off = np.linalg.norm(found.value - posterior(MoonsLaw(), matrix, QUERIES, epsilon), axis=1)
    assert (off <= found.error + 1e-13 * epsilon**0.5).all()
    assert found.error.max() < 1e-9 * epsilon**0.5 + 1e-14


@pytest.mark.parametrize("step", [2.0, 2.5, 3.0])
def test_a_lattice_much_too_coarse_owns_up(monkeypatch, step):
    """Two rules that are off, and are not refined, differ by no less than their mean is off."""
    monkeypatch.setattr(arcs, "_STEP", step)
    monkeypatch.setattr(arcs, "_AGREED", np.inf)
    matrix = np.array([[1.5, 0.3, -0.4], [-0.2, 0.6, 0.5]])
    found = layer_change(straight(matrix), MoonsLaw(), QUERIES, 0.02)
    off = np.linalg.norm(found.value - posterior(MoonsLaw(), matrix, QUERIES, 0.02), axis=1)
    assert (off <= found.error).all()
    assert off.max() > 1e-6


def test_layer_sees_a_sheet_that_comes_back():
    """Of a map that turns back, points of the far sheet weigh as much as those nearby."""
    c = fold(-1.3)
    law = MoonsLaw()
    x = np.array([[0.0, 0.5]])
    h = 0.01
    grid = np.stack(np.meshgrid(np.arange(-3, 4, h), np.arange(-2.5, 3, h)), axis=-1).reshape(-1, 2)
    weights = law.density(grid) * np.exp(-np.square(c(grid) - c(x)).sum(axis=1) / (2 * 1e-3))
    near = abs(grid[:, 0]) < 0.5
    assert 0.05 < weights[near].sum() / weights.sum() < 0.95
    expected = weights @ grid / weights.sum() - x[0]
    assert np.allclose(layer_change(c, law, x, 1e-3).value[0], expected, rtol=1e-8, atol=1e-10)


def test_first_order_is_the_limit_of_the_layer():
    c = chart(3, branch=0.4)
    law = MoonsLaw()
    parts = first_order(c, law, QUERIES)
    limit = 0.5 * (parts.laplace + 2.0 * (parts.pull - parts.volume))
    rates = [layer_change(c, law, QUERIES, e).value / e for e in (4e-5, 2e-5)]
    assert np.allclose(2.0 * rates[1] - rates[0], limit, rtol=1e-4, atol=1e-4)


def test_exponential_of_a_small_matrix():
    rng = stream("tests.exponential", 0)
    root = rng.normal(size=(6, 6))
    stiffness = root @ root.T
    masses = rng.uniform(0.5, 2.0, 6)
    start = rng.normal(size=(6, 2))
    expected = linalg.expm(-0.7 * stiffness / masses[:, np.newaxis]) @ start
    assert np.allclose(apply_semigroup(sparse.csc_array(stiffness), masses, start, 0.7), expected, rtol=0.0, atol=1e-8)


def test_flow_is_the_limit_of_many_layers_and_agrees_with_first_order_at_small_times():
    c = chart(3, branch=0.4)
    law = MoonsLaw()
    parts = first_order(c, law, QUERIES)
    operator = parts.laplace + 2.0 * (parts.pull - parts.volume)
    short = semigroup_change(c, law, QUERIES, 1e-4)
    assert np.allclose(short.value / 1e-4, operator, rtol=0.03, atol=0.03 * abs(operator).max())
    coarse, fine = (semigroup_change(c, law, QUERIES, 0.1, spacing=h) for h in (0.1, 0.05))
    assert np.linalg.norm(coarse.value - fine.value) <= np.linalg.norm(coarse.error)
    assert fine.error.max() < coarse.error.max()


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9])
def test_the_density_of_narrow_moons_is_that_of_differences(noise):
    law = MoonsLaw(noise)
    x = law.centres[::37] + noise * np.array([0.5, -1.0])
    apart = x[:, np.newaxis] - law.centres
    parts = law.masses * np.exp(-0.5 * (apart**2).sum(axis=2) / noise**2) / (2.0 * np.pi * noise**2)
    np.testing.assert_allclose(law.density(x), parts.sum(axis=1), rtol=1e-8, atol=0.0)


def test_a_density_that_vanishes_is_no_divisor():
    for call in (MoonsLaw().slope, MoonsLaw().across, MoonsLaw().odds):
        with pytest.raises(ValueError, match="x: expected points so near the moons"):
            call([[1e3, 0.0]])
