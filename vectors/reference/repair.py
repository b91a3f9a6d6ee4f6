"""The code that brings lost records back (docs/repair.md, "The code")."""

MAX_SOURCES = 128
MODULUS = 1 << 16 | 1 << 5 | 1 << 3 | 1 << 2 | 1
BASIS = [int(word, 16) for word in
         "0001 ACCA 3C0E 163E C582 ED2E 914C 4012 6C98 10D8 6A72 B900 FDB8 FB34 FF38 991E".split()]


class Inconsistent(Exception):
    """Verified records of one block contradict each other."""


def _tables():
    """Powers of x, and which power an element is. x generates the field."""
    powers, logs, element = [], {}, 1
    for exponent in range(2**16 - 1):
        powers.append(element)
        logs[element] = exponent
        element <<= 1
        if element >> 16:
            element ^= MODULUS
    assert element == 1 and len(logs) == 2**16 - 1
    return powers, logs


POWERS, LOGS = _tables()


def times(a, b):
    return POWERS[(LOGS[a] + LOGS[b]) % (2**16 - 1)] if a and b else 0


def over(a, b):
    return POWERS[(LOGS[a] - LOGS[b]) % (2**16 - 1)] if a else 0


def element(number):
    out = 0
    for bit, base in enumerate(BASIS):
        if number >> bit & 1:
            out ^= base
    return out


# A symbol's numbers stand for elements; computing is done in elements.
ELEMENTS = [element(number) for number in range(2**16)]
NUMBERS = {value: number for number, value in enumerate(ELEMENTS)}
assert len(NUMBERS) == 2**16


def max_repairs(sources):
    return -(-sources // 2)


def symbol_length(longest):
    return 2 + longest + longest % 2


def symbol(record, length):
    return (len(record).to_bytes(2, "big") + record).ljust(length, b"\0")


def to_elements(data):
    out = []
    for start in range(0, len(data), 64):
        piece = data[start:start + 64]
        half = len(piece) // 2
        out += [ELEMENTS[piece[i] | piece[half + i] << 8] for i in range(half)]
    return out


def to_bytes(elements):
    out = b""
    for start in range(0, len(elements), 32):
        numbers = [NUMBERS[value] for value in elements[start:start + 32]]
        out += bytes(number & 0xFF for number in numbers) + bytes(number >> 8 for number in numbers)
    return out


def coefficient(repair, source, repairs):
    m = 1
    while m < repairs:
        m *= 2
    out = 1
    for t in range(m):
        if t != repair:
            out = times(out, over(element(m + source) ^ element(t), element(repair) ^ element(t)))
    return out


def add(row, factor, other):
    return [a ^ times(factor, b) for a, b in zip(row, other)]


def encode(records, repairs):
    """The repair symbols of a block's sealed records."""
    assert 1 <= len(records) <= MAX_SOURCES and 0 <= repairs <= max_repairs(len(records))
    length = symbol_length(max(map(len, records)))
    sources = [to_elements(symbol(record, length)) for record in records]
    out = []
    for index in range(repairs):
        row = [0] * (length // 2)
        for j, source in enumerate(sources):
            row = add(row, coefficient(index, j, repairs), source)
        out.append(to_bytes(row))
    return out


def recover(sources, repairs, have, symbols):
    """{index: record} of the records that are missing, out of `have` and `symbols`, each {index: bytes}; empty while
    there are too few."""
    missing = [index for index in range(sources) if index not in have]
    lengths = {len(data) for data in symbols.values()}
    if len(lengths) > 1 or any(length % 2 or length < 4 for length in lengths):
        raise Inconsistent
    if not missing or len(symbols) < len(missing):
        return {}
    length = lengths.pop()
    if any(symbol_length(len(record)) > length for record in have.values()):
        raise Inconsistent
    known = {index: to_elements(symbol(record, length)) for index, record in have.items()}
    rows = []
    for index in sorted(symbols)[:len(missing)]:
        right = to_elements(symbols[index])
        for j, source in known.items():
            right = add(right, coefficient(index, j, repairs), source)
        rows.append([coefficient(index, j, repairs) for j in missing] + right)
    return {index: _record(data) for index, data in zip(missing, _solve(rows))}


def _solve(rows):
    """The right sides of a system of equations, once its left one is the identity."""
    count = len(rows)
    for column in range(count):
        pivot = next(row for row in range(column, count) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        factor = over(1, rows[column][column])
        rows[column] = [times(factor, value) for value in rows[column]]
        for row in range(count):
            if row != column and rows[row][column]:
                rows[row] = add(rows[row], rows[row][column], rows[column])
    return [to_bytes(row[count:]) for row in rows]


def _record(data):
    length = int.from_bytes(data[:2], "big")
    if length == 0 or length > len(data) - 2 or any(data[2 + length:]):
        raise Inconsistent
    return data[2:2 + length]
