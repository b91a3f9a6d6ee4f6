// The session: one peer, from the first hello to the last record.

import { type Bytes, wipe } from "../bytes.ts";
import { type Now } from "../clock/now.ts";
import { ProtocolError, type Refusal, asProtocolError, misuse } from "../error.ts";
import { EpochSecret } from "../keys/epoch.ts";
import { EnrolledSecret, type GroupName, type NodeSecret } from "../group/secret.ts";
import { type Agreed } from "../keys/handshake.ts";
import { Initiator } from "../keys/initiator.ts";
import { alertBytes, alerted } from "../keys/messages.ts";
import { PresharedKey } from "../keys/psk.ts";
import { Responder } from "../keys/responder.ts";
import { type RefusalCounts, Refusals } from "../seal/refusals.ts";
import { Assembler } from "../unit/assemble.ts";
import { Cutter, encryptsDescription } from "../unit/cut.ts";
import { type StreamInfo, infoBytes } from "../unit/info.ts";
import { SOUND_STREAM, type SoundInfo, soundInfoBytes } from "../unit/sound-info.ts";
import { type Unsplit } from "../unit/planner.ts";
import { type Preamble, preambleBytes } from "../unit/preamble.ts";
import { checkUnit } from "../unit/unit.ts";
import { Close, type Control } from "../wire/control.ts";
import { MAX_CONTROL_RECORD, MAX_HANDSHAKE_MESSAGE, MAX_RECORD } from "../wire/framing.ts";
import { CHALLENGE_LEN, type GroupMessage } from "../wire/group-message.ts";
import { CONFIG_FLAGS, Flag, MAX_STREAM, frameFlags } from "../wire/header.ts";
import { ENCRYPT_ALL, type Selection } from "../wire/selection.ts";
import { RekeyPolicy, type SessionConfig } from "./config.ts";
import { Epochs } from "./epochs.ts";
import { Hosting } from "./hosting.ts";
import { KeyRing } from "./keyring.ts";
import { Link, noKeys } from "./link.ts";
import { Liveness } from "./liveness.ts";
import { type GroupFacts, Membership } from "./membership.ts";
import { type Facts, Outbox, type Output } from "./output.ts";
import { type Handled, PeerLink } from "./peer-link.ts";
import { type RelayedObject } from "./relayed.ts";

/** Milliseconds from the connection's first byte to an established session. */
export const HANDSHAKE_TIMEOUT = 5_000;

/** A frame to publish: its stamps beside what the session knows. */
export interface OutgoingFrame {
  /** 1 to 15. */
  readonly stream: number;
  readonly keyframe: boolean;
  /** Its number and stamps; the frame's bytes are in the order of the source and have no padding. */
  readonly stamps: Omit<Preamble, "padding" | "layout" | "kept">;
  /** The access unit, at most 16 MiB. */
  readonly data: Bytes;
}

type State =
  | { readonly name: "initiating"; readonly handshake: Initiator }
  | { readonly name: "responding"; readonly handshake: Responder }
  /** Initiator: the finish is sent, the welcome is awaited. Responder: the program decides about admission. */
  | { readonly name: "expect-welcome" | "await-admission" | "established"; readonly keys: Keys }
  | { readonly name: "over"; readonly link?: Link };

interface Keys {
  readonly peer: PeerLink;
  readonly facts: Facts;
  enrolment: Bytes | undefined;
}

/**
 * One peer on a byte stream. A session reads no clock, draws no randomness and does no I/O; only its mechanisms and its
 * identity have randomness of their own. A program drives it:
 *
 * - **Begin** with `initiate` at the end that opened the connection, with `respond` at the other.
 * - **Feed** it messages (`message`, from a `MessageReader` with `messageLimit`), and the time (`timeout`, no later
 *   than `deadline`). Await each call before the next; a call in between is refused as misuse.
 *   Messages that have come are fed before the time: after a pause of the browser the peer was perhaps heard in time.
 * - **Drain** it after each call: `poll` until it returns `undefined`, send what is to be sent, and show the rest. A
 *   call that throws ends the session: what `poll` returns then still tells the peer why.
 * - A responder answers the event `peer-proved` with `admit` or `close`, a member `challenge-due` with `challenge`.
 *   From `established` on a publisher calls `sealInfo` and `sealFrame`, and seals the next frame only when little of
 *   the last one waits to be sent.
 */
export class Session {
  readonly #config: SessionConfig;
  readonly #out = new Outbox();
  readonly #refusals = new Refusals();
  readonly #cutter: Cutter;
  readonly #began: number;
  #state: State;
  #busy = false;

  private constructor(config: SessionConfig, state: State, now: Now) {
    this.#config = config;
    this.#cutter = new Cutter(checkUnit(config.unit ?? "frame"), config.selectionSeed ?? 0);
    this.#state = state;
    this.#began = now.monotonic;
  }

  /**
   * Opens a session as the end that opened the connection; drain it to get the hello.
   * @param random 32 fresh random bytes
   * @throws ProtocolError `misuse` if the configuration pins nobody or offers nothing
   */
  static async initiate(config: SessionConfig, random: Bytes, now: Now): Promise<Session> {
    if (config.pinned === undefined || config.side !== "initiator") {
      throw misuse("an initiator pins the peer id of a ticket");
    }
    const handshake = await Initiator.begin(config.handshake, config.pinned, random, config.guess);
    const session = new Session(config, { name: "initiating", handshake }, now);
    session.#out.transmit(handshake.hello);
    return session;
  }

  /** Awaits a session as the end that accepted the connection. `random` are 32 fresh random bytes. */
  static respond(config: SessionConfig, random: Bytes, now: Now): Session {
    if (config.side !== "responder") {
      throw misuse("this configuration is an initiator's");
    }
    return new Session(config, { name: "responding", handshake: new Responder(config.handshake, random) }, now);
  }

  /** The next output, or `undefined` if there is none for now. */
  poll(): Output | undefined {
    return this.#out.next();
  }

  /** True if media may flow. */
  get isEstablished(): boolean {
    return this.#state.name === "established";
  }

  /** True if the session has ended. */
  get isOver(): boolean {
    return this.#state.name === "over";
  }

  /** The longest message that may come now, for a `MessageReader`. */
  get messageLimit(): number {
    if (this.#state.name !== "established") {
      return MAX_HANDSHAKE_MESSAGE;
    }
    return this.#leads ? MAX_CONTROL_RECORD : MAX_RECORD;
  }

  /** Results of the handshake, once the session is established. */
  get facts(): Facts | undefined {
    return this.#state.name === "established" ? this.#state.keys.facts : undefined;
  }

  /** True if the keys of the next epoch are agreed on, and this end has not switched to them. */
  get hasNextEpoch(): boolean {
    return this.#keys?.peer.link.ring.hasNext ?? false;
  }

  /** Number of the epoch under which records are sealed, once there are keys. */
  get epoch(): bigint | undefined {
    return this.#keys?.peer.link.ring.current.number;
  }

  /** The selection in force (publisher), or the newest one announced (viewer). */
  get selection(): Selection | undefined {
    return this.#keys?.peer.selection;
  }

  /** Publisher: slices and images that levels 2 and 3 encrypted whole because they could not be split. */
  get unsplit(): Unsplit | undefined {
    return this.#cutter.unsplit;
  }

  /** Records refused so far, by reason. */
  get refusals(): RefusalCounts {
    return this.#refusals.counts;
  }

  /** Viewer: what is known of the group whose member it is, at this monotonic time. */
  group(now: number): GroupFacts | undefined {
    return this.#keys?.peer.membership?.facts(now);
  }

  /** True if this end sends nothing but cells. */
  get isShaped(): boolean {
    return this.#keys?.peer.link.cells !== undefined;
  }

  /** Bytes of sealed media that wait for cells. */
  get waitingMedia(): number {
    return this.#keys?.peer.link.cells?.waitingMedia ?? 0;
  }

  /** Tells how many bytes of messages the carrier has not taken yet: ticks of cells are left out for them. */
  carrierHolds(bytes: number): void {
    this.#keys?.peer.link.carrierHolds(bytes);
  }

  get #leads(): boolean {
    return this.#config.handshake.role === "publisher";
  }

  get #keys(): Keys | undefined {
    return "keys" in this.#state ? this.#state.keys : undefined;
  }

  /** When `timeout` must be called at the latest, by the monotonic clock (ms); `Infinity` for never. */
  get deadline(): number {
    switch (this.#state.name) {
      case "established":
        return this.#state.keys.peer.deadline;
      case "over":
        return this.#state.link?.farewellDeadline ?? Infinity;
      default:
        return this.#began + HANDSHAKE_TIMEOUT;
    }
  }

  /** Runs one step at a time, and ends the session where it fails. A wrong call does not end it. */
  async #step<T>(now: Now, body: () => Promise<T>): Promise<T> {
    if (this.#busy) {
      throw misuse("await each call of a session before the next");
    }
    this.#busy = true;
    try {
      return await body();
    } catch (thrown) {
      const error = asProtocolError(thrown);
      if (error.fault !== "caller") {
        await this.#fail(now, error);
      }
      throw error;
    } finally {
      this.#busy = false;
    }
  }

  /** Processes a message, without the carrier's length. @throws ProtocolError: the session is over */
  message(now: Now, message: Bytes): Promise<Handled> {
    return this.#step(now, () => this.#message(now, message));
  }

  async #message(now: Now, message: Bytes): Promise<Handled> {
    const alert = alerted(message);
    switch (this.#state.name) {
      case "initiating":
      case "responding":
        await this.#shake(now, message, this.#state);
        return "done";
      case "expect-welcome":
        if (alert !== undefined) {
          throw alert;
        }
        return this.#state.keys.peer.record(now, message);
      case "await-admission":
      case "established":
        if (alert !== undefined) {
          // Nothing protects it: anybody on the path could have sent it.
          this.#refusals.count("malformed");
          return "done";
        }
        return this.#state.keys.peer.record(now, message);
      case "over":
        return "done";
    }
  }

  async #shake(now: Now, message: Bytes, state: Extract<State, { handshake: unknown }>): Promise<void> {
    if (state.name === "initiating") {
      const { send, agreed } = await state.handshake.handle(message);
      this.#out.transmit(send);
      if (agreed !== undefined) {
        this.#state = { name: "expect-welcome", keys: await this.#establish(now, agreed) };
      }
      return;
    }
    const step = await state.handshake.handle(message);
    if ("send" in step) {
      this.#out.transmit(step.send);
    } else {
      this.#state = { name: "await-admission", keys: await this.#establish(now, step.agreed) };
      this.#out.event({ type: "peer-proved", peer: step.agreed.peer });
    }
  }

  async #establish(now: Now, agreed: Agreed): Promise<Keys> {
    const { handshake, side, rekey: policy = new RekeyPolicy() } = this.#config;
    const { suite, mechanism, peer, binding, sessionId, enrolment, exporter } = agreed;
    const secret = new EpochSecret(0n, agreed.epoch0);
    const ring = await KeyRing.create(secret, suite, side, policy.hardLimits, now.monotonic);
    const link = new Link(ring, this.#out);
    const { identity } = handshake;
    const exchange = { leads: this.#leads, policy, mechanism, identity, peer: peer.id, binding };
    const listener = {
      isEstablished: () => this.isEstablished,
      welcomed: (at: Now) => this.#welcomed(at),
      closed: (reason: number, text: string) => {
        this.#out.event({ type: "closed", reason, text });
        this.#end();
      },
    };
    const epochs = new Epochs(exchange, link, this.#out);
    const assembler = new Assembler();
    const group = {
      policy: this.#config.group, suites: handshake.suites, camera: peer.id, asked: handshake.wish?.camera ?? "",
      exporter, assembler,
      refusedOfRelay: (reason: Refusal) => {
        this.#refusals.count(reason);
      },
    };
    const { terms } = this.#config;
    const place = this.#leads
      ? { ...(terms && { hosting: new Hosting(terms, exporter, link, this.#out) }) }
      : { membership: new Membership(group, link, this.#out) };
    if (this.#leads && terms === undefined) {
      wipe(exporter);
    }
    return {
      peer: new PeerLink(link, epochs, place, assembler, this.#out, listener, this.#refusals, now),
      facts: { peer, suite: suite.name, mechanism: mechanism.name, sessionId },
      enrolment,
    };
  }

  /**
   * The secret that both ends keep if the responder enrols the initiator: the pre-shared key of their later handshakes.
   * It can be taken once: by a responder from `peer-proved` on, by an initiator from `established` on.
   */
  async takeEnrolment(): Promise<PresharedKey | undefined> {
    const keys = this.#state.name === "expect-welcome" ? undefined : this.#keys;
    const bytes = keys?.enrolment;
    if (keys === undefined || bytes === undefined) {
      return undefined;
    }
    keys.enrolment = undefined;
    return PresharedKey.fromBytes(bytes);
  }

  /** The same for a publisher that leads a group, with what the viewer's member key follows from without a session. */
  async takeGuest(): Promise<{ readonly psk: PresharedKey; readonly secret: EnrolledSecret } | undefined> {
    const bytes = this.#keys?.enrolment;
    const secret = bytes && (await EnrolledSecret.fromBytes(bytes));
    const psk = await this.takeEnrolment();
    return secret && psk && { psk, secret };
  }

  /** Publisher: the key by which the viewer is a member of its group for as long as this session lasts. */
  memberKey(group: GroupName): Promise<NodeSecret> {
    const { hosting } = this.#established().peer;
    if (hosting === undefined) {
      throw misuse("only a publisher that offers a group has keys of members");
    }
    return hosting.memberKey(group);
  }

  /** Publisher: tells the viewer a sheet, an answer, or what else there is to be told of its group. */
  tell(now: Now, message: GroupMessage): Promise<void> {
    return this.#step(now, async () => {
      const { hosting, epochs } = this.#established().peer;
      if (hosting === undefined) {
        throw misuse("only a publisher that offers a group tells of it");
      }
      await hosting.tell(now, message);
      // Answers use up the control key.
      await epochs.ifDue(now);
    });
  }

  /** Publisher: tells the viewer which cameras it may watch, or whether this one gives pictures. */
  tellOfCameras(now: Now, message: Extract<Control, { type: "cameras" | "camera" }>): Promise<void> {
    return this.#step(now, () => this.#established().peer.link.sendControl(now, message));
  }

  /** Responder: admits the peer of `peer-proved`. */
  admit(now: Now): Promise<void> {
    return this.#step(now, async () => {
      if (this.#state.name !== "await-admission") {
        throw misuse("no peer awaits admission");
      }
      const { keys } = this.#state;
      this.#enter(now, keys);
      await keys.peer.link.sendControl(now, { type: "welcome" });
      await keys.peer.hosting?.begin(now);
      await this.#beginShape(now, keys);
    });
  }

  async #welcomed(now: Now): Promise<void> {
    if (this.#state.name !== "expect-welcome") {
      throw new ProtocolError("protocol-error");
    }
    const { keys } = this.#state;
    this.#enter(now, keys);
    await this.#beginShape(now, keys);
  }

  #enter(now: Now, keys: Keys): void {
    keys.peer.liveness = new Liveness(now.monotonic);
    this.#state = { name: "established", keys };
    this.#out.event({ type: "established", facts: keys.facts });
  }

  async #beginShape(now: Now, keys: Keys): Promise<void> {
    if (this.#config.shape !== undefined && this.#leads) {
      await keys.peer.beginShape(now, this.#config.shape);
    }
  }

  /** Bytes of an incomplete message came: a long message takes time on a slow path. */
  partOfMessage(now: Now): void {
    this.#keys?.peer.liveness.partCame(now.monotonic);
  }

  /** The time of `deadline` has come. @throws ProtocolError: the session is over */
  timeout(now: Now): Promise<void> {
    return this.#step(now, async () => {
      if (this.#state.name === "established") {
        await this.#state.keys.peer.timeout(now);
      } else if (this.#state.name === "over") {
        this.#state.link?.continueFarewell(now.monotonic);
      } else if (now.monotonic >= this.#began + HANDSHAKE_TIMEOUT) {
        throw new ProtocolError("timeout");
      }
    });
  }

  /** Ends the session. `reason` is one of `Close`; `text` has at most 256 bytes. */
  close(now: Now, reason: number, text = ""): Promise<void> {
    return this.#step(now, () => this.#close(now, reason, text));
  }

  async #close(now: Now, reason: number, text: string): Promise<void> {
    const keys = this.#keys;
    if (this.#state.name === "initiating" || this.#state.name === "responding") {
      this.#alert("alert");
    } else if (keys !== undefined) {
      try {
        await keys.peer.link.sayLast(now, { type: "close", reason, text }, reason === Close.EndOfStream);
      } catch {
        // A spent control key cannot seal the message; the peer then notices the end of the carrier.
      }
    }
    this.#end();
  }

  /** Tells the peer of an unfinished handshake that it failed, unless that peer is a stranger. */
  #alert(reason: ProtocolError["reason"]): void {
    const stranger = this.#state.name === "responding" && this.#state.handshake.expectsHello && reason === "alert";
    if (!stranger) {
      this.#out.transmit(alertBytes(reason));
    }
  }

  #end(): void {
    const keys = this.#keys;
    if (keys !== undefined) {
      keys.peer.link.ring.wipe();
      keys.peer.membership?.wipe();
      keys.peer.hosting?.wipe();
      wipe(keys.enrolment ?? new Uint8Array(0));
      keys.enrolment = undefined;
    }
    this.#state = keys === undefined ? { name: "over" } : { name: "over", link: keys.peer.link };
  }

  /** Ends the session because of an error. The peer is told only a coarse reason. */
  async #fail(now: Now, error: ProtocolError): Promise<void> {
    const shaking = this.#state.name === "initiating" || this.#state.name === "responding";
    if (shaking || error.reason === "alert" || error.reason === "psk") {
      // No alert answers an alert, and nothing at all answers a stranger.
      const silent = error.reason === "alert" || error.reason === "mac";
      const told = error.reason === "psk" && this.#state.name !== "responding";
      if (!silent && !told) {
        this.#alert(error.reason === "timeout" ? "alert" : error.reason);
      }
      this.#end();
      return;
    }
    if (this.#state.name === "over") {
      return;
    }
    const reasons = { "key-limit": Close.KeyLimit, "peer-lost": Close.GoingAway } as Record<string, number>;
    const away = error.fault === "own" ? Close.GoingAway : Close.ProtocolError;
    await this.#close(now, reasons[error.reason] ?? away, "");
  }

  #established(): Keys {
    if (this.#state.name !== "established") {
      throw noKeys();
    }
    return this.#state.keys;
  }

  #publisher(stream: number): Keys {
    const keys = this.#established();
    if (!this.#leads || !Number.isInteger(stream) || stream < 1 || stream > MAX_STREAM) {
      throw misuse("only a publisher seals media, of the streams 1 to 15");
    }
    return keys;
  }

  /** Viewer: asks for a keyframe of a stream. */
  requestKeyframe(now: Now, stream: number): Promise<void> {
    return this.#step(now, async () => {
      const keys = this.#established();
      if (this.#leads || !Number.isInteger(stream) || stream < 1 || stream > MAX_STREAM) {
        throw misuse("only a viewer asks for keyframes, of the streams 1 to 15");
      }
      await keys.peer.link.sendControl(now, { type: "keyframe-request", stream });
    });
  }

  /** Member: sends a challenge of 16 fresh random bytes, when the event `challenge-due` says so. */
  challenge(now: Now, random: Bytes): Promise<void> {
    return this.#step(now, async () => {
      const { membership, epochs } = this.#established().peer;
      if (membership === undefined || random.length !== CHALLENGE_LEN) {
        throw misuse("only a viewer challenges, with 16 bytes");
      }
      await membership.challenge(now, random);
      // Challenges use up the control key.
      await epochs.ifDue(now);
    });
  }

  /** Viewer through a relay: takes what the relay gave. What is wrong with it is refused and counted. */
  relayed(now: Now, object: RelayedObject): Promise<void> {
    return this.#step(now, async () => {
      await this.#established().peer.membership?.relayed(now, object);
    });
  }

  /** Begins a new epoch now (publisher), or asks for one (viewer). */
  rekey(now: Now): Promise<void> {
    return this.#step(now, () => this.#established().peer.epochs.onDemand(now));
  }

  /**
   * Publisher: changes the selection. One that leaves something in clear takes effect when the viewer has acknowledged
   * it. With a shape only `all` is possible.
   */
  select(now: Now, selection: Selection): Promise<void> {
    return this.#step(now, async () => {
      const keys = this.#established();
      if (!this.#leads || (this.#config.shape !== undefined && selection.mode !== "all")) {
        throw misuse("only a publisher without a shape selects what is in clear");
      }
      await keys.peer.select(now, selection);
    });
  }

  /** Publisher: seals the description of a stream, before its first frame and whenever it changes. */
  sealInfo(now: Now, stream: number, info: StreamInfo): Promise<void> {
    return this.#step(now, async () => {
      const keys = this.#publisher(stream);
      const bytes = infoBytes(info);
      this.#cutter.describe(stream, info);
      await this.#beforeMedia(now, keys, false);
      const encrypt = encryptsDescription(keys.peer.selecting.inForce);
      await this.#sealMedia(now, keys, stream, CONFIG_FLAGS, encrypt, [bytes]);
    });
  }

  /** Publisher: the same of sound, which is stream 2. Whatever the selection, sound is encrypted. */
  sealSoundInfo(now: Now, info: SoundInfo): Promise<void> {
    return this.#step(now, async () => {
      const keys = this.#publisher(SOUND_STREAM);
      const bytes = soundInfoBytes(info);
      await this.#beforeMedia(now, keys, false);
      await this.#sealMedia(now, keys, SOUND_STREAM, CONFIG_FLAGS, true, [bytes]);
    });
  }

  /** Publisher: seals a frame. */
  sealFrame(now: Now, frame: OutgoingFrame): Promise<void> {
    return this.#step(now, async () => {
      const keys = this.#publisher(frame.stream);
      const isSound = frame.stream === SOUND_STREAM;
      // Keys change where a picture begins anew: all frames of sound are keyframes.
      await this.#beforeMedia(now, keys, frame.keyframe && !isSound);
      const inForce = isSound ? ENCRYPT_ALL : keys.peer.selecting.inForce;
      const { layout, pieces } = this.#cutter.cut(inForce, frame.stream, frame.keyframe, frame.data);
      const preamble = preambleBytes({ ...frame.stamps, padding: 0, layout, kept: false });
      for (const piece of pieces) {
        const flags = frameFlags(frame.keyframe, piece.first, piece.last);
        const parts = piece.first ? [preamble, piece.data] : [piece.data];
        await this.#sealMedia(now, keys, frame.stream, flags, piece.encrypt, parts);
      }
    });
  }

  async #beforeMedia(now: Now, keys: Keys, keyframe: boolean): Promise<void> {
    keys.peer.epochs.switchIfDue(now, keyframe);
    keys.peer.epochs.checkAge(now);
    await keys.peer.epochs.ifDue(now);
  }

  /**
   * The only place where a record in clear is made. Whatever a plan says, everything is encrypted unless a selection in
   * force leaves something in clear.
   */
  async #sealMedia(
    now: Now, keys: Keys, stream: number, flags: number, encrypt: boolean, parts: readonly Bytes[],
  ): Promise<void> {
    const all = encrypt || keys.peer.selecting.inForce.mode === "all";
    const meta = { flags: all ? flags : flags & ~Flag.Encrypted, stream, timestamp: now.wall };
    await keys.peer.link.sendMedia(meta, parts);
  }
}
