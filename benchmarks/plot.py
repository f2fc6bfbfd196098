"""Plots as SVG text: lines over logarithmic axes, and bars on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from benchmarks.tables import microseconds

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 58, 84, 40, 44
COLOURS = ("#0b6e4f", "#c1440e", "#3d5a98", "#8a6d1b", "#7b3f8c", "#555555")
STYLE = "text{font:12px system-ui,sans-serif;fill:#222}.t{font-weight:600}.s{font-size:11px;fill:#555}"
Points = Sequence[tuple[float, float]]


class Log(NamedTuple):
    """A logarithmic axis: values from `low` to `high` lie from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value lies."""
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self.start + part * (self.end - self.start), 1)

    def decades(self) -> list[float]:
        """The powers of ten on the axis."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        return [10.0**power for power in range(first, last + 1)]


def lines(title: str, series: Mapping[str, Points], x_label: str) -> str:
    """One panel: a line per name through its (x, microseconds), labelled at its end."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    x = Log(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y = Log(10 ** math.floor(math.log10(min(ys))), 10 ** math.ceil(math.log10(max(ys))), HEIGHT - BOTTOM, TOP)
    parts = [
        _text(LEFT, 20, title, "t"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label, "s", "middle"),
    ]
    for value in y.decades():
        parts.append(_rule(LEFT, y.at(value), WIDTH - RIGHT, y.at(value)))
        parts.append(_text(LEFT - 6, y.at(value) + 4, microseconds(value), "s", "end"))
    for value in x.decades():
        parts.append(_text(x.at(value), HEIGHT - BOTTOM + 18, f"{value:,.0f}", "s", "middle"))
    heights = _apart({name: y.at(points[-1][1]) for name, points in series.items()})
    for colour, (name, points) in zip(COLOURS, series.items(), strict=False):
        path = " ".join(f"{x.at(px)},{y.at(py)}" for px, py in points)
        dashes = ' stroke-dasharray="5 4"' if "p99" in name else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts += [f'<circle cx="{x.at(px)}" cy="{y.at(py)}" r="3" fill="{colour}"/>' for px, py in points]
        parts.append(_text(WIDTH - RIGHT + 8, heights[name] + 4, name))
    return "\n".join(parts)


def shares(title: str, series: Mapping[str, Points], x_label: str) -> str:
    """One panel from 0 to 1 on both axes, with the diagonal: a line per name, listed at the right."""
    right = WIDTH - RIGHT

    def at(x: float, y: float) -> tuple[float, float]:
        return round(LEFT + x * (right - LEFT), 1), round(HEIGHT - BOTTOM - y * (HEIGHT - BOTTOM - TOP), 1)

    parts = [_text(LEFT, 20, title, "t"), _text((LEFT + right) / 2, HEIGHT - 8, x_label, "s", "middle")]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_rule(*at(0, tick), *at(1, tick)))
        parts.append(_text(LEFT - 6, at(0, tick)[1] + 4, f"{tick:g}", "s", "end"))
        parts.append(_text(at(tick, 0)[0], HEIGHT - BOTTOM + 18, f"{tick:g}", "s", "middle"))
    parts.append(_rule(*at(0, 0), *at(1, 1)))
    for number, (colour, (name, points)) in enumerate(zip(COLOURS, series.items(), strict=False)):
        path = " ".join(f"{x},{y}" for x, y in (at(*point) for point in points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{at(*point)[0]}" cy="{at(*point)[1]}" r="3" fill="{colour}"/>' for point in points
        ]
        parts.append(f'<circle cx="{right + 10}" cy="{TOP + 16 * number}" r="4" fill="{colour}"/>')
        parts.append(_text(right + 18, TOP + 16 * number + 4, name, "s"))
    return "\n".join(parts)


def bars(title: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """One panel: groups of bars in microseconds, each labelled with its name and value."""
    values = [value for group in groups.values() for value in group.values()]
    count = sum(len(group) for group in groups.values()) + len(groups)
    step = min(22.0, (HEIGHT - TOP - 8) / count)
    x = Log(min(values) / 2, max(values), LEFT + 46, WIDTH - 72)
    parts = [_text(16, 20, title, "t")]
    at = float(TOP)
    for name, group in groups.items():
        parts.append(_text(16, at + step * 0.7, name, "s"))
        at += step
        for colour, (library, value) in zip(COLOURS, group.items(), strict=False):
            parts.append(_text(LEFT + 40, at + step * 0.7, library, "", "end"))
            width = round(x.at(value) - x.start, 1)
            size = f'width="{width}" height="{step * 0.8:.1f}"'
            parts.append(f'<rect x="{x.start}" y="{at:.1f}" {size} fill="{colour}"/>')
            parts.append(_text(x.at(value) + 5, at + step * 0.7, microseconds(value)))
            at += step
    return "\n".join(parts)


def figure(panels: Sequence[str]) -> str:
    """Panels in a row."""
    placed = "\n".join(
        f'<g transform="translate({number * WIDTH},0)">\n{panel}\n</g>' for number, panel in enumerate(panels)
    )
    width = WIDTH * len(panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        f'width="{width}" height="{HEIGHT}">\n'
        f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n{placed}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#ddd"/>'


def _apart(heights: Mapping[str, float], gap: float = 14.0) -> dict[str, float]:
    """The heights of labels, moved down where they would lie on each other."""
    placed: dict[str, float] = {}
    last = -gap
    for name, height in sorted(heights.items(), key=lambda item: item[1]):
        last = max(height, last + gap)
        placed[name] = last
    return placed
