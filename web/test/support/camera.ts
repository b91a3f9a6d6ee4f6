// A publisher for the tests of a viewer: it admits as a program would, and sends what a test says.

import { type Carrier, CarrierError } from "../../src/carrier/carrier.ts";
import { DEFAULT_MECHANISMS, DEFAULT_SUITES } from "../../src/protocol/crypto/policy.ts";
import { type Identity, generateIdentity } from "../../src/protocol/keys/identity.ts";
import { HelloKeys, PresharedKey } from "../../src/protocol/keys/psk.ts";
import { Session } from "../../src/protocol/session/session.ts";
import { Close } from "../../src/protocol/wire/control.ts";
import { Invite } from "../../src/protocol/wire/invite.ts";
import { SessionDriver } from "../../src/worker/driver.ts";
import { toHex } from "./harness.ts";
import { JoinedCarrier } from "./joined-carriers.ts";
import { type VirtualTime } from "./virtual-time.ts";

const INVITE = new Invite(new Uint8Array(16).fill(9));

/** What a test has of one session. */
export interface CameraSession {
  readonly driver: SessionDriver;
  readonly carrier: JoinedCarrier;
  keyframes: number;
  /** Names of the key that the viewer proved; `none` without one. */
  proved: string;
  /** The name of the camera that the viewer wishes. */
  wished: string;
  isOver: boolean;
}

/** A publisher that listens, with one invite that enrols one viewer. */
export class Camera {
  readonly sessions: CameraSession[] = [];
  /** False: connections are refused, as by a server that is not there. */
  isThere = true;
  /** False: it says nothing to anybody. */
  answers = true;
  admits = true;
  /** Names of its cameras; whoever wishes another one is refused. */
  offers: readonly string[] = [""];
  attempts = 0;
  #invites = 1;
  #enrolled: PresharedKey[] = [];
  readonly #identity: Identity;
  readonly #time: VirtualTime;

  private constructor(identity: Identity, time: VirtualTime) {
    this.#identity = identity;
    this.#time = time;
  }

  static async create(time: VirtualTime): Promise<Camera> {
    return new Camera(await generateIdentity(), time);
  }

  /** A ticket with the invite, or without. */
  ticket(invited = true): string {
    return `sealcast://127.0.0.1:9553/${this.#identity.peerId.toString()}${invited ? `#${INVITE.reveal()}` : ""}`;
  }

  /** Forgets who was enrolled; the invite stays used up, unless it is made anew. */
  forget(invites: number): void {
    this.#enrolled = [];
    this.#invites = invites;
  }

  get last(): CameraSession {
    const session = this.sessions.at(-1);
    if (session === undefined) {
      throw new Error("nobody has connected");
    }
    return session;
  }

  /** Connects a viewer. */
  readonly connect = async (): Promise<Carrier> => {
    this.attempts += 1;
    if (!this.isThere) {
      throw new CarrierError("WebSocket: the server did not accept it");
    }
    const [near, far] = JoinedCarrier.pair();
    if (this.answers) {
      await this.#accept(far);
    }
    return near;
  };

  async #accept(carrier: JoinedCarrier): Promise<void> {
    const invite = await PresharedKey.fromInvite(INVITE);
    const psks = [...(this.#invites > 0 ? [invite] : []), ...this.#enrolled];
    const helloKeys = await HelloKeys.create(this.#identity.peerId, psks);
    const handshake = {
      role: "publisher", identity: this.#identity, helloKeys, suites: DEFAULT_SUITES, mechanisms: DEFAULT_MECHANISMS,
    } as const;
    const random = crypto.getRandomValues(new Uint8Array(32));
    const responder = Session.respond({ handshake, side: "responder" }, random, this.#time.now());
    const driver = new SessionDriver(responder, carrier, {
      event: (event) => {
        if (event.type === "peer-proved") {
          one.proved = event.peer.pskName === undefined ? "none" : toHex(event.peer.pskName);
          one.wished = event.peer.wish?.camera ?? "";
          void this.#judge(one);
        } else if (event.type === "keyframe-requested") {
          one.keyframes += 1;
        }
      },
      media: () => undefined,
      over() {
        one.isOver = true;
      },
    }, this.#time);
    const one: CameraSession = { driver, carrier, keyframes: 0, proved: "", wished: "", isOver: false };
    this.sessions.push(one);
  }

  async #judge({ driver, wished }: CameraSession): Promise<void> {
    if (!this.offers.includes(wished)) {
      await driver.close(Close.NotOffered, "there is no such camera");
      return;
    }
    if (!this.admits) {
      await driver.close(Close.NotAuthorised, "not you");
      return;
    }
    const key = await driver.session.takeEnrolment();
    if (key !== undefined && this.#enrolled.length === 0) {
      this.#enrolled.push(key);
      this.#invites -= 1;
    }
    await driver.step((session, now) => session.admit(now));
  }

  /** The name of the invite, and of the key that was kept. */
  async names(): Promise<{ invite: string; kept: string }> {
    const invite = await (await PresharedKey.fromInvite(INVITE)).name();
    const kept = await this.#enrolled[0]?.name();
    return { invite: toHex(invite), kept: kept === undefined ? "" : toHex(kept) };
  }
}
