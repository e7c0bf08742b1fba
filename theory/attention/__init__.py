"""The object: attention as a Markov kernel on probability measures."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.attention.additive import Additive as Additive
    from theory.attention.heads import CausalKernel as CausalKernel, Head as Head, MultiHead as MultiHead
    from theory.attention.kernel import (
        AttentionKernel as AttentionKernel,
        Composition as Composition,
        Dirac as Dirac,
        Lookup as Lookup,
        MarkovKernel as MarkovKernel,
        Softmatch as Softmatch,
        boltzmann_gibbs as boltzmann_gibbs,
        transform_error as transform_error,
    )
    from theory.attention.lattice import GaussianAttention as GaussianAttention, gaussian as gaussian
    from theory.attention.measure import Measure as Measure
    from theory.attention.moments import (
        MomentSubspace as MomentSubspace,
        Projected as Projected,
        barycentres as barycentres,
        symmetric_pairs as symmetric_pairs,
    )
    from theory.attention.output import (
        attend as attend,
        partition_error as partition_error,
        read as read,
        rounding as rounding,
        weight_error as weight_error,
    )
    from theory.attention.prepared import Prepared as Prepared, prepare as prepare
    from theory.attention.score import (
        Constants as Constants,
        DotProduct as DotProduct,
        Score as Score,
        SquaredDistance as SquaredDistance,
    )
    from theory.attention.torus import TorusDistance as TorusDistance
    from theory.attention.transport import (
        FeedForward as FeedForward,
        Residual as Residual,
        SelfAttention as SelfAttention,
        Stack as Stack,
        TokenMap as TokenMap,
        step as step,
    )

open_lazily(__name__)
