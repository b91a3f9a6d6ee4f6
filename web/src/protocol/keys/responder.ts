// The handshake of the end that accepted the connection.

import { type Bytes, equal, wipe } from "../bytes.ts";
import { type Mechanism } from "../crypto/mechanism.ts";
import { ProtocolError, misuse } from "../error.ts";
import { type Suite } from "../seal/suite.ts";
import { PeerId } from "../wire/peer-id.ts";
import { openClaim, sealClaim, verifyClaim } from "./claim.ts";
import { type Agreed, type HandshakeConfig, peerWith } from "./handshake.ts";
import {
  type Hello, MAX_COOKIE, type Retry, alerted, otherRole, parseFinish, parseHello, replyBytes, replyHead, retryBytes,
} from "./messages.ts";
import { type UsedKey } from "./psk.ts";
import { handshakeResult, handshakeSecret } from "./schedule.ts";
import { Transcript } from "./transcript.ts";

/** What a responder does next: send a message, or decide whether to admit the peer. */
export type ResponderStep = { readonly send: Bytes } | { readonly agreed: Agreed };

interface AfterReply {
  readonly hs: Bytes;
  readonly used: UsedKey;
  readonly transcript: Transcript;
  readonly suite: Suite;
  readonly mechanism: Mechanism;
}

type State =
  | { readonly name: "ExpectHello" }
  | {
      readonly name: "ExpectSecondHello";
      readonly first: Hello;
      readonly used: UsedKey;
      readonly retry: Retry;
      readonly transcript: Transcript;
    }
  | ({ readonly name: "ExpectFinish" } & AfterReply)
  | { readonly name: "Over" };

/** A hello that was accepted, and the pre-shared key that it uses. */
interface Accepted {
  readonly hello: Hello;
  readonly used: UsedKey;
}

/** Awaits hellos and a finish. An error of `handle` ends the handshake on a byte stream. */
export class Responder {
  readonly #config: HandshakeConfig;
  readonly #random: Bytes;
  readonly #cookie: Bytes;
  #state: State = { name: "ExpectHello" };

  /**
   * @param random 32 fresh random bytes
   * @param cookie at most 64 bytes that the peer must return before any public-key work is done for it; empty for none
   */
  constructor(config: HandshakeConfig, random: Bytes, cookie: Bytes = new Uint8Array(0)) {
    if (cookie.length > MAX_COOKIE) {
      throw misuse("a cookie has at most 64 bytes");
    }
    this.#config = config;
    this.#random = random.slice();
    this.#cookie = cookie.slice();
  }

  /** True until a hello was accepted: up to then nothing is answered to who cannot address this end. */
  get expectsHello(): boolean {
    return this.#state.name === "ExpectHello";
  }

  /** Processes a message of the initiator. @throws ProtocolError with the reason */
  async handle(message: Bytes): Promise<ResponderStep> {
    const alert = alerted(message);
    if (alert !== undefined && this.#state.name !== "ExpectHello") {
      throw alert;
    }
    switch (this.#state.name) {
      case "ExpectHello":
        return { send: await this.#firstHello(message) };
      case "ExpectSecondHello":
        return { send: await this.#secondHello(message, this.#state) };
      case "ExpectFinish":
        return { agreed: await this.#finished(message, this.#state) };
      case "Over":
        throw misuse("the handshake is over");
    }
  }

  async #accept(message: Bytes, first: boolean): Promise<Accepted> {
    if (!(await this.#config.helloKeys.verifies(message))) {
      throw new ProtocolError("mac");
    }
    const { hello, head, binder } = parseHello(message, first, otherRole(this.#config.role));
    const used = await this.#config.helloKeys.find(head, binder);
    if (used === undefined) {
      throw new ProtocolError("psk");
    }
    // The message is the caller's buffer; what outlives this call is copied.
    const [random, share, cookie] = [hello.random.slice(), hello.share.slice(), hello.cookie.slice()];
    return { hello: { ...hello, random, share, cookie }, used };
  }

  #suiteFor(hello: Hello): Suite {
    const suite = this.#config.suites.find(({ id }) => hello.suites.includes(id));
    if (suite === undefined) {
      throw new ProtocolError("no-common-suite");
    }
    return suite;
  }

  async #firstHello(message: Bytes): Promise<Bytes> {
    const { hello, used } = await this.#accept(message, true);
    this.#suiteFor(hello);
    const mechanism = this.#config.mechanisms.find(({ id }) => hello.mechanisms.includes(id));
    if (mechanism === undefined) {
      throw new ProtocolError("no-common-mechanism");
    }
    if (mechanism.id === hello.shareMechanism && this.#cookie.length === 0) {
      return this.#reply({ hello, used }, message, new Transcript(), mechanism);
    }
    const retry = { mechanism: mechanism.id, cookie: this.#cookie };
    const bytes = retryBytes(retry);
    const transcript = await Transcript.withRetry(message, bytes);
    this.#state = { name: "ExpectSecondHello", first: hello, used, retry, transcript };
    return bytes;
  }

  async #secondHello(message: Bytes, state: Extract<State, { name: "ExpectSecondHello" }>): Promise<Bytes> {
    const accepted = await this.#accept(message, false);
    const { hello, used } = accepted;
    const { first, retry } = state;
    const same =
      equal(first.random, hello.random) &&
      sameIds(first.suites, hello.suites) &&
      sameIds(first.mechanisms, hello.mechanisms);
    const obeys = hello.shareMechanism === retry.mechanism && equal(hello.cookie, retry.cookie);
    const mechanism = this.#config.mechanisms.find(({ id }) => id === retry.mechanism);
    if (!same || !obeys || used.psk !== state.used.psk || mechanism === undefined) {
      throw new ProtocolError("retry");
    }
    return this.#reply(accepted, message, state.transcript, mechanism);
  }

  async #reply(accepted: Accepted, message: Bytes, before: Transcript, mechanism: Mechanism): Promise<Bytes> {
    const { hello, used } = accepted;
    const { role } = this.#config;
    const suite = this.#suiteFor(hello);
    const { ciphertext, secret } = await mechanism.encapsulate(hello.share);
    const hs = await handshakeSecret(used.psk, secret);
    wipe(secret);
    const head = replyHead({ role, random: this.#random, suite: suite.id, mechanism: mechanism.id, ciphertext });
    const transcript = before.with(message);
    const th1 = await transcript.with(head).hash();
    const reply = replyBytes(head, await sealClaim("reply", this.#config, hs, th1));
    this.#state = { name: "ExpectFinish", hs, used, transcript: transcript.with(reply), suite, mechanism };
    return reply;
  }

  async #finished(message: Bytes, state: AfterReply): Promise<Agreed> {
    const sealed = parseFinish(message);
    const th2 = await state.transcript.hash();
    const claim = await openClaim("finish", state.hs, th2, sealed);
    const id = PeerId.fromBytes(claim.identity);
    if (id === undefined) {
      throw new ProtocolError("identity");
    }
    if (id.equals(this.#config.identity.peerId)) {
      throw new ProtocolError("own-identity");
    }
    const wish = await verifyClaim(claim, "finish", otherRole(this.#config.role), th2, id);
    const result = await handshakeResult(state.hs, await state.transcript.with(message).hash());
    wipe(state.hs);
    this.#state = { name: "Over" };
    return { ...result, peer: peerWith(id, state.used, wish), suite: state.suite, mechanism: state.mechanism };
  }
}

function sameIds(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, at) => id === b[at]);
}
