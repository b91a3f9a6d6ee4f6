"""The AEAD suites (protocol.md section 3)."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

import aegis128x4


class Suite:
    def __init__(self, number, name, key_len, nonce_len, aead):
        self.number, self.name = number, name
        self.key_len, self.nonce_len = key_len, nonce_len
        self.aead = aead  # None for AEGIS, which the library does not have

    def seal(self, key, nonce, aad, plaintext):
        if self.aead is None:
            return aegis128x4.seal(key, nonce, aad, plaintext)
        return self.aead(key).encrypt(nonce, plaintext, aad)

    def open(self, key, nonce, aad, sealed):
        """The plaintext, or None if the tag does not verify."""
        if self.aead is None:
            return aegis128x4.open_sealed(key, nonce, aad, sealed)
        try:
            return self.aead(key).decrypt(nonce, sealed, aad)
        except InvalidTag:
            return None


SUITES = {
    suite.number: suite
    for suite in (
        Suite(1, "aes-128-gcm", 16, 12, AESGCM),
        Suite(2, "aes-256-gcm", 32, 12, AESGCM),
        Suite(3, "chacha20-poly1305", 32, 12, ChaCha20Poly1305),
        Suite(4, "aegis-128x4", 16, 16, None),
    )
}
