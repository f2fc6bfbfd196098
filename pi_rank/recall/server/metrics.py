"""Counters and histograms in the text format of Prometheus (exposition format 0.0.4)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """Durations in seconds, counted in `BUCKETS`."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Metrics:
    """What the server has done since it started. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._counters: Counter[str] = Counter()
        self._modes: Counter[str] = Counter()
        self._stages: dict[str, Histogram] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request. `route` is one of ours or `other`, so that nobody can make up series."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._stages.setdefault("request", Histogram()).observe(seconds)

    def stage(self, name: str, seconds: float) -> None:
        """Count the time of a step of the work."""
        with self._lock:
            self._stages.setdefault(name, Histogram()).observe(seconds)

    def add(self, name: str, count: int = 1) -> None:
        """Count something that happened, under a name of ours."""
        with self._lock:
            self._counters[name] += count

    def mode(self, name: str) -> None:
        """Count a recall by how it was ranked."""
        with self._lock:
            self._modes[name] += 1

    def render(self, gauges: dict[str, float]) -> str:
        """Everything, with `gauges` (name → value now)."""
        with self._lock:
            lines = ["# TYPE pi_rank_requests_total counter"]
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"pi_rank_requests_total{{{labels}}} {count}")
            lines.append("# TYPE pi_rank_recalls_total counter")
            lines += [
                f'pi_rank_recalls_total{{mode="{mode}"}} {n}' for mode, n in sorted(self._modes.items())
            ]
            for name, count in sorted(self._counters.items()):
                lines += [f"# TYPE pi_rank_{name}_total counter", f"pi_rank_{name}_total {count}"]
            lines.append("# TYPE pi_rank_stage_seconds histogram")
            for stage, histogram in sorted(self._stages.items()):
                lines += _histogram_lines(stage, histogram)
        for name, value in gauges.items():
            lines += [f"# TYPE pi_rank_{name} gauge", f"pi_rank_{name} {value:g}"]
        return "\n".join(lines) + "\n"


def _histogram_lines(stage: str, histogram: Histogram) -> list[str]:
    lines, below = [], 0
    for edge, count in zip((*(f"{bucket:g}" for bucket in BUCKETS), "+Inf"), histogram.counts, strict=True):
        below += count
        lines.append(f'pi_rank_stage_seconds_bucket{{stage="{stage}",le="{edge}"}} {below}')
    lines.append(f'pi_rank_stage_seconds_sum{{stage="{stage}"}} {histogram.total:.6f}')
    lines.append(f'pi_rank_stage_seconds_count{{stage="{stage}"}} {below}')
    return lines
