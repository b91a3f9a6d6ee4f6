// The check of every frame before it is released (signatures.md, section 4).

import { type Bytes, equal } from "../bytes.ts";
import { type SignatureCheck } from "../keys/identity.ts";
import { SOUND_STREAM } from "../unit/sound-info.ts";
import { type FrameDigest } from "./digest.ts";
import { type FrameProof, type Statement, checkOf, parseProof, signedStatement } from "./statement.ts";

const REASONS = [
  "unsigned", "malformed", "stream", "epoch", "records", "digest", "order", "group", "signature",
] as const;

/** Why a frame is refused, in the order of the checks. */
export type FrameRefusal = (typeof REASONS)[number];

/** How many frames were refused for each reason. */
export type FrameRefusalCounts = Readonly<Record<FrameRefusal, number>>;

/** What is known of a frame that has arrived. */
export interface ReceivedFrame {
  readonly digest: FrameDigest;
  /** The stream of its records. */
  readonly stream: number;
  /** Full number of the epoch whose key opened them. */
  readonly epoch: bigint;
}

/** The proof in a `signed` record, or why there is none. */
function parsed(proof: Bytes | undefined): FrameProof | FrameRefusal {
  try {
    return proof === undefined ? "unsigned" : parseProof(proof);
  } catch {
    return "malformed";
  }
}

/**
 * Verifies the frames of one stream of one camera, one after the other, as they come. Gaps are allowed. A refusal
 * changes nothing but its counter.
 */
export class FrameVerifier {
  readonly #check: SignatureCheck;
  readonly #stream: number;
  readonly #refused = Object.fromEntries(REASONS.map((reason) => [reason, 0])) as Record<FrameRefusal, number>;
  /** The frame accepted last. */
  #last: Statement | undefined;
  #accepted = 0;

  /** A verifier that has accepted no frame yet, and begins with a keyframe. `check` is for the camera's signatures. */
  constructor(check: SignatureCheck, stream: number) {
    this.#check = check;
    this.#stream = stream;
  }

  /** Verifies a frame with the payload of its `signed` record, if it has one. Refused, it must not be released. */
  async verify(frame: ReceivedFrame, bytes: Bytes | undefined): Promise<Statement | FrameRefusal> {
    const proof = parsed(bytes);
    const checked = typeof proof === "string" ? proof : await this.#verified(frame, proof);
    if (typeof checked === "string") {
      return this.refuse(checked);
    }
    this.#last = checked;
    this.#accepted += 1;
    return checked;
  }

  /** Counts a frame that is given up. */
  refuse(reason: FrameRefusal): FrameRefusal {
    this.#refused[reason] += 1;
    return reason;
  }

  /** Frames accepted. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Frames refused. */
  get refused(): FrameRefusalCounts {
    return { ...this.#refused };
  }

  async #verified(frame: ReceivedFrame, proof: FrameProof): Promise<Statement | FrameRefusal> {
    if (proof.signature === undefined) {
      return "unsigned";
    }
    const statement = this.#consistent(frame, proof);
    if (typeof statement === "string") {
      return statement;
    }
    return (await this.#check(signedStatement(statement), proof.signature)) ? statement : "signature";
  }

  /** Checks everything that costs little. What a forger claims here is refused by the signature afterwards. */
  #consistent({ digest, stream, epoch }: ReceivedFrame, proof: FrameProof): Statement | FrameRefusal {
    const last = this.#last;
    if (stream !== this.#stream) {
      return "stream";
    }
    if (proof.epoch !== epoch || (last !== undefined && proof.epoch < last.epoch)) {
      return "epoch";
    }
    if (proof.records !== digest.records) {
      return "records";
    }
    if (!equal(proof.check, checkOf(digest))) {
      return "digest";
    }
    if (last !== undefined && proof.epoch === last.epoch && proof.frame <= last.frame) {
      return "order";
    }
    if (!(stream === SOUND_STREAM ? soundFollows(last, proof) : follows(last, proof))) {
      return "group";
    }
    const { index, group, frame, liveness } = proof;
    return { stream, index, epoch, group, frame, digest, ...(liveness && { liveness }) };
  }
}

/** Sound needs nothing before it, so any packet may be the first, or come after one that was lost. */
function soundFollows(last: Statement | undefined, { index, group }: FrameProof): boolean {
  return last === undefined || group > last.group || (group === last.group && index > last.index);
}

/** True if a frame goes on with the group of pictures of the last one, or begins a later one. */
function follows(last: Statement | undefined, { index, group }: FrameProof): boolean {
  if (last === undefined) {
    return index === 0;
  }
  return index === 0 ? group > last.group : group === last.group && index > last.index;
}
