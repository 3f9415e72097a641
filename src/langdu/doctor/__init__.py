"""What this machine can run, what is wrong, and the one command that mends each.

finding.py    what a check says          machine.py   hardware and Python     compute.py  MLX and its device
packages.py   what Python imports        sound.py     output and codecs       models.py   model folders
voices.py     personas, default voice    places.py    disk, ports             network.py  hub or mirror
processes.py  workers left behind        configured.py  settings that do not act
qwen3.py      whether Qwen3-TTS makes sense here
child.py      probes in a process of their own, since a native library can take its process with it
examine.py    all of them, in order

Each module looks (reads the machine, returns facts) and judges (facts in, findings out): judging needs no
machine, so that a Mac's or an NVIDIA server's findings are tested anywhere.
"""
