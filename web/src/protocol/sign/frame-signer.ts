// A camera's statements about its frames, one after the other (signatures.md, section 2).

import { type Bytes } from "../bytes.ts";
import { misuse } from "../error.ts";
import { type Identity } from "../keys/identity.ts";
import { type FrameDigest } from "./digest.ts";
import { type Statement, checkOf, proofBytes, signedStatement } from "./statement.ts";

const MAX_INDEX = 0xffff_ffff;

/** What the camera knows of a frame that it has sealed. */
export interface OutgoingStatement {
  /** Full number of the epoch under which the records are sealed. */
  readonly epoch: bigint;
  /** Number of the frame in its stream. */
  readonly frame: bigint;
  /** True for a keyframe, which begins a group of pictures. */
  readonly keyframe: boolean;
  /** Its records. */
  readonly digest: FrameDigest;
  /** Root over the challenges to answer, if there are any. */
  readonly liveness?: Bytes;
}

/**
 * Makes the statements of a stream and signs each. It counts groups of pictures and their frames, so no
 * two statements have the same numbers.
 */
export class FrameSigner {
  readonly #identity: Identity;
  readonly #stream: number;
  #nextGroup: bigint;
  /** The frame signed last. */
  #last: Statement | undefined;

  /**
   * @param stream 1 to 15
   * @param firstGroup the number of its first group of pictures: higher than any before, in earlier runs too
   */
  constructor(identity: Identity, stream: number, firstGroup: bigint) {
    this.#identity = identity;
    this.#stream = stream;
    this.#nextGroup = firstGroup;
  }

  /**
   * States what a frame is, and signs that. Returns the payload of the frame's `signed` record.
   * @throws ProtocolError `misuse` if a number goes back, or the first frame is no keyframe; nothing has changed then
   */
  async sign({ epoch, frame, keyframe, digest, liveness }: OutgoingStatement): Promise<Bytes> {
    const last = this.#last;
    if (last !== undefined && goesBack(last, epoch, frame)) {
      throw misuse("a frame's number or epoch went back");
    }
    if (!keyframe && last === undefined) {
      throw misuse("the first frame that is signed must be a keyframe");
    }
    const index = keyframe || last === undefined ? 0 : nextIndex(last);
    const group = keyframe || last === undefined ? this.#nextGroup : last.group;
    this.#nextGroup = group + 1n;
    return this.#state({ epoch, frame, keyframe, digest, ...(liveness && { liveness }) }, group, index);
  }

  /**
   * The same of a packet of sound that was made in this group of pictures. Its place in there follows from the packets
   * before, whatever it says of keyframes.
   * @throws ProtocolError `misuse` if a number goes back; nothing has changed then
   */
  async signSound(outgoing: OutgoingStatement, group: bigint): Promise<Bytes> {
    const { epoch, frame } = outgoing;
    const last = this.#last;
    if (last !== undefined && (goesBack(last, epoch, frame) || group < last.group)) {
      throw misuse("a packet's number, epoch or group of pictures went back");
    }
    return this.#state(outgoing, group, last?.group === group ? nextIndex(last) : 0);
  }

  async #state({ epoch, frame, digest, liveness }: OutgoingStatement, group: bigint, index: number): Promise<Bytes> {
    const claims = { index, epoch, group, frame, ...(liveness && { liveness }) };
    const statement: Statement = { ...claims, stream: this.#stream, digest };
    this.#last = statement;
    const signature = await this.#identity.sign(signedStatement(statement));
    return proofBytes({ ...claims, records: digest.records, check: checkOf(digest), signature }).slice();
  }
}

function goesBack(last: Statement, epoch: bigint, frame: bigint): boolean {
  return epoch < last.epoch || (epoch === last.epoch && frame <= last.frame);
}

function nextIndex({ index }: Statement): number {
  if (index >= MAX_INDEX) {
    throw misuse("the numbers of frames in a group of pictures have run out");
  }
  return index + 1;
}
