"""How much time is left, of a run whose clock is in our hands."""

import io
from types import SimpleNamespace

import pytest

from theory.evidence.countdown import Corner, Countdown, describe_remaining


@pytest.fixture
def clock():
    return SimpleNamespace(now=100.0)


def test_without_a_last_run_all_items_count_the_same(clock):
    countdown = Countdown(["a", "b", "c", "d"], {}, lambda: clock.now)
    assert countdown.left() is None
    clock.now += 6.0
    countdown.done("b")
    assert countdown.left() == pytest.approx(18.0, rel=1e-12, abs=0.0)
    clock.now += 2.0
    for name in ("a", "c", "d"):
        countdown.done(name)
    assert countdown.left() == pytest.approx(0.0, rel=0.0, abs=1e-9)


def test_what_took_long_the_last_time_takes_long_again(clock):
    countdown = Countdown(["short", "long", "new"], {"short": 1.0, "long": 5.0, "gone": 100.0}, lambda: clock.now)
    clock.now += 2.0  # twice as slow as then
    countdown.done("short")
    assert countdown.left() == pytest.approx(2.0 * (5.0 + 3.0), rel=1e-12, abs=0.0)  # a new one is like the mean


def test_only_what_is_waited_for_counts(clock):
    countdown = Countdown(["a", "b"], {}, lambda: clock.now)
    clock.now += 1.0
    countdown.done("other")
    assert countdown.left() is None
    for _ in range(2):
        countdown.done("a")
    assert countdown.left() == pytest.approx(1.0, rel=1e-12, abs=0.0)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0:00"), (59.6, "1:00"), (65.0, "1:05"), (3599.0, "59:59"), (3665.0, "1:01:05")]
)
def test_time_is_told_in_minutes(seconds, text):
    assert describe_remaining(seconds) == f"about {text} left"


@pytest.mark.parametrize(("used", "shown"), [(10, True), (69, False), (80, False)])
def test_the_corner_is_used_where_there_is_room(used, shown):
    file = io.StringIO()
    Corner(SimpleNamespace(_file=file, width_of_current_line=used, fullwidth=80)).show("0123456789")
    assert ("\x1b[70G0123456789" in file.getvalue()) is shown
    assert file.getvalue().startswith("\x1b[K")  # whatever was there is gone


def test_a_writer_that_is_another_is_left_alone():
    Corner(SimpleNamespace(fullwidth=80)).show("left")
    Corner(object()).clear()
