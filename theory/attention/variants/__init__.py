"""Attention that is not the softmax over all keys: sparse rows, windows, dropout, features and landmarks."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.attention.variants.dropout import attend_dropout as attend_dropout, drop_weights as drop_weights
    from theory.attention.variants.features import (
        PositiveFeatures as PositiveFeatures,
        TrigonometricFeatures as TrigonometricFeatures,
        elu_features as elu_features,
        gaussian_frequencies as gaussian_frequencies,
    )
    from theory.attention.variants.linear import attend_linear as attend_linear, linear_weights as linear_weights
    from theory.attention.variants.nystrom import (
        attend_nystrom as attend_nystrom,
        landmark_error as landmark_error,
        nystrom_error as nystrom_error,
        nystrom_weights as nystrom_weights,
        segment_means as segment_means,
        through_landmarks as through_landmarks,
    )
    from theory.attention.variants.rows import attend_rows as attend_rows, top_k as top_k
    from theory.attention.variants.window import attend_window as attend_window

open_lazily(__name__)
