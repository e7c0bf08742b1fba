"""The optimiser against the recursion written out in rational-looking steps, and against PyTorch."""

import math

import numpy as np
import pytest

from theory.experiments.training.adam import Adam


def by_hand(theta, gradients, rate, decay):
    """The algorithm as it is printed, one number at a time."""
    m = v = 0.0
    for t, gradient in enumerate(gradients, start=1):
        g = gradient + decay * theta
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        theta = theta - rate * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return theta


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps_are_the_algorithm(decay):
    rng = np.random.default_rng(13)
    start, gradients = rng.normal(size=4), rng.normal(size=(20, 4))
    adam = Adam(4, 0.05, decay)
    theta = start
    for gradient in gradients:
        theta = adam.step(theta, gradient)
    exact = [by_hand(start[k], gradients[:, k], 0.05, decay) for k in range(4)]
    np.testing.assert_allclose(theta, exact, rtol=1e-11, atol=1e-13)


def test_the_first_step_has_the_length_of_the_rate():
    adam = Adam(2, 0.1)
    np.testing.assert_allclose(adam.step(np.zeros(2), np.array([3.0, -1e-3])), [-0.1, 0.1], rtol=1e-4, atol=0)


def test_pytorch_takes_the_same_steps():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(14)
    start, gradients = rng.normal(size=5), rng.normal(size=(50, 5))
    parameter = torch.nn.Parameter(torch.tensor(start))
    other = torch.optim.Adam([parameter], lr=1e-2, weight_decay=1e-2)
    adam = Adam(5, 1e-2, 1e-2)
    theta = start
    for gradient in gradients:
        theta = adam.step(theta, gradient)
        parameter.grad = torch.tensor(gradient)
        other.step()
    np.testing.assert_allclose(theta, parameter.detach().numpy(), rtol=1e-12, atol=1e-13)


def test_a_restored_optimiser_goes_on_as_if_never_stopped():
    rng = np.random.default_rng(15)
    gradients = rng.normal(size=(10, 3))
    whole, first = Adam(3, 0.1, 0.01), Adam(3, 0.1, 0.01)
    theta = other = np.zeros(3)
    for gradient in gradients[:5]:
        theta, other = whole.step(theta, gradient), first.step(other, gradient)
    second = Adam(3, 0.1, 0.01)
    state = {name: value.copy() for name, value in first.state().items()}
    second.restore(state)
    for gradient in gradients[5:]:
        theta, other = whole.step(theta, gradient), second.step(other, gradient)
    np.testing.assert_array_equal(theta, other)
    assert int(state["count"]) == 5  # the state that was given is not written to


def test_the_state_is_a_copy():
    adam = Adam(1, 0.1)
    adam.step(np.zeros(1), np.ones(1))
    state = adam.state()
    adam.step(np.zeros(1), np.ones(1))
    assert int(state["count"]) == 1
    assert state["mean"].item() == pytest.approx(0.1, rel=1e-12, abs=0)


def test_bad_arguments_are_refused():
    for arguments, message in (
        ((0, 0.1), "size: expected an integer of at least 1"),
        ((2, 0.0), "rate: expected a positive"),
        ((2, 0.1, -1.0), "decay: expected a number that is not negative"),
    ):
        with pytest.raises(ValueError, match=message):
            Adam(*arguments)
    state = Adam(3, 0.1).state()
    with pytest.raises(ValueError, match=r"state\['mean'\]: expected shape \(2,\), got shape \(3,\)"):
        Adam(2, 0.1).restore(state)
    state = Adam(2, 0.1).state() | {"count": np.array(-1)}
    with pytest.raises(ValueError, match=r"state\['count'\]: expected an integer of at least 0"):
        Adam(2, 0.1).restore(state)
