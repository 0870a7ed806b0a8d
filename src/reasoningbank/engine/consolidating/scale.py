"""What a similarity threshold means to an embedding model.

The seed's threshold of 0.8 is on the scale of all-MiniLM and its like. Other models squeeze their cosines: two lessons
of one subject that say different things have 0.85 with granite. A threshold t is therefore compared as t ** p, which
leaves 0 and 1 where they are; p is such that 0.8 falls where texts begin to say nearly the same.

For granite that is 0.91: of 25 pairs drawn from ReMe's items (899) in five bands of their cosine and read by hand, all
10 above 0.92 and all 5 from 0.90 to 0.92 say nearly the same, 3 of 5 from 0.87 to 0.90, none of 5 below. For every
model that was not measured the cosine is compared as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from reasoningbank.domain.consolidation import SIMILARITY_THRESHOLD

MEASURED: Mapping[str, float] = MappingProxyType({"granite": 0.91})
"""By the family of models, lower case part of the model id: the cosine that a threshold of 0.8 stands for."""


def least_cosine(threshold: float, model_id: str | None) -> float:
    """The cosine that pairs must be above in this vector space; never below the threshold itself."""
    known = family(model_id)
    measured = SIMILARITY_THRESHOLD if known is None else MEASURED[known]
    power = math.log(measured) / math.log(SIMILARITY_THRESHOLD)
    return float(threshold) if power == 1.0 else float(threshold) ** power


def family(model_id: str | None) -> str | None:
    """The measured family of models that a model belongs to; None for any other model."""
    name = (model_id or "").casefold()
    return next((known for known in MEASURED if known in name), None)
