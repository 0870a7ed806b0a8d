"""Texts that say nothing, as models write them where a text was asked for."""

from __future__ import annotations

_NOTHINGS = "none n/a na null nil tbd todo string text title description content empty unknown"
_MARK_WORDS = frozenset(_NOTHINGS.split()) | {
    *("not applicable", "not available", "nothing", "no lesson", "no lessons", "no strategy", "no strategies"),
    *("keine", "keines", "nichts", "entfällt", "k.a", "k. a", "nicht zutreffend", "aucun", "aucune", "rien", "néant"),
    *("sans objet", "s/o", "ninguno", "ninguna", "nada", "no aplica", "no aplicable", "无", "没有", "暂无", "不适用"),
    *("なし", "無し", "特になし", "該当なし", "該当しない"),
}


def is_blank(text: str) -> bool:
    """Return whether a text is empty, has no letter, or is a mere mark for "nothing"."""
    return (
        not any(map(str.isalpha, text))
        or " ".join(text.strip(" \t\r\n.<>[](){}\u3002").casefold().split()) in _MARK_WORDS
    )
