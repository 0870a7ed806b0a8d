"""Texts become token ids."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from reasoningbank.errors import ModelMissing

if TYPE_CHECKING:
    from tokenizers import Tokenizer


TokenIds = tuple[int, ...]
"""One text as token ids, special tokens included, cut to the model's length."""


class TextTokenizer:
    """Cuts texts to a number of tokens; the same text always gives the same ids. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer, *, limit: int) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=limit)
        self._tokenizer = tokenizer

    def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Token ids of each text, in the order given; an empty text has its two special tokens only.

        A lone surrogate, which no UTF-8 text can hold, counts as a question mark.
        """
        return [tuple(self._tokenizer.encode(_encodable(text)).ids) for text in texts]


def bert_uncased(*, limit: int) -> TextTokenizer:
    """The WordPiece tokenizer of BERT base uncased (Devlin et al., 2018), vocabulary out of this package.

    Args:
        limit: Longest sequence in tokens, [CLS] and [SEP] included.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    text = (files("reasoningbank.embedding") / "data" / "bert_uncased_vocabulary.txt").read_text(encoding="utf-8")
    vocabulary = {token: number for number, token in enumerate(text.rstrip("\n").split("\n"))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=None,
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return TextTokenizer(tokenizer, limit=limit)


def from_json(content: bytes, *, limit: int) -> TextTokenizer:
    """The tokenizer that the content of a ``tokenizer.json`` describes.

    Args:
        content: The JSON.
        limit: Longest sequence in tokens, special tokens included.

    Raises:
        ModelMissing: It describes no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(content)
    except ValueError as error:
        raise ModelMissing(f"The model's tokenizer is not usable: {str(error)[:300]}") from error
    return TextTokenizer(tokenizer, limit=limit)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
