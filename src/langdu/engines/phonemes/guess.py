"""How an unknown English word probably sounds: the GRU of the g2p_en package, run in numpy.

Only the package's weights are read (an .npz, loaded without pickle); importing it would try to download
word lists. Encoder and decoder are one GRU layer of 128 over 29 letters and 74 ARPAbet phonemes.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import numpy as np
import numpy.typing as npt

from langdu.errors import DependencyError

Array = npt.NDArray[np.float32]

GRAPHEMES = ["<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz"]
CONSONANTS = {
    "B": "b", "CH": "ʧ", "D": "d", "DH": "ð", "F": "f", "G": "ɡ", "HH": "h", "JH": "ʤ", "K": "k", "L": "l",
    "M": "m", "N": "n", "NG": "ŋ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ", "T": "t", "TH": "θ", "V": "v",
    "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip
VOWELS = {
    "AA": "ɑ", "AE": "æ", "AH": "ʌ", "AO": "ɔ", "AW": "W", "AY": "I", "EH": "ɛ", "ER": "ɜɹ", "EY": "A",
    "IH": "ɪ", "IY": "i", "OW": "O", "OY": "Y", "UH": "ʊ", "UW": "u",
}  # fmt: skip
UNSTRESSED = {"AH": "ə", "ER": "əɹ"}
START, END, LONGEST = 2, 3, 20


def _inventory() -> list[str]:
    """The decoder's output symbols in order: CMU's phonemes, each vowel with three stresses, sorted."""
    names = sorted([*CONSONANTS, *(f"{vowel}{stress}" for vowel in VOWELS for stress in "012")])
    # The training set had each plain diphthong UW as well.
    names.insert(names.index("UW0"), "UW")
    return ["<pad>", "<unk>", "<s>", "</s>", *names]


class Guesser:
    """Weights are read at the first guess (3 MB)."""

    def __call__(self, word: str) -> str:
        """Kokoro phonemes of `word` (letters a to z; anything else is ignored)."""
        letters = [letter for letter in word.lower() if letter in GRAPHEMES]
        return "".join(_kokoro(symbol) for symbol in self._arpabet(letters)) if letters else ""

    @functools.cached_property
    def _weights(self) -> dict[str, Array]:
        spec = importlib.util.find_spec("g2p_en")
        if spec is None or not spec.submodule_search_locations:
            raise DependencyError("g2p-en is not installed.", hint='Run: pip install "langdu[kokoro]"')
        path = Path(spec.submodule_search_locations[0]) / "checkpoint20.npz"
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}

    def _arpabet(self, letters: list[str]) -> list[str]:
        w, inventory = self._weights, _inventory()
        state = np.zeros(w["enc_w_hh"].shape[1], np.float32)
        for letter in [*letters, "</s>"]:
            state = self._step("enc", GRAPHEMES.index(letter), state)
        symbols: list[str] = []
        last = START
        for _ in range(LONGEST):
            state = self._step("dec", last, state)
            last = int(np.argmax(w["fc_w"] @ state + w["fc_b"]))
            if last == END:
                break
            symbols.append(inventory[last])
        return symbols

    def _step(self, side: str, index: int, state: Array) -> Array:
        """One step of a GRU in PyTorch's gate order (reset, update, new)."""
        w = self._weights
        given = w[f"{side}_w_ih"] @ w[f"{side}_emb"][index] + w[f"{side}_b_ih"]
        held = w[f"{side}_w_hh"] @ state + w[f"{side}_b_hh"]
        (ri, zi, ni), (rh, zh, nh) = np.split(given, 3), np.split(held, 3)
        reset, update = 1 / (1 + np.exp(-(ri + rh))), 1 / (1 + np.exp(-(zi + zh)))
        new = np.tanh(ni + reset * nh)
        result: Array = ((1 - update) * new + update * state).astype(np.float32)
        return result


def _kokoro(symbol: str) -> str:
    if symbol in CONSONANTS:
        return CONSONANTS[symbol]
    vowel, stress = symbol.rstrip("012"), symbol[-1]
    if vowel not in VOWELS:
        return ""
    if stress == "0" and vowel in UNSTRESSED:
        return UNSTRESSED[vowel]
    return {"1": "ˈ", "2": "ˌ"}.get(stress, "") + VOWELS[vowel]
