// A viewer that waits for publishers, on carriers in memory.

import { type Carrier, CarrierError } from "../../src/carrier/carrier.ts";
import { type Bytes } from "../../src/protocol/bytes.ts";
import { X25519 } from "../../src/protocol/crypto/curves.ts";
import { DEFAULT_SUITES } from "../../src/protocol/crypto/policy.ts";
import { type Identity, generateIdentity } from "../../src/protocol/keys/identity.ts";
import { HelloKeys, PresharedKey } from "../../src/protocol/keys/psk.ts";
import { type SessionEvent } from "../../src/protocol/session/output.ts";
import { Session } from "../../src/protocol/session/session.ts";
import { type Media } from "../../src/protocol/unit/assemble.ts";
import { Close } from "../../src/protocol/wire/control.ts";
import { Invite } from "../../src/protocol/wire/invite.ts";
import { type Ticket, parseTicket, revealTicket } from "../../src/protocol/wire/ticket.ts";
import { SessionDriver } from "../../src/worker/driver.ts";
import { HeldCarrier } from "./held-carrier.ts";
import { JoinedCarrier } from "./joined-carriers.ts";
import { type VirtualTime } from "./virtual-time.ts";

const INVITE = new Invite(new Uint8Array(16).fill(9));

/** A session of the viewer. */
export interface Viewing {
  readonly driver: SessionDriver;
  readonly media: Media[];
  readonly events: SessionEvent[];
  /** The publisher's end of the carrier. */
  readonly carrier: HeldCarrier;
  /** Breaks it. */
  readonly cut: () => void;
  over: boolean;
}

/** The viewer. */
export class WaitingViewer {
  readonly sessions: Viewing[] = [];
  /** Whether it admits who proves an identity. */
  admits = true;
  /** Whether anybody can connect. */
  reachable = true;
  readonly #enrolled: PresharedKey[] = [];
  readonly #identity: Identity;
  readonly #time: VirtualTime;

  private constructor(identity: Identity, time: VirtualTime) {
    this.#identity = identity;
    this.#time = time;
  }

  static async create(time: VirtualTime): Promise<WaitingViewer> {
    return new WaitingViewer(await generateIdentity(), time);
  }

  /** Its ticket. */
  get ticket(): string {
    const ticket = parseTicket(`sealcast://127.0.0.1:1/${this.#identity.peerId.toString()}?transport=http`);
    return revealTicket({ ...ticket, invite: INVITE } satisfies Ticket);
  }

  get latest(): Viewing {
    const latest = this.sessions.at(-1);
    if (latest === undefined) {
      throw new Error("nobody has connected");
    }
    return latest;
  }

  /** Frames of the latest session. */
  get frames(): Extract<Media, { type: "frame" }>[] {
    return this.latest.media.filter((media) => media.type === "frame");
  }

  /** A publisher connects. */
  async accept(): Promise<Carrier> {
    if (!this.reachable) {
      throw new CarrierError("WebSocket: the server did not accept it");
    }
    const psks = [await PresharedKey.fromInvite(INVITE), ...this.#enrolled];
    const handshake = {
      role: "viewer", identity: this.#identity, helloKeys: await HelloKeys.create(this.#identity.peerId, psks),
      suites: DEFAULT_SUITES, mechanisms: [X25519],
    } as const;
    const random: Bytes = crypto.getRandomValues(new Uint8Array(32));
    const session = Session.respond({ handshake, side: "responder" }, random, this.#time.now());
    const [theirs, ours] = JoinedCarrier.pair();
    const viewing: Viewing = {
      media: [], events: [], carrier: new HeldCarrier(theirs), over: false,
      cut: () => {
        theirs.break();
      },
      driver: new SessionDriver(session, ours, {
        event: (event) => {
          this.#event(viewing, event);
        },
        media: (media) => {
          viewing.media.push(media);
        },
        over: () => {
          viewing.over = true;
        },
      }, this.#time),
    };
    this.sessions.push(viewing);
    return viewing.carrier;
  }

  #event({ events, driver }: Viewing, event: SessionEvent): void {
    events.push(event);
    if (event.type === "peer-proved") {
      const step = this.admits ? this.#admit(driver) : driver.close(Close.NotAuthorised, "go away");
      step.catch(() => undefined);
    }
  }

  async #admit(driver: SessionDriver): Promise<void> {
    await driver.step(async (session, now) => {
      const key = await session.takeEnrolment();
      this.#enrolled.push(...(key === undefined ? [] : [key]));
      await session.admit(now);
    });
  }
}
