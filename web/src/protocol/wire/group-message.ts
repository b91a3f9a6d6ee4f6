// Control messages of a group, 20 to 26 (groups.md, section 10).

import { type Bytes } from "../bytes.ts";
import { malformed } from "../error.ts";
import { MAX_STREAM } from "./header.ts";
import { type Reader } from "./reader.ts";
import { type Writer } from "./writer.ts";

/** What a camera signs. */
export type SignMode = "off" | "frame" | "both";
/** The same by its number on the wire. `gop` and `tesla` are reserved: earlier versions had them. */
export const SIGN_NUMBERS = ["off", "frame", "gop", "both", "tesla"] as const;
export type OfferedSign = (typeof SIGN_NUMBERS)[number];

/** Bytes of a challenge. */
export const CHALLENGE_LEN = 16;
/**
 * Where a member's frames come from: its session with the camera, a relay, or a relay by the key of an enrolment; or it
 * is an archive's node, which gets them sealed over its session.
 */
const MEDIA = ["session", "relay", "relay-enrolled", "sealed"] as const;
export type MediaFrom = (typeof MEDIA)[number];

/** A control message of a group. Sheets, answers, certificates and signatures are read by whom they are for. */
export type GroupMessage =
  /** The publisher offers to seal for a group instead of this session. */
  | { readonly type: "group"; readonly stream: number; readonly sign: OfferedSign; readonly suite: number }
  /** The viewer wants to be a member. */
  | { readonly type: "join"; readonly stream: number; readonly media: MediaFrom }
  | { readonly type: "key-sheet"; readonly sheet: Bytes }
  /** The viewer wants to know how old the next frame is. */
  | { readonly type: "challenge"; readonly challenge: Bytes }
  | { readonly type: "answer"; readonly answer: Bytes }
  /** The certificate of the key that signs groups of pictures. */
  | { readonly type: "gop-key"; readonly certificate: Bytes }
  /** The signature of a group of pictures. */
  | { readonly type: "gop-signature"; readonly signature: Bytes };

/** Appends the payload of a group's control record. */
export function writeGroupMessage(message: GroupMessage, out: Writer): Writer {
  switch (message.type) {
    case "group":
      return out.u8(20).u16(message.stream).u8(SIGN_NUMBERS.indexOf(message.sign)).u8(message.suite);
    case "join":
      return out.u8(21).u16(message.stream).u8(MEDIA.indexOf(message.media));
    case "key-sheet":
      return out.u8(22).bytes(message.sheet);
    case "challenge":
      return out.u8(23).bytes(message.challenge);
    case "answer":
      return out.u8(24).bytes(message.answer);
    case "gop-key":
      return out.u8(25).bytes(message.certificate);
    case "gop-signature":
      return out.u8(26).bytes(message.signature);
  }
}

function stream(reader: Reader): number {
  const number = reader.u16();
  if (number < 1 || number > MAX_STREAM) {
    throw malformed();
  }
  return number;
}

/** One of the values that a byte stands for. */
function oneOf<T>(values: readonly T[], reader: Reader): T {
  const value = values[reader.u8()];
  if (value === undefined) {
    throw malformed();
  }
  return value;
}

/** The parser of each type's fields, by its number. */
export const GROUP_PARSERS: Readonly<Record<number, (reader: Reader) => GroupMessage>> = {
  20: (reader) => ({ type: "group", stream: stream(reader), sign: oneOf(SIGN_NUMBERS, reader), suite: reader.u8() }),
  21: (reader) => ({ type: "join", stream: stream(reader), media: oneOf(MEDIA, reader) }),
  22: (reader) => ({ type: "key-sheet", sheet: reader.rest() }),
  23: (reader) => ({ type: "challenge", challenge: reader.bytes(CHALLENGE_LEN) }),
  24: (reader) => ({ type: "answer", answer: reader.rest() }),
  25: (reader) => ({ type: "gop-key", certificate: reader.rest() }),
  26: (reader) => ({ type: "gop-signature", signature: reader.rest() }),
};
