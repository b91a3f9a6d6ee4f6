// Words of others, as they may be shown on the page.

/** Characters that move a cursor, break a line or turn text around: the same as in the program (`words.rs`). */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Another party's text, with U+FFFD in place of each such character. To be called where the text enters. */
export function plain(text: string): string {
  return text.replace(UNSAFE, "\ufffd");
}
