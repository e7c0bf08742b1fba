"""Widths that are planted in attention, its engine and distances: each is caught by the named test or claim."""

OFF = "tests/attention/test_nystrom.py::test_entries_that_are_off_are_paid_for"

WIDTHS = [
    # (name, caught by, path under theory/, old text, new text)
    ("dropped-mass-understated", "engine.local-sums", "engine/local.py",
     "lost[block] = 2.0 / (1.0", "lost[block] = 1.98 / (1.0"),
    ("dropped-mass-loose", "engine.local-sums", "engine/local.py",
     "lost[block] = 2.0 / (1.0", "lost[block] = 200.0 / (1.0"),
    ("dropped-mass-allowed", "engine.local-sums", "engine/local.py",
     "floor + math.log(accuracy / 2.0))\n            near", "floor + math.log(accuracy))\n            near"),
    ("blocks-without-slack", "tests/engine/test_local.py::test_shares_of_single_places_hold", "engine/local.py",
     "slack = 8.0 * (away.shape[1] + 8)", "slack = 0.0 * (away.shape[1] + 8)"),
    ("atoms-without-slip", "distance.translation", "distance/bounds.py",
     "u, v = dual.u - ruler.slip(dual.v), dual.v", "u, v = dual.u, dual.v"),
    ("arcs-not-widened", "distance.translation", "distance/envelope.py",
     "length * (1.0 + self.relative) + self.lost", "length"),
    ("costs-not-narrowed", "distance.translation", "distance/w1.py",
     "block = cost[start : start + _BLOCK] * (1.0 - relative)", "block = cost[start : start + _BLOCK].copy()"),
    ("plan-not-widened", "distance.translation", "distance/w1.py",
     "dear = cost[rows, columns] * (1.0 + relative) + lost", "dear = cost[rows, columns]"),
    ("landmarks-without-inverse", "variant.nystrom-schur", "attention/nystrom.py",
     "return share * norm * _norm(before)", "return share * _norm(before)"),
    ("landmarks-middle-exact", OFF, "attention/nystrom.py",
     "(relative + gamma(count + 4)) * spread", "gamma(count + 4) * spread"),
    ("landmarks-outside-exact", OFF, "attention/nystrom.py",
     "(1.0 + relative) ** 2 * (1.0", "(1.0"),
    ("wrong-patch", "tests/attention/test_photograph.py::test_attention_map_study", "attention/studies.py",
     "rows(x[query_index()][np.newaxis])", "rows(x[query_index() + 1][np.newaxis])"),
]  # fmt: skip
