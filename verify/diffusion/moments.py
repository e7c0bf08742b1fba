"""Laplace's method about a minimiser, term by term: the moments of the Gaussian of the leading term."""

import math


def laplace(f, g, terms):
    """Coefficients in eps of the integral of g exp(-f / 2 eps), by moments of the Gaussian of the leading term of f.

    With v = s w, s = sqrt(eps), the terms are kept by the powers of s and of w; odd powers have no moment.
    """
    top = 2 * terms - 2
    rest = {(j - 2, j): -f[j] / 2 for j in range(3, top + 3)}
    product = power = {(j, j): g[j] for j in range(top + 1)}
    for k in range(1, top + 1):
        power = times(power, rest, top, k)
        product = {key: product.get(key, 0) + power.get(key, 0) for key in product.keys() | power.keys()}
    moment = {m: math.prod(range(m - 1, 0, -2)) * f[2] ** (-m // 2) for m in range(0, 4 * top + 1, 2)}
    return [sum(c * moment[m] for (s, m), c in product.items() if s == 2 * k) for k in range(terms)]


def times(a, b, top, divisor):
    found = {}
    for (s, m), left in a.items():
        for (r, n), right in b.items():
            if s + r <= top:
                found[s + r, m + n] = found.get((s + r, m + n), 0) + left * right / divisor
    return found


def quotient(n, d):
    """Coefficients of a quotient of two power series."""
    found = []
    for k in range(len(n)):
        found.append((n[k] - sum(found[j] * d[k - j] for j in range(k))) / d[0])
    return found
