// Pre-shared keys, and the MACs at the end of a hello (keys.md, section 4).

import { type Bytes, ascii, concat, equalSecret, wipe } from "../bytes.ts";
import { expandInfo, expandLabel, extract, hmac, sha256, subtle } from "../crypto/primitives.ts";
import { misuse } from "../error.ts";
import { type Invite } from "../wire/invite.ts";
import { type PeerId } from "../wire/peer-id.ts";

/** Bytes of a pre-shared key. */
export const PSK_LEN = 32;
/** Pre-shared keys that a responder knows at most. */
export const MAX_PSKS = 128;
/** Bytes of a hello's MAC, and of its binder. */
export const MAC_LEN = 16;
/** Bytes of a pre-shared key's public name. */
const NAME_LEN = 8;

const EMPTY = new Uint8Array(0);
const EARLY_SALT = ascii("sealcast2 early");

/**
 * A pre-shared key: that of an invite, or the one kept from an enrolment. WebCrypto holds it as a base key of HKDF that
 * cannot be read back, so it can be kept in IndexedDB too.
 */
export class PresharedKey {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** The key with these 32 bytes, which are wiped. */
  static async fromBytes(bytes: Bytes): Promise<PresharedKey> {
    if (bytes.length !== PSK_LEN) {
      throw misuse("a pre-shared key has 32 bytes");
    }
    const key = await subtle().importKey("raw", bytes, "HKDF", false, ["deriveBits"]);
    wipe(bytes);
    return new PresharedKey(key);
  }

  /** The key of an invite. */
  static async fromInvite(invite: Invite): Promise<PresharedKey> {
    const bytes = invite.revealBytes();
    const secret = await extract(ascii("sealcast2 invite"), bytes);
    const psk = await expandLabel(secret, "psk", EMPTY, PSK_LEN);
    wipe(bytes, secret);
    return PresharedKey.fromBytes(psk);
  }

  /** The key of 32 zero bytes, which stands for none. */
  static none(): Promise<PresharedKey> {
    return PresharedKey.fromBytes(new Uint8Array(PSK_LEN));
  }

  /** The key that was taken out with `stored`. */
  static restore(stored: CryptoKey): PresharedKey {
    return new PresharedKey(stored);
  }

  /** The key as IndexedDB keeps it: it cannot be read. */
  get stored(): CryptoKey {
    return this.#key;
  }

  /** `EL(early, label, context, length)`, where `early` is this key's. */
  async derive(label: string, context: Bytes, length: number): Promise<Bytes> {
    const info = expandInfo(label, context, length);
    const algorithm = { name: "HKDF", hash: "SHA-256", salt: EARLY_SALT, info };
    return new Uint8Array(await subtle().deriveBits(algorithm, this.#key, length * 8));
  }

  /** The key's name, which is public, for lists and logs. */
  name(): Promise<Bytes> {
    return this.derive("name", EMPTY, NAME_LEN);
  }
}

interface KnownKey {
  readonly psk: PresharedKey;
  readonly binderKey: Bytes;
}

/** Which pre-shared key a hello used, and its name; the name is absent where the hello used none. */
export interface UsedKey {
  readonly psk: PresharedKey;
  readonly name?: Bytes;
}

/** What makes and checks the last 32 bytes of hellos to one responder. */
export class HelloKeys {
  readonly #macKey: Bytes;
  readonly #known: readonly KnownKey[];
  readonly #none: PresharedKey;

  private constructor(macKey: Bytes, known: readonly KnownKey[], none: PresharedKey) {
    this.#macKey = macKey;
    this.#known = known;
    this.#none = none;
  }

  /**
   * @param responder whom the hellos address
   * @param psks an initiator's only one, if it has one; all that a responder knows, at most 128
   */
  static async create(responder: PeerId, psks: readonly PresharedKey[]): Promise<HelloKeys> {
    if (psks.length > MAX_PSKS) {
      throw misuse("a responder knows at most 128 pre-shared keys");
    }
    const secret = await extract(ascii("sealcast2 mac"), responder.bytes);
    const macKey = await expandLabel(secret, "mac", EMPTY, PSK_LEN);
    const known: KnownKey[] = [];
    for (const psk of psks) {
      known.push({ psk, binderKey: await psk.derive("binder", responder.bytes, PSK_LEN) });
    }
    return new HelloKeys(macKey, known, await PresharedKey.none());
  }

  /** The key of an initiator: its only one, or none. */
  async own(): Promise<UsedKey> {
    return this.#used(this.#known[0]?.psk);
  }

  async #used(psk: PresharedKey | undefined): Promise<UsedKey> {
    return psk === undefined ? { psk: this.#none } : { psk, name: await psk.name() };
  }

  /** The hello that begins with `head`: binder and MAC are added. */
  async finish(head: Bytes): Promise<Bytes> {
    const first = this.#known[0];
    const binder = first ? await this.#binder(first, await sha256(head)) : new Uint8Array(MAC_LEN);
    const bound = concat(head, binder);
    return concat(bound, await this.#mac(bound));
  }

  async #mac(bytes: Bytes): Promise<Bytes> {
    return (await hmac(this.#macKey, bytes)).subarray(0, MAC_LEN);
  }

  async #binder(known: KnownKey, headHash: Bytes): Promise<Bytes> {
    return (await hmac(known.binderKey, headHash)).subarray(0, MAC_LEN);
  }

  /** True if the last 16 bytes are the MAC of what is before them, whatever that is. */
  async verifies(message: Bytes): Promise<boolean> {
    const at = message.length - MAC_LEN;
    return at >= 0 && equalSecret(await this.#mac(message.subarray(0, at)), message.subarray(at));
  }

  /** The pre-shared key whose binder this is, or `undefined`. All keys are tried, whichever fits. */
  async find(head: Bytes, binder: Bytes): Promise<UsedKey | undefined> {
    if (equalSecret(binder, new Uint8Array(MAC_LEN))) {
      return this.#used(undefined);
    }
    const hash = await sha256(head);
    let found: KnownKey | undefined;
    for (const known of this.#known) {
      const fits = equalSecret(await this.#binder(known, hash), binder);
      found = fits ? known : found;
    }
    return found && this.#used(found.psk);
  }
}
