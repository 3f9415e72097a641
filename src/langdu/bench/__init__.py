"""Measuring this machine: what a model costs here in time and memory, and whether it says what is written.

    target   what is measured: an engine, a model, a voice          machine   where
    measure  warm workers, warm-up, repeats                         hearing   whether the sound is right
    suites/  what is said, how often, by how many                   model     the results, as JSON
    compare  two results    ab  two targets, interleaved            history, charts, page   looking back

RTF everywhere is seconds of work for one second of sound: lower is better.
"""
