"""One valid call of everything that theory.reference shows."""

VALID = {"known_answers": {"subject": "w1"}}
