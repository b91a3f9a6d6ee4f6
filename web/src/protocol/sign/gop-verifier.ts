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
export const MAX_OPEN_PARTS = 64;
/** Milliseconds from the end of a part for which its signature is waited for. */
export const PROOF_PATIENCE = 10_000;
/** Milliseconds that a signature may take to be made and to come, before it can be called missing. */
export const PROOF_DELAY = 1_000;

/** Why the signature of a group is refused. It changes nothing. */
export type GopRefusal = "malformed" | "stream" | "key" | "signature" | "repeated";

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
  /** When a frame of a later part was taken. */
  ended?: number;
}

type Place = Pick<Part, "group" | "first">;

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
function isBefore(a: Place, b: Place): boolean {
  return a.group < b.group || (a.group === b.group && a.first < b.first);
}

/**
 * Remembers the frames that were taken until the signature of their group comes, and signatures for late frames. It
 * knows since when signatures are missing. Times are monotonic milliseconds.
 */
export class GopVerifier {
  readonly #stream: number;
  readonly #parts: Part[] = [];
  #key: GopKey | undefined;
  /** The newest part that was verified, and its root. */
  #newest: (Place & { readonly root: Bytes }) | undefined;
  /** The newest part of which a frame was taken. */
  #latest: Place | undefined;
  /** When the first two parts ended that are newer than all signatures. */
  #unsigned: number[] = [];
  #unproven = 0;

  constructor(stream: number) {
    this.#stream = stream;
  }

  /** Takes the camera's key. The first one stays. */
  certified(key: GopKey): this {
    this.#key ??= key;
    return this;
  }

  /** True once the camera's key is known. */
  get isCertified(): boolean {
    return this.#key !== undefined;
  }

  /**
   * Remembers a frame that was taken, by its statement. `waiting`: the signature of its group is still to come; the
   * other answers come where it came before the frame.
   */
  async took(now: number, statement: Statement): Promise<"waiting" | "proven" | "forged"> {
    const { group, index } = statement;
    const leaf = await statementLeaf(statement);
    const part = this.#part(group, index - (index % MAX_PART_FRAMES));
    if (this.#latest === undefined || isBefore(this.#latest, part)) {
      this.#latest = part;
      this.#endBefore(now, part);
    }
    part.taken.set(index, leaf);
    while ((this.#parts[0]?.ended ?? Infinity) + PROOF_PATIENCE <= now) {
      this.#forgetOldest();
    }
    this.#keepFew();
    if (part.signed === undefined) {
      return "waiting";
    }
    return isCovered(part, index, leaf) ? "proven" : "forged";
  }

  /** Ends the parts before this one, of which the first frame came. */
  #endBefore(now: number, part: Place): void {
    for (const before of this.#parts) {
      if (isBefore(before, part) && before.ended === undefined) {
        before.ended = now;
        this.#noteUnsigned(before);
      }
    }
  }

  #noteUnsigned({ group, first, signed, ended }: Part): void {
    const newer = this.#newest === undefined || isBefore(this.#newest, { group, first });
    if (newer && signed === undefined && ended !== undefined && this.#unsigned.length < 2) {
      this.#unsigned.push(ended);
    }
  }

  /** Frames that went without a signature of their group. */
  get unproven(): number {
    return this.#unproven;
  }

  /**
   * When signatures are missing, if none comes until then: a second after two complete parts without, or ten after one.
   */
  get missingAt(): number {
    const [first, second] = this.#unsigned;
    return Math.min((first ?? Infinity) + PROOF_PATIENCE, (second ?? Infinity) + PROOF_DELAY);
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
    const key = this.#key;
    if (key === undefined) {
      return "key";
    }
    const root = await rootOf(leaves);
    const content = concat(ascii("sealcast2 gop\0"), key.camera.bytes, head, root);
    if (!(await key.check(content, signature))) {
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
    this.#unsigned = [];
    this.#parts.forEach((one) => {
      this.#noteUnsigned(one);
    });
    this.#keepFew();
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

  #keepFew(): void {
    if (this.#parts.length > MAX_OPEN_PARTS) {
      this.#forgetOldest();
    }
  }

  #forgetOldest(): void {
    const oldest = this.#parts.shift();
    this.#unproven += oldest?.signed === undefined ? (oldest?.taken.size ?? 0) : 0;
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

  constructor(stream: number) {
    this.#stream = stream;
    this.#picture = new GopVerifier(stream);
    this.#sound = new GopVerifier(SOUND_STREAM);
  }

  /** As `GopVerifier.certified`. */
  certified(key: GopKey): void {
    this.#picture.certified(key);
    this.#sound.certified(key);
  }

  /** True once the camera's key is known. */
  get isCertified(): boolean {
    return this.#picture.isCertified;
  }

  /** As `GopVerifier.took`. */
  took(now: number, statement: Statement): Promise<"waiting" | "proven" | "forged"> {
    const verifier = statement.stream === this.#stream ? this.#picture : this.#sound;
    return verifier.took(now, statement);
  }

  /** As `GopVerifier.missingAt`, for whichever comes first. */
  get missingAt(): number {
    return Math.min(this.#picture.missingAt, this.#sound.missingAt);
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
