"""SSH signatures of a folder: ``SHA256SUMS.sig`` signs ``SHA256SUMS``, which lists every file.

The format is SSHSIG (https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig), so
``ssh-keygen -Y verify -n file`` accepts these signatures, and ``ssh-keygen -Y sign -n file`` makes
them too. The extra ``sign`` installs ``cryptography``.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.benchmark.run.output_folder import CHECKSUMS_FILE, SIGNATURE_FILE
from trectools_plus.errors import InputError, MissingExtraError, TrectoolsPlusError
from trectools_plus.formats.files.atomic import atomic_write

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hashes import HashAlgorithm

NAMESPACE = "file"
"""The namespace of signatures of files, by the convention of ``ssh-keygen``."""
_MAGIC = b"SSHSIG"
_VERSION = 1
_HASHES = {"sha512": hashlib.sha512, "sha256": hashlib.sha256}
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LINE = 70
_RSA_HASHES = {"rsa-sha2-512": "SHA512", "rsa-sha2-256": "SHA256"}
_CURVE_HASHES = {256: "SHA256", 384: "SHA384", 521: "SHA512"}
_FEWEST_RSA_BITS = 2048


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a folder.

    Attributes:
        fingerprint: ``SHA256:…`` of the public key, as ``ssh-keygen -l`` prints it; empty if the
            signature cannot be read.
        signer: The name of the trusted signer; ``None`` if the key is not trusted.
        problem: A description of an invalid signature; empty if it is valid.
    """

    fingerprint: str
    signer: str | None
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the signature as JSON values."""
        return {"fingerprint": self.fingerprint, "signer": self.signer, "valid": not self.problem}


class Signer:
    """A private key that signs folders.

    Args:
        path: A private key in OpenSSH's format: Ed25519, ECDSA, or RSA with at least 2,048 bits.
        ask_passphrase: Returns the passphrase; called only if the key has one.

    Raises:
        MissingExtraError: If the extra ``sign`` is not installed.
        InputError: If the key cannot be read, is of another kind, or the passphrase is wrong.
    """

    def __init__(self, path: str | Path, ask_passphrase: Callable[[], str] | None = None) -> None:
        self._key = _load_private_key(Path(path), ask_passphrase)

    def sign(self, folder: str | Path) -> Path:
        """Sign the list of hashes of a benchmark's folder; return ``SHA256SUMS.sig``.

        Raises:
            InputError: If there are no hashes, or the file cannot be written.
        """
        sums = Path(folder, CHECKSUMS_FILE)
        try:
            content = sums.read_bytes()
        except OSError as error:
            raise InputError("there are no hashes to sign", where=str(sums)) from error
        signature = _make_signature(self._key, _signed_data(NAMESPACE, "sha512", content))
        parts = (_public_blob(self._key.public_key()), NAMESPACE.encode(), b"", b"sha512")
        blob = _MAGIC + _VERSION.to_bytes(4, "big") + b"".join(map(_pack, (*parts, signature)))
        text = b64encode(blob).decode()
        lines = [text[place : place + _LINE] for place in range(0, len(text), _LINE)]
        path = Path(folder, SIGNATURE_FILE)
        with atomic_write(path) as stream:
            stream.write("\n".join([_BEGIN, *lines, _END]) + "\n")
        return path


def check_signature(folder: str | Path, signers: str | Path | None = None) -> Signature | None:
    """Check the signature of a benchmark's folder.

    Args:
        folder: The folder.
        signers: Trusted signers: a public key (``ssh-ed25519 AAAA… name``), or a file in the format
            of OpenSSH's ``allowed_signers`` (``name ssh-ed25519 AAAA…``). Certificates, validity
            periods and patterns are not supported: lines with options other than
            ``namespaces="file"`` are not used.

    Returns:
        The signature; ``None`` if the folder has none. If ``signers`` are given, an unsigned
        folder, or a signature by someone else, is a problem.

    Raises:
        MissingExtraError: If the extra ``sign`` is not installed.
        InputError: If the file of signers cannot be read.
    """
    path = Path(folder, SIGNATURE_FILE)
    trusted = None if signers is None else _read_signers(Path(signers))
    if not path.is_file():
        if trusted is None:
            return None
        return Signature("", None, "the folder is not signed")
    try:
        content = Path(folder, CHECKSUMS_FILE).read_bytes()
        public, found = _parse(path.read_text(encoding="ascii"))
        fingerprint = _fingerprint(public)
        valid = _is_valid(public, found, content)
    except FileNotFoundError:
        return Signature("", None, f"signs {CHECKSUMS_FILE}, which is missing")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        return Signature("", None, f"not an SSH signature ({error})")
    if not valid:
        return Signature(
            fingerprint, None, f"the signature by {fingerprint} is not one of this {CHECKSUMS_FILE}"
        )
    if trusted is None:
        return Signature(fingerprint, None)
    if public not in trusted:
        return Signature(fingerprint, None, f"signed by {fingerprint}, who is not in {signers}")
    return Signature(fingerprint, trusted[public])


def _load_private_key(path: Path, ask_passphrase: Callable[[], str] | None) -> Any:
    serialization = _require("serialization")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the private key cannot be read: {error.strerror}", where=str(path)
        ) from error
    try:
        try:
            return _refuse_weak(serialization.load_ssh_private_key(content, None), path)
        except (TypeError, ValueError):
            if b"ENCRYPTED" not in content and not _is_encrypted(content):
                raise
            if ask_passphrase is None:
                raise
        return _refuse_weak(
            serialization.load_ssh_private_key(content, ask_passphrase().encode()), path
        )
    except TrectoolsPlusError:
        raise
    except Exception as error:  # the errors of cryptography have no common base
        if "bcrypt" in str(error):
            raise MissingExtraError("a private key with a passphrase", "sign") from error
        raise InputError(
            "not a private key in OpenSSH's format, or the passphrase is wrong",
            where=str(path),
            remedy="make one with: ssh-keygen -t ed25519 -f FILE",
        ) from error


def _is_encrypted(content: bytes) -> bool:
    """Return whether a key in OpenSSH's format names a cipher."""
    try:
        body = b"".join(line for line in content.splitlines() if not line.startswith(b"-----"))
        return not b64decode(body)[len(b"openssh-key-v1\0") :].startswith(_pack(b"none"))
    except (Base64Error, ValueError):
        return False


def _refuse_weak(key: Any, path: Path) -> Any:
    kind = _kind_of(key)
    if kind is None:
        raise InputError("the key is neither Ed25519, ECDSA nor RSA", where=str(path))
    if kind == "rsa" and key.key_size < _FEWEST_RSA_BITS:
        raise InputError(f"the RSA key has fewer than {_FEWEST_RSA_BITS} bits", where=str(path))
    return key


def _kind_of(key: Any) -> str | None:
    """Return ``ed25519``, ``rsa`` or ``ecdsa``; ``None`` for another kind of private key."""
    kinds = {
        "ed25519": _require("asymmetric.ed25519").Ed25519PrivateKey,
        "rsa": _require("asymmetric.rsa").RSAPrivateKey,
        "ecdsa": _require("asymmetric.ec").EllipticCurvePrivateKey,
    }
    return next((name for name, one in kinds.items() if isinstance(key, one)), None)


def _signed_data(namespace: str, algorithm: str, content: bytes) -> bytes:
    digest = _HASHES[algorithm](content).digest()
    return _MAGIC + b"".join(map(_pack, (namespace.encode(), b"", algorithm.encode(), digest)))


def _make_signature(key: Any, data: bytes) -> bytes:
    """Return algorithm and signature in SSH's encoding."""
    kind = _kind_of(key)
    if kind == "rsa":
        padding = _require("asymmetric.padding")
        return _pack(b"rsa-sha2-512") + _pack(key.sign(data, padding.PKCS1v15(), _hash("SHA512")))
    if kind == "ed25519":
        return _pack(b"ssh-ed25519") + _pack(key.sign(data))
    ec, utils = _require("asymmetric.ec"), _require("asymmetric.utils")
    size = key.curve.key_size
    r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(_hash(_CURVE_HASHES[size]))))
    name = f"ecdsa-sha2-nistp{size}".encode()
    return _pack(name) + _pack(_pack_number(r) + _pack_number(s))


def _is_valid(public: bytes, found: _Parsed, content: bytes) -> bool:
    serialization = _require("serialization")
    exceptions = _require("", "exceptions")
    kind = _take(public)[0]
    try:
        key = serialization.load_ssh_public_key(kind + b" " + b64encode(public))
    except exceptions.UnsupportedAlgorithm as error:
        raise ValueError(f"keys of the kind {kind.decode(errors='replace')} are unsupported") from (
            error
        )
    data = _signed_data(found.namespace, found.algorithm, content)
    try:
        if found.kind in _RSA_HASHES and kind == b"ssh-rsa":
            padding = _require("asymmetric.padding")
            key.verify(found.value, data, padding.PKCS1v15(), _hash(_RSA_HASHES[found.kind]))
        elif found.kind == kind.decode() == "ssh-ed25519":
            key.verify(found.value, data)
        elif found.kind == kind.decode() and found.kind.startswith("ecdsa-sha2-nistp"):
            ec, utils = _require("asymmetric.ec"), _require("asymmetric.utils")
            r, rest = _take(found.value)
            s, _ = _take(rest)
            encoded = utils.encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
            key.verify(encoded, data, ec.ECDSA(_hash(_CURVE_HASHES[key.curve.key_size])))
        else:
            raise ValueError(f"signatures of the kind {found.kind} are unsupported")
    except exceptions.InvalidSignature:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A signature: namespace, hash of the message, kind of the key, and value."""

    namespace: str
    algorithm: str
    kind: str
    value: bytes


def _parse(text: str) -> tuple[bytes, _Parsed]:
    """Return the public key and the signature of an armoured signature.

    Raises:
        ValueError: If it is malformed, or for another purpose.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines or lines[0] != _BEGIN or lines[-1] != _END:
        raise ValueError("no armour")
    blob = b64decode("".join(lines[1:-1]), validate=True)
    if not blob.startswith(_MAGIC) or blob[6:10] != _VERSION.to_bytes(4, "big"):
        raise ValueError("another format")
    public, rest = _take(blob[10:])
    namespace, rest = _take(rest)
    _, rest = _take(rest)
    algorithm, rest = _take(rest)
    signature, rest = _take(rest)
    kind, value = _take(signature)
    if rest or algorithm.decode() not in _HASHES:
        raise ValueError("another format")
    if namespace.decode() != NAMESPACE:
        raise ValueError(f"its namespace is {namespace.decode()!r} instead of {NAMESPACE!r}")
    return public, _Parsed(namespace.decode(), algorithm.decode(), kind.decode(), _take(value)[0])


def _read_signers(path: Path) -> dict[bytes, str]:
    """Return the names of trusted signers by public key."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the trusted signers cannot be read", where=str(path)) from error
    found = {key: name for line in lines for key, name in _parse_signer(line)}
    if not found:
        raise InputError(
            "expected public keys, or lines of a name and a public key, as in OpenSSH's "
            "allowed_signers",
            where=str(path),
        )
    return found


def _parse_signer(line: str) -> Iterator[tuple[bytes, str]]:
    words = line.split()
    if not words or words[0].startswith("#"):
        return
    if len(words) > 2 and words[1].lower() == f'namespaces="{NAMESPACE}"':
        words = [words[0], *words[2:]]
    for place in (0, 1):
        kind, text = [*words[place : place + 2], "", ""][:2]
        try:
            key = b64decode(text, validate=True)
            if text and _take(key)[0] == kind.encode():
                comment = " ".join(words[2:]) if place == 0 else words[0]
                yield key, comment or _fingerprint(key)
        except ValueError:
            continue


def _public_blob(key: Any) -> bytes:
    serialization = _require("serialization")
    text: bytes = key.public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return b64decode(text.split()[1])


def _fingerprint(public: bytes) -> str:
    return "SHA256:" + b64encode(hashlib.sha256(public).digest()).decode().rstrip("=")


def _pack(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _pack_number(number: int) -> bytes:
    """Encode a number that is not negative, with a zero byte before a high bit."""
    return _pack(number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _take(data: bytes) -> tuple[bytes, bytes]:
    """Split off the first string.

    Raises:
        ValueError: If it is cut off.
    """
    size = int.from_bytes(data[:4], "big")
    if len(data) < 4 + size or len(data) < 4:
        raise ValueError("cut off")
    return data[4 : 4 + size], data[4 + size :]


def _hash(name: str) -> HashAlgorithm:
    found: HashAlgorithm = getattr(_require("hashes"), name)()
    return found


def _require(name: str, package: str = "hazmat.primitives") -> Any:
    """Import a module of ``cryptography``."""
    from importlib import import_module

    try:
        return import_module(".".join(part for part in ("cryptography", package, name) if part))
    except ImportError as error:
        raise MissingExtraError("an SSH signature", "sign") from error
