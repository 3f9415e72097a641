"""Text to token ids, by the tokenizers library from the checkpoint's own files.

Published folders hold vocab.json and merges.txt (the slow layout) and sometimes tokenizer.json. Reading them
here instead of through transformers keeps half a second and a large dependency out of every start.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langdu.errors import ModelError

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where Qwen2's tokenizer cuts before joining bytes."""


class Tokenizer:
    """`encode(text) -> list[int]`, equal to the checkpoint's Qwen2Tokenizer."""

    def __init__(self, folder: Path) -> None:
        """Raises ModelError naming the file that is missing or damaged."""
        self._tokenizer = _read(folder)
        for token in ("<|im_start|>", "<|im_end|>"):
            if self._tokenizer.token_to_id(token) is None:
                raise ModelError(f"The tokenizer in {folder} does not know {token}.", hint=REPAIR)
        role = self.encode("<|im_start|>assistant\n")
        if len(role) != 3:
            raise ModelError(f"The tokenizer in {folder} cuts the role into {len(role)} tokens, not 3.", hint=REPAIR)

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def is_special(self, text: str) -> bool:
        """Whether `text` spells one of the control tokens; the text to be said must not."""
        return any(
            token.special and token.content in text for token in self._tokenizer.get_added_tokens_decoder().values()
        )


REPAIR = "Bring the tokenizer files from the original folder: langdu models repair."


def _read(folder: Path) -> Any:
    from tokenizers import AddedToken
    from tokenizers import Tokenizer as Fast

    try:
        if (folder / "tokenizer.json").is_file():
            return Fast.from_file(str(folder / "tokenizer.json"))
        vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
        fast = _build(vocabulary, merges)
        for _, token in sorted(settings["added_tokens_decoder"].items(), key=lambda item: int(item[0])):
            if token.get("special"):
                fast.add_special_tokens([AddedToken(**token)])
            else:
                fast.add_tokens([AddedToken(**token)])
    except FileNotFoundError as error:
        raise ModelError(f"{error.filename} is missing.", hint=REPAIR) from None
    except Exception as error:  # the library raises plain Exceptions for files it cannot read
        raise ModelError(f"The tokenizer in {folder} cannot be read ({error}).", hint=REPAIR) from None
    for index, token in settings["added_tokens_decoder"].items():
        if fast.token_to_id(token["content"]) != int(index):
            raise ModelError(
                f"The tokenizer in {folder} gives {token['content']} another id than {index}.", hint=REPAIR
            )
    return fast


def _build(vocabulary: dict[str, int], merges: Any) -> Any:
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
    from tokenizers import Tokenizer as Fast

    fast = Fast(models.BPE(vocab=vocabulary, merges=merges, fuse_unk=False, byte_fallback=False))
    fast.normalizer = normalizers.NFC()
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    fast.decoder = decoders.ByteLevel()
    return fast
