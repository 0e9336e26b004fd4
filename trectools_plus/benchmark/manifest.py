"""What a benchmark is called: hashes of its configuration, and the experiment id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def hash_config(config: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a configuration as JSON with sorted keys and no blanks."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def make_experiment_id(moment: datetime, config_hash: str) -> str:
    """``20250131-120000-0f3a9c21``: the time in UTC, and the start of the configuration's hash."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M%S}-{config_hash[:8]}"
