"""Run as another process by the store's tests: `python -m tests.support.store_worker COMMAND STORE ROOT…`."""

from __future__ import annotations

import sys

from pi_rank.errors import StoreError
from pi_rank.memory.root import MemoryRoot
from pi_rank.store.store import MemoryStore
from tests.support.memory_files import CountingAnalyzer


def sync_many(store_path, *roots):
    """Sync with the roots in turn, as often as it goes; announce each."""
    with MemoryStore.open(store_path) as store:
        contents = [MemoryRoot(root).read() for root in roots]
        for reading in contents:
            reading.root = contents[0].root  # one root that keeps changing
        print("ready", flush=True)
        while True:
            for reading in contents:
                store.sync(reading, CountingAnalyzer())


def sync_once(store_path, root, times="1"):
    with MemoryStore.open(store_path) as store:
        for _ in range(int(times)):
            store.sync_root(MemoryRoot(root), CountingAnalyzer())
        print(store.generation)


def sync_with_limit(store_path, root, bytes_):
    """Sync where no file may grow past a size, as on a full disk."""
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = MemoryStore.open(store_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(bytes_), int(bytes_)))
    try:
        store.sync_root(MemoryRoot(root), CountingAnalyzer())
    except StoreError as error:
        print(error)
        sys.exit(3)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"sync_many": sync_many, "sync": sync_once, "sync_with_limit": sync_with_limit}[command](*arguments)
