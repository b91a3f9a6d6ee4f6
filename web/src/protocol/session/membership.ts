// A viewer's place in the group of its publisher (groups.md, section 10).

import { type Bytes, wipe } from "../bytes.ts";
import { type Now } from "../clock/now.ts";
import { ProtocolError, type Refusal, asProtocolError, malformed, misuse } from "../error.ts";
import { type SheetRefusal } from "../group/member.ts";
import { GroupOpener } from "../group/opener.ts";
import { NodeSecret } from "../group/secret.ts";
import { parseTerms } from "../group/terms.ts";
import { signatureCheck } from "../keys/identity.ts";
import { parseAnswer } from "../live/answer.ts";
import { type AgeState, type AgeTimes, PictureAge } from "../live/picture-age.ts";
import { type Suite } from "../seal/suite.ts";
import { type GopKey, acceptCertificate } from "../sign/certificate.ts";
import { type FrameRefusal, type FrameRefusalCounts } from "../sign/frame-verifier.ts";
import { GopVerifiers } from "../sign/gop-verifier.ts";
import { type SignMode, type StatedSign, signsFrames, signsGops } from "../sign/mode.ts";
import { type Statement } from "../sign/statement.ts";
import { Assembler } from "../unit/assemble.ts";
import { type Control, parseControl } from "../wire/control.ts";
import { type GroupMessage } from "../wire/group-message.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { type Link } from "./link.ts";
import { type Outbox } from "./output.ts";
import { Proofs } from "./proofs.ts";
import {
  MAX_WAITING, MAX_WAITING_SOUND, type RelayTrack, type RelayedObject, WaitingFrames, recordsOf,
} from "./relayed.ts";

/** Milliseconds of a round trip while none was measured. */
const HOPED_ROUND_TRIP = 30;
/** Milliseconds of a group of pictures while none is known. */
const HOPED_GROUP = 1_000;

/** Which groups a viewer joins. */
export interface GroupPolicy {
  /** What must be signed at least. */
  readonly sign: SignMode;
  /** True: frames come through a relay (`Session.relayed`), and none that come in the session are handed out. */
  readonly relayed?: boolean;
}

/** What a viewer knows of the group whose member it is. */
export interface GroupFacts {
  /** What the camera signs. */
  readonly signed: SignMode;
  /** Name of the suite of the group's records, and the epoch of the last key sheet. */
  readonly suite: string;
  readonly epoch: bigint;
  /** How old the picture can be; absent where frames are not signed. */
  readonly age?: AgeState;
  /** Frames whose proof fitted, and frames refused by reason. */
  readonly accepted: number;
  readonly refused: FrameRefusalCounts;
  /** Frames that went without a signature of their group of pictures. */
  readonly unproven: number;
  /** True while these signatures do not come, though the camera makes them. */
  readonly proofsMissing: boolean;
}

/** What a membership is made with. */
export interface MembershipConfig {
  /** Absent: no group is joined. */
  readonly policy: GroupPolicy | undefined;
  readonly suites: readonly Suite[];
  readonly camera: PeerId;
  /** The camera's name that was asked for; empty if none was. */
  readonly asked: string;
  /** A secret of the session, which this takes over. */
  readonly exporter: Bytes;
  /** The session's. */
  readonly assembler: Assembler;
  /** Counts a record that a relay gave and that was refused: it ends nothing. */
  readonly refusedOfRelay: (reason: Refusal) => void;
}

/** What only a publisher says of a group. */
type OfPublisher = Exclude<GroupMessage, { type: "join" | "challenge" }>;

/** A group that was joined. */
interface Seat {
  readonly opener: GroupOpener;
  readonly stream: number;
  readonly age: PictureAge;
  /** Where groups of pictures are signed, and the key of these signatures once its certificate has come. */
  gops: GopVerifiers | undefined;
  key: GopKey | undefined;
  /** True from the first sheet on: all media is the group's. */
  begun: boolean;
  /** The program was told that a challenge is due, and has not made one yet. */
  challengeDue: boolean;
  /** When the last group of pictures began, and how long the one before it was. */
  groupBegan: number | undefined;
  group: number;
}

/** How a record of the group was handled. */
export type GroupHandled = "done" | { readonly refused: Refusal } | { readonly notTheCameras: FrameRefusal };

/** Joins the group that a publisher offers, opens its media and challenges the camera. */
export class Membership {
  readonly #config: MembershipConfig;
  readonly #link: Link;
  readonly #out: Outbox;
  readonly #proofs: Proofs;
  readonly #waiting = new WaitingFrames(MAX_WAITING);
  /** Sound, which comes on a track of its own. */
  readonly #sound = new WaitingFrames(MAX_WAITING_SOUND);
  #seat: Seat | undefined;
  #roundTrip: number | undefined;

  constructor(config: MembershipConfig, link: Link, out: Outbox) {
    this.#config = config;
    this.#link = link;
    this.#out = out;
    this.#proofs = new Proofs(out, this.isRelayed ? (reason) => {
      this.#refusedOf("proofs", reason);
    } : undefined);
  }

  /** True if frames come through a relay. */
  get isRelayed(): boolean {
    return this.#config.policy?.relayed === true;
  }

  /** True from the first key sheet on, unless frames come through a relay: all media of the session is the group's. */
  get ownsMedia(): boolean {
    return this.#seat?.begun === true && !this.isRelayed;
  }

  /** What is known, of a member. */
  facts(now: number): GroupFacts | undefined {
    const seat = this.#seat;
    const keys = seat?.opener.keys;
    if (seat === undefined || keys === undefined) {
      return undefined;
    }
    const { opener, age, gops } = seat;
    return {
      signed: opener.sign, suite: keys.suite.name, epoch: keys.epoch,
      accepted: opener.accepted, refused: opener.refused,
      unproven: gops?.unproven ?? 0, proofsMissing: (gops?.missingAt ?? Infinity) <= now,
      ...(signsFrames(opener.sign) && { age: age.state(now) }),
    };
  }

  /** Handles what a publisher says of its group. @throws ProtocolError `protocol-error` */
  async said(now: Now, message: OfPublisher): Promise<void> {
    switch (message.type) {
      case "group-terms":
        await this.#offered(now, message.terms);
        return;
      case "key-sheet":
        await this.#sheet(this.#joined(), message.sheet);
        await this.#openWaiting(now);
        return;
      case "answer":
        // Too late, or the second one: it says nothing.
        await this.#joined().age.answer(parseAnswer(message.answer));
        return;
      case "gop-key":
        await this.#certified(this.#joined(), message.certificate);
        return;
      case "gop-signature": {
        const { gops } = this.#joined();
        if (gops?.isCertified !== true) {
          throw new ProtocolError("protocol-error");
        }
        await this.#proofs.verify(gops, message.signature);
        return;
      }
    }
  }

  #joined(): Seat {
    if (this.#seat === undefined) {
      throw new ProtocolError("protocol-error");
    }
    return this.#seat;
  }

  /** Joins if the terms are good enough; else everything stays as it is. */
  async #offered(now: Now, bytes: Bytes): Promise<void> {
    if (this.#seat !== undefined) {
      throw new ProtocolError("protocol-error");
    }
    const { policy, suites, camera, asked, exporter, assembler } = this.#config;
    const terms = parseTerms(bytes);
    const { stream } = terms;
    const group = { camera, stream };
    const config = { group, asked, least: policy?.sign ?? "off", suites, check: await signatureCheck(camera) };
    const key = await NodeSecret.ofMember(exporter, group);
    // What the session itself brings is another stream of records than a relay's.
    const opener = new GroupOpener(config, this.isRelayed ? new Assembler() : assembler, key);
    const refused = await opener.agree(terms);
    if (refused !== undefined && refused !== "sign" && refused !== "suite") {
      // On the session with the camera itself nobody else can have sent bad ones.
      throw new ProtocolError("protocol-error", `the terms of the group are refused: ${refused}`);
    }
    if (refused !== undefined || policy === undefined) {
      opener.wipe();
      if (this.isRelayed) {
        this.#out.event({ type: "unfit-group", signed: terms.sign });
      } else if (refused === "sign" && policy !== undefined) {
        this.#out.event({ type: "declined-group", signed: terms.sign });
      }
      return;
    }
    this.#seat = {
      opener, stream, begun: false, challengeDue: false,
      age: new PictureAge(this.#times(HOPED_GROUP), now.monotonic), groupBegan: undefined, group: HOPED_GROUP,
      gops: undefined, key: undefined,
    };
    this.#expect(this.#seat, terms.sign);
    await this.#join(now, stream);
  }

  /** Says that this end wants to be a member, or, again and of a relay's, that it lacks a sheet. */
  #join(now: Now, stream: number): Promise<void> {
    return this.#link.sendControl(now, { type: "join", stream, media: this.isRelayed ? "relay" : "session" });
  }

  #times(group: number): AgeTimes {
    return { roundTrip: this.#roundTrip ?? HOPED_ROUND_TRIP, group };
  }

  /** From here on the camera signs this. */
  #expect(seat: Seat, sign: StatedSign): void {
    if (signsGops(sign) !== (seat.gops !== undefined)) {
      seat.gops = signsGops(sign) ? new GopVerifiers(seat.stream) : undefined;
      if (seat.key !== undefined) {
        seat.gops?.certified(seat.key);
      }
    }
  }

  async #take(seat: Seat, sheet: Bytes): Promise<SheetRefusal | undefined> {
    const taken = await seat.opener.takeSheet(sheet);
    if (typeof taken === "string") {
      return taken;
    }
    this.#expect(seat, seat.opener.sign);
    return undefined;
  }

  async #sheet(seat: Seat, sheet: Bytes): Promise<void> {
    const refused = await this.#take(seat, sheet);
    if (refused === "stale" && this.isRelayed) {
      // The relay brought it before.
      return;
    }
    if (refused !== undefined) {
      throw new ProtocolError("protocol-error", `a key sheet is refused: ${refused}`);
    }
    if (!seat.begun) {
      seat.begun = true;
      this.#out.event({ type: "joined-group", signed: seat.opener.sign });
    }
  }

  async #certified(seat: Seat, certificate: Bytes): Promise<void> {
    const { camera } = this.#config;
    const key = await acceptCertificate(certificate, camera, await signatureCheck(camera));
    if (typeof key === "string") {
      throw new ProtocolError("protocol-error", `the certificate of a key is refused: ${key}`);
    }
    seat.key = key;
    seat.gops?.certified(key);
  }

  /**
   * Takes what a relay gave. Nothing of it ends the session: what is wrong is refused and counted.
   * @throws ProtocolError `too-many-refusals` if a key of the group may not be used any more
   */
  async relayed(now: Now, { track, begins, bytes }: RelayedObject): Promise<void> {
    const seat = this.#seat;
    if (seat?.begun !== true || !this.isRelayed) {
      return;
    }
    if (track === "video") {
      this.#waiting.push(now.monotonic, begins, bytes);
    } else if (track === "sound") {
      this.#sound.push(now.monotonic, begins, bytes);
    } else {
      try {
        await this.#toldByRelay(seat, track, parseControl(bytes));
      } catch (thrown) {
        this.#refusedOf(track, asProtocolError(thrown).reason);
      }
    }
    await this.#openWaiting(now);
  }

  async #toldByRelay(seat: Seat, track: "keys" | "proofs", message: Control): Promise<void> {
    if (track === "proofs" && message.type === "gop-signature") {
      if (seat.gops?.isCertified === true) {
        await this.#proofs.verify(seat.gops, message.signature);
      }
    } else if (track === "keys" && message.type === "key-sheet") {
      const refused = await this.#take(seat, message.sheet);
      // Before the newest sheet there are those of the present group of pictures, from before this end was a member.
      if (refused !== undefined && refused !== "stale" && refused !== "no-slot") {
        this.#refusedOf("keys", refused);
      }
    } else if (track === "keys" && message.type === "gop-key") {
      await this.#certified(seat, message.certificate);
    } else if (track === "keys" && message.type === "group-terms") {
      const refused = await seat.opener.agree(parseTerms(message.terms));
      if (refused !== undefined) {
        this.#refusedOf("keys", refused);
      }
    } else {
      throw malformed();
    }
  }

  #refusedOf(track: RelayTrack, reason: string): void {
    // A relay gives the newest ones anew when it is asked anew.
    if (reason !== "repeated") {
      this.#out.event({ type: "relay-refused", track, reason });
    }
  }

  /** Opens the frames of a relay whose keys are there. */
  async #openWaiting(now: Now): Promise<void> {
    const seat = this.#seat;
    if (seat === undefined) {
      return;
    }
    const waits = (record: Bytes): Promise<boolean> => seat.opener.waitsForKey(record);
    for (const waiting of [this.#waiting, this.#sound]) {
      for (let next = await waiting.take(now.monotonic, waits); next !== undefined; ) {
        waiting.taken(next, await this.#openFrame(now, seat, next.frame));
        next = await waiting.take(now.monotonic, waits);
      }
    }
  }

  /** Opens the records of a frame; returns why the first one was refused that was. */
  async #openFrame(now: Now, seat: Seat, frame: Bytes): Promise<Refusal | undefined> {
    const records = recordsOf(frame);
    let first: Refusal | undefined = records === undefined ? "malformed" : undefined;
    for (const record of records ?? []) {
      const handled = await this.open(now, record);
      first ??= handled !== "done" && "refused" in handled ? handled.refused : undefined;
    }
    // What was sealed before this end was a member is no sign of anything.
    const early = first === "unknown-epoch" && seat.opener.accepted === 0;
    if (first !== undefined && first !== "replay" && !early) {
      this.#config.refusedOfRelay(first);
    }
    return first;
  }

  /**
   * Opens a media record of the group. A member's.
   * @param acceptsClear whether one in clear may come
   */
  async open(now: Now, record: Bytes, acceptsClear = false): Promise<GroupHandled> {
    const seat = this.#joined();
    seat.opener.acceptsClear = acceptsClear;
    const { media, statement, refused, notTheCameras } = await seat.opener.open(now.monotonic, record);
    if (statement !== undefined) {
      await this.#released(seat, now.monotonic, statement);
    }
    for (const one of media) {
      this.#out.media(one);
    }
    if (seat.opener.integritySpent) {
      throw new ProtocolError("too-many-refusals");
    }
    if (refused !== undefined) {
      return { refused };
    }
    return notTheCameras === undefined ? "done" : { notTheCameras };
  }

  /** Notes the frame that was released. */
  async #released(seat: Seat, now: number, statement: Statement): Promise<void> {
    const isPicture = statement.stream === seat.stream;
    if (isPicture) {
      seat.age.verified(now, statement.liveness);
    }
    if (statement.index === 0 && isPicture) {
      seat.group = seat.groupBegan === undefined ? seat.group : now - seat.groupBegan;
      seat.groupBegan = now;
    }
    if (seat.gops !== undefined) {
      await this.#proofs.took(seat.gops, now, statement);
    }
  }

  /** A round trip to the camera was measured, in milliseconds: the shortest counts. */
  measured(roundTrip: number): void {
    this.#roundTrip = Math.min(this.#roundTrip ?? Infinity, Math.max(0, roundTrip));
  }

  /**
   * Tells the program that a challenge is due, and the camera that a relay does not bring a sheet; gives up a session
   * whose camera signed wrongly.
   */
  async timeout(now: Now): Promise<void> {
    this.#proofs.check();
    const seat = this.#seat;
    await this.#openWaiting(now);
    const asks = [this.#waiting, this.#sound].some((waiting) => waiting.asks(now.monotonic));
    if (seat !== undefined && asks) {
      await this.#join(now, seat.stream);
    }
    if (seat !== undefined && now.monotonic >= this.#challengeDeadline) {
      seat.challengeDue = true;
      this.#out.event({ type: "challenge-due" });
    }
  }

  /** When `timeout` is due. */
  get deadline(): number {
    return Math.min(this.#challengeDeadline, this.#waiting.deadline, this.#sound.deadline);
  }

  get #challengeDeadline(): number {
    const seat = this.#seat;
    const challenges = seat?.begun === true && signsFrames(seat.opener.sign) && !seat.challengeDue;
    return challenges ? seat.age.deadline : Infinity;
  }

  /** Sends a challenge of 16 fresh random bytes. */
  async challenge(now: Now, random: Bytes): Promise<void> {
    const seat = this.#seat;
    if (seat?.begun !== true || !signsFrames(seat.opener.sign)) {
      throw misuse("only a member challenges a camera, and only one that signs frames");
    }
    seat.challengeDue = false;
    seat.age.times = this.#times(seat.group);
    if (seat.age.challenge(now.monotonic, random)) {
      await this.#link.sendControl(now, { type: "challenge", challenge: random });
    }
  }

  /** Overwrites all secrets at the end of the session. */
  wipe(): void {
    wipe(this.#config.exporter);
    this.#seat?.opener.wipe();
  }
}
