// Words of others, as they may be shown.

/** A character that moves a cursor, breaks a line or turns text around (protocol.md, section 4). */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
const EACH = new RegExp(UNSAFE, "gu");

/** True for a text that may be shown as it is. */
export function isPlain(text: string): boolean {
  return !UNSAFE.test(text);
}

/** Another party's text, with U+FFFD in place of each such character. To be called where the text enters. */
export function plain(text: string): string {
  return text.replace(EACH, "\ufffd");
}
