// The sessions of viewers through a relay, of a page that publishes there. The page is their responder.

import { type Carrier } from "../carrier/carrier.ts";
import { type AudienceMember } from "../messages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import {
  Close, type Identity, type Mechanism, type Peer, PeerId, type RekeyPolicy, Session, type SessionEvent, type Suite,
} from "../protocol/index.ts";
import { accept } from "../relay/meet.ts";
import { type Relay, type ViewerAtRelay } from "../relay/relay.ts";
import { type Admission } from "./admission.ts";
import { type Cancel, type Time } from "./clock.ts";
import { SessionDriver } from "./driver.ts";
import { type GroupHost, MAX_SESSIONS, type Seat } from "./relay-group.ts";

/** Viewers that are not admitted yet, at a time, and those that begin in a second. Further ones are left alone. */
const MAX_HANDSHAKES = 16;
const MAX_BEGUN = 20;
const SECOND = 1_000;
/** Milliseconds for which a viewer may have a session without joining the group: a page serves it in no other way. */
const JOIN_WITHIN = 10_000;

/** What the user reads of the one who is not served, at its end. */
const NOT_ALONE = "this camera is a page: it seals pictures for a group at a relay alone, and signs each frame; " +
  "watch with a viewer that joins such a group (--require-sign frame)";
const FULL = "all places are taken";
const REVOKED = "not admitted any more";

/** What sessions are made with. */
export interface SessionsParts {
  readonly identity: Identity;
  readonly suites: readonly Suite[];
  readonly mechanisms: readonly Mechanism[];
  readonly rekey: RekeyPolicy;
  readonly time: Time;
  /** 32 random bytes. */
  readonly random: () => Bytes;
}

/** Who is told what becomes of sessions. */
export interface SessionsEvents {
  /** Who watches has changed. */
  changed(): void;
  keyframeNeeded(): void;
  /** A line for the log of events. */
  news(words: string, bad: boolean): void;
}

/** A viewer whose session is under way. */
interface Attending {
  readonly driver: SessionDriver;
  peer: PeerId | undefined;
  seat: Seat | undefined;
  joined: boolean;
  /** Its newest challenge, while the group has not had it, and whether it waits to be told its sheet again. */
  challenge: Bytes | undefined;
  lacksSheet: boolean;
  /** Ends the session of a viewer that does not join. */
  waiting: Cancel | undefined;
}

/** All sessions. */
export class RelaySessions {
  readonly #parts: SessionsParts;
  readonly #admission: Admission;
  readonly #host: GroupHost;
  readonly #events: SessionsEvents;
  readonly #attending = new Set<Attending>();
  /** Viewers whose carrier is not there yet. */
  #meeting = 0;
  /** When sessions began in the last second. */
  #begun: number[] = [];
  #leftAlone = 0;

  constructor(parts: SessionsParts, admission: Admission, host: GroupHost, events: SessionsEvents) {
    this.#parts = parts;
    this.#admission = admission;
    this.#host = host;
    this.#events = events;
  }

  /** Viewers with a session, and those who are enrolled and away. */
  get viewers(): readonly AudienceMember[] {
    const states = new Map<string, AudienceMember["state"]>();
    for (const { peer } of this.#admission.guests) {
      states.set(peer.toString(), "away");
    }
    for (const { peer, joined } of this.#attending) {
      const name = peer?.toString();
      if (name !== undefined && states.get(name) !== "watching") {
        states.set(name, joined ? "watching" : "joining");
      }
    }
    return [...states].map(([peer, state]) => ({ peer, state }));
  }

  /** Takes a viewer that has come to the relay. Never rejects. */
  async take(relay: Relay, viewer: ViewerAtRelay): Promise<void> {
    const { time } = this.#parts;
    if (!this.#hasRoom(time.now().monotonic)) {
      viewer.leave();
      return;
    }
    this.#meeting += 1;
    try {
      await this.#begin(await accept(relay, viewer, time));
    } catch {
      // It did not come all the way, and sees its own deadline pass.
    } finally {
      this.#meeting -= 1;
    }
  }

  #hasRoom(now: number): boolean {
    this.#begun = this.#begun.filter((at) => now - at < SECOND);
    const strangers = [...this.#attending].filter(({ peer }) => peer === undefined).length + this.#meeting;
    const all = this.#attending.size + this.#meeting;
    const room = strangers < MAX_HANDSHAKES && all < MAX_SESSIONS && this.#begun.length < MAX_BEGUN;
    if (room) {
      this.#begun.push(now);
      return true;
    }
    this.#leftAlone += 1;
    if (Number.isInteger(Math.log2(this.#leftAlone))) {
      this.#events.news(`viewers were left alone, ${this.#leftAlone} in all: too many came through the relay`, true);
    }
    return false;
  }

  async #begin(carrier: Carrier): Promise<void> {
    const { identity, suites, mechanisms, rekey, time, random } = this.#parts;
    const helloKeys = await this.#admission.helloKeys();
    const handshake = { role: "publisher", identity, helloKeys, suites, mechanisms } as const;
    const config = { handshake, side: "responder", rekey, terms: this.#host.terms } as const;
    const driver = new SessionDriver(Session.respond(config, random(), time.now()), carrier, {
      event: (event) => {
        this.#event(one, event);
      },
      media: () => undefined,
      over: () => {
        this.#over(one);
      },
    }, time);
    const one: Attending = {
      driver, peer: undefined, seat: undefined, joined: false, challenge: undefined, lacksSheet: false,
      waiting: undefined,
    };
    this.#attending.add(one);
  }

  #event(one: Attending, event: SessionEvent): void {
    switch (event.type) {
      case "peer-proved":
        void this.#judge(one, event.peer);
        break;
      case "joins-group":
        if (event.media === "session" || event.media === "sealed") {
          void one.driver.close(Close.EndOfStream, NOT_ALONE);
        } else if (event.again) {
          void this.#tellAgain(one);
        } else {
          void this.#join(one, event.media);
        }
        break;
      case "challenged":
        void this.#challenged(one, event.challenge);
        break;
      case "keyframe-requested":
        this.#events.keyframeNeeded();
        break;
      default:
        // A viewer's, or told by the end of the session.
    }
  }

  async #judge(one: Attending, peer: Peer): Promise<void> {
    const { driver } = one;
    const lacks = peer.wish?.media === "nothing-yet" && peer.wish.camera === "" ? undefined : NOT_ALONE;
    const secrets = () => driver.session.takeGuest();
    const decision = await this.#admission.judge(this.#parts.time.now(), peer, lacks, secrets);
    if (!decision.admitted) {
      this.#events.news(`a viewer was not admitted: ${decision.text}`, true);
      await driver.close(decision.reason, decision.text);
      return;
    }
    one.peer = peer.id;
    if (decision.enrolled !== undefined) {
      this.#events.news("a viewer was enrolled by the ticket's invite", false);
      await this.#host.enrol(decision.enrolled);
    }
    this.#events.changed();
    one.waiting = this.#parts.time.after(JOIN_WITHIN, () => {
      void driver.close(Close.EndOfStream, NOT_ALONE);
    });
    await driver.step((session, now) => session.admit(now)).catch(() => undefined);
  }

  async #join(one: Attending, media: "relay" | "relay-enrolled"): Promise<void> {
    const { driver, peer } = one;
    const key = await driver.step((session) => session.memberKey(this.#host.name)).catch(() => undefined);
    if (peer === undefined || key === undefined || driver.isOver) {
      return;
    }
    const seat: Seat = {
      peer,
      tell: (message) => {
        driver.step((session, now) => session.tell(now, message)).catch(() => undefined);
      },
    };
    one.waiting?.();
    one.waiting = undefined;
    one.seat = seat;
    if (!(await this.#host.join(seat, media, key))) {
      await driver.close(Close.TooManyViewers, FULL);
      return;
    }
    if (!this.#attending.has(one)) {
      void this.#host.leave(seat);
      return;
    }
    one.joined = true;
    this.#events.changed();
  }

  /** Of what one viewer asks for, the group has one at a time: it may ask as fast as it likes. */
  async #tellAgain(one: Attending): Promise<void> {
    if (one.seat !== undefined && !one.lacksSheet) {
      one.lacksSheet = true;
      await this.#host.tellAgain(one.seat);
      one.lacksSheet = false;
    }
  }

  async #challenged(one: Attending, challenge: Bytes): Promise<void> {
    if (one.seat === undefined) {
      return;
    }
    const waits = one.challenge !== undefined;
    one.challenge = challenge.slice();
    if (!waits) {
      await this.#host.challenged(one.seat, () => {
        const newest = one.challenge;
        one.challenge = undefined;
        return newest;
      });
    }
  }

  #over(one: Attending): void {
    one.waiting?.();
    this.#attending.delete(one);
    if (one.seat !== undefined) {
      void this.#host.leave(one.seat);
    }
    if (one.peer !== undefined) {
      this.#events.changed();
    }
  }

  /** Ends the access of a viewer, by its peer id: its sessions end, and within a second it opens nothing new. */
  async endAccess(name: string): Promise<void> {
    const peer = PeerId.parse(name);
    if (peer === undefined) {
      return;
    }
    await this.#admission.remove(peer);
    const sessions = [...this.#attending].filter((one) => one.peer?.equals(peer) === true);
    await Promise.all([
      this.#host.expel(peer), ...sessions.map(({ driver }) => driver.close(Close.NotAuthorised, REVOKED)),
    ]);
    this.#events.news("the access of a viewer was ended", false);
    this.#events.changed();
  }

  /** Says goodbye to all, with one of `Close`. */
  async closeAll(reason: number): Promise<void> {
    await Promise.all([...this.#attending].map(({ driver }) => driver.close(reason)));
  }
}
