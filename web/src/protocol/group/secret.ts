// The secrets of a group and what is derived from them (groups.md, sections 3 to 5).

import { type Bytes, concat, equalSecret, wipe } from "../bytes.ts";
import { HASH_LEN, aesKey, aesOpen, aesSeal, expandLabel, hmacKey } from "../crypto/primitives.ts";
import { BASE_LEN, wireNumber } from "../keys/epoch.ts";
import { Opener } from "../seal/opener.ts";
import { type SealLimits, Sealer } from "../seal/sealer.ts";
import { type Suite } from "../seal/suite.ts";
import { PICTURE_STREAM, SOUND_STREAM } from "../unit/sound-info.ts";
import { Kind } from "../wire/header.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { Writer } from "../wire/writer.ts";

/** Bytes of a wrapped secret: the secret and the tag. */
export const WRAPPED_LEN = HASH_LEN + 16;
const EMPTY = new Uint8Array(0);

/** What a group is called: one stream of one camera, which leads it. */
export interface GroupName {
  readonly camera: PeerId;
  /** 1 to 15. */
  readonly stream: number;
}

/** True if records of this stream are the group's sound: that of a camera's picture. */
export function hasSound(group: GroupName, stream: number): boolean {
  return group.stream === PICTURE_STREAM && stream === SOUND_STREAM;
}

/** A group in one run of its leader. It enters every derivation. */
export interface Group extends GroupName {
  /** 16 random bytes. */
  readonly run: Bytes;
}

/** The name under which the keys of the sound's records are derived, from the same group secrets. */
export function soundOf(group: Group): Group {
  return { ...group, stream: SOUND_STREAM };
}

/** `group` of section 3. */
function groupBytes({ camera, stream, run }: Group): Bytes {
  return new Writer().bytes(camera.bytes).u32(stream).bytes(run).done();
}

/** A node in an epoch: the nonce of its wrap, and the end of a context. */
function place(epoch: bigint, node: number): Bytes {
  return new Writer().u64(epoch).u32(node).done();
}

/** Makes and opens the wraps for who knows a node's secret. */
export class WrapKey {
  readonly #key: CryptoKey;

  constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** The secret of the node's parent, or `undefined` if the wrap is not for this key. */
  async unwrap(epoch: bigint, node: number, wrapped: Bytes): Promise<NodeSecret | undefined> {
    const secret = await aesOpen(this.#key, place(epoch, node), EMPTY, wrapped);
    return secret && new NodeSecret(secret);
  }

  /** The wrap of a node whose parent has these secret bytes. */
  wrap(epoch: bigint, node: number, parent: Bytes): Promise<Bytes> {
    return aesSeal(this.#key, place(epoch, node), EMPTY, parent);
  }
}

/**
 * What an enrolment leaves with a camera for its group: the secret of which the viewer's member key is made. WebCrypto
 * holds it so that it cannot be read back, and IndexedDB can keep it.
 */
export class EnrolledSecret {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** Of the 32 bytes of an enrolment, which stay the caller's. */
  static async fromBytes(enrolment: Bytes): Promise<EnrolledSecret> {
    return new EnrolledSecret(await hmacKey(enrolment));
  }

  /** What was taken out with `stored`. */
  static restore(stored: CryptoKey): EnrolledSecret {
    return new EnrolledSecret(stored);
  }

  /** The key as IndexedDB keeps it: it cannot be read. */
  get stored(): CryptoKey {
    return this.#key;
  }

  /** The viewer's member key. */
  memberKey(group: GroupName): Promise<NodeSecret> {
    return NodeSecret.ofMember(this.#key, group);
  }
}

/** The secret of a node in one epoch, or a member's own, which stands at its leaf. */
export class NodeSecret {
  readonly #bytes: Bytes;

  /** @param bytes 32 secret bytes, which this takes over */
  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  /**
   * The member key: what a viewer and the camera share for one group.
   * @param shared 32 bytes that only the two know: the enrolment, or the exporter of their session
   */
  static async ofMember(shared: Bytes | CryptoKey, { camera, stream }: GroupName): Promise<NodeSecret> {
    const context = new Writer().bytes(camera.bytes).u32(stream).done();
    return new NodeSecret(await expandLabel(shared, "group member", context, HASH_LEN));
  }

  /** The secret of a node that is drawn anew, from a seed of 32 random bytes that no other epoch has. */
  static async fresh(seed: Bytes, group: Group, epoch: bigint, node: number): Promise<NodeSecret> {
    const context = concat(groupBytes(group), place(epoch, node));
    return new NodeSecret(await expandLabel(seed, "group node", context, HASH_LEN));
  }

  /** This secret, which is that of the node's parent, for who has the node's key. */
  wrappedFor(key: WrapKey, epoch: bigint, node: number): Promise<Bytes> {
    return key.wrap(epoch, node, this.#bytes);
  }

  /** The secret of this node so many steps of the ratchet later; a copy for none. */
  async ratcheted(group: Group, node: number, from: bigint, to: bigint): Promise<NodeSecret> {
    let bytes = this.#bytes.slice();
    for (let epoch = from + 1n; epoch <= to; epoch += 1n) {
      const context = concat(groupBytes(group), place(epoch, node));
      const next = await expandLabel(bytes, "group ratchet", context, HASH_LEN);
      wipe(bytes);
      bytes = next;
    }
    return new NodeSecret(bytes);
  }

  /** The key of the wraps that are made for who knows this secret. */
  async wrapKey(group: Group): Promise<WrapKey> {
    const bytes = await expandLabel(this.#bytes, "group wrap", groupBytes(group), HASH_LEN);
    const key = await aesKey(bytes);
    wipe(bytes);
    return new WrapKey(key);
  }

  /** Of a group secret: key and base of the media records of its epoch. */
  async media(group: Group, epoch: bigint, suite: Suite): Promise<{ key: CryptoKey; base: Bytes }> {
    const context = new Writer().u8(suite.id).bytes(groupBytes(group)).u64(epoch).done();
    const bytes = await expandLabel(this.#bytes, "group media key", context, suite.keyLength);
    const key = await aesKey(bytes);
    wipe(bytes);
    return { key, base: await expandLabel(this.#bytes, "group media base", context, BASE_LEN) };
  }

  /** Of a group secret: the opener of its epoch. */
  async opener(group: Group, epoch: bigint, suite: Suite): Promise<Opener> {
    const { key, base } = await this.media(group, epoch, suite);
    return new Opener(key, base);
  }

  /** Of a group secret: the sealer of its epoch. Callers make one for each epoch, or a nonce would be used twice. */
  async sealer(group: Group, epoch: bigint, suite: Suite, limits: SealLimits): Promise<Sealer> {
    const { key, base } = await this.media(group, epoch, suite);
    return new Sealer(key, base, Kind.Media, wireNumber(epoch), limits);
  }

  equals(other: NodeSecret): boolean {
    return equalSecret(this.#bytes, other.#bytes);
  }

  wipe(): void {
    wipe(this.#bytes);
  }
}
