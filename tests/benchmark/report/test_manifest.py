"""Hashes of configurations and experiment ids."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

from trectools_plus.benchmark.report import hash_config, make_experiment_id

NOON = datetime(2025, 1, 31, 12, 0, 0, tzinfo=UTC)


def test_config_hash_is_that_of_canonical_json_and_ignores_key_order():
    config = {"b": [1, 2.5], "a": {"ü": None}}
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hash_config(config) == hashlib.sha256(text.encode()).hexdigest()
    assert hash_config({"a": {"ü": None}, "b": [1, 2.5]}) == hash_config(config)
    assert hash_config({**config, "b": [1, 2.6]}) != hash_config(config)


def test_experiment_ids_sort_by_time_in_utc():
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert make_experiment_id(elsewhere, "0f3a9c21ff") == "20250131-120000-0f3a9c21"
