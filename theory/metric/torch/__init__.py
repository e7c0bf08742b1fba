"""The attentions of this room as PyTorch modules, in float64 equal to those of NumPy; they need the extra ``learn``."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.metric.torch.modules import (
        ATTENTIONS as ATTENTIONS,
        Attention as Attention,
        attention_module as attention_module,
    )
    from theory.metric.torch.parametrised import (
        Affine as Affine,
        Dropout as Dropout,
        Parametrised as Parametrised,
        Table as Table,
        load as load,
        parameters_of as parameters_of,
        positions as positions,
    )
    from theory.metric.torch.transformer import Transformer as Transformer
    from theory.metric.torch.weights import module_weights as module_weights

open_lazily(__name__)
