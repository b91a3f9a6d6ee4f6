"""AEGIS-128X4 with a 128-bit tag, written from draft-irtf-cfrg-aegis-aead.

Slow and not constant-time: it exists to make test vectors. generate.py checks it against the draft's own vectors and
against pyaegis before it writes anything.
"""

LANES = 4
KEY_LEN = 16
NONCE_LEN = 16
TAG_LEN = 16
RATE = 32 * LANES

C0 = bytes.fromhex("000101020305080d1522375990e97962")
C1 = bytes.fromhex("db3d18556dc22ff12011314273b528dd")


def _make_sbox():
    """The AES S-box: inversion in GF(2^8), then the affine map."""
    exp, log, value = [0] * 255, [0] * 256, 1
    for i in range(255):
        exp[i], log[value] = value, i
        value ^= (value << 1) ^ (0x11B if value & 0x80 else 0)  # times 3, a generator
        value &= 0xFF
    sbox = []
    for x in range(256):
        inverse = 0 if x == 0 else exp[(255 - log[x]) % 255]
        y = inverse
        for shift in range(1, 5):
            y ^= ((inverse << shift) | (inverse >> (8 - shift))) & 0xFF
        sbox.append(y ^ 0x63)
    return sbox


def _make_tables():
    """For each row of a column: SubBytes and MixColumns of one byte, as a big-endian word."""
    tables = [[], [], [], []]
    for s in _make_sbox():
        s2 = (s << 1) ^ (0x11B if s & 0x80 else 0)
        column = [s2, s, s, s2 ^ s]
        for row in range(4):
            rotated = column[-row:] + column[:-row] if row else column
            tables[row].append(int.from_bytes(bytes(rotated), "big"))
    return tables


_T0, _T1, _T2, _T3 = _make_tables()


def _xor(a, b):
    return (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).to_bytes(len(a), "big")


def _and(a, b):
    return (int.from_bytes(a, "big") & int.from_bytes(b, "big")).to_bytes(len(a), "big")


def aes_round(block, round_key):
    """One full AES encryption round (SubBytes, ShiftRows, MixColumns, AddRoundKey)."""
    words = 0
    for c in (0, 4, 8, 12):
        words = (words << 32) | (
            _T0[block[c]] ^ _T1[block[(c + 5) & 15]] ^ _T2[block[(c + 10) & 15]] ^ _T3[block[(c + 15) & 15]]
        )
    return (words ^ int.from_bytes(round_key, "big")).to_bytes(16, "big")


class _State:
    """v[j][i]: block j of lane i."""

    def __init__(self, key, nonce):
        first = [_xor(key, nonce), C1, C0, C1, _xor(key, nonce), _xor(key, C0), _xor(key, C1), _xor(key, C0)]
        self.v = [[block] * LANES for block in first]
        contexts = [bytes([lane, LANES - 1]) + bytes(14) for lane in range(LANES)]
        for _ in range(10):
            for j in (3, 7):
                self.v[j] = [_xor(block, context) for block, context in zip(self.v[j], contexts)]
            self.update([nonce] * LANES, [key] * LANES)

    def update(self, m0, m1):
        v = self.v
        new = [[None] * LANES for _ in range(8)]
        for i in range(LANES):
            for j in range(8):
                round_key = v[j][i]
                if j == 0:
                    round_key = _xor(round_key, m0[i])
                elif j == 4:
                    round_key = _xor(round_key, m1[i])
                new[j][i] = aes_round(v[(j - 1) % 8][i], round_key)
        self.v = new

    def absorb(self, block):
        blocks = [block[k:k + 16] for k in range(0, RATE, 16)]
        self.update(blocks[:LANES], blocks[LANES:])

    def keystream(self):
        v = self.v
        z0 = [_xor(_xor(v[6][i], v[1][i]), _and(v[2][i], v[3][i])) for i in range(LANES)]
        z1 = [_xor(_xor(v[2][i], v[5][i]), _and(v[6][i], v[7][i])) for i in range(LANES)]
        return b"".join(z0 + z1)

    def tag(self, ad_len, msg_len):
        lengths = (ad_len * 8).to_bytes(8, "little") + (msg_len * 8).to_bytes(8, "little")
        t = [_xor(block, lengths) for block in self.v[2]]
        for _ in range(7):
            self.update(t, t)
        tag = bytes(16)
        for i in range(LANES):
            for j in range(7):
                tag = _xor(tag, self.v[j][i])
        return tag


def _padded_blocks(data):
    for k in range(0, len(data), RATE):
        yield data[k:k + RATE].ljust(RATE, b"\0"), len(data[k:k + RATE])


def initial_state(key, nonce):
    """The state after initialization, for comparing with the draft's first vector."""
    return _State(key, nonce).v


def seal(key, nonce, aad, plaintext):
    """Ciphertext followed by the 16-byte tag."""
    state = _State(key, nonce)
    for block, _ in _padded_blocks(aad):
        state.absorb(block)
    out = b""
    for block, length in _padded_blocks(plaintext):
        out += _xor(block, state.keystream())[:length]
        state.absorb(block)
    return out + state.tag(len(aad), len(plaintext))


def open_sealed(key, nonce, aad, sealed):
    """The plaintext, or None if the tag does not verify."""
    if len(sealed) < TAG_LEN:
        return None
    ciphertext, tag = sealed[:-TAG_LEN], sealed[-TAG_LEN:]
    state = _State(key, nonce)
    for block, _ in _padded_blocks(aad):
        state.absorb(block)
    out = b""
    for block, length in _padded_blocks(ciphertext):
        plain = _xor(block, state.keystream())[:length]
        state.absorb(plain.ljust(RATE, b"\0"))
        out += plain
    return out if state.tag(len(aad), len(ciphertext)) == tag else None
