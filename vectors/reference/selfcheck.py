"""Checks of the reference's own primitives against outside answers, run before anything is generated."""

import hashlib

import pyaegis
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA65PrivateKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import aegis128x4
import ed25519
import handshake
import keys
import signatures
import sntrup761
import text
from mechanisms import MECHANISMS

_KEY = bytes(range(16))
_NONCE = bytes(range(16, 32))

# draft-irtf-cfrg-aegis-aead, "AEGIS-128X4 Test Vectors".
_V0 = ["924eb07635003a37e6c6575ba8ce1929", "c8b6a5d91475445e936d48e794be0ce2",
       "fcd37d050e24084befe3bbb219d64760", "2e9f58cfb893a8800220242c373a8b18"]
_V7 = ["85075f0080e9d618e7eb40f57c32d9f7", "d2ab2b320c6e93b155a3787cb83e5281",
       "0b3af0250ae36831a1b072e499929bcb", "5cce4d00329d69f1aae36aa541347512"]
_TAG_1 = "5bef762d0947c00455b97bb3af30dfa3"
_MSG_2 = bytes.fromhex("04050607") * 30
_CT_2 = ("e836118562f4479c9d35c17356a833114c21f9aa39e4dda5e5c87f4152a00fce9a7c38f832eafe8b1c12f8a7cf12a81a"
         "1ad8a9c24ba9dedfbdaa586ffea67ddc801ea97d9ab4a872f42d0e352e2713dacd609f9442c17517c5a29daf3e2a3fac"
         "4ff6b1380c4e46df7b086af6ce6bc1ed594b8dd64aed2a7e")
_TAG_2 = "0e56ab94e2e85db80f9d54010caabfb4"


def check_aegis():
    state = aegis128x4.initial_state(_KEY, _NONCE)
    assert [block.hex() for block in state[0]] == _V0
    assert [block.hex() for block in state[7]] == _V7
    assert aegis128x4.seal(_KEY, _NONCE, b"", b"").hex() == _TAG_1
    assert aegis128x4.seal(_KEY, _NONCE, bytes.fromhex("0102030401020304"), _MSG_2).hex() == _CT_2 + _TAG_2
    library = pyaegis.Aegis128X4(tag_size=16)
    for length in (0, 1, 16, 40, 127, 128, 129, 300):
        data = hashlib.shake_128(b"selfcheck %d" % length).digest(length + 24)
        aad, plaintext = data[:24], data[24:]
        sealed = aegis128x4.seal(_KEY, _NONCE, aad, plaintext)
        assert sealed == bytes(library.encrypt(_KEY, _NONCE, plaintext, aad))
        assert aegis128x4.open_sealed(_KEY, _NONCE, aad, sealed) == plaintext
        assert aegis128x4.open_sealed(_KEY, _NONCE, aad, sealed[:-1] + bytes([sealed[-1] ^ 1])) is None


class NistGenerator:
    """The AES-256 counter generator that NIST's known answers are made with (SP 800-90A, no derivation function)."""

    def __init__(self, seed):
        self.key, self.counter = bytes(32), 0
        self._update(seed)

    def _block(self):
        self.counter = (self.counter + 1) % 2**128
        encryptor = Cipher(algorithms.AES(self.key), modes.ECB()).encryptor()
        return encryptor.update(self.counter.to_bytes(16, "big"))

    def _update(self, data):
        fresh = bytes(a ^ b for a, b in zip(b"".join(self._block() for _ in range(3)), data))
        self.key, self.counter = fresh[:32], int.from_bytes(fresh[32:], "big")

    def __call__(self, length):
        out = b"".join(self._block() for _ in range(-(-length // 16)))[:length]
        self._update(bytes(48))
        return out


# liboqs, tests/KATs/kem/kats.json, "sntrup761", "single": SHA-256 of the known-answer file's first entry.
_SNTRUP761_KAT = "afc42c3a5b10f4ef69654250097ebda9b9564570f4086744b24a6daf2bd1f89a"


def check_sntrup761():
    seed = NistGenerator(bytes(range(48)))(48)
    random = NistGenerator(seed)
    public, secret = sntrup761.key_pair(random)
    ciphertext, ss, _ = sntrup761.encapsulate(public, random)
    text = "count = 0\n" + "".join(f"{name} = {value.hex().upper()}\n" for name, value in (
        ("seed", seed), ("pk", public), ("sk", secret), ("ct", ciphertext), ("ss", ss)))
    assert hashlib.sha256(text.encode()).hexdigest() == _SNTRUP761_KAT
    assert sntrup761.decapsulate(secret, ciphertext) == ss
    changed = ciphertext[:-1] + bytes([ciphertext[-1] ^ 1])
    assert sntrup761.decapsulate(secret, changed) != ss


def check_mlkem768():
    """kyber-py, whose choices can be fixed, against the library behind `cryptography`, both ways."""
    mechanism = MECHANISMS[4]
    pair = mechanism.key_pair(lambda what, n: hashlib.shake_128(what.encode()).digest(n))
    library = MLKEM768PrivateKey.from_seed_bytes(pair["mlkem768_seed"])
    assert library.public_key().public_bytes_raw() == pair["share"]
    made = mechanism.encapsulate(pair["share"], lambda what, n: bytes(range(n)))
    assert library.decapsulate(made["ciphertext"]) == made["ss"]
    ss, ciphertext = library.public_key().encapsulate()
    assert mechanism.decapsulate(pair, ciphertext) == ss
    changed = made["ciphertext"][:-1] + bytes([made["ciphertext"][-1] ^ 1])
    assert library.decapsulate(changed) == mechanism.decapsulate(pair, changed) != made["ss"]


def check_mldsa65():
    """dilithium-py, which signs deterministically, against the library behind `cryptography`, both ways."""
    library = MLDSA65PrivateKey.from_seed_bytes(_KEY * 2)
    key = signatures.gop_key(_KEY * 2)
    public, _ = signatures.ML_DSA_65.key_derive(_KEY * 2)
    assert public == key
    made = signatures.gop_sign(_KEY * 2, b"content")
    signatures.gop_verify(key, made, b"content")
    assert signatures.ML_DSA_65.verify(key, b"content", library.sign(b"content"))
    assert not signatures.ML_DSA_65.verify(key, b"another content", made)


def check_trees():
    """Every path leads to the root of its tree, and to no other place."""
    for count in (1, 2, 3, 6, 7, 8, 13):
        leaves = [signatures.leaf(bytes([at])) for at in range(count)]
        root = signatures.tree_root(leaves)
        for index, leaf in enumerate(leaves):
            path = signatures.tree_path(index, leaves)
            assert len(path) == signatures.path_length(index, count)
            roots = [signatures.path_root(leaf, at, count, path) for at in range(count)]
            assert [at for at in range(count) if roots[at] == root] == [index]


def check_ed25519():
    """The group arithmetic against the library, and that a strict rule about peer ids is needed."""
    public = handshake.public_of(_KEY * 2)
    signature = handshake.sign(_KEY * 2, b"content")
    assert ed25519.is_peer_id(public)
    assert ed25519.lax_verify(public, signature, b"content")
    assert not ed25519.lax_verify(public, signature, b"another content")
    assert len(ed25519.SMALL_ORDER_YS) == 5
    forged = 0
    for y in ed25519.SMALL_ORDER_YS:
        for sign in (0, 1):
            point = ed25519.encode(y, sign)
            assert not ed25519.is_peer_id(point)
            forged += ed25519.lax_verify(point, ed25519.keyless_signature(point, b"content"), b"content")
    assert forged == 8


def check_hkdf():
    """RFC 5869, appendix A.1."""
    prk = keys.extract(bytes(range(13)), b"\x0b" * 22)
    assert prk.hex() == "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"
    assert keys.expand(prk, bytes(range(0xF0, 0xFA)), 42).hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")


def check_words():
    # The hash of bip-0039/english.txt, in which each word has a line.
    lines = "".join(f"{word}\n" for word in text.WORDS)
    assert (hashlib.sha256(lines.encode()).hexdigest()
            == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda")


def run():
    check_aegis()
    check_ed25519()
    check_hkdf()
    check_mldsa65()
    check_mlkem768()
    check_sntrup761()
    check_trees()
    check_words()
