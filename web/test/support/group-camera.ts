// A camera that leads a group: it draws all secrets anew with each epoch, which costs bytes and no thought.

import { type Bytes, ascii, concat } from "../../src/protocol/bytes.ts";
import { aesKey, aesSeal, expandLabel } from "../../src/protocol/crypto/primitives.ts";
import { ROOT, above, parentOf } from "../../src/protocol/group/node.ts";
import { type Group, type GroupName, NodeSecret, soundOf } from "../../src/protocol/group/secret.ts";
import { type Scope, signedSheet } from "../../src/protocol/group/sheet.ts";
import { type Stated, termsBytes } from "../../src/protocol/group/terms.ts";
import { wireNumber } from "../../src/protocol/keys/epoch.ts";
import { type Identity, identityFromSeed } from "../../src/protocol/keys/identity.ts";
import { challengeLeaf, nameOf } from "../../src/protocol/live/answer.ts";
import { Sealer, WIDEST_LIMITS } from "../../src/protocol/seal/sealer.ts";
import { AES_256_GCM } from "../../src/protocol/seal/suite.ts";
import { FrameHasher, recordHash } from "../../src/protocol/sign/digest.ts";
import { type Statement, checkOf, proofBytes, signedStatement } from "../../src/protocol/sign/statement.ts";
import { infoBytes } from "../../src/protocol/unit/info.ts";
import { type Preamble, preambleBytes } from "../../src/protocol/unit/preamble.ts";
import { SOUND_STREAM, soundInfoBytes } from "../../src/protocol/unit/sound-info.ts";
import { unitHeaderBytes } from "../../src/protocol/unit/unit-header.ts";
import { CONFIG_FLAGS, Flag, Kind, frameFlags } from "../../src/protocol/wire/header.ts";
import { Writer } from "../../src/protocol/wire/writer.ts";
import { assert } from "./harness.ts";

export const GROUP_STREAM = 1;
const SCOPES: readonly Scope[] = ["full", "update", "path"];

/** The picture with this number. */
export function picture(number: number): Bytes {
  return new Uint8Array(3_000).map((_, at) => (at ^ number) & 0xff);
}

/** The packet of sound with this number. */
export function soundPacket(number: number): Bytes {
  return new Uint8Array(160).map((_, at) => (at ^ number) & 0xff);
}

const SOUND = {
  codec: "ulaw", channels: 1, samplesPerSecond: 8_000, samplesPerFrame: 160, parameters: new Uint8Array(0),
} as const;

function stamps(number: number): Preamble {
  return {
    frame: BigInt(number), mediaTime: BigInt(number) * 40_000_000n, captured: 1n, encoded: 2n, previousSeal: 0,
    previousSend: 0, capture: 0, padding: 0, stamp: "arrival", layout: "source", kept: false,
  };
}

/** How a frame differs from the usual one. */
export interface FrameOptions {
  /** Signs in the place of the camera. */
  readonly signer?: Identity;
  /** The root of its statement. */
  readonly liveness?: Bytes;
  /** False: its proof has no signature. */
  readonly signed?: boolean;
}

/** The camera. */
export class GroupCamera {
  readonly identity: Identity;
  readonly name: GroupName;
  readonly #group: Group;
  /** Secrets that members share with the camera, by leaf. */
  readonly #members = new Map<number, Bytes>();
  /** Secrets of the present epoch by node, leaves included. */
  #secrets = new Map<number, Bytes>();
  #sealer: Sealer | undefined;
  #soundSealer: Sealer | undefined;
  /** The epoch that the secrets are of. */
  #announced = 0n;
  epoch = 100n;
  /** Numbers of the group of pictures under way, of the next frame in it, and of the next frame. */
  group = 1_000n;
  index = 0;
  frames = 0;
  /** Number of the next packet of sound, and of the packets in the group of pictures under way. */
  sounds = 0;
  soundIndex = 0;
  /** True while a member's media may be lost: records have unit headers, whoever gets them. */
  packets = false;
  /** True while frames and descriptions are left in clear. */
  clear = false;
  #packet = 0;
  /** Statements so far. */
  readonly statements: Statement[] = [];

  private constructor(identity: Identity, run: number) {
    this.identity = identity;
    this.name = { camera: identity.peerId, stream: GROUP_STREAM };
    this.#group = { ...this.name, run: new Uint8Array(16).fill(run) };
  }

  static async create(identity?: Identity, run = 9): Promise<GroupCamera> {
    return new GroupCamera(identity ?? (await identityFromSeed(new Uint8Array(32).fill(7))), run);
  }

  /** The terms of the run, which state this of it. */
  terms(stated: Partial<Stated> = {}): Promise<Bytes> {
    return termsBytes(this.#group, { sign: "frame", suite: AES_256_GCM.id, name: "", ...stated }, this.identity);
  }

  /** Seats a viewer that shares these 32 bytes with the camera, from the next epoch on. Returns its leaf. */
  admit(shared: Bytes): number {
    const leaf = this.#members.size === 0 ? 0 : Math.max(...this.#members.keys()) + 1;
    this.#members.set(leaf, shared);
    return leaf;
  }

  remove(leaf: number): void {
    this.#members.delete(leaf);
  }

  /** Begins an epoch, under which the next frame is sealed. */
  async announce(): Promise<void> {
    this.epoch += 1n;
    this.#announced = this.epoch;
    this.#secrets = new Map();
    for (const [leaf, shared] of this.#members) {
      const context = new Writer().bytes(this.name.camera.bytes).u32(GROUP_STREAM).done();
      this.#secrets.set(leaf, await expandLabel(shared, "group member", context, 32));
      for (const node of above(leaf)) {
        this.#secrets.set(node, this.#secrets.get(node) ?? crypto.getRandomValues(new Uint8Array(32)));
      }
    }
    const root = this.#secrets.get(ROOT) ?? crypto.getRandomValues(new Uint8Array(32));
    await this.#seal(new NodeSecret(root.slice()), this.epoch);
  }

  /** The next epoch comes of the ratchet: nobody is told anything. */
  async ratchet(): Promise<void> {
    const root = new NodeSecret((this.#secrets.get(ROOT) ?? new Uint8Array(32)).slice());
    this.epoch += 1n;
    await this.#seal(await root.ratcheted(this.#group, ROOT, this.#announced, this.epoch), this.epoch);
  }

  async #seal(secret: NodeSecret, epoch: bigint): Promise<void> {
    const sealer = async (group: Group): Promise<Sealer> => {
      const { key, base } = await secret.media(group, epoch, AES_256_GCM);
      return new Sealer(key, base, Kind.Media, wireNumber(epoch), WIDEST_LIMITS);
    };
    this.#sealer = await sealer(this.#group);
    this.#soundSealer = await sealer(soundOf(this.#group));
  }

  /** The sheet of the present epoch for all members, or the path of one. It takes effect with the next group. */
  async sheet(leaf?: number, effect = this.group + 1n): Promise<Bytes> {
    const inPath = leaf === undefined ? undefined : new Set([leaf, ...above(leaf)]);
    const nodes = [...this.#secrets.keys()].filter((node) => node !== ROOT && inPath?.has(node) !== false);
    nodes.sort((a, b) => a - b);
    const out = new Writer()
      .u8(0x20).u8(1).u8(SCOPES.indexOf(leaf === undefined ? "full" : "path") + 1).u8(AES_256_GCM.id)
      .u32(GROUP_STREAM).bytes(this.name.camera.bytes).bytes(this.#group.run).u64(this.epoch).u64(effect)
      .u16(nodes.length);
    for (const node of nodes) {
      out.u32(node).bytes(await this.#wrap(node));
    }
    const unsigned = out.done().slice();
    return concat(unsigned, await this.identity.sign(await signedSheet(unsigned)));
  }

  async #wrap(node: number): Promise<Bytes> {
    const { camera, stream, run } = this.#group;
    const context = new Writer().bytes(camera.bytes).u32(stream).bytes(run).done();
    const secret = this.#secrets.get(node) ?? new Uint8Array(32);
    const key = await aesKey(await expandLabel(secret, "group wrap", context, 32));
    const nonce = new Writer().u64(this.epoch).u32(node).done();
    return aesSeal(key, nonce, new Uint8Array(0), this.#secrets.get(parentOf(node)) ?? new Uint8Array(32));
  }

  /** The records of the next frame: its description if it is a keyframe, the frame, its proof. */
  async frame(keyframe: boolean, options: FrameOptions = {}): Promise<Bytes[]> {
    const [number, data] = [this.frames, picture(this.frames)];
    this.frames += 1;
    this.group += keyframe ? 1n : 0n;
    this.index = keyframe ? 0 : this.index + 1;
    this.soundIndex = keyframe ? 0 : this.soundIndex;
    const info = infoBytes({
      codec: "mjpeg", width: 64, height: 48, rate: { numerator: 25, denominator: 1 }, parameters: new Uint8Array(0),
    });
    const records = [
      ...(keyframe ? await this.#description(info) : []),
      await this.#record(this.#selected(frameFlags(keyframe, true, true)), concat(preambleBytes(stamps(number)), data)),
    ];
    const proof = await this.#proof(records, number, options);
    return [...records, await this.#record(Flag.Signed | (keyframe ? Flag.Keyframe : 0), proof)];
  }

  /** The records of the next packet of sound: its description if it is the first of its group, itself, its proof. */
  async sound(options: FrameOptions = {}): Promise<Bytes[]> {
    const [number, begins] = [this.sounds, this.soundIndex === 0];
    const seal = async (flags: number, payload: Bytes): Promise<Bytes> => {
      assert(this.#soundSealer !== undefined, "an epoch was announced");
      return this.#soundSealer.seal({ flags, stream: SOUND_STREAM, timestamp: 5n }, [payload]);
    };
    const frame = concat(preambleBytes(stamps(number)), soundPacket(number));
    const records = [
      ...(begins ? [await seal(CONFIG_FLAGS, soundInfoBytes(SOUND))] : []),
      await seal(frameFlags(true, true, true), frame),
    ];
    const { group, soundIndex: index } = this;
    const proof = await this.#proof(records, number, options, { stream: SOUND_STREAM, group, index });
    this.sounds += 1;
    this.soundIndex += 1;
    return [...records, await seal(Flag.Signed | (begins ? Flag.Keyframe : 0), proof)];
  }

  #selected(flags: number): number {
    return this.clear ? flags & ~Flag.Encrypted : flags;
  }

  /** A description, cut in two where members get packets. */
  async #description(info: Bytes): Promise<Bytes[]> {
    if (!this.packets) {
      return [await this.#record(this.#selected(CONFIG_FLAGS), info)];
    }
    const [head, tail, flags] = [info.slice(0, 3), info.slice(3), this.#selected(CONFIG_FLAGS)];
    return [await this.#record(flags, head, 0, 2), await this.#record(flags, tail, 1, 2)];
  }

  async #record(flags: number, payload: Bytes, index = 0, sources = 1): Promise<Bytes> {
    if (!this.packets) {
      return this.sealed(flags, payload);
    }
    const unit = unitHeaderBytes({ number: this.#packet, index, sources, repairs: 0 });
    this.#packet += 1;
    return this.sealed(flags | Flag.Unit, concat(unit, payload));
  }

  /** A record of any flags and payload, under the group's key. */
  async sealed(flags: number, payload: Bytes): Promise<Bytes> {
    const sealer = this.#sealer;
    assert(sealer !== undefined, "an epoch was announced");
    return sealer.seal({ flags, stream: GROUP_STREAM, timestamp: 5n }, [payload]);
  }

  async #proof(
    records: readonly Bytes[], frame: number, { signer, liveness, signed }: FrameOptions,
    { stream, group, index } = { stream: GROUP_STREAM, group: this.group, index: this.index },
  ): Promise<Bytes> {
    const hasher = new FrameHasher();
    for (const record of records) {
      hasher.push(await recordHash(record));
    }
    const digest = await hasher.finish();
    if (digest === undefined) {
      throw new Error("a frame has records");
    }
    const { epoch } = this;
    const claims = { index, epoch, group, frame: BigInt(frame), ...(liveness && { liveness }) };
    const statement = { ...claims, stream, digest };
    this.statements.push(statement);
    const signature = signed === false ? undefined : await (signer ?? this.identity).sign(signedStatement(statement));
    return proofBytes({ ...claims, records: digest.records, check: checkOf(digest), ...(signature && { signature }) });
  }
}

/** The root over one challenge, and the answer that leads to it. */
export async function answerTo(challenge: Bytes): Promise<{ root: Bytes; answer: Bytes }> {
  return {
    root: await challengeLeaf(challenge),
    answer: new Writer().u8(1).bytes(nameOf(challenge)).u16(1).u16(0).done(),
  };
}

/** A certificate for an ML-DSA key, by a camera's identity. */
export async function certify(identity: Identity, key: Bytes): Promise<Bytes> {
  return concat(Uint8Array.of(1), key, await identity.sign(concat(ascii("sealcast2 gop key\0"), key)));
}
