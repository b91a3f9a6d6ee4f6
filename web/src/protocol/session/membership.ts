// A viewer's place in the group of its publisher (groups.md, section 10).

import { type Bytes, wipe } from "../bytes.ts";
import { type Now } from "../clock/now.ts";
import { ProtocolError, type Refusal, misuse } from "../error.ts";
import { GroupOpener } from "../group/opener.ts";
import { NodeSecret } from "../group/secret.ts";
import { signatureCheck } from "../keys/identity.ts";
import { parseAnswer } from "../live/answer.ts";
import { type AgeState, type AgeTimes, PictureAge } from "../live/picture-age.ts";
import { type Suite } from "../seal/suite.ts";
import { acceptCertificate } from "../sign/certificate.ts";
import { type FrameRefusal, type FrameRefusalCounts } from "../sign/frame-verifier.ts";
import { GopVerifier } from "../sign/gop-verifier.ts";
import { covers, signsFrames } from "../sign/mode.ts";
import { type Statement } from "../sign/statement.ts";
import { type Assembler } from "../unit/assemble.ts";
import { type GroupMessage, type SignMode } from "../wire/group-message.ts";
import { type PeerId } from "../wire/peer-id.ts";
import { type Link } from "./link.ts";
import { type Outbox } from "./output.ts";
import { Proofs } from "./proofs.ts";

/** Milliseconds of a round trip while none was measured. */
const HOPED_ROUND_TRIP = 30;
/** Milliseconds of a group of pictures while none is known. */
const HOPED_GROUP = 1_000;

/** Which groups a viewer joins. */
export interface GroupPolicy {
  /** What must be signed at least. */
  readonly sign: SignMode;
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
}

/** What a membership is made with. */
export interface MembershipConfig {
  /** Absent: no group is joined. */
  readonly policy: GroupPolicy | undefined;
  readonly suites: readonly Suite[];
  readonly camera: PeerId;
  /** A secret of the session, which this takes over. */
  readonly exporter: Bytes;
  /** The session's. */
  readonly assembler: Assembler;
}

/** What only a publisher says of a group. */
type OfPublisher = Exclude<GroupMessage, { type: "join" | "challenge" }>;

/** A group that was joined. */
interface Seat {
  readonly opener: GroupOpener;
  readonly sign: SignMode;
  readonly stream: number;
  readonly age: PictureAge;
  gops: GopVerifier | undefined;
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
  #seat: Seat | undefined;
  #roundTrip: number | undefined;

  constructor(config: MembershipConfig, link: Link, out: Outbox) {
    this.#config = config;
    this.#link = link;
    this.#out = out;
    this.#proofs = new Proofs(out);
  }

  /** True from the first key sheet on: all media is the group's. */
  get isMember(): boolean {
    return this.#seat?.begun === true;
  }

  /** What is known, of a member. */
  facts(now: number): GroupFacts | undefined {
    const seat = this.#seat;
    const keys = seat?.opener.keys;
    if (seat === undefined || keys === undefined) {
      return undefined;
    }
    const { opener, sign, age, gops } = seat;
    return {
      signed: sign, suite: keys.suite.name, epoch: keys.epoch, accepted: opener.accepted, refused: opener.refused,
      unproven: gops?.unproven ?? 0, ...(signsFrames(sign) && { age: age.state(now) }),
    };
  }

  /** Handles what a publisher says of its group. @throws ProtocolError `protocol-error` */
  async said(now: Now, message: OfPublisher): Promise<void> {
    switch (message.type) {
      case "group":
        await this.#offered(now, message);
        return;
      case "key-sheet":
        await this.#sheet(this.#joined(), message.sheet);
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
        if (gops === undefined) {
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

  /** Joins if the offer is good enough; else everything stays as it is. */
  async #offered(now: Now, { stream, sign, suite: id }: Extract<GroupMessage, { type: "group" }>): Promise<void> {
    if (this.#seat !== undefined) {
      throw new ProtocolError("protocol-error");
    }
    const { policy, suites, camera, exporter, assembler } = this.#config;
    const isKnown = suites.some((known) => known.id === id);
    if (policy === undefined || !isKnown) {
      return;
    }
    if (!covers(sign, policy.sign)) {
      this.#out.event({ type: "declined-group", signed: sign });
      return;
    }
    const group = { camera, stream };
    const config = { group, suites, check: await signatureCheck(camera) };
    const key = await NodeSecret.ofMember(exporter, group);
    this.#seat = {
      opener: new GroupOpener(config, assembler, sign, key), sign, stream, begun: false, challengeDue: false,
      age: new PictureAge(this.#times(HOPED_GROUP), now.monotonic), gops: undefined, groupBegan: undefined,
      group: HOPED_GROUP,
    };
    await this.#link.sendControl(now, { type: "join", stream, media: "session" });
  }

  #times(group: number): AgeTimes {
    return { roundTrip: this.#roundTrip ?? HOPED_ROUND_TRIP, group };
  }

  async #sheet(seat: Seat, sheet: Bytes): Promise<void> {
    const taken = await seat.opener.takeSheet(sheet);
    if (typeof taken === "string") {
      // On the session with the camera itself nobody else can have sent a bad one.
      throw new ProtocolError("protocol-error", `a key sheet is refused: ${taken}`);
    }
    if (!seat.begun) {
      seat.begun = true;
      this.#out.event({ type: "joined-group", signed: seat.sign });
    }
  }

  async #certified(seat: Seat, certificate: Bytes): Promise<void> {
    const { camera } = this.#config;
    const key = await acceptCertificate(certificate, camera, await signatureCheck(camera));
    if (typeof key === "string") {
      throw new ProtocolError("protocol-error", `the certificate of a key is refused: ${key}`);
    }
    seat.gops = new GopVerifier(key, seat.stream);
  }

  /** Opens a media record of the group. A member's. */
  async open(now: Now, record: Bytes): Promise<GroupHandled> {
    const seat = this.#joined();
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
    if (signsFrames(seat.sign)) {
      seat.age.verified(now, statement.liveness);
    }
    if (statement.index === 0) {
      seat.group = seat.groupBegan === undefined ? seat.group : now - seat.groupBegan;
      seat.groupBegan = now;
    }
    if (seat.gops !== undefined) {
      await this.#proofs.took(seat.gops, statement);
    }
  }

  /** A round trip to the camera was measured, in milliseconds: the shortest counts. */
  measured(roundTrip: number): void {
    this.#roundTrip = Math.min(this.#roundTrip ?? Infinity, Math.max(0, roundTrip));
  }

  /** Tells the program that a challenge is due; gives up a session whose camera signed wrongly. */
  timeout(now: number): void {
    this.#proofs.check();
    const seat = this.#seat;
    if (seat !== undefined && now >= this.deadline) {
      seat.challengeDue = true;
      this.#out.event({ type: "challenge-due" });
    }
  }

  /** When `timeout` is due. */
  get deadline(): number {
    const seat = this.#seat;
    const challenges = seat?.begun === true && signsFrames(seat.sign) && !seat.challengeDue;
    return challenges ? seat.age.deadline : Infinity;
  }

  /** Sends a challenge of 16 fresh random bytes. */
  async challenge(now: Now, random: Bytes): Promise<void> {
    const seat = this.#seat;
    if (seat?.begun !== true || !signsFrames(seat.sign)) {
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
