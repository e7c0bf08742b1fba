"""Widths that are planted in particles and diffusion: each is caught by the named test or claim."""

WIDTHS = [
    ("stationary-steps-dropped",
     "tests/diffusion/test_equilibrium.py::test_stationary_law_of_a_slow_chain_is_off_by_many_times_what_its_rows_are",
     "diffusion/equilibrium.py", "return law, steps * moved / (1.0 - apart)", "return law, moved / (1.0 - apart)"),
    ("spectrum-error-dropped",
     "tests/diffusion/test_equilibrium.py::test_spectrum_of_weights_that_are_off_by_their_error",
     "diffusion/equilibrium.py", "[::-1], error + 8.0 * n * U + n * 1e-150", "[::-1], 8.0 * n * U + n * 1e-150"),
    ("scaling-cosh-dropped", "tests/diffusion/test_normalisers.py::test_a_scaling_that_stops_early_still_encloses_the_limit",
     "diffusion/gradient_flow.py", "reach = (apart * (quarter.exp() + (-quarter).exp()) ** 2 / 4).upper()", "reach = apart.upper()"),
    ("scaling-reach-dropped", "tests/diffusion/test_normalisers.py::test_a_scaling_that_stops_early_still_encloses_the_limit",
     "diffusion/gradient_flow.py", "right = right * exp(balls(np.zeros(len(right))) + balls(0).item().union(reach))", "right = right * 1"),
    ("responses-radius-dropped", "tests/diffusion/test_normalisers.py::test_a_scaling_that_stops_early_still_encloses_the_limit",
     "diffusion/gradient_flow.py", "enclosed: Balls = found + (-radius).union(radius)", "enclosed: Balls = found * 1"),
    ("fine-run-as-coarse", "tests/particles/test_flows.py::test_the_finer_run_takes_other_steps_than_the_coarser_one",
     "particles/flows.py", "method, parts=2)", "method, parts=1)"),
    ("difference-halved", "tests/particles/test_flows.py::test_the_difference_of_the_runs_is_taken_twice",
     "particles/flows.py", "safety * (abs(value - other) + moved)", "0.5 * safety * (abs(value - other) + moved)"),
]  # fmt: skip
