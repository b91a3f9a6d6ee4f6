// The group of a page that publishes through a relay: who is a member, what the relay is given, who is told what.

import { type Bytes } from "../protocol/bytes.ts";
import {
  type Announcement, type GroupMessage, type GroupName, GROUPS_PER_EPOCH, GroupSealer, type Identity, KeyTrack,
  type MediaFrom, type NodeSecret, type OutgoingFrame, type PeerId, ProtocolError, RUN_LEN, type Sealing,
  type SoundInfo, type StreamInfo, type Suite,
} from "../protocol/index.ts";
import { type CameraBroadcast, type OutgoingGroup } from "../relay/relay.ts";
import { type CameraStore, type Guest } from "../store/camera-store.ts";
import { type Cancel, type Time } from "./clock.ts";
import { STREAM, type SealTimes } from "./publish-sender.ts";

/** Epoch numbers that are reserved at a time, and how few may be left before more are. */
export const RESERVED = 1n << 20n;
const FEW = 1n << 10n;
/** Sessions of viewers at a time. */
export const MAX_SESSIONS = 64;
/** The first number of a member that has no session. Those with one have numbers below. */
const FIRST_ENROLLED = MAX_SESSIONS;

/** Who is told what becomes of the group. */
export interface GroupHostEvents {
  /** Somebody joined, or the relay has nothing of the pictures yet. */
  keyframeNeeded(): void;
  /** Another epoch was announced. */
  changed(): void;
  /** Nothing may be sealed any more. */
  failed(error: Error): void;
}

/** What a group is made with. */
export interface GroupHostParts {
  readonly identity: Identity;
  readonly suite: Suite;
  readonly store: Pick<CameraStore, "reserveEpochs" | "extendEpochs">;
  readonly time: Time;
  /** 32 random bytes. */
  readonly random: () => Bytes;
  readonly events: GroupHostEvents;
}

/** A viewer with a session. */
export interface Seat {
  readonly peer: PeerId;
  /** Tells it something of the group. */
  tell(message: GroupMessage): void;
}

interface Seated {
  readonly slot: number;
  /** Its leaf is that of its session, or of its enrolment. */
  readonly enrolled: boolean;
  /** The epoch whose sheet it was told again. */
  toldAgain: bigint | undefined;
}

/** Leads the group. Calls take their turn by themselves; what fails in one is told to `events`. */
export class GroupHost {
  readonly name: GroupName;
  readonly #parts: GroupHostParts;
  readonly #sealer: GroupSealer;
  readonly #keys: KeyTrack;
  /** The number above all that are reserved. */
  #end: bigint;
  readonly #seats = new Map<Seat, Seated>();
  /** Members by their enrolment, by peer id. */
  readonly #enrolled = new Map<string, number>();
  #nextEnrolled = FIRST_ENROLLED;
  /** The epoch under which the group of pictures that is under way began. */
  #oldest: bigint;
  #broadcast: CameraBroadcast | undefined;
  /** What the present broadcast was given. */
  #given: bigint | undefined;
  #pictures: OutgoingGroup | undefined;
  #sounds: OutgoingGroup | undefined;
  #turns: Promise<unknown> = Promise.resolve();
  #timer: Cancel | undefined;
  #over = false;

  private constructor(parts: GroupHostParts, sealer: GroupSealer, end: bigint) {
    this.#parts = parts;
    this.#sealer = sealer;
    this.#end = end;
    this.#oldest = sealer.epoch;
    this.name = { camera: parts.identity.peerId, stream: STREAM };
    this.#keys = new KeyTrack(sealer.epoch * GROUPS_PER_EPOCH, sealer.terms);
  }

  /** A group without members. @throws ProtocolError `storage` if no epoch numbers can be reserved */
  static async create(parts: GroupHostParts): Promise<GroupHost> {
    const { identity, suite, store, time, random } = parts;
    const next = await store.reserveEpochs(RESERVED);
    const numbers = { next, end: next + RESERVED };
    const config = { identity, stream: STREAM, suite };
    const sealer = await GroupSealer.create(time.now(), config, numbers, random().slice(0, RUN_LEN), random());
    return new GroupHost(parts, sealer, numbers.end);
  }

  /** The terms of its run. */
  get terms(): Bytes {
    return this.#sealer.terms;
  }

  /** The newest announced epoch. */
  get epoch(): bigint {
    return this.#sealer.announcedEpoch;
  }

  /** True if anybody can open what is sealed. */
  get hasMembers(): boolean {
    return this.#sealer.members > 0;
  }

  /** Runs one call after the other. */
  #turn<T>(body: () => Promise<T>): Promise<T | undefined> {
    const turn = this.#turns.then(async () => {
      if (this.#over) {
        return undefined;
      }
      try {
        const result = await body();
        this.#wait();
        return result;
      } catch (thrown) {
        this.#over = true;
        this.#parts.events.failed(thrown instanceof Error ? thrown : new Error("a turn threw no error"));
        return undefined;
      }
    });
    this.#turns = turn;
    return turn;
  }

  /** Announces what waits, when it is due. */
  #wait(): void {
    this.#timer?.();
    const wait = Math.max(0, this.#sealer.deadline - this.#parts.time.now().monotonic);
    this.#timer = this.#parts.time.after(wait, () => {
      void this.#turn(() => this.#announce());
    });
  }

  async #announce(): Promise<void> {
    const { store, time, random, events } = this.#parts;
    if (this.#sealer.numbersLeft < FEW) {
      if (!(await store.extendEpochs(this.#end, RESERVED))) {
        throw new ProtocolError("storage", "the numbers of this page's keys are used up: publish again");
      }
      this.#end += RESERVED;
      this.#sealer.reserve(this.#end);
    }
    const announced = await this.#sealer.announce(time.now(), random());
    if (announced === undefined) {
      return;
    }
    await this.#tell(announced);
    if (announced.admitted.length > 0) {
      events.keyframeNeeded();
    }
    events.changed();
  }

  async #tell({ epoch, sheet, admitted }: Announcement): Promise<void> {
    for (const [seat, { slot }] of this.#seats) {
      const own = admitted.includes(slot) ? await this.#sealer.pathSheet(slot) : undefined;
      if (own !== undefined) {
        seat.tell({ type: "key-sheet", sheet: own });
      }
    }
    // Who joined by an enrolment is told by the relay alone.
    const joined = admitted.some((member) => member >= FIRST_ENROLLED) || this.#keys.wantsFull;
    const full = sheet ?? (joined ? await this.#sealer.fullSheet() : undefined);
    if (full !== undefined) {
      this.#keys.push(epoch, full, this.#oldest);
      this.#giveKeys();
    }
  }

  #giveKeys(): void {
    const { number, objects } = this.#keys;
    if (this.#broadcast !== undefined && this.#given !== number) {
      this.#given = number;
      const group = this.#broadcast.begin("keys", Number(number));
      for (const object of objects) {
        group.write(object);
      }
    }
  }

  /** The relay takes the pictures from here on, or, without a broadcast, none does. */
  attach(broadcast: CameraBroadcast | undefined): Promise<void> {
    return this.#turn(() => {
      this.#broadcast = broadcast;
      this.#given = undefined;
      this.#pictures = undefined;
      this.#sounds = undefined;
      this.#giveKeys();
      this.#parts.events.keyframeNeeded();
      return Promise.resolve();
    }).then(() => undefined);
  }

  /** Makes a member of a viewer that is enrolled: it needs no session. */
  enrol({ peer, secret }: Guest): Promise<void> {
    return this.#turn(async () => {
      await this.#expelled(peer);
      const key = await secret.memberKey(this.name);
      const id = this.#nextEnrolled;
      this.#nextEnrolled += 1;
      if (this.#sealer.admit(this.#parts.time.now(), id, key) === undefined) {
        this.#enrolled.set(peer.toString(), id);
      }
      await this.#announce();
    }).then(() => undefined);
  }

  /** Takes a viewer's enrolment out of the group: within a second it opens nothing new by it. */
  expel(peer: PeerId): Promise<void> {
    return this.#turn(async () => {
      await this.#expelled(peer);
      await this.#announce();
    }).then(() => undefined);
  }

  #expelled(peer: PeerId): Promise<void> {
    const id = this.#enrolled.get(peer.toString());
    if (id !== undefined) {
      this.#enrolled.delete(peer.toString());
      this.#sealer.remove(this.#parts.time.now(), id);
    }
    return Promise.resolve();
  }

  /** A viewer wants to be a member, by the key of its session or of its enrolment. Returns false without a place. */
  async join(seat: Seat, media: Exclude<MediaFrom, "session" | "sealed">, key: NodeSecret): Promise<boolean> {
    const joined = await this.#turn(async () => {
      const taken = new Set([...this.#seats.values()].map(({ slot }) => slot));
      const slot = Array.from({ length: MAX_SESSIONS }, (_, at) => at).find((at) => !taken.has(at));
      const enrolled = media === "relay-enrolled";
      const known = !enrolled || this.#enrolled.has(seat.peer.toString());
      const refused = slot === undefined || !known ||
        (!enrolled && this.#sealer.admit(this.#parts.time.now(), slot, key) !== undefined);
      if (enrolled || refused) {
        key.wipe();
      }
      if (slot === undefined || refused) {
        return false;
      }
      this.#seats.set(seat, { slot, enrolled, toldAgain: undefined });
      await this.#announce();
      return true;
    });
    return joined === true;
  }

  /** A viewer leaves: within a second it opens nothing new by its session's key. */
  leave(seat: Seat): Promise<void> {
    return this.#turn(async () => {
      const seated = this.#seats.get(seat);
      if (seated !== undefined) {
        this.#seats.delete(seat);
        this.#sealer.remove(this.#parts.time.now(), seated.slot);
        await this.#announce();
      }
    }).then(() => undefined);
  }

  /** The relay does not bring a viewer its sheet: it is told, once an epoch. */
  tellAgain(seat: Seat): Promise<void> {
    return this.#turn(async () => {
      const seated = this.#seats.get(seat);
      const epoch = this.#sealer.announcedEpoch;
      if (seated === undefined || seated.toldAgain === epoch) {
        return;
      }
      seated.toldAgain = epoch;
      const leaf = seated.enrolled ? this.#enrolled.get(seat.peer.toString()) : seated.slot;
      const sheet = leaf === undefined ? undefined : await this.#sealer.pathSheet(leaf);
      if (sheet !== undefined) {
        seat.tell({ type: "key-sheet", sheet });
      }
    }).then(() => undefined);
  }

  /** A member challenges this camera: `take` gives its newest challenge, of 16 bytes, when it is its turn. */
  challenged(seat: Seat, take: () => Bytes | undefined): Promise<void> {
    return this.#turn(async () => {
      const [seated, challenge] = [this.#seats.get(seat), take()];
      if (seated !== undefined && challenge !== undefined) {
        await this.#sealer.challenged(seated.slot, challenge);
      }
    }).then(() => undefined);
  }

  /** Draws new keys. */
  rekey(): Promise<void> {
    return this.#turn(async () => {
      this.#sealer.rekey(this.#parts.time.now());
      await this.#announce();
    }).then(() => undefined);
  }

  /** Seals a frame for all members, and gives it to the relay. Returns when that began and ended (ms, monotonic). */
  async seal(info: StreamInfo, frame: OutgoingFrame): Promise<SealTimes> {
    const { time } = this.#parts;
    const times = await this.#turn(async () => {
      await this.#announce();
      const now = time.now();
      const sealing = await this.#sealer.seal(now, info, frame);
      if (sealing !== undefined) {
        this.#give(sealing);
      }
      return { begun: now.monotonic, sealed: time.now().monotonic };
    });
    if (times === undefined) {
      throw new ProtocolError("exhausted");
    }
    return times;
  }

  /** The same of a packet of sound. One before the first picture goes nowhere. */
  async sealSound(info: SoundInfo, packet: OutgoingFrame): Promise<void> {
    await this.#turn(async () => {
      await this.#announce();
      const sealed = await this.#sealer.sealSound(this.#parts.time.now(), info, packet);
      if (sealed?.keyframe === true) {
        this.#sounds = this.#broadcast?.begin("sound", Number(sealed.group));
      }
      if (sealed !== undefined) {
        this.#sounds?.write(sealed.bytes);
      }
    });
  }

  #give({ frame, answers }: Sealing): void {
    if (frame.keyframe) {
      this.#oldest = frame.epoch;
      this.#pictures = this.#broadcast?.begin("video", Number(frame.group));
    }
    // Without the beginning of its group of pictures a frame is of no use to the relay.
    this.#pictures?.write(frame.bytes);
    for (const { slot, answer } of answers) {
      for (const [seat, seated] of this.#seats) {
        if (seated.slot === slot) {
          seat.tell({ type: "answer", answer });
        }
      }
    }
  }

  /** Nothing follows. */
  end(): void {
    this.#over = true;
    this.#timer?.();
    this.#timer = undefined;
    void this.#turns.then(() => {
      this.#sealer.wipe();
    });
  }
}
