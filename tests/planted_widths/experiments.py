"""Faults of experiments that are planted: each is caught by the named test; those of ``TORCH`` need PyTorch.

The tests of experiments run the second list, in ``tests/experiments/arms/test_planted_training.py``.
"""

LESSONS = "tests/experiments/arms/test_lessons.py"
SEARCH = "tests/experiments/arms/test_search.py"
EXPERIMENT = "tests/experiments/arms/test_experiment.py"
NETWORK = "tests/experiments/arms/test_network.py"
STARTS = "tests/experiments/test_published.py::test_runs_of_a_seed_share_data_and_start"

# name, what catches it, path under theory/, old text, new text
WIDTHS = [
    (
        "order-of-the-first-seed",
        LESSONS + "::test_orders_differ_between_seeds_and_epochs_and_not_between_arms",
        "experiments/arms/lessons.py",
        'return self._streams("order")',
        'return [stream("arms.order", self.seeds[0], root=self.root) for _ in self.seeds]',
    ),
    (
        "validated-on-test-points",
        LESSONS + "::test_search_and_final_runs_share_no_test_data[moons]",
        "experiments/arms/lessons.py",
        'stream("arms.moons.validation", seed, root=root) if validation else rng',
        "rng",
    ),
    (
        "validated-on-test-images",
        LESSONS + "::test_images_of_validation_are_in_no_final_run",
        "experiments/arms/lessons.py",
        "others = held if validation else others",
        "others = others[:297] if validation else others",
    ),
    (
        "images-held-anew-by-every-seed",
        LESSONS + "::test_images_of_validation_are_in_no_final_run",
        "experiments/arms/lessons.py",
        'stream("arms.digits.held", 0, root=root)',
        'stream("arms.digits.held", seed, root=root)',
    ),
    (
        "standardised-with-test-bodies",
        LESSONS + "::test_standardisation_knows_the_training_data_alone",
        "experiments/data/segments.py",
        'np.concatenate(described["train"])',
        'np.concatenate([*described["train"], *described["test"]])',
    ),
    (
        "labels-not-permuted",
        LESSONS + "::test_permuted_labels_are_the_same_labels_elsewhere[moons]",
        "experiments/arms/lessons.py",
        'stacked["train"] = points, np.stack(mixed).reshape(classes.shape)',
        'stacked["train"] = points, classes',
    ),
    (
        "test-points-moved-too",
        LESSONS + "::test_noise_moves_the_test_data_and_nothing_else[moons]",
        "experiments/arms/lessons.py",
        'moved = points + MOONS["more"] * rng.standard_normal(points.shape)',
        'points = moved = points + MOONS["more"] * rng.standard_normal(points.shape)',
    ),
    (
        "features-begin-elsewhere",
        LESSONS + "::test_starts_differ_by_seed_root_and_word_and_not_by_arm",
        "experiments/arms/lessons.py",
        'self._streams(f"{start}.{len(arm.scored(self.sizes))}")',
        'self._streams(f"{start}.{arm.name}")',
    ),
    (
        "grid-grows-at-the-other-end",
        SEARCH + "::test_the_grid_grows_until_the_best_rate_is_inside",
        "experiments/arms/search.py",
        "best / ratio if best == min(means) else best * ratio",
        "best * ratio if best == min(means) else best / ratio",
    ),
    (
        "diverged-runs-dropped",
        SEARCH + "::test_a_rate_at_which_one_run_diverges_is_worse_than_any",
        "experiments/arms/search.py",
        "float(values.mean()) if np.isfinite(values).all() else np.inf",
        "float(values[np.isfinite(values)].mean())",
    ),
    (
        "starts-without-seed",
        STARTS,
        "experiments/published.py",
        'stream("metric.moons.start", seed, root=root)',
        'stream("metric.moons.start", 0, root=root)',
    ),
    (
        "starts-without-root",
        STARTS,
        "experiments/published.py",
        'stream("metric.moons.start", seed, root=root)',
        'stream("metric.moons.start", seed)',
    ),
]

TORCH = [
    (
        "rates-by-training-loss",
        EXPERIMENT + "::test_the_rate_is_chosen_by_validation_and_not_by_training_loss",
        "experiments/arms/experiment.py",
        'COLUMNS.index("test_loss")',
        'COLUMNS.index("train_loss")',
    ),
    (
        "search-without-validation",
        EXPERIMENT + "::test_runs_of_the_search_have_seeds_and_test_data_of_their_own",
        "experiments/arms/experiment.py",
        "(setting.task), seeds, search,",
        "(setting.task), seeds, False,",
    ),
    (
        "gradients-added-up",
        EXPERIMENT + "::test_training_is_that_of_the_published_network_in_numpy",
        "experiments/arms/training.py",
        "            adam.zero_grad()\n",
        "",
    ),
    (
        "divergence-forgotten",
        EXPERIMENT + "::test_what_was_lost_once_stays_lost",
        "experiments/arms/training.py",
        "lost = np.logical_or.accumulate(lost, axis=1)",
        "lost = np.logical_and.accumulate(lost, axis=1)",
    ),
    (
        "threshold-of-entmax",
        NETWORK + "::test_sparse_rows_are_those_of_the_suite",
        "experiments/arms/network.py",
        "(1.0 / count - spread)",
        "(1.0 - spread)",
    ),
    (
        "residual-forgotten",
        NETWORK + "::test_residual_adds_the_tokens",
        "experiments/arms/network.py",
        "return h + self._means(h, scored, h)",
        "return self._means(h, scored, h)",
    ),
    (
        "features-of-nothing",
        NETWORK + "::test_features_are_those_of_metric_attention",
        "experiments/arms/network.py",
        "    f = _features(h, *parameters)\n",
        "    f = h\n",
    ),
]
