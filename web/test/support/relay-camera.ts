// A camera at a relay in memory: it takes sessions there, makes their viewers members, and puts pictures and keys on
// its tracks. Its control records it seals by hand, since no publisher of this library leads a group.

import { type Bytes, concat } from "../../src/protocol/bytes.ts";
import { EpochSecret, openerFor, sealerFor } from "../../src/protocol/keys/epoch.ts";
import { DEFAULT_MECHANISMS, DEFAULT_SUITES } from "../../src/protocol/crypto/policy.ts";
import { type Agreed } from "../../src/protocol/keys/handshake.ts";
import { HelloKeys, PresharedKey } from "../../src/protocol/keys/psk.ts";
import { Responder } from "../../src/protocol/keys/responder.ts";
import { openRecord } from "../../src/protocol/seal/open-record.ts";
import { type Opener } from "../../src/protocol/seal/opener.ts";
import { type Sealer, WIDEST_LIMITS } from "../../src/protocol/seal/sealer.ts";
import { type Control, controlBytes, parseControl } from "../../src/protocol/wire/control.ts";
import { MAX_RECORD, MessageReader, lengthPrefix } from "../../src/protocol/wire/framing.ts";
import { CONTROL_FLAGS } from "../../src/protocol/wire/header.ts";
import { Invite } from "../../src/protocol/wire/invite.ts";
import { type Carrier } from "../../src/carrier/carrier.ts";
import { RelayCarrier } from "../../src/relay/carrier.ts";
import { Inlet } from "../../src/relay/inlet.ts";
import { Outlet } from "../../src/relay/outlet.ts";
import { type Relay } from "../../src/relay/relay.ts";
import { GroupCamera, answerTo } from "./group-camera.ts";
import { type MemoryRelay, type MemoryTrack } from "./memory-relay.ts";
import { type VirtualTime } from "./virtual-time.ts";

const INVITE = new Invite(new Uint8Array(16).fill(9));
export const NAME = "front";

/** One session with a viewer. */
export interface RelaySession {
  readonly carrier: Carrier;
  readonly heard: Control[];
  leaf: number;
  /** Sends a control message. */
  say(message: Control): Promise<void>;
}

/** The camera. */
export class RelayCamera {
  readonly group: GroupCamera;
  readonly sessions: RelaySession[] = [];
  /** Signatures that its terms state. */
  signs: "frame" | "off" = "frame";
  /** False: it leaves viewers alone. */
  takes = true;
  /** The challenge that the next frame answers. */
  #challenge: Bytes | undefined;
  video!: MemoryTrack;
  keys!: MemoryTrack;
  proofs!: MemoryTrack;
  readonly #memory: MemoryRelay;
  readonly #time: VirtualTime;
  readonly #met = new Set<string>();
  #enrolled: readonly PresharedKey[] = [];

  private constructor(group: GroupCamera, memory: MemoryRelay, time: VirtualTime) {
    this.group = group;
    this.#memory = memory;
    this.#time = time;
  }

  static async create(memory: MemoryRelay, time: VirtualTime): Promise<RelayCamera> {
    const camera = new RelayCamera(await GroupCamera.create(), memory, time);
    camera.publish();
    return camera;
  }

  get ticket(): string {
    const peer = this.group.identity.peerId.toString();
    return `sealcast://relay.example:4443/${peer}?transport=relay&broadcast=${NAME}#${INVITE.reveal()}`;
  }

  /** Puts its broadcast to the relay, after it was forgotten there. */
  publish(): void {
    this.#met.clear();
    this.video = this.#memory.track(NAME, "video");
    this.keys = this.#memory.track(NAME, "keys");
    this.proofs = this.#memory.track(NAME, "proofs");
  }

  /** Takes the session of a viewer that has come. */
  async accept(): Promise<void> {
    const names = this.#memory.names.filter((name) => name.startsWith(`${NAME}/viewers/`) && !this.#met.has(name));
    for (const name of this.takes ? names : []) {
      this.#met.add(name);
      const relay = this.#memory.connect();
      const token = name.split("/").at(-1) ?? "";
      const answers = this.#memory.track(NAME, `viewers/${token}`);
      await this.#session(relay, name, answers);
    }
  }

  async #session(relay: Relay, name: string, answers: MemoryTrack): Promise<void> {
    const viewer = await relay.broadcast(name);
    const outlet = new Outlet({
      begin: () => {
        answers.begin();
        return {
          write: (object) => {
            answers.write(object);
          },
          end: () => undefined,
        };
      },
    });
    const inlet = await Inlet.open(viewer, "session", this.#time);
    const carrier = new RelayCarrier({ relay, other: viewer, who: "viewer", outlet, inlet }, this.#time);
    const { identity } = this.group;
    const psks = [await PresharedKey.fromInvite(INVITE), ...this.#enrolled];
    const helloKeys = await HelloKeys.create(identity.peerId, psks);
    const handshake = new Responder({
      role: "publisher", identity, helloKeys, suites: DEFAULT_SUITES, mechanisms: DEFAULT_MECHANISMS,
    }, new Uint8Array(32).fill(this.sessions.length));
    this.#listen(carrier, handshake);
  }

  #listen(carrier: Carrier, handshake: Responder): void {
    const reader = new MessageReader();
    let speaking: Speaking | undefined;
    let steps: Promise<unknown> = Promise.resolve();
    const message = async (bytes: Bytes): Promise<void> => {
      if (speaking !== undefined) {
        await this.#heard(speaking, await speaking.open(bytes));
        return;
      }
      const step = await handshake.handle(bytes);
      if ("send" in step) {
        carrier.send(concat(lengthPrefix(step.send), step.send));
      } else {
        speaking = await Speaking.begin(carrier, step.agreed);
        this.#enrolled = [await PresharedKey.fromBytes(step.agreed.enrolment.slice())];
        this.sessions.push(speaking);
        await speaking.say({ type: "welcome" });
        await speaking.say(await this.#terms());
      }
    };
    carrier.receive({
      bytes: (piece) => {
        const own = piece.slice();
        steps = steps.then(async () => {
          reader.push(own);
          for (let next = reader.next(MAX_RECORD); next !== undefined; next = reader.next(MAX_RECORD)) {
            await message(next.slice());
          }
        }).catch(() => undefined);
        return undefined;
      },
      closed: () => undefined,
    });
  }

  async #heard(session: Speaking, message: Control): Promise<void> {
    session.heard.push(message);
    if (message.type === "ping") {
      const { wall } = this.#time.now();
      await session.say({ type: "pong", t1: message.t1, t2: wall, t3: wall });
    } else if (message.type === "challenge") {
      this.#challenge = message.challenge;
    } else if (message.type === "join") {
      if (session.leaf < 0) {
        session.leaf = this.group.admit(session.agreed.exporter);
        await this.group.announce();
      }
      await session.say({ type: "key-sheet", sheet: await this.group.sheet(session.leaf) });
    }
  }

  async #terms(): Promise<Control> {
    return { type: "group-terms", terms: await this.group.terms({ sign: this.signs }) };
  }

  /** New keys for all, of which the relay is told. */
  async rekey(): Promise<void> {
    await this.group.announce();
    this.keys.begin();
    this.keys.write(controlBytes(await this.#terms()));
    this.keys.write(controlBytes({ type: "key-sheet", sheet: await this.group.sheet() }));
  }

  /** The next frame, for the relay. It answers the last challenge, if there was one. */
  async film(keyframe: boolean): Promise<void> {
    const challenge = this.#challenge;
    this.#challenge = undefined;
    const answered = challenge === undefined ? undefined : await answerTo(challenge);
    const records = await this.group.frame(keyframe, answered === undefined ? {} : { liveness: answered.root });
    if (keyframe) {
      this.video.begin(Number(this.group.group));
    }
    this.video.write(concat(...records.flatMap((record) => [lengthPrefix(record), record])));
    if (answered !== undefined) {
      await this.sessions.at(-1)?.say({ type: "answer", answer: answered.answer });
    }
  }
}

/** A session that has keys. */
class Speaking implements RelaySession {
  readonly carrier: Carrier;
  readonly agreed: Agreed;
  readonly heard: Control[] = [];
  leaf = -1;
  readonly #sealer: Sealer;
  readonly #opener: Opener;

  private constructor(carrier: Carrier, agreed: Agreed, sealer: Sealer, opener: Opener) {
    this.carrier = carrier;
    this.agreed = agreed;
    this.#sealer = sealer;
    this.#opener = opener;
  }

  static async begin(carrier: Carrier, agreed: Agreed): Promise<Speaking> {
    const secret = new EpochSecret(0n, agreed.epoch0);
    const sealer = await sealerFor(secret, agreed.suite, "control", "r", WIDEST_LIMITS);
    return new Speaking(carrier, agreed, sealer, await openerFor(secret, agreed.suite, "control", "i"));
  }

  async open(record: Bytes): Promise<Control> {
    const opened = await openRecord(record, "encrypted", () => this.#opener);
    if (typeof opened === "string") {
      throw new Error(`the viewer's record is refused: ${opened}`);
    }
    return parseControl(opened.payload);
  }

  async say(message: Control): Promise<void> {
    const payload = controlBytes(message);
    const record = await this.#sealer.seal({ flags: CONTROL_FLAGS, stream: 0, timestamp: 1n }, [payload]);
    this.carrier.send(concat(lengthPrefix(record), record));
  }
}
