"""POST /recall under load: server, load and bare retrieval, each in a process of its own.

    python -m benchmarks.doors.recall --sizes 1000 5000 100000

Reports milliseconds, and two ratios that a machine's speed does not change much: what HTTP adds at one
client against
the retrieval itself, and how many times faster than REMANENTIA's server (2.73 s at 5,000 traces, contract)
it is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np

from benchmarks.corpus import Corpus
from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank.recall.client.origin import parse_origin

CLIENTS = (1, 16, 128)
PROMPT_WORDS = 12
TOP_K = 5
REMANENTIA_MS_AT_5000 = 2_730.0
PARSING_MS = 1.0  # of JSON, HTTP and the token, on both sides


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark, or one of its processes; 0 where every ratio holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 5_000], metavar="N")
    parser.add_argument("--requests", type=int, default=2_000, metavar="N", help="for each number of clients")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.add_argument("--part", choices=["serve", "load", "bare"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--clients", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.part:
        return {"serve": _serve, "load": _load, "bare": _bare}[options.part](options)
    rows = [row for size in options.sizes for row in _measure(size, options.requests)]
    _print(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    return 0 if all(_holds(row) for row in rows) else 1


def _measure(size: int, requests: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = Corpus(seed=7, size=size)
        corpus.write(folder / "root")
        prompts = json.dumps(corpus.prompts(200, PROMPT_WORDS))
        (folder / "prompts.json").write_text(prompts, encoding="utf-8")
        server = subprocess.Popen([*_part("serve", folder)], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            while _to_embed(url):
                time.sleep(0.5)
            bare = _run("bare", folder)
            return [
                {"records": size, "clients": clients, "bare": bare["p50"]}
                | _run("load", folder, "--url", url, "--clients", str(clients), "--requests", str(requests))
                for clients in CLIENTS
            ]
        finally:
            server.terminate()
            server.wait(60)


def _to_embed(url: str) -> int:
    with urlopen(f"{url}/status") as answer:
        return int(json.load(answer)["to_embed"])


def _part(part: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", "benchmarks.doors.recall", "--part", part, "--folder", str(folder)]


def _run(part: str, folder: Path, *options: str) -> dict[str, float]:
    done = subprocess.run([*_part(part, folder), *options], stdout=subprocess.PIPE, check=True)
    value: dict[str, float] = json.loads(done.stdout)
    return value


def _serve(options: argparse.Namespace) -> int:
    from pi_rank.recall.server.server import serve
    from pi_rank.recall.server.settings import Settings

    serve(
        Settings(port=0, rate=0, audit_log=options.folder / "audit.jsonl"),
        options.folder / "root",
        store=options.folder / "store.sqlite3",
        model=HashingEmbedder(),
        announce=lambda url: print(url, flush=True),
    )
    return 0


def _bare(options: argparse.Namespace) -> int:
    """The retrieval alone, on the store that the server has filled."""
    from pi_rank.recall.notes.engine import open_noted

    prompts = json.loads((options.folder / "prompts.json").read_text(encoding="utf-8"))
    engine = open_noted(options.folder / "root", options.folder / "store.sqlite3", HashingEmbedder())
    taken = []
    with engine:
        engine.refresh()
        for prompt in [*prompts, *prompts, *prompts]:
            started = time.perf_counter()
            engine.recall(prompt, TOP_K, None)
            taken.append(time.perf_counter() - started)
    print(json.dumps(_summary(taken[len(prompts) :])))
    return 0


def _load(options: argparse.Namespace) -> int:
    prompts = json.loads((options.folder / "prompts.json").read_text(encoding="utf-8"))
    asyncio.run(_clients(options.url, prompts, 1, len(prompts)))  # warms the server up
    started = time.perf_counter()
    taken = asyncio.run(_clients(options.url, prompts, options.clients, options.requests))
    rate = len(taken) / (time.perf_counter() - started)
    print(json.dumps(_summary(taken) | {"per_second": rate}))
    return 0


async def _clients(url: str, prompts: list[str], clients: int, requests: int) -> list[float]:
    taken: list[float] = []
    queue = iter(range(requests))
    await asyncio.gather(*(_client(url, prompts, queue, taken) for _ in range(clients)))
    return taken


async def _client(url: str, prompts: list[str], queue: Any, taken: list[float]) -> None:
    origin = parse_origin(url)
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    for number in queue:
        body = json.dumps({"query": prompts[number % len(prompts)], "top_k": TOP_K}).encode()
        head = f"POST /recall HTTP/1.1\r\nHost: {origin.authority}\r\nContent-Length: {len(body)}\r\n\r\n"
        started = time.perf_counter()
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"the server answered {answer[:40]!r}")
        length = next(line for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await reader.readexactly(int(length.split(b":")[1]))
        taken.append(time.perf_counter() - started)
    writer.close()


def _summary(taken: list[float]) -> dict[str, float]:
    p50, p99 = np.percentile(np.array(taken) * 1000, [50, 99])
    return {"p50": float(p50), "p99": float(p99)}


def _holds(row: dict[str, Any]) -> bool:
    if row["clients"] > 1:
        return True
    cheap: bool = row["p50"] - row["bare"] <= row["bare"] + PARSING_MS
    return cheap and (row["records"] != 5_000 or row["p50"] * 100 <= REMANENTIA_MS_AT_5000)


def _print(rows: list[dict[str, Any]]) -> None:
    print("records  clients  p50 ms  p99 ms  per second  retrieval ms  HTTP/retrieval  vs REMANENTIA")
    for row in rows:
        added = (row["p50"] - row["bare"]) / row["bare"]
        single = row["clients"] == 1
        public = single and row["records"] == 5_000
        faster = f"{REMANENTIA_MS_AT_5000 / row['p50']:.0f}x" if public else ""
        print(
            f"{row['records']:7,}  {row['clients']:7}  {row['p50']:6.2f}  {row['p99']:6.2f}  "
            f"{row['per_second']:10.0f}  {row['bare']:12.2f}  {f'{added:.2f}' if single else '':>14}  "
            f"{faster:>13}{'' if _holds(row) else '  FAILED'}"
        )


if __name__ == "__main__":
    sys.exit(main())
