"""Sessions of coding agents and chats, read from the files they leave behind, as trajectories that may be stored."""

from reasoningbank.sessions.readers.drafts import Skipped
from reasoningbank.sessions.readers.preparation import prepare
from reasoningbank.sessions.readers.session_files import FORMATS, read

__all__ = ["FORMATS", "Skipped", "prepare", "read"]
