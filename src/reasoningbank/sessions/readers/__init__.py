"""Sessions of coding agents and chats, read from the files they leave behind, as trajectories that may be stored."""

from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.files import FORMATS, read
from reasoningbank.sessions.readers.preparation import prepare

__all__ = ["FORMATS", "Skipped", "prepare", "read"]
