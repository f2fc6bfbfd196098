"""MemoryEngine: the façade over one memory root. It opens, keeps fresh, and hands the work to the modules below."""

from __future__ import annotations

import threading
import time
import warnings
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pi_rank import turn
from pi_rank.context import SessionContext, project_keys, resolve_context
from pi_rank.embedding import load_embedder, model_id_of
from pi_rank.embedding.queries import QueryEmbedder
from pi_rank.errors import ContextError, ModelError, VectorError
from pi_rank.memory_root import MemoryRoot, find_memory_root
from pi_rank.processors import run_processors
from pi_rank.ranking import hybrid
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.results import Hit, RetrievalContext, SyncReport
from pi_rank.snapshot import load_snapshot, refresh_snapshot
from pi_rank.store import MemoryStore, default_store_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import date
    from pathlib import Path
    from types import TracebackType

    import numpy.typing as npt

    from pi_rank.embedding import Embedder
    from pi_rank.root_config import RootConfig
    from pi_rank.snapshot import Snapshot
