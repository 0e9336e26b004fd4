"""Settings files: which one counts, and what is refused in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.validation.settings import KEYS, Settings, find_settings, read_settings

OURS = "[tool.trectools-plus.validate]\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "pyproject.toml",
        OURS
        + 'profile = "trec"\nmax-depth = 500\nmax-tag-length = 12\nselect = ["r1", "Q"]\n'
        + 'ignore = ["R107"]\nstrict = true\n'
        + '[tool.trectools-plus.validate.per-file-ignores]\n"old/*.run" = ["r131"]\n',
    )
    settings = find_settings(tmp_path)
    assert settings == Settings(
        path=path,
        profile="trec",
        max_depth=500,
        max_tag_length=12,
        select=("R1", "Q"),
        ignore=("R107",),
        strict=True,
        per_file_ignores={"old/*.run": ("R131",)},
    )
    assert set(KEYS) == {
        *("profile", "max-depth", "max-tag-length", "select", "ignore", "strict"),
        "per-file-ignores",
    }


def test_the_nearest_file_with_our_table_counts(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", OURS + "max-depth = 1\n")
    write(tmp_path / "a/trectools.toml", "[validate]\nmax-depth = 2\n")
    write(tmp_path / "a/b/pyproject.toml", "[project]\nname = 'other'\n")
    folder = tmp_path / "a/b/c"
    folder.mkdir()
    assert find_settings(folder).max_depth == 2
    write(tmp_path / "a/b/pyproject.toml", OURS + "max-depth = 3\n")
    assert find_settings(folder).max_depth == 3
    write(tmp_path / "a/b/trectools.toml", "[validate]\nmax-depth = 4\n")
    assert find_settings(folder).max_depth == 4
    assert find_settings(tmp_path).max_depth == 1


def test_the_working_directory_may_be_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "trectools.toml", "[validate]\nstrict = true\n")
    monkeypatch.chdir(tmp_path)
    assert find_settings(Path()).strict is True


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("max_depth = 5", ["unknown key 'max_depth'", "keys: profile, max-depth"]),
        ("colour = 5", ["unknown key 'colour'", "keys: profile, max-depth"]),
        ("max-depth = 0", ["'max-depth' expects a whole number", "but got 0"]),
        ("max-depth = true", ["'max-depth' expects", "but got True"]),
        ("max-depth = 1.5", ["'max-depth' expects"]),
        ('max-depth = "5"', ["'max-depth' expects", "but got '5'"]),
        ('select = "R1"', ["'select' expects a list of rule codes"]),
        ("ignore = [1]", ["'ignore' expects a list of rule codes"]),
        ('strict = "yes"', ["'strict' expects true or false"]),
        ("profile = 1", ["'profile' expects the name of a profile"]),
        ('per-file-ignores = ["R1"]', ["'per-file-ignores' expects a table"]),
        ("strict = ", ["not TOML", "line 2"]),
    ],
)
def test_what_does_not_exist_is_an_error_with_file_and_key(
    tmp_path: Path, line: str, words: list[str]
) -> None:
    path = write(tmp_path / "pyproject.toml", f"{OURS}{line}\n")
    with pytest.raises(UsageError) as caught:
        find_settings(tmp_path)
    for word in (*words, str(path)):
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_named_file_must_have_the_table(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", "[validate]\nmax-depth = 9\n")
    assert read_settings(path).max_depth == 9
    with pytest.raises(UsageError, match=r"\[validate\]"):
        read_settings(write(path, "[other]\n"))
    with pytest.raises(UsageError, match=r"\[tool\.trectools-plus\.validate\]"):
        read_settings(write(tmp_path / "pyproject.toml", ""))
    with pytest.raises(UsageError):
        read_settings(write(path, "validate = 1\n"))
    with pytest.raises(InputError):
        read_settings(tmp_path / "missing.toml")


def test_any_bytes_are_an_error_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "trectools.toml"
    for data in (b"\xff\xfe", b"[validate", b"\x00", b"a = " + b"[" * 5000):
        path.write_bytes(data)
        with pytest.raises(TrectoolsPlusError):
            find_settings(tmp_path)
