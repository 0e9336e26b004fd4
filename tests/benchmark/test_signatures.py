"""Signatures of folders, in OpenSSH's format."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.benchmark import verify_report
from trectools_plus.errors import InputError
from trectools_plus.reporting.verification.signature import Signer, check_signature

pytest.importorskip("cryptography")
from cryptography.hazmat.primitives import serialization as formats
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

KEYS = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "ecdsa-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ecdsa-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
}
SSH_KEYGEN = shutil.which("ssh-keygen")


def write_key(path: Path, kind: str = "ed25519", passphrase: bytes = b"") -> Path:
    """Write a private key, and its public key beside it; return the private one."""
    key: Any = KEYS[kind]()
    locked = formats.BestAvailableEncryption(passphrase) if passphrase else formats.NoEncryption()
    path.write_bytes(key.private_bytes(formats.Encoding.PEM, formats.PrivateFormat.OpenSSH, locked))
    path.chmod(0o600)
    public = key.public_key().public_bytes(formats.Encoding.OpenSSH, formats.PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" me@here\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "signed"
    made.mkdir()
    (made / "SHA256SUMS").write_text(f"{'0' * 64}  file\n")
    return made


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_a_signature_is_valid_until_a_hash_changes(folder: Path, tmp_path: Path, kind: str) -> None:
    key = write_key(tmp_path / "key", kind)
    Signer(key).sign(folder)
    unknown = check_signature(folder)
    assert unknown is not None
    assert (unknown.signer, unknown.problem) == (None, "")
    known = check_signature(folder, key.with_suffix(".pub"))
    assert known is not None
    assert (known.signer, known.fingerprint) == ("me@here", unknown.fingerprint)
    other = write_key(tmp_path / "other", kind)
    stranger = check_signature(folder, other.with_suffix(".pub"))
    assert stranger is not None
    assert "who is not in" in stranger.problem
    (folder / "SHA256SUMS").write_text(f"{'1' * 64}  file\n")
    forged = check_signature(folder, key.with_suffix(".pub"))
    assert forged is not None
    assert forged.signer is None
    assert "is not one of this SHA256SUMS" in forged.problem


@pytest.mark.skipif(SSH_KEYGEN is None, reason="ssh-keygen is not installed")
@pytest.mark.parametrize("kind", sorted(KEYS))
def test_openssh_accepts_and_makes_these_signatures(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    assert SSH_KEYGEN is not None
    key = write_key(tmp_path / "key", kind)
    allowed = tmp_path / "allowed"
    allowed.write_text("alice " + key.with_suffix(".pub").read_text())
    Signer(key).sign(folder)
    with (folder / "SHA256SUMS").open() as content:
        command = [SSH_KEYGEN, "-Y", "verify", "-n", "file", "-f", str(allowed), "-I", "alice"]
        command += ["-s", str(folder / "SHA256SUMS.sig")]
        subprocess.run(command, stdin=content, check=True, capture_output=True)
    (folder / "SHA256SUMS.sig").unlink()
    command = [SSH_KEYGEN, "-Y", "sign", "-n", "file", "-f", str(key), str(folder / "SHA256SUMS")]
    subprocess.run(command, check=True, capture_output=True)
    found = check_signature(folder, allowed)
    assert found is not None
    assert (found.signer, found.problem) == ("alice", "")


def test_a_passphrase_is_asked_for(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("bcrypt")
    key = write_key(tmp_path / "key", passphrase=b"secret")
    Signer(key, lambda: "secret").sign(folder)
    with pytest.raises(InputError, match="passphrase is wrong") as caught:
        Signer(key, lambda: "another")
    assert "another" not in str(caught.value)


def test_a_signed_report_proves_everything(bench: Any, tmp_path: Path) -> None:
    report = bench.make("out", {"a": {}, "b": {7: 0}})
    key = write_key(tmp_path / "key")
    public = key.with_suffix(".pub")
    assert "is not signed" in verify_report(report, signers=public).problems[0]
    found = verify_report(report, signer=Signer(key))
    assert found.problems == []
    assert found.unproven
    assert verify_report(report, signers=public).unproven == []
    (report / "SHA256SUMS.sig").write_text("forged")
    (problem,) = verify_report(report).problems
    assert problem == "SHA256SUMS.sig: not an SSH signature (no armour)"


@pytest.mark.parametrize("content", [b"", b"-----BEGIN RSA PRIVATE KEY-----\n"])
def test_another_file_is_not_a_key(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a private key"):
        Signer(path)
