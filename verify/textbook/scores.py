"""Scores that are written as a formula, of which the rounding is that of the formula."""

from theory.evidence import exact


class Written:
    """A score of which ``matrix`` is the formula."""

    def bounds(self, x, y):
        """Bound size and rounding."""
        scores = self.matrix(exact(x), exact(y))
        return float(abs(scores).max().hi), float(scores.width.max())
