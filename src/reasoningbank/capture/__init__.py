"""Sessions of coding agents and chats, read from the files they leave behind, as trajectories that may be stored."""

from reasoningbank.capture.preparing import prepare
from reasoningbank.capture.reading import FORMATS, read
from reasoningbank.capture.session import Skipped

__all__ = ["FORMATS", "Skipped", "prepare", "read"]
