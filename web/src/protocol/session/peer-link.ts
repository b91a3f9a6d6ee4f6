// A session that has keys: what comes from the peer is opened, handled and answered.

import { type Bytes } from "../bytes.ts";
import { clockReading } from "../clock/exchange.ts";
import { type Now } from "../clock/now.ts";
import { ProtocolError, type Refusal, asProtocolError } from "../error.ts";
import { type Opened } from "../seal/opener.ts";
import { Refusals } from "../seal/refusals.ts";
import { type Assembler } from "../unit/assemble.ts";
import { type CellPlan, samePlan } from "../wire/cell.ts";
import { type Control, parseControl } from "../wire/control.ts";
import { MAX_CONTROL_RECORD, MAX_RECORD } from "../wire/framing.ts";
import { type Accept, Kind, recordKind } from "../wire/header.ts";
import { ENCRYPT_ALL, type Selection, sameSelection } from "../wire/selection.ts";
import { plain } from "../words.ts";
import { CellReader } from "./cell-reader.ts";
import { type Epochs } from "./epochs.ts";
import { type Hosting } from "./hosting.ts";
import { type Link } from "./link.ts";
import { Liveness } from "./liveness.ts";
import { type GroupHandled, type Membership } from "./membership.ts";
import { type Outbox } from "./output.ts";
import { Following, Selecting } from "./selecting.ts";
import { type ShapePlan } from "./shape-plan.ts";

/** A publisher may have its viewer send one cell each so many nanoseconds, and no more: it must not flood the path. */
const SOONEST_REPLY = 10_000_000;

const NS_PER_MS = 1e6;

/** How a message was handled. A refusal, of a record or of a group's frame, does not end the session. */
export type Handled = GroupHandled;

/** What a peer's message means for the session around this. */
export interface PeerListener {
  /** True once the peer is admitted. */
  isEstablished(): boolean;
  /** The peer says welcome. */
  welcomed(now: Now): Promise<void>;
  /** The peer says that it is over. */
  closed(reason: number, text: string): void;
}

/** Opens and handles what the peer sends. */
export class PeerLink {
  readonly link: Link;
  readonly epochs: Epochs;
  readonly selecting = new Selecting();
  /** A viewer's place in its publisher's group; absent at a publisher. */
  readonly membership: Membership | undefined;
  /** A publisher's group; absent where it offers none, and at a viewer. */
  readonly hosting: Hosting | undefined;
  liveness: Liveness;
  readonly #leads: boolean;
  readonly #out: Outbox;
  readonly #session: PeerListener;
  readonly #following = new Following();
  readonly #refusals: Refusals;
  readonly #assembler: Assembler;
  #reader: CellReader | undefined;
  #announced: ShapePlan | undefined;

  constructor(
    link: Link, epochs: Epochs, group: { readonly membership?: Membership; readonly hosting?: Hosting },
    assembler: Assembler, out: Outbox, session: PeerListener, refusals: Refusals, now: Now,
  ) {
    this.link = link;
    this.epochs = epochs;
    this.membership = group.membership;
    this.hosting = group.hosting;
    this.#assembler = assembler;
    this.#leads = group.membership === undefined;
    this.#out = out;
    this.#session = session;
    this.#refusals = refusals;
    this.liveness = new Liveness(now.monotonic);
  }

  /** The selection that frames are sealed by (publisher), or the newest one announced (viewer). */
  get selection(): Selection {
    return this.#leads ? this.selecting.inForce : this.#following.selection;
  }

  /** Publisher: sends nothing but cells from here on, and says so. */
  async beginShape(now: Now, plan: ShapePlan): Promise<void> {
    this.#announced = plan;
    this.link.beginCells(plan.publisher, now.monotonic);
    await this.link.sendControl(now, { type: "shape", publisher: plan.publisher, viewer: plan.viewer });
  }

  /** Handles a record from the carrier: a cell, or one by itself. */
  async record(now: Now, message: Bytes): Promise<Handled> {
    if (recordKind(message) !== Kind.Cell) {
      return this.#reader === undefined ? this.#single(now, message) : this.#refuse("outside-cell");
    }
    const opened = await this.#open(now, message, "encrypted");
    if (typeof opened === "string") {
      return this.#refuse(opened);
    }
    return this.#cell(now, opened.payload);
  }

  async #open(now: Now, message: Bytes, accept: Accept): Promise<Opened | Refusal> {
    this.link.ring.retire(now.monotonic);
    const found = await this.link.ring.open(message, accept);
    if (typeof found === "string") {
      return found;
    }
    this.#refusals.opened();
    this.liveness.heard(now.monotonic);
    if (found.next) {
      this.epochs.followed(now);
    }
    return found.opened;
  }

  async #cell(now: Now, payload: Bytes): Promise<Handled> {
    if (!this.#session.isEstablished() || (this.#leads && this.#announced === undefined)) {
      throw new ProtocolError("protocol-error");
    }
    this.#reader ??= new CellReader();
    const limit = this.#leads ? MAX_CONTROL_RECORD : MAX_RECORD;
    let handled: Handled = "done";
    try {
      this.#reader.push(payload);
      for (let record = this.#reader.next(limit); record !== undefined; record = this.#reader.next(limit)) {
        const kind = recordKind(record);
        if (kind !== Kind.Media && kind !== Kind.Control) {
          throw new ProtocolError("protocol-error");
        }
        const one = await this.#single(now, record);
        handled = one === "done" ? handled : one;
        if (!this.#session.isEstablished()) {
          break;
        }
      }
    } catch (thrown) {
      throw misbehaved(thrown);
    }
    return handled;
  }

  async #single(now: Now, message: Bytes): Promise<Handled> {
    if (this.membership?.ownsMedia === true && recordKind(message) === Kind.Media) {
      return this.#ofGroup(now, message, this.membership);
    }
    const clear = !this.#leads && this.#following.acceptsClear(now.monotonic);
    const opened = await this.#open(now, message, clear ? "clear" : "encrypted");
    if (typeof opened === "string") {
      return this.#refuse(opened);
    }
    try {
      if (opened.header.kind === Kind.Media) {
        this.#media(now, opened);
      } else {
        await this.#control(now, opened.payload);
      }
    } catch (thrown) {
      throw misbehaved(thrown);
    }
    return "done";
  }

  /** A media record that is sealed for a group. */
  async #ofGroup(now: Now, message: Bytes, membership: Membership): Promise<Handled> {
    const handled = await membership.open(now, message, this.#following.acceptsClear(now.monotonic));
    if (handled !== "done" && "refused" in handled) {
      return this.#refuse(handled.refused);
    }
    if (handled === "done") {
      this.#refusals.opened();
      this.liveness.heard(now.monotonic);
    }
    return handled;
  }

  #refuse(reason: Refusal): Handled {
    const ends = this.#refusals.refused(reason);
    if (ends !== undefined) {
      throw new ProtocolError(ends);
    }
    if (reason !== "replay" && reason !== "outside-cell") {
      // Every record of a byte stream comes once and in order, so the media of a refused one is lost.
      this.#assembler.lost();
    }
    if (this.link.ring.integritySpent) {
      throw new ProtocolError("too-many-refusals");
    }
    return { refused: reason };
  }

  #media(now: Now, opened: Opened): void {
    if (this.#leads || !this.#session.isEstablished()) {
      throw new ProtocolError("protocol-error");
    }
    // The same pictures come through a relay, or none are wanted yet.
    const media = this.membership?.isRelayed === true ? [] : this.#assembler.take(opened, now.monotonic);
    for (const one of media) {
      this.#out.media(one);
    }
  }

  async #control(now: Now, payload: Bytes): Promise<void> {
    const message = parseControl(payload);
    if (message.type === "close") {
      this.#session.closed(message.reason, plain(message.text));
    } else if (message.type === "welcome") {
      await this.#session.welcomed(now);
    } else if (!this.#session.isEstablished()) {
      throw new ProtocolError("protocol-error");
    } else if (!(await this.#fromEither(now, message))) {
      await (this.#leads ? this.#fromViewer(now, message, payload) : this.#fromPublisher(now, message, payload));
    }
  }

  /** Handles what either end sends. Returns false for all else. */
  async #fromEither(now: Now, message: Control): Promise<boolean> {
    switch (message.type) {
      case "ping":
        await this.link.sendControl(now, { type: "pong", t1: message.t1, t2: now.wall, t3: now.wall });
        // Endless pings would use up this end's control key.
        await this.epochs.ifDue(now);
        return true;
      case "pong":
        if (this.liveness.takePong(message.t1)) {
          const reading = clockReading(message.t1, message.t2, message.t3, now.wall);
          this.membership?.measured(Number(reading.roundTrip) / NS_PER_MS);
          this.#out.event({ type: "clock", reading });
        }
        return true;
      // This end is no gateway, and what is unknown belongs to a later version.
      case "gateway":
      case "unknown":
        return true;
      default:
        return false;
    }
  }

  async #fromViewer(now: Now, message: Control, payload: Bytes): Promise<void> {
    switch (message.type) {
      case "keyframe-request":
        this.#out.event({ type: "keyframe-requested", stream: message.stream });
        return;
      case "rekey-request":
        await this.epochs.requested(now);
        return;
      case "rekey-answer":
        await this.epochs.answered(now, payload, message);
        return;
      case "selection-ack": {
        const selection = this.selecting.acknowledged(message.number);
        if (selection !== undefined) {
          this.#out.event({ type: "selection", selection });
        }
        return;
      }
      case "budget":
        // A page keeps four pictures at most, which is a stricter bound.
        return;
      case "join":
      case "challenge":
        if (this.hosting === undefined) {
          throw new ProtocolError("protocol-error");
        }
        this.hosting.said(message);
        return;
      default:
        throw new ProtocolError("protocol-error");
    }
  }

  async #fromPublisher(now: Now, message: Control, payload: Bytes): Promise<void> {
    switch (message.type) {
      case "rekey-offer":
        await this.epochs.offered(now, payload, message);
        return;
      case "selection": {
        const { acknowledge, news } = this.#following.told(now.monotonic, message.number, message.selection);
        if (news) {
          this.#out.event({ type: "selection", selection: message.selection });
        }
        if (acknowledge) {
          await this.link.sendControl(now, { type: "selection-ack", number: message.number });
          // Endless announcements would use up this end's control key.
          await this.epochs.ifDue(now);
        }
        return;
      }
      case "shape":
        this.#shapeAnnounced(now, message);
        return;
      case "orientation":
        this.#out.event({ type: "orientation", orientation: message });
        return;
      case "camera": {
        const { state, since, why } = message;
        this.#out.event({ type: "camera", on: state === 1, since, why: plain(why) });
        return;
      }
      case "cameras":
        this.#out.event({ type: "cameras", names: message.names });
        return;
      case "addresses":
        // A page connects to where it came from, and nowhere else.
        return;
      case "group-terms":
      case "key-sheet":
      case "answer":
      case "gop-key":
      case "gop-signature":
        await this.membership?.said(now, message);
        return;
      default:
        throw new ProtocolError("protocol-error");
    }
  }

  #shapeAnnounced(now: Now, plan: { readonly publisher: CellPlan; readonly viewer: CellPlan }): void {
    const before = this.#announced;
    if (before !== undefined && samePlan(before.publisher, plan.publisher) && samePlan(before.viewer, plan.viewer)) {
      return;
    }
    const asksTooMuch = plan.viewer.cells !== 1 || plan.viewer.tick < SOONEST_REPLY;
    if (this.#reader === undefined || before !== undefined || asksTooMuch) {
      throw new ProtocolError("protocol-error");
    }
    this.#announced = { publisher: plan.publisher, viewer: plan.viewer };
    this.link.beginCells(plan.viewer, now.monotonic);
  }

  /** Publisher: changes the selection. Encrypting everything takes effect at once. */
  async select(now: Now, selection: Selection): Promise<void> {
    if (sameSelection(this.selecting.wanted, selection)) {
      return;
    }
    const wasClear = !sameSelection(this.selecting.inForce, ENCRYPT_ALL);
    const message = this.selecting.begin(now.monotonic, selection);
    if (wasClear) {
      this.#out.event({ type: "selection", selection: ENCRYPT_ALL });
    }
    // Once all numbers are used up, everything stays encrypted.
    if (message !== undefined) {
      await this.link.sendControl(now, message);
    }
  }

  /** Does what is due: repeats messages, switches and asks for epochs, pings, and sends cells last. */
  async timeout(now: Now): Promise<void> {
    this.link.ring.retire(now.monotonic);
    if (this.liveness.isLost(now.monotonic)) {
      throw new ProtocolError("peer-lost");
    }
    this.epochs.checkAge(now);
    await this.epochs.repeatOffer(now);
    const selection = this.selecting.repeat(now.monotonic);
    if (selection !== undefined) {
      await this.link.sendControl(now, selection);
    }
    this.epochs.switchIfDue(now, false);
    await this.epochs.ifDue(now);
    if (this.liveness.takePing(now)) {
      await this.link.sendControl(now, { type: "ping", t1: now.wall });
    }
    await this.membership?.timeout(now);
    await this.link.sendCells(now);
  }

  get deadline(): number {
    const cells = this.link.cells?.deadline ?? Infinity;
    const group = this.membership?.deadline ?? Infinity;
    return Math.min(this.liveness.deadline, this.epochs.deadline, this.selecting.deadline, group, cells);
  }
}

/** What is wrong in an authentic message is the peer's fault: it broke the protocol. */
function misbehaved(thrown: unknown): ProtocolError {
  const error = asProtocolError(thrown);
  const wrong = error.reason === "malformed" || error.reason === "share";
  return wrong ? new ProtocolError("protocol-error") : error;
}
