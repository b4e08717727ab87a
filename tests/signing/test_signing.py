"""Keys and detached signatures: what is signed, what is caught, and that OpenSSL agrees."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pickle
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from flexdp.errors import InputError
from flexdp.signing import PrivateKey, PublicKey, Signature, new_key, verify_signature

DOCUMENT = b'{"schema": "flexdp.release/2", "n": [1, 2]}\n'
NEEDS_OPENSSL = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("keys")
    new_key(place / "a.key")
    new_key(place / "b.key")
    return place


@pytest.fixture(scope="module")
def signature(folder: Path) -> Signature:
    return PrivateKey.load(folder / "a.key").sign(DOCUMENT)


def test_a_signature_is_of_exactly_these_bytes_by_exactly_this_key(folder: Path, signature: Signature) -> None:
    right = verify_signature(DOCUMENT, signature.to_json(), folder / "a.pub")
    assert right.holds and right.known and "Signed by the key that was given" in str(right)
    stranger = verify_signature(DOCUMENT, signature)
    assert stranger.holds and not stranger.known
    assert str(stranger).startswith(f"Signed by an unknown key, with fingerprint {right.fingerprint}.")
    assert "authentic" not in str(stranger)
    other = verify_signature(DOCUMENT, signature, folder / "b.pub")
    assert not other.holds and not other.known and "by another key" in str(other)
    swapped = verify_signature(DOCUMENT + b" ", signature, folder / "a.pub")
    assert not swapped.holds and "not the one that was signed" in str(swapped)


def test_every_flipped_bit_of_the_document_is_caught(folder: Path, signature: Signature) -> None:
    key = PublicKey.load(folder / "a.pub")
    for place in range(len(DOCUMENT)):
        for bit in range(8):
            changed = bytearray(DOCUMENT)
            changed[place] ^= 1 << bit
            assert not verify_signature(bytes(changed), signature, key).holds
    for end in range(len(DOCUMENT)):
        assert not verify_signature(DOCUMENT[:end], signature, key).holds


def test_every_flipped_bit_of_the_signature_is_caught(folder: Path, signature: Signature) -> None:
    key, text = PublicKey.load(folder / "a.pub"), signature.to_json().encode()

    def accepted(changed: bytes, trusted: PublicKey | None) -> bool:
        try:
            return verify_signature(DOCUMENT, changed, trusted).holds
        except InputError as refusal:
            assert "complete and unchanged" in str(refusal)
            return False

    assert accepted(text, key) and accepted(text, None)
    for place in range(len(text)):
        for bit in range(8):
            changed = bytearray(text)
            changed[place] ^= 1 << bit
            assert not accepted(bytes(changed), key), (place, bit)
            assert not accepted(bytes(changed), None), (place, bit)
    assert not any(accepted(text[:end], key) for end in range(len(text)))
    assert not accepted(text + b"\n", key) and not accepted(b"\xef\xbb\xbf" + text, key)


def test_a_digest_alone_does_not_make_a_signature(folder: Path, signature: Signature) -> None:
    """A forger can name any key and any digest."""
    forged = Signature(
        public_key=signature.public_key,
        digest=hashlib.sha256(b"other").hexdigest(),
        octets=signature.octets,
    )
    found = verify_signature(b"other", forged.to_json(), folder / "a.pub")
    assert not found.holds and "The signature is not one of this document" in str(found)
    short = Signature(public_key=signature.public_key, digest=signature.digest, octets=signature.octets[:-1])
    with pytest.raises(InputError, match="complete and unchanged"):
        Signature.from_json(short.to_json())


def test_what_is_signed_is_not_the_bare_document(folder: Path, signature: Signature) -> None:
    """Domain separation: neither a signature of the bare bytes passes, nor does one of ours pass for that."""
    pem = (folder / "a.key").read_bytes()
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, ed25519.Ed25519PrivateKey)
    bare = Signature(public_key=signature.public_key, digest=signature.digest, octets=key.sign(DOCUMENT))
    assert not verify_signature(DOCUMENT, bare).holds
    key.public_key().verify(signature.octets, b"flexdp.signature/1\n" + DOCUMENT)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{}", b"[]", b"null", b"\xff\xfe", b"[" * 4000, b"9" * 4000, b" " * 10**6,
        b'{"schema": "flexdp.signature/1"}',
        '{"schema": "flexdp.signature/1", "digest": 5, "public_key": "AAAA", "signature": "AAAA"}'.encode("utf-16"),
    ],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_signature_is_refused(text: bytes) -> None:
    with pytest.raises(InputError, match="signature must be a signature file of flexdp"):
        verify_signature(DOCUMENT, text)


def test_a_repeated_name_is_refused(signature: Signature) -> None:
    text = signature.to_json().replace("{\n", '{\n  "schema": "flexdp.signature/1",\n', 1)
    assert json.loads(text)["schema"] == "flexdp.signature/1"
    with pytest.raises(InputError):
        Signature.from_json(text)


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_keys_are_new_files_that_their_owner_alone_reads(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = new_key(tmp_path / "p.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "p.key").stat().st_mode) == 0o600
    assert PublicKey.load(tmp_path / "p.pub") == public == PrivateKey.load(tmp_path / "p.key").public
    content = (tmp_path / "p.key").read_bytes()
    with pytest.raises(InputError, match="exists already"):
        new_key(tmp_path / "p.key")
    (tmp_path / "q.pub").write_text("mine")
    with pytest.raises(InputError, match=r"q\.pub' exists already"):
        new_key(tmp_path / "q.key")
    assert not (tmp_path / "q.key").exists() and (tmp_path / "q.pub").read_text() == "mine"
    (tmp_path / "r.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="exists already"):
        new_key(tmp_path / "r.key")
    assert not (tmp_path / "elsewhere").exists() and (tmp_path / "p.key").read_bytes() == content
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.key", "p.pub", "q.pub", "r.key"]


def test_drives_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def refuse(*_: Any, **__: Any) -> None:
        refused.append(1)
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    new_key(tmp_path / "p.key")
    assert PrivateKey.load(tmp_path / "p.key").public == PublicKey.load(tmp_path / "p.pub")
    assert os.name != "posix" or stat.S_IMODE((tmp_path / "p.key").stat().st_mode) == 0o600
    assert refused and {path.name for path in tmp_path.iterdir()} == {"p.key", "p.pub"}
    with pytest.raises(InputError, match="exists already"):
        new_key(tmp_path / "p.key")


def test_a_passphrase_is_needed_and_never_shown(tmp_path: Path) -> None:
    secret = "QUOKKA battery staple"
    new_key(tmp_path / "p.key", passphrase=secret)
    assert b"ENCRYPTED" in (tmp_path / "p.key").read_bytes()
    key = PrivateKey.load(tmp_path / "p.key", passphrase=secret)
    assert verify_signature(DOCUMENT, key.sign(DOCUMENT), key.public).known
    for wrong in (None, "QUOKKA", f"{secret} "):
        with pytest.raises(InputError) as refusal:
            PrivateKey.load(tmp_path / "p.key", passphrase=wrong)
        assert "QUOKKA" not in str(refusal.value)
        assert refusal.value.__context__ is None or "QUOKKA" not in str(refusal.value.__context__)
    for wrong in ("", "a\0b", "\ud800", 5, b"x"):
        with pytest.raises(InputError, match="passphrase must be"):
            new_key(tmp_path / "q.key", passphrase=wrong)
    assert not (tmp_path / "q.key").exists()
    new_key(tmp_path / "open.key")
    assert PrivateKey.load(tmp_path / "open.key", passphrase="not needed").sign(b"")


def test_a_private_key_is_never_shown(folder: Path) -> None:
    key = PrivateKey.load(folder / "a.key")
    (line,) = (folder / "a.key").read_text().splitlines()[1:-1]
    raw = base64.b64decode(line)[-32:]
    for shown in (repr(key), str(key), repr(key.public), repr(vars(type(key))), repr(key.sign(b""))):
        assert raw.hex() not in shown and line not in shown and raw.hex()[:16] not in shown
    assert repr(key) == f"<PrivateKey of {key.public.fingerprint}>"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(key)


def test_files_that_are_no_keys(folder: Path, tmp_path: Path) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM
    files = {
        "empty": b"",
        "long": b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 2**20,
        "damaged": (folder / "a.key").read_bytes().replace(b"M", b"N"),
        "rsa": other.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        "rsa.pub": other.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo),
        "binary": bytes(range(256)),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    for name in (*files, "folder", "missing", "nul\0l"):
        for load in (PrivateKey.load, PublicKey.load):
            with pytest.raises(InputError, match=r"^key"):
                load(tmp_path / name)
    with pytest.raises(InputError, match="is not a private key"):
        PrivateKey.load(folder / "a.pub")
    with pytest.raises(InputError, match="is a private key, and the public one is needed"):
        PublicKey.load(folder / "a.key")
    with pytest.raises(InputError, match="another algorithm"):
        PublicKey.load(tmp_path / "rsa.pub")


def openssl(*words: object, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["openssl", *map(str, words)], input=stdin, capture_output=True, check=False)


@NEEDS_OPENSSL
def test_openssl_agrees(folder: Path, signature: Signature, tmp_path: Path) -> None:
    (tmp_path / "message").write_bytes(b"flexdp.signature/1\n" + DOCUMENT)
    (tmp_path / "bytes").write_bytes(base64.b64decode(json.loads(signature.to_json())["signature"]))
    words = ("pkeyutl", "-verify", "-pubin", "-rawin", "-sigfile", tmp_path / "bytes", "-in", tmp_path / "message")
    assert openssl(*words, "-inkey", folder / "a.pub").returncode == 0
    assert openssl(*words, "-inkey", folder / "b.pub").returncode != 0
    (tmp_path / "message").write_bytes(b"flexdp.signature/1\n" + DOCUMENT + b" ")
    assert openssl(*words, "-inkey", folder / "a.pub").returncode != 0
    der = openssl("pkey", "-pubin", "-in", folder / "a.pub", "-outform", "DER").stdout
    assert f"sha256:{hashlib.sha256(der).hexdigest()}" == signature.public_key.fingerprint


@NEEDS_OPENSSL
def test_keys_and_signatures_of_openssl_are_taken(tmp_path: Path) -> None:
    private, public, message, out = (tmp_path / name for name in ("o.key", "o.pub", "m", "s"))
    assert openssl("genpkey", "-algorithm", "ed25519", "-out", private).returncode == 0
    assert openssl("pkey", "-in", private, "-pubout", "-out", public).returncode == 0
    message.write_bytes(b"flexdp.signature/1\n" + DOCUMENT)
    done = openssl("pkeyutl", "-sign", "-inkey", private, "-rawin", "-in", message, "-out", out)
    assert done.returncode == 0, done.stderr
    assert PrivateKey.load(private).sign(DOCUMENT).octets == out.read_bytes()  # Ed25519 draws nothing
    made = Signature(
        public_key=PublicKey.load(public), digest=hashlib.sha256(DOCUMENT).hexdigest(), octets=out.read_bytes()
    )
    assert verify_signature(DOCUMENT, made, public).known
