// Control messages of a group, 20 to 26 (groups.md, section 10).

import { type Bytes } from "../bytes.ts";
import { malformed } from "../error.ts";
import { MAX_STREAM } from "./header.ts";
import { type Reader } from "./reader.ts";
import { type Writer } from "./writer.ts";

/** Bytes of a challenge. */
export const CHALLENGE_LEN = 16;
/**
 * Where a member's frames come from: its session with the camera, a relay, or a relay by the key of an enrolment; or it
 * is an archive's node, which gets them sealed over its session.
 */
const MEDIA = ["session", "relay", "relay-enrolled", "sealed"] as const;
export type MediaFrom = (typeof MEDIA)[number];

/** A control message of a group. Terms, sheets, answers, certificates and signatures are read by whom they are for. */
export type GroupMessage =
  /** The publisher offers to seal for a group instead of this session, on these terms. */
  | { readonly type: "group-terms"; readonly terms: Bytes }
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
    case "group-terms":
      return out.u8(20).bytes(message.terms);
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

function join(reader: Reader): GroupMessage {
  const [stream, media] = [reader.u16(), MEDIA[reader.u8()]];
  if (stream < 1 || stream > MAX_STREAM || media === undefined) {
    throw malformed();
  }
  return { type: "join", stream, media };
}

/** The parser of each type's fields, by its number. */
export const GROUP_PARSERS: Readonly<Record<number, (reader: Reader) => GroupMessage>> = {
  20: (reader) => ({ type: "group-terms", terms: reader.rest() }),
  21: join,
  22: (reader) => ({ type: "key-sheet", sheet: reader.rest() }),
  23: (reader) => ({ type: "challenge", challenge: reader.bytes(CHALLENGE_LEN) }),
  24: (reader) => ({ type: "answer", answer: reader.rest() }),
  25: (reader) => ({ type: "gop-key", certificate: reader.rest() }),
  26: (reader) => ({ type: "gop-signature", signature: reader.rest() }),
};
