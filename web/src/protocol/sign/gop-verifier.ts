// What the signatures of groups of pictures prove of the frames that were taken (signatures.md, section 5).

import { type Bytes, ascii, concat, equal } from "../bytes.ts";
import { MLDSA_SIGNATURE_LEN } from "../crypto/mldsa.ts";
import { malformed } from "../error.ts";
import { SOUND_STREAM } from "../unit/sound-info.ts";
import { MAX_STREAM } from "../wire/header.ts";
import { Reader } from "../wire/reader.ts";
import { type GopKey } from "./certificate.ts";
import { rootOf } from "./merkle.ts";
import { type Statement, statementLeaf } from "./statement.ts";

const VERSION = 1;
const HEAD_LEN = 49;
const HASH_LEN = 32;
/** Frames that one signature covers at most: a longer group of pictures is signed in parts. */
export const MAX_PART_FRAMES = 256;
/** Parts of groups of which frames or signatures are remembered. */
const MAX_OPEN_PARTS = 4;

/** Why the signature of a group is refused. It changes nothing. */
export type GopRefusal = "malformed" | "stream" | "signature" | "repeated";

/** What is known after the signature of a part. */
export interface GopVerdict {
  /** Number of the group of pictures. */
  readonly group: bigint;
  /** `incomplete`: some frames were not taken. `forged`: frames were taken that the camera did not make. */
  readonly outcome: "proven" | "incomplete" | "forged";
  /** The indexes in the group of the frames that are missing or forged, in order. */
  readonly indexes: readonly number[];
  /** True if it follows the part that was verified before: no part between was left out. */
  readonly follows: boolean;
}

/** The signature of a part as it is sent. */
interface GopSignature {
  readonly head: Bytes;
  readonly stream: number;
  readonly first: number;
  readonly group: bigint;
  readonly previous: Bytes;
  readonly signature: Bytes;
  readonly leaves: readonly Bytes[];
}

/** A part of which frames were taken, or the signature is known. */
interface Part {
  readonly group: bigint;
  readonly first: number;
  /** Leaves of the frames taken, by index. */
  readonly taken: Map<number, Bytes>;
  /** Leaves of all frames, once the signature has been verified. */
  signed?: readonly Bytes[];
}

function parse(bytes: Bytes): GopSignature {
  const own = bytes.slice();
  const reader = new Reader(own);
  const [version, stream, count, first] = [reader.u8(), reader.u16(), reader.u16(), reader.u32()];
  const [group, previous] = [reader.u64(), reader.bytes(HASH_LEN)];
  const fits = version === VERSION && stream >= 1 && stream <= MAX_STREAM && count >= 1 && count <= MAX_PART_FRAMES &&
    first % MAX_PART_FRAMES === 0;
  if (!fits) {
    throw malformed();
  }
  const signature = reader.bytes(MLDSA_SIGNATURE_LEN);
  const leaves = Array.from({ length: count }, () => reader.bytes(HASH_LEN));
  reader.finish();
  return { head: own.subarray(0, HEAD_LEN), stream, first, group, previous, signature, leaves };
}

/** True if the frame with this index has this leaf among those that are signed. */
function isCovered({ first, signed }: Part, index: number, leaf: Bytes): boolean {
  const found = signed?.[index - first];
  return found !== undefined && equal(found, leaf);
}

/** True if the part stands before the other one in the stream. */
function isBefore(a: Pick<Part, "group" | "first">, b: Pick<Part, "group" | "first">): boolean {
  return a.group < b.group || (a.group === b.group && a.first < b.first);
}

/** Remembers the frames that were taken until the signature of their group comes, and signatures for late frames. */
export class GopVerifier {
  readonly #key: GopKey;
  readonly #stream: number;
  readonly #parts: Part[] = [];
  /** The newest part that was verified, and its root. */
  #newest: { readonly group: bigint; readonly first: number; readonly root: Bytes } | undefined;
  #unproven = 0;

  constructor(key: GopKey, stream: number) {
    this.#key = key;
    this.#stream = stream;
  }

  /**
   * Remembers a frame that was taken, by its statement. `waiting`: the signature of its group is still to come; the
   * other answers come where it came before the frame.
   */
  async took(statement: Statement): Promise<"waiting" | "proven" | "forged"> {
    const { group, index } = statement;
    const leaf = await statementLeaf(statement);
    const part = this.#part(group, index - (index % MAX_PART_FRAMES));
    part.taken.set(index, leaf);
    this.#forgetOldest();
    if (part.signed === undefined) {
      return "waiting";
    }
    return isCovered(part, index, leaf) ? "proven" : "forged";
  }

  /** Frames that went without a signature of their group. */
  get unproven(): number {
    return this.#unproven;
  }

  /** Verifies the signature of a part, and compares the frames of it that were taken. */
  async verify(bytes: Bytes): Promise<GopVerdict | GopRefusal> {
    let message: GopSignature;
    try {
      message = parse(bytes);
    } catch {
      return "malformed";
    }
    const { stream, group, first, head, signature, leaves, previous } = message;
    if (stream !== this.#stream) {
      return "stream";
    }
    const root = await rootOf(leaves);
    const content = concat(ascii("sealcast2 gop\0"), this.#key.camera.bytes, head, root);
    if (!(await this.#key.check(content, signature))) {
      return "signature";
    }
    const part = this.#part(group, first);
    if (part.signed !== undefined) {
      return "repeated";
    }
    part.signed = leaves;
    const newest = this.#newest;
    if (newest === undefined || isBefore(newest, part)) {
      this.#newest = { group, first, root };
    }
    this.#forgetOldest();
    return { group, ...outcomeOf(part, leaves.length), follows: newest === undefined || equal(newest.root, previous) };
  }

  #part(group: bigint, first: number): Part {
    const found = this.#parts.find((part) => part.group === group && part.first === first);
    const part = found ?? { group, first, taken: new Map<number, Bytes>() };
    if (found === undefined) {
      this.#parts.push(part);
      this.#parts.sort((a, b) => (isBefore(a, b) ? -1 : 1));
    }
    return part;
  }

  #forgetOldest(): void {
    if (this.#parts.length > MAX_OPEN_PARTS) {
      const oldest = this.#parts.shift();
      this.#unproven += oldest?.signed === undefined ? (oldest?.taken.size ?? 0) : 0;
    }
  }
}

function outcomeOf(part: Part, count: number): Pick<GopVerdict, "outcome" | "indexes"> {
  const taken = [...part.taken].sort(([a], [b]) => a - b);
  const forged = taken.filter(([index, leaf]) => !isCovered(part, index, leaf)).map(([index]) => index);
  if (forged.length > 0) {
    return { outcome: "forged", indexes: forged };
  }
  const all = Array.from({ length: count }, (_, at) => part.first + at);
  const missing = all.filter((index) => !part.taken.has(index));
  return { outcome: missing.length === 0 ? "proven" : "incomplete", indexes: missing };
}

/** The verifiers of a camera's stream and of the sound beside it, whose groups are signed apart. */
export class GopVerifiers {
  readonly #stream: number;
  readonly #picture: GopVerifier;
  readonly #sound: GopVerifier;

  constructor(key: GopKey, stream: number) {
    this.#stream = stream;
    this.#picture = new GopVerifier(key, stream);
    this.#sound = new GopVerifier(key, SOUND_STREAM);
  }

  /** As `GopVerifier.took`. */
  took(statement: Statement): Promise<"waiting" | "proven" | "forged"> {
    return statement.stream === this.#stream ? this.#picture.took(statement) : this.#sound.took(statement);
  }

  /** Frames of both that went without a signature of their group. */
  get unproven(): number {
    return this.#picture.unproven + this.#sound.unproven;
  }

  /** As `GopVerifier.verify`. */
  async verify(bytes: Bytes): Promise<GopVerdict | GopRefusal> {
    const verdict = await this.#picture.verify(bytes);
    return verdict === "stream" ? this.#sound.verify(bytes) : verdict;
  }
}
