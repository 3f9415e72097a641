"""Figures for Prometheus, one registry for each service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from langdu.service.hub import Hub
    from langdu.service.speech import Speech

SECONDS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300)


class Metrics:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.registry = CollectorRegistry()
        self._responses = Counter(
            "langdu_responses_total", "Answers by route and status.", ("route", "status"), registry=self.registry
        )
        self._audio = Counter("langdu_audio_seconds_total", "Seconds of sound made.", registry=self.registry)
        self._work = Counter("langdu_engine_seconds_total", "Seconds engines worked.", registry=self.registry)
        self._first = Histogram(
            "langdu_first_sound_seconds", "Request to first sound.", buckets=SECONDS, registry=self.registry
        )
        self._whole = Histogram(
            "langdu_speech_seconds", "Request to last sound.", buckets=SECONDS, registry=self.registry
        )
        self._queued = Gauge("langdu_queued_requests", "Requests waiting or under way.", registry=self.registry)
        self._workers = Gauge("langdu_workers", "Resident worker processes.", registry=self.registry)
        self._memory = Gauge("langdu_workers_memory_mb", "Resident memory of the workers.", registry=self.registry)
        self._deaths = Gauge("langdu_worker_deaths", "Workers that died since the start.", registry=self.registry)

    def answered(self, route: str, status: int) -> None:
        self._responses.labels(route, str(status)).inc()

    def first_sound(self, seconds: float) -> None:
        self._first.observe(seconds)

    def spoken(self, speech: Speech, seconds: float) -> None:
        self._whole.observe(seconds)
        if speech.info is not None:
            self._audio.inc(speech.samples / speech.info.sample_rate_hz)
        self._work.inc(sum(take.seconds for take in speech.takes))

    def text(self) -> bytes:
        status = self._hub.status()
        workers = status["workers"]
        assert isinstance(workers, list) and isinstance(status["queued"], int) and isinstance(status["deaths"], int)
        self._queued.set(status["queued"])
        self._workers.set(len(workers))
        self._memory.set(sum(worker["memory_mb"] for worker in workers))
        self._deaths.set(status["deaths"])
        return generate_latest(self.registry)
