"""make demo: speak the example texts with the built-in voice, listen to them, and say where the files are.

Exit code 1 when a listener would not have understood one of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "demo"
TEXTS = ("short.zh.txt", "mixed.txt", "page.en.txt")


def main() -> int:
    OUT.mkdir(exist_ok=True)
    understood = True
    for name in TEXTS:
        target = OUT / f"{Path(name).stem}.wav"
        command = [sys.executable, "-m", "langdu", "say", "-f", str(ROOT / "examples" / name), "-o", str(target)]
        done = subprocess.run([*command, "--verify", "--json"], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 1):
            return done.returncode
        facts = json.loads(done.stdout)
        verdict = facts["verify"]
        understood = understood and verdict["passed"]
        speed = f"{facts['audio_seconds']:.1f} s of sound in {facts['seconds']:.1f} s"
        print(target)
        print(f"  {facts['voice']}: {speed}, RTF {facts['rtf']:.2f} (lower is better), {facts['workers']} workers")
        print(f"  heard with CER {verdict['cer']:.3f}: {'as written' if verdict['passed'] else 'NOT as written'}")
    return 0 if understood else 1


if __name__ == "__main__":
    sys.exit(main())
