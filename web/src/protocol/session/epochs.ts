// When a new epoch begins, and the messages that agree on it (protocol.md, section 4, "Rekeying").

import { type Bytes } from "../bytes.ts";
import { type Now } from "../clock/now.ts";
import { type Mechanism } from "../crypto/mechanism.ts";
import { ProtocolError } from "../error.ts";
import { wireNumber } from "../keys/epoch.ts";
import { type Identity } from "../keys/identity.ts";
import { type RekeyContext, signRekey, verifyRekey } from "../keys/rekey-signature.ts";
import { type Control, answerHead, offerHead } from "../wire/control.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { RekeyPolicy } from "./config.ts";
import { type Link } from "./link.ts";
import { type Outbox } from "./output.ts";
import { type RekeyCause, RekeyFollower, RekeyLeader } from "./rekey.ts";

/** Milliseconds past the soft age after which a viewer asks for a new epoch, if the publisher has not begun one. */
const VIEWER_PATIENCE = 10_000;

/** What the exchanges of one session are made with. */
export interface EpochsConfig {
  readonly leads: boolean;
  readonly policy: RekeyPolicy;
  readonly mechanism: Mechanism;
  readonly identity: Identity;
  readonly peer: PeerId;
  readonly binding: Bytes;
}

/** The succession of epochs in one session. */
export class Epochs {
  readonly #config: EpochsConfig;
  readonly #link: Link;
  readonly #out: Outbox;
  readonly #leader = new RekeyLeader();
  readonly #follower = new RekeyFollower();

  constructor(config: EpochsConfig, link: Link, out: Outbox) {
    this.#config = config;
    this.#link = link;
    this.#out = out;
  }

  #context(): RekeyContext {
    return { binding: this.#config.binding, epoch: this.#link.ring.nextNumber };
  }

  #age(now: Now): number {
    return now.monotonic - this.#link.ring.since;
  }

  /** @throws ProtocolError `key-limit` once the epoch is too old */
  checkAge(now: Now): void {
    if (this.#age(now) >= this.#config.policy.hardAge) {
      throw new ProtocolError("key-limit");
    }
  }

  /** Begins a new epoch for the program, or asks the publisher for one. One that is under way serves as well. */
  async onDemand(now: Now): Promise<void> {
    if (!this.#config.leads) {
      await this.#link.sendControl(now, { type: "rekey-request" });
    } else if (this.#leader.isIdle) {
      await this.#begin(now, "demand");
    }
  }

  /** Begins a new epoch, or asks for one, if a soft limit is reached. */
  async ifDue(now: Now): Promise<void> {
    const { policy, leads } = this.#config;
    const { ring } = this.#link;
    const cells = RekeyPolicy.cellsUsedUp(ring.current.seal.cell.sealed);
    const used = ring.sealed >= policy.softRecords || cells;
    const age = this.#age(now);
    if (!leads) {
      const due = used || age >= policy.softAge + VIEWER_PATIENCE;
      if (due && !ring.hasNext && this.#follower.mayAsk(now.monotonic)) {
        await this.#link.sendControl(now, { type: "rekey-request" });
      }
    } else if (this.#leader.isIdle && (used || age >= policy.offerAge)) {
      await this.#begin(now, used ? "count" : "time");
    }
  }

  async #begin(now: Now, cause: RekeyCause): Promise<void> {
    const { mechanism, identity } = this.#config;
    const key = await mechanism.generate();
    const context = this.#context();
    const offer = await signRekey(identity, context, offerHead(wireNumber(context.epoch), mechanism.id, key.share));
    this.#leader.offered(now.monotonic, key, offer, cause);
    await this.#link.sendControlBytes(now, offer);
  }

  /** Publisher: the viewer asks for a new epoch. One request a second is honoured. */
  async requested(now: Now): Promise<void> {
    if (this.#leader.allowsRequest(now.monotonic)) {
      await this.#begin(now, "demand");
    }
  }

  /** Viewer: the publisher proposes the next epoch. @throws ProtocolError `protocol-error` */
  async offered(now: Now, payload: Bytes, offer: Extract<Control, { type: "rekey-offer" }>): Promise<void> {
    const repeated = this.#follower.repeated(payload);
    if (repeated !== undefined) {
      await this.#link.sendControlBytes(now, repeated);
      return;
    }
    const { ring } = this.#link;
    const { mechanism, identity, peer } = this.#config;
    const context = this.#context();
    const expected = offer.epoch === wireNumber(context.epoch) && offer.mechanism === mechanism.id && !ring.hasNext;
    if (!expected || !(await verifyRekey(peer, context, payload))) {
      throw new ProtocolError("protocol-error");
    }
    const { ciphertext, secret } = await mechanism.encapsulate(offer.share);
    const answer = await signRekey(identity, context, answerHead(offer.epoch, ciphertext), payload);
    // The answer acknowledges that records of the next epoch can be opened, so that comes first.
    await ring.installNext(await ring.secret.next(payload, answer, secret));
    this.#follower.noteAnswer(payload, answer);
    await this.#link.sendControlBytes(now, answer);
  }

  /** Publisher: the viewer has installed the next epoch. @throws ProtocolError `protocol-error` */
  async answered(now: Now, payload: Bytes, answer: Extract<Control, { type: "rekey-answer" }>): Promise<void> {
    const { ring } = this.#link;
    const { policy, peer } = this.#config;
    const context = this.#context();
    const { outstanding } = this.#leader;
    if (outstanding === undefined || answer.epoch !== wireNumber(context.epoch)) {
      // An offer that was sent twice is answered twice.
      return;
    }
    if (!(await verifyRekey(peer, context, payload, outstanding.offer))) {
      throw new ProtocolError("protocol-error");
    }
    const secret = await outstanding.key.decapsulate(answer.ciphertext);
    await ring.installNext(await ring.secret.next(outstanding.offer, payload, secret));
    this.#leader.answered(now.monotonic, [ring.since + policy.switchAge, ring.since + policy.softAge]);
  }

  /** Publisher: seals under the agreed epoch from here on, if this is the place for it. */
  switchIfDue(now: Now, keyframe: boolean): void {
    const pressed = this.#link.ring.sealed >= this.#config.policy.pressingRecords;
    if (this.#leader.shouldSwitch(now.monotonic, keyframe || pressed)) {
      this.#switch(now);
    }
  }

  /** Viewer: a record of the next epoch was opened, so the publisher seals under it. */
  followed(now: Now): void {
    if (!this.#config.leads) {
      this.#switch(now);
    }
  }

  #switch(now: Now): void {
    const epoch = this.#link.ring.switch(now.monotonic);
    if (epoch !== undefined) {
      const cause = this.#config.leads ? { cause: this.#leader.switched() } : {};
      this.#out.event({ type: "rekeyed", epoch, ...cause });
    }
  }

  /** Publisher: sends the offer again, if it must be. */
  async repeatOffer(now: Now): Promise<void> {
    const offer = this.#leader.repeat(now.monotonic);
    if (offer !== undefined) {
      await this.#link.sendControlBytes(now, offer);
    }
  }

  /** When the epoch must be looked at next: never a time that was handled already. */
  get deadline(): number {
    const { policy, leads } = this.#config;
    const { ring } = this.#link;
    const retirement = ring.retirement ?? Infinity;
    const last = Math.min(retirement, ring.since + policy.hardAge);
    if (leads) {
      return Math.min(last, this.#leader.deadline ?? ring.since + policy.offerAge);
    }
    const ask = Math.max(ring.since + policy.softAge + VIEWER_PATIENCE, this.#follower.mayAskAt);
    return ring.hasNext ? last : Math.min(last, ask);
  }
}
