"""The key agreement mechanisms (protocol.md section 3), with every random choice passed in.

A key pair and an encapsulation are dictionaries of bytes that go into the vectors as they are. `random(name, n)` gives
n bytes for the choice called `name`.
"""

import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec, rsa, x25519
from cryptography.hazmat.primitives.serialization import (Encoding, PublicFormat, load_der_private_key,
                                                          load_der_public_key)
from kyber_py.ml_kem import ML_KEM_768

import rsa_oaep
import sntrup761

INPUTS = json.loads((Path(__file__).resolve().parent / "inputs.json").read_text())


class Bad(Exception):
    """A public key or a ciphertext that is refused."""


def _length(data, length):
    if len(data) != length:
        raise Bad("length")


class X25519:
    number, name, share_len, ciphertext_len = 2, "x25519", 32, 32

    def key_pair(self, random):
        secret = random("x25519", 32)
        return {"share": self._public(secret), "x25519_secret": secret}

    def encapsulate(self, share, random):
        _length(share, 32)
        secret = random("x25519", 32)
        return {"x25519_secret": secret, "ciphertext": self._public(secret), "ss": self._exchange(secret, share)}

    def decapsulate(self, pair, ciphertext):
        _length(ciphertext, 32)
        return self._exchange(pair["x25519_secret"], ciphertext)

    @staticmethod
    def _public(secret):
        return x25519.X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()

    @staticmethod
    def _exchange(secret, public):
        try:
            key = x25519.X25519PrivateKey.from_private_bytes(secret)
            result = key.exchange(x25519.X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise Bad("all-zero result") from None
        if result == bytes(32):
            raise Bad("all-zero result")
        return result


class P256:
    number, name, share_len, ciphertext_len = 3, "p256", 65, 65

    def key_pair(self, random):
        scalar = self._scalar(random)
        return {"share": self._public(scalar), "p256_scalar": scalar}

    def encapsulate(self, share, random):
        scalar = self._scalar(random)
        return {"p256_scalar": scalar, "ciphertext": self._public(scalar), "ss": self._exchange(scalar, share)}

    def decapsulate(self, pair, ciphertext):
        return self._exchange(pair["p256_scalar"], ciphertext)

    @staticmethod
    def _scalar(random):
        return b"\x00" + random("p256", 31)  # below the group order without a choice

    @staticmethod
    def _key(scalar):
        return ec.derive_private_key(int.from_bytes(scalar, "big"), ec.SECP256R1())

    def _public(self, scalar):
        return self._key(scalar).public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def _exchange(self, scalar, point):
        _length(point, 65)
        if point[0] != 4:
            raise Bad("not an uncompressed point")
        try:
            public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        except ValueError:
            raise Bad("not on the curve") from None
        return self._key(scalar).exchange(ec.ECDH(), public)


class MlKem768:
    number, name, share_len, ciphertext_len = 4, "mlkem768", 1184, 1088

    def key_pair(self, random):
        seed = random("mlkem768 seed", 64)
        share, dk = ML_KEM_768.key_derive(seed)
        return {"share": share, "mlkem768_seed": seed, "mlkem768_dk": dk}

    def encapsulate(self, share, random):
        _length(share, 1184)
        for at in range(0, 1152, 3):  # FIPS 203 section 7.2: every coefficient is reduced
            pair = int.from_bytes(share[at:at + 3], "little")
            if pair & 0xFFF >= 3329 or pair >> 12 >= 3329:
                raise Bad("coefficient not reduced")
        message = random("mlkem768 m", 32)
        ss, ciphertext = ML_KEM_768._encaps_internal(share, message)
        return {"mlkem768_m": message, "ciphertext": ciphertext, "ss": ss}

    def decapsulate(self, pair, ciphertext):
        _length(ciphertext, 1088)
        return ML_KEM_768.decaps(pair["mlkem768_dk"], ciphertext)


class Sntrup761:
    number, name, share_len, ciphertext_len = None, "sntrup761", 1158, 1039

    def key_pair(self, random):
        counter = iter(range(100))
        share, secret = sntrup761.key_pair(lambda n: random(f"sntrup761 key {next(counter)}", n))
        return {"share": share, "sntrup761_public": share, "sntrup761_secret": secret}

    def encapsulate(self, share, random):
        _length(share, 1158)
        ciphertext, ss, r = sntrup761.encapsulate(share, lambda n: random("sntrup761 r", n))
        return {"sntrup761_r": r, "ciphertext": ciphertext, "ss": ss}

    def decapsulate(self, pair, ciphertext):
        _length(ciphertext, 1039)
        return sntrup761.decapsulate(pair["sntrup761_secret"], ciphertext)


class Hybrid:
    """Two mechanisms side by side: every string is the first's followed by the second's."""

    def __init__(self, number, name, first, second):
        self.number, self.name, self.first, self.second = number, name, first, second
        self.share_len = first.share_len + second.share_len
        self.ciphertext_len = first.ciphertext_len + second.ciphertext_len

    def key_pair(self, random):
        one, two = self.first.key_pair(random), self.second.key_pair(random)
        return {**one, **two, "share": one["share"] + two["share"]}

    def encapsulate(self, share, random):
        _length(share, self.share_len)
        one = self.first.encapsulate(share[:self.first.share_len], random)
        two = self.second.encapsulate(share[self.first.share_len:], random)
        both = {name: one[name] + two[name] for name in ("ciphertext", "ss")}
        return {**one, **two, **both}

    def decapsulate(self, pair, ciphertext):
        _length(ciphertext, self.ciphertext_len)
        at = self.first.ciphertext_len
        return self.first.decapsulate(pair, ciphertext[:at]) + self.second.decapsulate(pair, ciphertext[at:])


class Rsa2048:
    number, name, ciphertext_len = 16, "rsa2048", 256

    def key_pair(self, random):
        """RSA keys are not made from seeds: this one was made once and is read back."""
        pkcs8 = bytes.fromhex(INPUTS["rsa2048_pkcs8"])
        public = load_der_private_key(pkcs8, None).public_key()
        return {"share": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo), "rsa2048_pkcs8": pkcs8}

    def encapsulate(self, share, random):
        try:
            key = load_der_public_key(share)
        except ValueError:
            raise Bad("not a SubjectPublicKeyInfo") from None
        if not isinstance(key, rsa.RSAPublicKey) or key.key_size != 2048 or key.public_numbers().e != 65537:
            raise Bad("not 2048 bits with exponent 65537")
        if key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != share:
            raise Bad("not the DER encoding")
        secret, seed = random("rsa2048 secret", 32), random("rsa2048 oaep seed", 32)
        ciphertext = rsa_oaep.encrypt(key.public_numbers(), secret, seed)
        return {"rsa2048_oaep_seed": seed, "ciphertext": ciphertext, "ss": secret}

    def decapsulate(self, pair, ciphertext):
        _length(ciphertext, 256)
        try:
            secret = rsa_oaep.decrypt_with_library(load_der_private_key(pair["rsa2048_pkcs8"], None), ciphertext)
        except ValueError:
            raise Bad("padding") from None
        _length(secret, 32)
        return secret


MECHANISMS = {
    mechanism.number: mechanism
    for mechanism in (
        Hybrid(1, "x25519-mlkem768", MlKem768(), X25519()),
        X25519(),
        P256(),
        MlKem768(),
        Hybrid(5, "sntrup761-x25519", Sntrup761(), X25519()),
        Rsa2048(),
    )
}
