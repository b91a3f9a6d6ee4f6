"""Checks of the reference's own primitives against outside answers, run before anything is generated."""

import hashlib

import pyaegis

import aegis128x4

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


def run():
    check_aegis()
