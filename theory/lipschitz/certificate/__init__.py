"""Constants of one layer of self-attention from its weight matrices, on both sides."""

from typing import TYPE_CHECKING

from theory._lazy import open_lazily

if TYPE_CHECKING:
    from theory.lipschitz.certificate.block import as_block as as_block
    from theory.lipschitz.certificate.block_file import read_blocks as read_blocks
    from theory.lipschitz.certificate.block_text import (
        blocks_as_json as blocks_as_json,
        blocks_as_text as blocks_as_text,
    )
    from theory.lipschitz.certificate.blocks import (
        BlockCertificate as BlockCertificate,
        certify_blocks as certify_blocks,
    )
    from theory.lipschitz.certificate.certify import (
        METRICS as METRICS,
        Certificate as Certificate,
        Row as Row,
        certify as certify,
    )
    from theory.lipschitz.certificate.detour import largest_detour as largest_detour
    from theory.lipschitz.certificate.feed_forward import as_feed_forward as as_feed_forward
    from theory.lipschitz.certificate.local import (
        LocalCertificate as LocalCertificate,
        LocalRow as LocalRow,
        certify_at as certify_at,
    )
    from theory.lipschitz.certificate.lower_bounds import (
        Stretch as Stretch,
        enclose_stretch as enclose_stretch,
    )
    from theory.lipschitz.certificate.normalised import as_token_norm as as_token_norm
    from theory.lipschitz.certificate.text import (
        as_json as as_json,
        as_text as as_text,
        parse_names as parse_names,
        run_command as run_command,
    )
    from theory.lipschitz.certificate.turned import PAIRS as PAIRS
    from theory.lipschitz.certificate.weights import (
        AttentionWeights as AttentionWeights,
        as_attention_weights as as_attention_weights,
        product_norm as product_norm,
    )
    from theory.lipschitz.certificate.weights_file import (
        read_layer as read_layer,
        read_weights as read_weights,
    )

open_lazily(__name__)
