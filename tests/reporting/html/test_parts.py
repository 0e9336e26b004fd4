"""The parts of the page: embedded JSON."""

from __future__ import annotations

import json

from trectools_plus.reporting.html.page import embed_json


def test_json_cannot_end_its_element() -> None:
    text = "</script><!-- & \u2028\u2029 ü"
    embedded = embed_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(embedded)
    assert json.loads(embedded) == {"text": text}
