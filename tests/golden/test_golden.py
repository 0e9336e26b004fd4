"""Every difference from the golden documents is in the reviewed list, and the list has no other.

The tests of `tests/contract` check that the frozen differences are those of today.
"""

from __future__ import annotations

from harness import golden
from harness.cases import CASES
from harness.matrix import COMMANDS

OTHERS = {"commands", "malformed", "malformed_topics", "real_topics", "review-server", "rules"}
OTHERS |= {"service", *(f"trec-eval-9-out.test{flags}" for flags in ("", ".aq", ".aqcM"))}
"""Documents of tests that are not cases."""
COMPARED = OTHERS | CASES.keys() | {f"matrix/{command.name}" for command in COMMANDS}


def differences():
    """Yield each difference by document and path."""
    for name in golden.names():
        if name not in COMPARED:
            yield name, "/"
        else:
            yield from ((name, path) for path in golden.read_differences(name))


def test_every_difference_has_a_reason():
    reasons = golden.read_expected()
    missing = [
        f"{case}: {path}"
        for case, path in differences()
        if not any(reason.explains(case, path) for reason in reasons)
    ]
    assert not missing, f"{len(missing)} differences are not in {golden.EXPECTED}:\n" + "\n".join(
        missing[:50]
    )


def test_every_reason_has_a_difference():
    found = [*differences()]
    for reason in golden.read_expected():
        assert reason.change
        assert reason.why
        for path in reason.paths:
            only = golden.Expected(reason.cases, (path,), reason.change, reason.why)
            assert any(only.explains(*one) for one in found), f"nothing differs: {only}"


def test_a_document_that_is_frozen_has_a_case():
    frozen = {
        str(path.relative_to(golden.FROZEN).with_suffix(""))
        for path in golden.FROZEN.rglob("*.json")
    }
    assert frozen <= COMPARED


def test_a_difference_is_frozen_and_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(golden, "GOLDEN", tmp_path / "golden")
    monkeypatch.setattr(golden, "FROZEN", tmp_path / "frozen")
    before = {"exit": 0, "mean": 0.5, "files": {"a.run": True}}
    golden.write_document(golden.golden_path("x"), before)
    after = {"exit": 0, "mean": 0.25, "files": {}}
    assert not [*golden.problems("x", before)]
    assert len([*golden.problems("x", after)]) == 2
    golden.freeze("x", after)
    assert golden.read_differences("x") == {"/mean": [0.25], "/files/a.run": []}
    assert not [*golden.problems("x", after)]
    assert [*golden.problems("x", {**after, "mean": 0.26})] == ["/mean/0: 0.25, now 0.26"]
    assert len([*golden.problems("x", before)]) == 2
    golden.freeze("x", before)
    assert not golden.frozen_path("x").exists()
    assert [*golden.problems("whole", after)]  # there is no golden document
    golden.freeze("whole", after)
    assert not [*golden.problems("whole", after)]
    assert [*golden.problems("whole", {**after, "exit": 1})] == ["/exit: 0, now 1"]
