"""Characters of others that are not shown (protocol.md section 4)."""

import unicodedata

UNSAFE = {0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)}


def is_unsafe(letter):
    return unicodedata.category(letter) == "Cc" or ord(letter) in UNSAFE
