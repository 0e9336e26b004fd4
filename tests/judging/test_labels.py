"""Labels of models in a file."""

import pytest
from harness.plans import label

from trectools_plus.errors import FormatError
from trectools_plus.judging.labels import LabelOrigin, group_models, read_labels


def test_an_incomplete_last_line_is_ignored_and_another_is_not(tmp_path):
    file = tmp_path / "labels.jsonl"
    assert read_labels(file) == []
    one = label("q", "d", 2, "m", "model")
    line = one.model_dump_json() + "\n"
    file.write_text(line + line[:30])
    assert read_labels(file) == [one]
    for wrong in ('{"query_id": "q"}', line.strip().replace('"grade":2', '"grade":4'), "no json"):
        file.write_text(f"{line}{wrong}\n{line}")
        with pytest.raises(FormatError, match=r"labels\.jsonl:2"):
            read_labels(file)


def test_a_model_asked_in_two_ways_is_two():
    plain = label("q", "d", 1, "m", "model")
    origins = [
        LabelOrigin(model="m", prompt_sha256="0", parameters={"temperature": heat})
        for heat in (0, 1)
    ]
    cold, hot = (plain.model_copy(update={"origin": one}) for one in origins)
    person = label("q", "d", 1, "m")
    assert group_models([person, cold, cold]) == {"m": [cold, cold]}
    found = group_models([person, cold, hot, cold])
    assert list(found.values()) == [[cold, cold], [hot]]
    assert len(found) == 2
    assert all(name.startswith("m (") for name in found)
