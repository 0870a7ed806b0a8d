"""The one door for ONNX Runtime: it, and what imports it, come in with its telemetry switched off.

From version 1.31 ONNX Runtime sends telemetry unless the environment forbids it: once it is imported it keeps a device
id and a queue of events in the user's cache directory, and some seconds later a thread of its own looks up a host. It
reads the variable when it is imported; its function ``disable_telemetry_events`` comes too late. Nothing else imports
ONNX Runtime or ``fastembed``; the linter holds that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    from onnxruntime import InferenceSession

__all__ = [
    "InferenceSession",
    "TextCrossEncoder",
    "TextEmbedding",
    "fastembed_model",
    "fastembed_reranker",
    "onnx_runtime",
]

_SWITCH = "ORT_DISABLE_TELEMETRY"


def onnx_runtime() -> ModuleType:
    """Return import ONNX Runtime with its telemetry off.

    Raises:
        ImportError: It is not installed, or cannot be loaded on this system.
    """
    _switch_off()
    import onnxruntime

    module: ModuleType = onnxruntime
    return module


def fastembed_model() -> type[TextEmbedding]:
    """Return import the models of ``fastembed``, which imports ONNX Runtime, with its telemetry off.

    Raises:
        ImportError: The extra ``fastembed`` is not installed.
    """
    _switch_off()
    from fastembed import TextEmbedding

    library: type[TextEmbedding] = TextEmbedding
    return library


def fastembed_reranker() -> type[TextCrossEncoder]:
    """Return the cross-encoders of ``fastembed``, with the telemetry of ONNX Runtime off.

    Raises:
        ImportError: The extra ``fastembed`` is not installed.
    """
    _switch_off()
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    library: type[TextCrossEncoder] = TextCrossEncoder
    return library


def _switch_off() -> None:
    # Another value is overwritten: that nothing is sent is a promise, not a default.
    os.environ[_SWITCH] = "1"
