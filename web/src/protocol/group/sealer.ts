// The camera's half of a group's media: each frame is sealed and signed once for all members.

import { type Bytes, concat } from "../bytes.ts";
import { type Now } from "../clock/now.ts";
import { misuse } from "../error.ts";
import { type Identity } from "../keys/identity.ts";
import { MAX_CHALLENGERS } from "../live/answer.ts";
import { type Batch, Challenges } from "../live/challenges.ts";
import { MAX_BLOCKS, type Suite } from "../seal/suite.ts";
import { type OutgoingFrame } from "../session/session.ts";
import { type FrameDigest, FrameHasher, recordHash } from "../sign/digest.ts";
import { FrameSigner } from "../sign/frame-signer.ts";
import { Cutter } from "../unit/cut.ts";
import { type StreamInfo, infoBytes } from "../unit/info.ts";
import { preambleBytes } from "../unit/preamble.ts";
import { SOUND_STREAM, type SoundInfo, soundInfoBytes } from "../unit/sound-info.ts";
import { lengthPrefix } from "../wire/framing.ts";
import { CONFIG_FLAGS, Flag, frameFlags } from "../wire/header.ts";
import { ENCRYPT_ALL } from "../wire/selection.ts";
import { type Announcement, type EpochNumbers, type InForce, Leader } from "./leader.ts";
import { type LeaderRefusal } from "./pending.ts";
import { type NodeSecret, hasSound } from "./secret.ts";
import { SoundGroups } from "./sound-groups.ts";
import { termsBytes } from "./terms.ts";

/** Challenges that one frame answers at most. The others wait for the next frame. */
const MAX_ANSWERS = 512;
/** Records under one epoch, and milliseconds of a group secret, after which a new one is drawn (keys.md, section 6). */
const SOFT_RECORDS = 2 ** 20;
const SOFT_AGE = 600_000;
/**
 * Numbers of groups of pictures for each epoch number that is reserved: who begins anew has higher epoch numbers, and
 * so higher groups as well (signatures.md, section 2). The program has 2²⁰ of them; here they must stay below 2⁵³ on
 * their way through a library that has plain numbers, also after a hundred million starts.
 */
export const GROUPS_PER_EPOCH = 64n;

/** Settings of a `GroupSealer`. */
export interface GroupSealerConfig {
  /** The camera's identity, which signs sheets and frames. */
  readonly identity: Identity;
  /** The number of the camera's stream, 1 to 15. */
  readonly stream: number;
  /** The suite of the media records. */
  readonly suite: Suite;
}

/** A frame as all members get it. */
export interface SealedFrame {
  /** Its records, each behind its length: a description before a keyframe, the frame, and its proof. */
  readonly bytes: Bytes;
  /** True if it begins a group of pictures. */
  readonly keyframe: boolean;
  /** Number of its group of pictures. */
  readonly group: bigint;
  /** The epoch under which it is sealed. */
  readonly epoch: bigint;
}

/** What comes of a frame. */
export interface Sealing {
  readonly frame: SealedFrame;
  /** Answers to challenges, to be sent after the frame. */
  readonly answers: Batch["answers"];
}

/**
 * Seals the frames of a stream once for all members of its group, and signs each. It is deterministic: times and fresh
 * random bytes are arguments. One call at a time: the caller awaits each.
 *
 * After `admit` and `remove`, and at each `deadline`, call `announce`, and send what it has before the next frame.
 */
export class GroupSealer {
  /** The terms of this run, of a publisher's only camera. */
  readonly terms: Bytes;
  readonly #config: GroupSealerConfig;
  readonly #leader: Leader;
  readonly #signer: FrameSigner;
  readonly #challenges = new Challenges(MAX_CHALLENGERS);
  readonly #cutter = new Cutter("frame", 0);
  readonly #sounds: SoundGroups;
  readonly #soundSigner: FrameSigner;
  #current: InForce;
  /** When the current secret was drawn. */
  #drawn: number;
  /** Number of the group of pictures that begins next. */
  #nextGroup: bigint;
  /** True once a group of pictures has begun. */
  #begun = false;

  private constructor(
    config: GroupSealerConfig, terms: Bytes, leader: Leader, first: InForce, now: number, nextGroup: bigint,
  ) {
    this.terms = terms;
    this.#config = config;
    this.#leader = leader;
    this.#current = first;
    this.#drawn = now;
    this.#nextGroup = nextGroup;
    this.#signer = new FrameSigner(config.identity, config.stream, nextGroup);
    this.#sounds = new SoundGroups(nextGroup);
    this.#soundSigner = new FrameSigner(config.identity, SOUND_STREAM, nextGroup);
  }

  /**
   * A group without members.
   * @param numbers the epoch numbers that the program reserved before this call (groups.md, section 1)
   * @param run 16 fresh random bytes, and `seed` 32 others
   */
  static async create(
    now: Now, config: GroupSealerConfig, numbers: EpochNumbers, run: Bytes, seed: Bytes,
  ): Promise<GroupSealer> {
    const nextGroup = numbers.next * GROUPS_PER_EPOCH;
    const limits = { records: 2 * SOFT_RECORDS, blocks: MAX_BLOCKS };
    const { leader, first } = await Leader.create({ ...config, limits }, numbers, nextGroup, run, seed);
    const { identity, stream, suite } = config;
    const group = { camera: identity.peerId, stream, run };
    const terms = await termsBytes(group, { sign: "frame", suite: suite.id, name: "" }, identity);
    return new GroupSealer(config, terms, leader, first, now.monotonic, nextGroup);
  }

  /** As in `Leader`. */
  reserve(end: bigint): void {
    this.#leader.reserve(end);
  }

  get numbersLeft(): bigint {
    return this.#leader.numbersLeft;
  }

  /** Makes a member, from the next epoch that is announced on. */
  admit(now: Now, member: number, key: NodeSecret): LeaderRefusal | undefined {
    return this.#leader.admit(now.monotonic, member, key);
  }

  /** Removes a member, or takes its admission back. What it asked for is forgotten. */
  remove(now: Now, member: number): LeaderRefusal | undefined {
    this.#challenges.remove(member);
    return this.#leader.remove(now.monotonic, member);
  }

  /** Draws a new secret: the user asks for it. */
  rekey(now: Now): void {
    this.#leader.rekey(now.monotonic);
  }

  /** Takes the 16 bytes of a member's challenge. The member's number is below `MAX_CHALLENGERS`. */
  challenged(member: number, challenge: Bytes): Promise<void> {
    return this.#challenges.put(member, challenge);
  }

  /** Announces the next epoch, if changes wait for one. `seed` are 32 fresh random bytes. */
  async announce(now: Now, seed: Bytes): Promise<Announcement | undefined> {
    const { monotonic } = now;
    await this.#switchIfDue(monotonic, false);
    const usedUp = monotonic >= this.#drawn + SOFT_AGE ||
      Math.max(this.#current.sealer.sealed, this.#current.sound.sealed) >= SOFT_RECORDS;
    if (usedUp && this.#leader.deadline === undefined) {
      this.#drawn = monotonic;
      this.#leader.rekey(monotonic);
    }
    return this.#leader.announce(monotonic, this.#nextGroup, seed);
  }

  /** When `announce` is due, by the monotonic clock (ms). */
  get deadline(): number {
    return this.#leader.deadline ?? this.#drawn + SOFT_AGE;
  }

  /** The sheet of the newest announced epoch for one member; `undefined` if it is none. */
  pathSheet(member: number): Promise<Bytes | undefined> {
    return this.#leader.pathSheet(member);
  }

  /** The full sheet of the newest announced epoch, for relays' caches. */
  fullSheet(): Promise<Bytes> {
    return this.#leader.fullSheet();
  }

  /** The epoch under which frames are sealed. */
  get epoch(): bigint {
    return this.#current.epoch;
  }

  get announcedEpoch(): bigint {
    return this.#leader.epoch;
  }

  /** Members, as of the newest announced epoch. */
  get members(): number {
    return this.#leader.members;
  }

  /**
   * Seals and signs a frame. `info` is the stream's description, which a keyframe needs. Returns `undefined` for frames
   * before the first keyframe: they belong to no group of pictures.
   * @throws ProtocolError `exhausted` at the limit of the epoch's key: nothing may be sent under it any more
   */
  async seal(now: Now, info: StreamInfo, frame: OutgoingFrame): Promise<Sealing | undefined> {
    if (frame.stream !== this.#config.stream) {
      throw misuse("a group is of one stream");
    }
    if (!frame.keyframe && !this.#begun) {
      return undefined;
    }
    await this.#switchIfDue(now.monotonic, frame.keyframe);
    const { epoch } = this.#current;
    const records = await this.#records(now, info, frame);
    const digest = await digestOf(records);
    const batch = await this.#challenges.fold(MAX_ANSWERS);
    const { keyframe, stamps } = frame;
    const proof = await this.#signer.sign({
      epoch, frame: stamps.frame, keyframe, digest, ...(batch && { liveness: batch.root }),
    });
    records.push(await this.#seal(now, Flag.Signed | (keyframe ? Flag.Keyframe : 0), [proof]));
    this.#begun = true;
    this.#nextGroup += keyframe ? 1n : 0n;
    const sealed = { bytes: framed(records), keyframe, group: this.#nextGroup - 1n, epoch };
    return { frame: sealed, answers: batch?.answers ?? [] };
  }

  /**
   * Seals and signs a packet of sound, which is made in the group of pictures under way and always encrypted. Returns
   * `undefined` before the first keyframe. `keyframe` says that its description stands before it, and `group` counts
   * those packets.
   * @throws ProtocolError as `seal`
   */
  async sealSound(now: Now, info: SoundInfo, packet: OutgoingFrame): Promise<SealedFrame | undefined> {
    const { identity, stream } = this.#config;
    if (!hasSound({ camera: identity.peerId, stream }, packet.stream)) {
      throw misuse("sound is stream 2, beside the picture of stream 1");
    }
    if (!this.#begun) {
      return undefined;
    }
    const description = soundInfoBytes(info);
    await this.#switchIfDue(now.monotonic, false);
    const { epoch, sound } = this.#current;
    const seal = (flags: number, parts: readonly Bytes[]): Promise<Bytes> =>
      sound.seal({ flags, stream: SOUND_STREAM, timestamp: now.wall }, parts);
    const pictures = this.#nextGroup - 1n;
    const begins = this.#sounds.count(pictures, description);
    const records = begins ? [await seal(CONFIG_FLAGS, [description])] : [];
    const { layout, pieces } = this.#cutter.cut(ENCRYPT_ALL, SOUND_STREAM, true, packet.data);
    const preamble = preambleBytes({ ...packet.stamps, padding: 0, layout, kept: false });
    for (const { first, last, data } of pieces) {
      records.push(await seal(frameFlags(true, first, last), first ? [preamble, data] : [data]));
    }
    const { frame } = packet.stamps;
    const statement = { epoch, frame, keyframe: begins, digest: await digestOf(records) };
    const proof = await this.#soundSigner.signSound(statement, pictures);
    records.push(await seal(Flag.Signed | (begins ? Flag.Keyframe : 0), [proof]));
    return { bytes: framed(records), keyframe: begins, group: this.#sounds.number, epoch };
  }

  /** The records of a frame: before a keyframe its description. */
  async #records(now: Now, info: StreamInfo, { stream, keyframe, stamps, data }: OutgoingFrame): Promise<Bytes[]> {
    const records: Bytes[] = [];
    if (keyframe) {
      this.#cutter.describe(stream, info);
      records.push(await this.#seal(now, CONFIG_FLAGS, [infoBytes(info)]));
    }
    const { layout, pieces } = this.#cutter.cut(ENCRYPT_ALL, stream, keyframe, data);
    const preamble = preambleBytes({ ...stamps, padding: 0, layout, kept: false });
    for (const { first, last, data: piece } of pieces) {
      records.push(await this.#seal(now, frameFlags(keyframe, first, last), first ? [preamble, piece] : [piece]));
    }
    return records;
  }

  #seal(now: Now, flags: number, parts: readonly Bytes[]): Promise<Bytes> {
    return this.#current.sealer.seal({ flags, stream: this.#config.stream, timestamp: now.wall }, parts);
  }

  async #switchIfDue(now: number, groupBegins: boolean): Promise<void> {
    this.#current = (await this.#leader.switch(now, groupBegins)) ?? this.#current;
  }

  /** Overwrites all secrets. */
  wipe(): void {
    this.#leader.wipe();
  }
}

async function digestOf(records: readonly Bytes[]): Promise<FrameDigest> {
  const hasher = new FrameHasher();
  for (const record of records) {
    hasher.push(await recordHash(record));
  }
  const digest = await hasher.finish();
  if (digest === undefined) {
    throw misuse("a frame has fewer records than 2²⁰");
  }
  return digest;
}

/** Records, each behind its length. */
function framed(records: readonly Bytes[]): Bytes {
  return concat(...records.flatMap((record) => [lengthPrefix(record), record]));
}
