// Terms of a group, byte for byte: what a run of it is, as its camera signed it (groups.md, section 6).

import { type Bytes, ascii, concat } from "../bytes.ts";
import { sha256 } from "../crypto/primitives.ts";
import { malformed } from "../error.ts";
import { type Identity, type SignatureCheck } from "../keys/identity.ts";
import { parseCamera } from "../keys/wish.ts";
import { SIGN_NUMBERS, type StatedSign } from "../sign/mode.ts";
import { MAX_STREAM } from "../wire/header.ts";
import { SIGNATURE_LEN } from "../wire/kem-field.ts";
import { PEER_ID_LEN } from "../wire/peer-id.ts";
import { Reader } from "../wire/reader.ts";
import { Writer } from "../wire/writer.ts";
import { type Group } from "./secret.ts";
import { RUN_LEN } from "./sheet.ts";

const KIND = 0x21;
const VERSION = 1;

/**
 * Why terms are refused, in the order of the checks. Refused terms change nothing. `sign`: what they say is signed is
 * reserved, or less than this end asks for.
 */
export type TermsRefusal =
  | "malformed" | "wrong-camera" | "wrong-stream" | "wrong-name" | "signature" | "sign" | "suite" | "changed";

/** Statement of a run's terms. */
export interface Stated {
  /** Signatures of the camera. */
  readonly sign: StatedSign;
  /** Number of the suite of media records. */
  readonly suite: number;
  /** The camera's name among those of its publisher; empty for an only one. */
  readonly name: string;
}

/** Terms whose form is right; nothing else of them has been checked. */
export interface Terms extends Stated {
  readonly stream: number;
  /** The peer id that they claim. */
  readonly camera: Bytes;
  readonly run: Bytes;
  /** All of them but the signature. */
  readonly unsigned: Bytes;
  /** True if the signature is that of whom `check` is for. */
  readonly verify: (check: SignatureCheck) => Promise<boolean>;
}

/** Returns the bytes that the camera signs of terms that end before their signature. */
async function signedTerms(unsigned: Bytes): Promise<Bytes> {
  return concat(ascii("sealcast2 group terms\0"), await sha256(unsigned));
}

/** The terms of a run. */
export async function termsBytes(group: Group, { sign, suite, name }: Stated, camera: Identity): Promise<Bytes> {
  const unsigned = new Writer()
    .u8(KIND).u8(VERSION).u8(SIGN_NUMBERS.indexOf(sign)).u8(suite).u32(group.stream).bytes(group.camera.bytes)
    .bytes(group.run).bytes8(new TextEncoder().encode(name)).done().slice();
  return concat(unsigned, await camera.sign(await signedTerms(unsigned)));
}

/** Parses terms. They keep none of these bytes. @throws ProtocolError `malformed` */
export function parseTerms(bytes: Bytes): Terms {
  const end = Math.max(0, bytes.length - SIGNATURE_LEN);
  const [unsigned, signature] = [bytes.slice(0, end), bytes.slice(end)];
  const reader = new Reader(unsigned);
  const known = reader.u8() === KIND && reader.u8() === VERSION;
  const sign = SIGN_NUMBERS[reader.u8()];
  const [suite, stream] = [reader.u8(), reader.u32()];
  const [camera, run] = [reader.bytes(PEER_ID_LEN), reader.bytes(RUN_LEN)];
  const name = parseCamera(reader.bytes8());
  reader.finish();
  if (!known || sign === undefined || stream < 1 || stream > MAX_STREAM || name === undefined) {
    throw malformed();
  }
  const verify = async (check: SignatureCheck): Promise<boolean> => check(await signedTerms(unsigned), signature);
  return { sign, suite, name, stream, camera, run, unsigned, verify };
}
