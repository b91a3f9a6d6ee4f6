// Two sessions that talk to each other in memory, on a clock of their own.

import { type Bytes, concat } from "../../src/protocol/bytes.ts";
import { type Now } from "../../src/protocol/clock/now.ts";
import { type Mechanism } from "../../src/protocol/crypto/mechanism.ts";
import { DEFAULT_SUITES } from "../../src/protocol/crypto/policy.ts";
import { X25519 } from "../../src/protocol/crypto/curves.ts";
import { type Identity, identityFromSeed } from "../../src/protocol/keys/identity.ts";
import { type Role } from "../../src/protocol/keys/messages.ts";
import { HelloKeys, type PresharedKey } from "../../src/protocol/keys/psk.ts";
import { type Suite } from "../../src/protocol/seal/suite.ts";
import { type SessionConfig } from "../../src/protocol/session/config.ts";
import { type Output, type SessionEvent } from "../../src/protocol/session/output.ts";
import { type OutgoingFrame, Session } from "../../src/protocol/session/session.ts";
import { type Media } from "../../src/protocol/unit/assemble.ts";
import { MessageReader, lengthPrefix } from "../../src/protocol/wire/framing.ts";
import { assert } from "./harness.ts";

/** Rounds of messages in which a pair must have said all that it has to say. */
const MAX_ROUNDS = 10_000;

/** One end, and all that came out of it. */
export interface End {
  readonly session: Session;
  readonly events: SessionEvent[];
  readonly media: Media[];
  /** Messages that this end sent, as they left. */
  readonly sent: Bytes[];
  readonly reader: MessageReader;
}

/** How a pair differs from the usual one. */
export interface PairOptions {
  readonly suites?: readonly Suite[];
  readonly mechanisms?: readonly Mechanism[];
  /** The initiator's, if others than the responder's. */
  readonly offers?: readonly Mechanism[];
  readonly initiatorRole?: Role;
  readonly psk?: PresharedKey;
  readonly publisher?: Partial<SessionConfig>;
  /** Changes a message on the way; `undefined` removes it. */
  readonly tamper?: (message: Bytes, from: "initiator" | "responder", index: number) => Bytes | undefined;
}

/** An initiator and a responder. */
export class Pair {
  readonly initiator: End;
  readonly responder: End;
  readonly #options: PairOptions;
  #now = 1_000;

  private constructor(initiator: End, responder: End, options: PairOptions) {
    this.initiator = initiator;
    this.responder = responder;
    this.#options = options;
  }

  /** Begins a handshake; `run` goes on with it. */
  static async begin(options: PairOptions = {}): Promise<Pair> {
    const [own, other] = [await identity(1), await identity(2)];
    const role = options.initiatorRole ?? "viewer";
    const psks = options.psk === undefined ? [] : [options.psk];
    const make = async (of: Identity, ofRole: Role): Promise<SessionConfig["handshake"]> => ({
      role: ofRole,
      identity: of,
      helloKeys: await HelloKeys.create(other.peerId, psks),
      suites: options.suites ?? DEFAULT_SUITES,
      mechanisms: options.mechanisms ?? [X25519],
    });
    const begun: Now = { monotonic: 0, wall: 1_790_000_000_000_000_000n };
    const leader = (ofRole: Role): Partial<SessionConfig> => (ofRole === "publisher" ? (options.publisher ?? {}) : {});
    const peerRole = role === "viewer" ? "publisher" : "viewer";
    const offers = options.offers ?? options.mechanisms ?? [X25519];
    const initiating = { ...(await make(own, role)), mechanisms: offers };
    const initiator = await Session.initiate(
      { ...leader(role), handshake: initiating, side: "initiator", pinned: other.peerId },
      new Uint8Array(32).fill(3), begun,
    );
    const responder = Session.respond(
      { ...leader(peerRole), handshake: await make(other, peerRole), side: "responder" },
      new Uint8Array(32).fill(4), begun,
    );
    const end = (session: Session): End => ({ session, events: [], media: [], sent: [], reader: new MessageReader() });
    return new Pair(end(initiator), end(responder), options);
  }

  get publisher(): End {
    return this.#options.initiatorRole === "publisher" ? this.initiator : this.responder;
  }

  get viewer(): End {
    return this.#options.initiatorRole === "publisher" ? this.responder : this.initiator;
  }

  /** The time now. */
  get now(): Now {
    return { monotonic: this.#now, wall: 1_790_000_000_000_000_000n + BigInt(Math.round(this.#now * 1e6)) };
  }

  /** Delivers all messages, and admits, until neither end has anything to say. */
  async run(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const moved = [
        await this.#drain(this.initiator, this.responder, "initiator"),
        await this.#drain(this.responder, this.initiator, "responder"),
      ];
      if (!moved.includes(true)) {
        return;
      }
    }
    throw new Error("the two ends never stop talking");
  }

  async #drain(from: End, to: End, name: "initiator" | "responder"): Promise<boolean> {
    let moved = false;
    for (let output = from.session.poll(); output !== undefined; output = from.session.poll()) {
      moved = true;
      await this.#output(output, from, to, name);
    }
    return moved;
  }

  async #output(output: Output, from: End, to: End, name: "initiator" | "responder"): Promise<void> {
    switch (output.type) {
      case "event":
        from.events.push(output.event);
        if (output.event.type === "peer-proved") {
          await from.session.admit(this.now);
        }
        return;
      case "media":
        from.media.push(output.media);
        return;
      case "transmit": {
        const { tamper } = this.#options;
        const message = tamper === undefined ? output.message : tamper(output.message, name, from.sent.length);
        from.sent.push(output.message);
        if (message !== undefined) {
          await this.deliver(to, message);
        }
      }
    }
  }

  /** Delivers a message to an end, framed as on a byte stream. */
  async deliver(to: End, message: Bytes): Promise<void> {
    to.reader.push(concat(lengthPrefix(message), message));
    const { session, reader } = to;
    for (let next = reader.next(session.messageLimit); next !== undefined; next = reader.next(session.messageLimit)) {
      await session.message(this.now, next);
    }
  }

  /** Lets time pass, calling each end at its deadlines. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    for (let steps = 0; ; steps += 1) {
      assert(steps < MAX_ROUNDS, "deadlines go on with time");
      await this.run();
      const next = Math.min(this.initiator.session.deadline, this.responder.session.deadline);
      if (next > until) {
        break;
      }
      this.#now = Math.max(this.#now, next);
      for (const { session } of [this.initiator, this.responder]) {
        if (session.deadline <= this.#now) {
          await session.timeout(this.now);
        }
      }
    }
    this.#now = until;
    await this.run();
  }
}

async function identity(number: number): Promise<Identity> {
  return identityFromSeed(new Uint8Array(32).fill(number));
}

/** A frame whose bytes follow from its number. */
export function frame(number: number, keyframe: boolean, length = 1_000): OutgoingFrame {
  const data = new Uint8Array(length).map((_, at) => (number * 31 + at * 7) & 0xff);
  return {
    stream: 1,
    keyframe,
    data,
    stamps: {
      frame: BigInt(number),
      mediaTime: BigInt(number) * 40_000_000n,
      captured: 1n,
      encoded: 2n,
      previousSeal: 0,
      previousSend: 0,
      capture: 0,
      stamp: "arrival",
    },
  };
}

/** The frames that a viewer handed out. */
export function framesOf(end: End): Extract<Media, { type: "frame" }>[] {
  return end.media.filter((media) => media.type === "frame");
}
