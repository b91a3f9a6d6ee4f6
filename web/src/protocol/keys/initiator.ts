// The handshake of the end that opened the connection.

import { type Bytes, wipe } from "../bytes.ts";
import { type DecapsulationKey, type Mechanism } from "../crypto/mechanism.ts";
import { ProtocolError, misuse } from "../error.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { openClaim, sealClaim, verifyClaim } from "./claim.ts";
import { type Agreed, type HandshakeConfig, type Peer, peerWith } from "./handshake.ts";
import {
  type Hello, RETRY, type Reply, alerted, canBeOffered, finishBytes, helloHead, otherRole, parseReply, parseRetry,
} from "./messages.ts";
import { handshakeResult, handshakeSecret } from "./schedule.ts";
import { Transcript } from "./transcript.ts";
import { type Wish } from "./wish.ts";

/** What an initiator does next: send a second hello, or send the finish and wait for the welcome. */
export interface InitiatorStep {
  readonly send: Bytes;
  readonly agreed?: Agreed;
}

/** Awaits a reply or a retry. An error of `handle` ends the handshake on a byte stream. */
export class Initiator {
  readonly #config: HandshakeConfig;
  readonly #pinned: PeerId;
  #hello: Hello;
  #helloBytes: Bytes;
  #key: DecapsulationKey;
  #afterRetry: Transcript | undefined;

  private constructor(config: HandshakeConfig, pinned: PeerId, hello: Hello, bytes: Bytes, key: DecapsulationKey) {
    this.#config = config;
    this.#pinned = pinned;
    this.#hello = hello;
    this.#helloBytes = bytes;
    this.#key = key;
  }

  /**
   * Begins a handshake.
   *
   * @param pinned the peer id of the ticket
   * @param random 32 fresh random bytes
   * @param guess the mechanism of the first share, such as the one that this responder chose before; else the first
   * @throws ProtocolError `misuse` unless suites and mechanisms are 1 to 8 different ones and `guess` is among them
   */
  static async begin(config: HandshakeConfig, pinned: PeerId, random: Bytes, guess?: number): Promise<Initiator> {
    const suites = config.suites.map((suite) => suite.id);
    const mechanisms = config.mechanisms.map((mechanism) => mechanism.id);
    const guessed = guess === undefined ? config.mechanisms[0] : config.mechanisms.find(({ id }) => id === guess);
    if (guessed === undefined || !canBeOffered(suites) || !canBeOffered(mechanisms)) {
      throw misuse("offer 1 to 8 different suites and mechanisms, and guess one of the latter");
    }
    const key = await guessed.generate();
    const hello: Hello = {
      role: config.role,
      random: random.slice(),
      suites,
      mechanisms,
      shareMechanism: guessed.id,
      share: key.share,
      cookie: new Uint8Array(0),
    };
    const bytes = await config.helloKeys.finish(helloHead(hello));
    return new Initiator(config, pinned, hello, bytes, key);
  }

  /** The hello that is to be sent. */
  get hello(): Bytes {
    return this.#helloBytes;
  }

  /** Processes a message of the responder. @throws ProtocolError with the reason */
  async handle(message: Bytes): Promise<InitiatorStep> {
    const alert = alerted(message);
    if (alert !== undefined) {
      throw alert;
    }
    return message[0] === RETRY ? { send: await this.#retried(message) } : this.#replied(message);
  }

  #offered(id: number): Mechanism {
    const found = this.#config.mechanisms.find((mechanism) => mechanism.id === id);
    if (found === undefined) {
      throw new ProtocolError("not-offered");
    }
    return found;
  }

  async #retried(message: Bytes): Promise<Bytes> {
    const retry = parseRetry(message);
    if (this.#afterRetry !== undefined) {
      throw new ProtocolError("retry");
    }
    const mechanism = this.#offered(retry.mechanism);
    if (retry.mechanism === this.#hello.shareMechanism && retry.cookie.length === 0) {
      // It asks for nothing new.
      throw new ProtocolError("retry");
    }
    this.#key = await mechanism.generate();
    this.#afterRetry = await Transcript.withRetry(this.#helloBytes, message);
    const { share } = this.#key;
    this.#hello = { ...this.#hello, shareMechanism: mechanism.id, share, cookie: retry.cookie.slice() };
    this.#helloBytes = await this.#config.helloKeys.finish(helloHead(this.#hello));
    return this.#helloBytes;
  }

  async #replied(message: Bytes): Promise<InitiatorStep> {
    const { reply, head } = parseReply(message);
    if (reply.role !== otherRole(this.#config.role)) {
      throw new ProtocolError("role");
    }
    const suite = this.#config.suites.find(({ id }) => id === reply.suite);
    if (suite === undefined || reply.mechanism !== this.#hello.shareMechanism) {
      throw new ProtocolError("not-offered");
    }
    const mechanism = this.#offered(reply.mechanism);
    const shared = await this.#key.decapsulate(reply.ciphertext);
    const used = await this.#config.helloKeys.own();
    const hs = await handshakeSecret(used.psk, shared);
    wipe(shared);
    const transcript = (this.#afterRetry ?? new Transcript()).with(this.#helloBytes);
    const wish = await this.#verifyResponder(hs, await transcript.with(head).hash(), reply);
    const peer: Peer = peerWith(this.#pinned, used, wish);
    const replied = transcript.with(message);
    const finish = finishBytes(await sealClaim("finish", this.#config, hs, await replied.hash()));
    const result = await handshakeResult(hs, await replied.with(finish).hash());
    wipe(hs);
    return { send: finish, agreed: { ...result, peer, suite, mechanism } };
  }

  async #verifyResponder(hs: Bytes, th1: Bytes, reply: Reply): Promise<Wish | undefined> {
    const claim = await openClaim("reply", hs, th1, reply.sealed);
    // The pinned id is a peer id, so one that equals it is.
    if (!this.#pinned.bytes.every((byte, at) => byte === claim.identity[at])) {
      throw new ProtocolError("wrong-peer");
    }
    if (this.#pinned.equals(this.#config.identity.peerId)) {
      throw new ProtocolError("own-identity");
    }
    return verifyClaim(claim, "reply", reply.role, th1, this.#pinned);
  }
}
