// The link to the other end: one ticket, and as many sessions with its peer as it takes. Both roles use it.

import { type Carrier } from "../carrier/carrier.ts";
import { type Figures, type LinkState, type Protection } from "../messages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import {
  Close, ENCRYPT_ALL, type HandshakeConfig, HelloKeys, type Identity, type Media, type Now, parseTicket, plain,
  PresharedKey, selectionName, Session, type SessionConfig, type SessionEvent, type Ticket,
} from "../protocol/index.ts";
import { type KeyStore, ownIdentity } from "../store/key-store.ts";
import { type Cancel, type ClockEstimate, PeerClock, type Time } from "./clock.ts";
import { SessionDriver } from "./driver.ts";
import { MemberReport } from "./member.ts";
import {
  type Goodbye, type Outcome, REPLACED, goodbyeOutcome, handshakeOutcome, lossOutcome, startOutcome,
} from "./outcome.ts";
import { type Post } from "./role.ts";

/** Milliseconds between two attempts after a session was lost: at first, and at most. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
/** The same after another session took the place: sooner, the two would take it from each other by turns. */
export const AFTER_REPLACED = 60_000;
/** A session that stood so many milliseconds was a good one: the pauses begin anew after it. */
const STOOD = 8_000;
/** Milliseconds between figures. */
const FIGURES_INTERVAL = 500;

/** What a link needs of its surroundings. */
export interface LinkParts {
  /** The ticket's text. */
  readonly ticket: string;
  /** Viewer: the camera's name; without one it is the one that the publisher gives. */
  readonly camera?: string;
  readonly openStore: () => Promise<KeyStore>;
  readonly connect: (ticket: Ticket, signal: AbortSignal) => Promise<Carrier>;
  readonly time: Time;
  /** 32 random bytes. */
  readonly random: () => Bytes;
  readonly post: Post;
  /** The laboratory: as in `DriverListener`. */
  readonly opened?: (milliseconds: number) => void;
}

/** What the role adds to the link. */
export interface LinkRole {
  readonly handshake: Pick<HandshakeConfig, "role" | "suites" | "mechanisms">;
  readonly session: Pick<SessionConfig, "rekey" | "group">;
  /** The goodbye when the user stops, with one of `Close`, and the sentence that the page shows. */
  readonly stop: { readonly reason: (typeof Close)[keyof typeof Close]; readonly words: string };
  /** Puts an outcome in words that fit the role. `said` is what the peer said at the end. */
  outcome(outcome: Outcome, said: string): Outcome;
  /** A session stands; told after the page. */
  established(driver: SessionDriver): void;
  /** Something happened in the session that stands; the link has noted it already. */
  event(event: SessionEvent): void;
  media(media: Media): void;
  /** No session stands any more. */
  over(): void;
  /** The page was told that the connection is lost. */
  lost(): void;
  /** Nothing follows. */
  finished(): void;
  figures(): Omit<Figures, "refused" | "roundTrip" | "membership">;
}

/** What does not change from one session to the next. */
interface Base {
  readonly ticket: Ticket;
  readonly store: KeyStore;
  readonly identity: Identity;
}

/** The pre-shared key of an attempt, and whether it is that of an enrolment. */
interface Proof {
  readonly kind: "enrolment" | "invite" | "nothing";
  readonly psks: readonly PresharedKey[];
}

/** What is known of the session under way. */
interface Live {
  readonly base: Base;
  readonly driver: SessionDriver;
  readonly proof: Proof;
  readonly clock: PeerClock;
  readonly member: MemberReport;
  /** Monotonic times: when it was established, and when the epoch in force began. */
  since: number | undefined;
  epochSince: number;
  goodbye: Goodbye | undefined;
  /** What the publisher said of its camera, and of which there are: it repeats that. */
  camera: string;
  cameras: string;
  /** Settled once the enrolment is kept, if there is one. */
  kept: Promise<void>;
  /** Records refused so far, as the log has them. */
  refused: Readonly<Record<string, number>>;
}

/** Runs until it is told to stop, or there is no hope. */
export class Link {
  readonly #parts: LinkParts;
  readonly #role: LinkRole;
  readonly #abort = new AbortController();
  #live: Live | undefined;
  /** True once a session stood: from then on a loss is repaired. */
  #stood = false;
  /** Milliseconds for which the last session stood. */
  #stoodFor = 0;
  #state: LinkState | undefined;
  #figures: Cancel | undefined;
  /** Why the role, or the user, ended it. */
  #ending: Outcome | undefined;

  constructor(parts: LinkParts, role: LinkRole) {
    this.#parts = parts;
    this.#role = role;
  }

  /** Begins; it never rejects. */
  async run(): Promise<void> {
    let outcome: Outcome;
    try {
      this.#tell("connecting");
      outcome = await this.#repeat(await this.#prepare());
    } catch (thrown) {
      outcome = this.#role.outcome(startOutcome(thrown), "");
    }
    this.#figures?.();
    this.#role.over();
    this.#role.finished();
    const { state, cause, words } = this.#ending ?? outcome;
    this.#parts.post({ type: "state", state, cause, words });
  }

  /** Ends it for the user. */
  stop(): void {
    this.end({ state: "ended", cause: "stopped", words: this.#role.stop.words }, this.#role.stop.reason);
  }

  /** Ends it for a reason of this end's, with one of `Close` for the peer. */
  end(outcome: Outcome, reason: number): void {
    this.#ending ??= outcome;
    this.#abort.abort();
    void this.#live?.driver.close(reason);
  }

  /** Calls the session, if there is one that stands. What goes wrong there ends it, and is told by that. */
  step(body: (session: Session, now: Now) => Promise<void>): void {
    const live = this.#live;
    if (live?.since !== undefined) {
      live.driver.step(body).catch(() => undefined);
    }
  }

  /** True while a session stands. */
  get isLive(): boolean {
    return this.#live?.since !== undefined;
  }

  /** What is known of the peer's clock. */
  clock(now: number): ClockEstimate | undefined {
    return this.#live?.clock.estimate(now);
  }

  /** A line for the log of events. */
  news(words: string, bad: boolean): void {
    this.#parts.post({ type: "event", at: Date.now(), words, bad });
  }

  #isStopped(): boolean {
    return this.#abort.signal.aborted;
  }

  #tell(state: LinkState, outcome?: Outcome): void {
    this.#state = state;
    this.#parts.post({ type: "state", state, ...(outcome && { cause: outcome.cause, words: outcome.words }) });
  }

  /** A state before the first session stood; afterwards it is `lost` until the next one stands. */
  #progress(state: "connecting" | "handshake"): void {
    if (!this.#stood && this.#state !== state) {
      this.#tell(state);
    }
  }

  async #prepare(): Promise<Base> {
    const ticket = parseTicket(this.#parts.ticket);
    const store = await this.#parts.openStore();
    return { ticket, store, identity: await ownIdentity(store) };
  }

  async #repeat(base: Base): Promise<Outcome> {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      this.#stoodFor = 0;
      const outcome = await this.#attempt(base);
      const again = this.#stood && outcome.state === "lost" && !this.#isStopped();
      if (!again) {
        return this.#stood || outcome.state !== "lost" ? outcome : { ...outcome, state: "failed" };
      }
      this.#tell("lost", outcome);
      this.#role.lost();
      pause = this.#stoodFor >= STOOD ? FIRST_PAUSE : pause;
      await this.#pause(outcome.cause === REPLACED ? AFTER_REPLACED : pause);
      if (this.#isStopped()) {
        return outcome;
      }
    }
  }

  /** One session, or two: a kept enrolment that is not known any more gives way to the ticket's invite. */
  async #attempt(base: Base): Promise<Outcome> {
    try {
      const proof = await this.#proof(base);
      let outcome = await this.#session(base, proof);
      const { invite } = base.ticket;
      const forgotten = outcome.cause === "psk" || outcome.cause === "not-authorised";
      if (proof.kind === "enrolment" && invite !== undefined && forgotten) {
        this.news("this browser's enrolment is not known any more at the other end: the link's invite is tried", false);
        outcome = await this.#session(base, { kind: "invite", psks: [await PresharedKey.fromInvite(invite)] });
      }
      return outcome;
    } catch (thrown) {
      const outcome = this.#role.outcome(startOutcome(thrown), "");
      // Once a session stood, a connection that is not there may come back.
      const lost = this.#stood && outcome.cause === "carrier";
      return lost ? { ...outcome, state: "lost" } : outcome;
    }
  }

  async #proof({ ticket, store }: Base): Promise<Proof> {
    const kept = await store.enrolment(ticket.peer);
    if (kept !== undefined) {
      return { kind: "enrolment", psks: [kept] };
    }
    return ticket.invite === undefined
      ? { kind: "nothing", psks: [] } : { kind: "invite", psks: [await PresharedKey.fromInvite(ticket.invite)] };
  }

  async #session(base: Base, proof: Proof): Promise<Outcome> {
    const { ticket, identity } = base;
    const { connect, random, time, opened } = this.#parts;
    this.#progress("connecting");
    const helloKeys = await HelloKeys.create(ticket.peer, proof.psks);
    const carrier = await connect(ticket, this.#abort.signal);
    this.#progress("handshake");
    const relayed = carrier.beside !== undefined;
    const wish = { media: relayed ? "nothing-yet" : "frames", camera: this.#parts.camera ?? "" } as const;
    const handshake = { ...this.#role.handshake, identity, helloKeys, wish };
    let session: Session;
    try {
      const { group, ...rest } = this.#role.session;
      const config = {
        ...rest, handshake, side: "initiator", pinned: ticket.peer, ...(group && { group: { ...group, relayed } }),
      } as const;
      session = await Session.initiate(config, random(), time.now());
    } catch (thrown) {
      carrier.close();
      throw thrown;
    }
    return new Promise((resolve) => {
      const driver = new SessionDriver(session, carrier, {
        event: (event) => {
          this.#event(live, event);
        },
        media: (media) => {
          if (live === this.#live && !driver.isOver) {
            this.#role.media(media);
          }
        },
        over: (error) => {
          resolve(this.#over(live, error));
        },
        ...(opened !== undefined && { opened }),
      }, time);
      const clock = new PeerClock();
      const member = new MemberReport({
        group: () => session.group(time.now().monotonic),
        challenge: (bytes) => {
          // What goes wrong there ends the session, and is told by that.
          driver.step((one, now) => one.challenge(now, bytes)).catch(() => undefined);
        },
      }, this.#parts, (words, bad) => {
        this.news(words, bad);
      });
      const live: Live = {
        base, driver, proof, clock, member, since: undefined, epochSince: 0, goodbye: undefined, camera: "",
        cameras: "", kept: Promise.resolve(), refused: {},
      };
      this.#live = live;
      if (this.#isStopped()) {
        void driver.close(this.#role.stop.reason);
      }
    });
  }

  #event(live: Live, event: SessionEvent): void {
    const now = this.#parts.time.now().monotonic;
    switch (event.type) {
      case "established":
        if (event.facts.peer.wish !== undefined && event.facts.peer.wish.media !== "frames") {
          void live.driver.close(Close.NotOffered, "a page has pictures alone, for who watches them here");
          return;
        }
        this.#established(live, now);
        return;
      case "rekeyed":
        live.epochSince = now;
        this.news(`new keys are in force (epoch ${event.epoch})`, false);
        this.#protection(live);
        break;
      case "selection": {
        const text = selectionName(event.selection);
        const all = event.selection.mode === "all";
        this.news(all ? "everything is encrypted" : `not everything is encrypted: the selection is ${text}`, !all);
        this.#protection(live);
        break;
      }
      case "clock":
        if (live.clock.note(event.reading, now)) {
          this.news("a clock was set, here or at the other end; latencies begin anew", false);
        }
        break;
      case "camera":
        this.#camera(live, event);
        break;
      case "cameras":
        void this.#cameras(live, event.names);
        break;
      case "closed":
        live.goodbye = { reason: event.reason, text: plain(event.text) };
        break;
      case "joined-group":
        live.member.event(event);
        this.#protection(live);
        break;
      case "challenge-due":
      case "declined-group":
      case "proven":
      case "relay-refused":
        live.member.event(event);
        break;
      case "peer-proved":
      case "joins-group":
      case "challenged":
      case "keyframe-requested":
      case "orientation":
      case "unfit-group":
        // A responder's, and the role's.
    }
    this.#role.event(event);
  }

  #camera(live: Live, { on, since, why }: Extract<SessionEvent, { type: "camera" }>): void {
    const said = `${on}, ${since}, ${why}`;
    if (said !== live.camera) {
      live.camera = said;
      this.news(on ? "the camera is on again" : `the camera is off: ${plain(why)}`, !on);
      this.#parts.post({ type: "camera", on, since: Number(since / 1_000_000n), why: plain(why) });
    }
  }

  /** Tells the page of the cameras, once another session can go by the enrolment. A relay's ticket is of one camera. */
  async #cameras(live: Live, told: readonly string[]): Promise<void> {
    const names = [...new Set(told)];
    // No name has this character.
    const said = names.join("\0");
    if (said === live.cameras || live.driver.carrier.beside !== undefined) {
      return;
    }
    live.cameras = said;
    await live.kept;
    if (live === this.#live && said === live.cameras) {
      this.#parts.post({ type: "cameras", names });
    }
  }

  #established(live: Live, now: number): void {
    live.since = now;
    live.epochSince = now;
    if (this.#stood) {
      this.news("connected again", false);
    }
    this.#stood = true;
    this.#tell("live");
    this.#protection(live);
    live.kept = this.#keepEnrolment(live);
    this.#role.established(live.driver);
    this.#showFigures();
  }

  /** Keeps the key that the peer has kept too, if it enrolled this end. */
  async #keepEnrolment({ base, driver, proof }: Live): Promise<void> {
    if (proof.kind !== "invite") {
      return;
    }
    try {
      const key = await driver.session.takeEnrolment();
      if (key !== undefined) {
        await base.store.keepEnrolment(base.ticket.peer, key);
      }
    } catch {
      this.news("this browser could not keep its enrolment: the next visit needs the invite, or a new link", true);
    }
  }

  #protection({ base, driver, epochSince }: Live): void {
    const { session, carrier } = driver;
    const { facts } = session;
    if (facts === undefined) {
      return;
    }
    const { peer } = base.ticket;
    const now = this.#parts.time.now().monotonic;
    const group = session.group(now);
    const protection: Protection = {
      peer: peer.toString(),
      peerHex: Array.from(peer.bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""),
      own: base.identity.peerId.toString(),
      suite: facts.suite,
      mechanism: facts.mechanism,
      carrier: carrier.kind === "memory" ? "websocket" : carrier.kind,
      epoch: Number(session.epoch ?? 0n),
      epochAge: (now - epochSince) / 1_000,
      selection: selectionName(session.selection ?? ENCRYPT_ALL),
      ...(group !== undefined && { signed: group.signed }),
    };
    this.#parts.post({ type: "protection", protection });
  }

  /** Posts figures while the session stands. */
  #showFigures(): void {
    this.#figures?.();
    this.#figures = this.#parts.time.after(FIGURES_INTERVAL, () => {
      const live = this.#live;
      if (live === undefined) {
        return;
      }
      const counts = Object.entries(live.driver.session.refusals).filter(([, count]) => count > 0);
      for (const [reason, count] of counts) {
        const more = count - (live.refused[reason] ?? 0);
        if (more > 0) {
          this.news(`${more === 1 ? "a record was" : `${more} records were`} refused (${reason})`, true);
        }
      }
      const refused = Object.fromEntries(counts);
      live.refused = refused;
      const { roundTrip } = live.clock;
      const membership = live.member.report();
      const figures = {
        ...this.#role.figures(), refused, ...(roundTrip !== undefined && { roundTrip }),
        ...(membership !== undefined && { membership }),
      };
      this.#parts.post({ type: "figures", figures });
      this.#showFigures();
    });
  }

  #over(live: Live, error: Error | undefined): Outcome {
    this.#live = undefined;
    this.#stoodFor = live.since === undefined ? 0 : this.#parts.time.now().monotonic - live.since;
    this.#figures?.();
    this.#role.over();
    if (live.goodbye !== undefined) {
      const shown = live.since === undefined ? live.proof.kind : "admission";
      return this.#role.outcome(goodbyeOutcome(live.goodbye, shown), live.goodbye.text);
    }
    const outcome = this.#role.outcome(live.since === undefined ? handshakeOutcome(error) : lossOutcome(error), "");
    // A peer that is not back yet is as silent as a wrong one.
    const mayComeBack = this.#stood && (outcome.cause === "silence" || outcome.cause === "handshake");
    return mayComeBack ? { ...outcome, state: "lost" } : outcome;
  }

  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const cancel = this.#parts.time.after(milliseconds, end);
      signal.addEventListener("abort", end);
    });
  }
}
