// The leader of a group and the sealer of its frames: byte for byte what the vectors have, and what members make of it.

import { type Bytes } from "../src/protocol/bytes.ts";
import { type Announcement, Leader, MAX_PLACES } from "../src/protocol/group/leader.ts";
import { GroupOpener } from "../src/protocol/group/opener.ts";
import { GROUPS_PER_EPOCH, GroupSealer, type SealedFrame, type Sealing } from "../src/protocol/group/sealer.ts";
import { KeyTrack } from "../src/protocol/group/key-track.ts";
import { type GroupName, NodeSecret } from "../src/protocol/group/secret.ts";
import { parseSheet } from "../src/protocol/group/sheet.ts";
import { parseTerms } from "../src/protocol/group/terms.ts";
import { type Identity, identityFromSeed, signatureCheck } from "../src/protocol/keys/identity.ts";
import { answerRoot, parseAnswer } from "../src/protocol/live/answer.ts";
import { Challenges } from "../src/protocol/live/challenges.ts";
import { WIDEST_LIMITS } from "../src/protocol/seal/sealer.ts";
import { AES_128_GCM, AES_256_GCM } from "../src/protocol/seal/suite.ts";
import { recordsOf } from "../src/protocol/session/relayed.ts";
import { opusParameters } from "../src/sound/opus-head.ts";
import { FrameHasher, recordHash } from "../src/protocol/sign/digest.ts";
import { FrameSigner } from "../src/protocol/sign/frame-signer.ts";
import { Assembler } from "../src/protocol/unit/assemble.ts";
import { parseControl } from "../src/protocol/wire/control.ts";
import { frameFlags } from "../src/protocol/wire/header.ts";
import { assert, hex, reasonOf, same, test } from "./support/harness.ts";
import { type Case, big, each, vectors } from "./support/vectors.ts";

type Long = number | bigint;
interface Step {
  readonly admit: readonly { readonly member: number; readonly shared: string }[];
  readonly remove: readonly number[];
  readonly rekey: boolean;
  readonly next_group: Long;
  readonly seed: string;
  readonly epoch: Long;
  readonly sheet: string | null;
  readonly full: string | null;
  readonly paths: readonly { readonly member: number; readonly sheet: string }[];
  readonly record: string;
}
interface LeaderCase extends Case {
  readonly camera_seed: string;
  readonly stream: number;
  readonly suite: number;
  readonly run: string;
  readonly first: Long;
  readonly first_group: Long;
  readonly seed: string;
  readonly steps: readonly Step[];
}
interface SignedFrame {
  readonly epoch: Long;
  readonly frame: Long;
  readonly keyframe: boolean;
  readonly liveness: string | null;
  readonly records: readonly string[];
  readonly proof: string;
}
interface SignerCase extends Case {
  readonly seed: string;
  readonly stream: number;
  readonly first_group: Long;
  readonly frames: readonly SignedFrame[];
}
interface ChallengeCase extends Case {
  readonly challenges: readonly string[];
  readonly root: string;
  readonly answers: readonly string[];
}

async function play(leader: Leader, name: GroupName, step: Step): Promise<Bytes | undefined> {
  step.remove.forEach((member) => {
    same(leader.remove(0, member), undefined, "it is a member");
  });
  for (const { member, shared } of step.admit) {
    same(leader.admit(0, member, await NodeSecret.ofMember(hex(shared), name)), undefined, "it is none");
  }
  if (step.rekey) {
    leader.rekey(0);
  }
  const announced = await leader.announce(0, big(step.next_group), hex(step.seed));
  same(announced?.epoch, big(step.epoch), "epoch");
  same(announced?.sheet, step.sheet === null ? undefined : hex(step.sheet), `sheet of epoch ${step.epoch}`);
  if (step.full !== null) {
    same(await leader.fullSheet(), hex(step.full), `full sheet of epoch ${step.epoch}`);
  }
  for (const { member, sheet } of step.paths) {
    same(await leader.pathSheet(member), hex(sheet), `path of member ${member} in epoch ${step.epoch}`);
  }
  const inForce = await leader.switch(0, true);
  const meta = { flags: frameFlags(true, true, true), stream: name.stream, timestamp: 1_800_000_000_000_000_000n };
  return inForce?.sealer.seal(meta, [new TextEncoder().encode("picture")]);
}

test("a leader says byte for byte what the vectors have", async () => {
  const { leaders } = await vectors<{ readonly leaders: readonly LeaderCase[] }>("groups");
  await each(leaders, { run: 2, skipped: 1 }, async (one) => {
    const most = Math.max(...one.steps.map(({ admit }) => admit.length));
    if (most > MAX_PLACES) {
      // A page leads no group of more than 256, so it makes no updates.
      return false;
    }
    const known = [AES_128_GCM, AES_256_GCM].find(({ id }) => id === one.suite);
    const suite = known ?? { ...AES_128_GCM, id: one.suite };
    const identity = await identityFromSeed(hex(one.camera_seed));
    const config = { identity, stream: one.stream, suite, limits: WIDEST_LIMITS };
    const first = big(one.first);
    const { leader } = await Leader.create(
      config, { next: first, end: first + 1_000n }, big(one.first_group), hex(one.run), hex(one.seed),
    );
    for (const step of one.steps) {
      const record = await play(leader, { camera: identity.peerId, stream: one.stream }, step);
      if (known !== undefined) {
        same(record, hex(step.record), `the first record of epoch ${step.epoch}`);
      }
    }
    return true;
  });
});

test("frames are stated and signed as the vectors have it", async () => {
  const { signers } = await vectors<{ readonly signers: readonly SignerCase[] }>("signatures");
  await each(signers, { run: 2, skipped: 0 }, async (one) => {
    const signer = new FrameSigner(await identityFromSeed(hex(one.seed)), one.stream, big(one.first_group));
    for (const { epoch, frame, keyframe, liveness, records, proof } of one.frames) {
      const hasher = new FrameHasher();
      for (const record of records) {
        hasher.push(await recordHash(hex(record)));
      }
      const digest = await hasher.finish();
      assert(digest !== undefined, "there are records");
      const outgoing = { epoch: big(epoch), frame: big(frame), keyframe, digest };
      const signed = await signer.sign({ ...outgoing, ...(liveness !== null && { liveness: hex(liveness) }) });
      same(signed, hex(proof), `the proof of frame ${frame}`);
      same(await reasonOf(() => signer.sign(outgoing), "once more"), "misuse", "reason");
    }
    return true;
  });
});

test("challenges are folded into the root, and answered, as the vectors have it", async () => {
  const { challenges: cases } = await vectors<{ readonly challenges: readonly ChallengeCase[] }>("signatures");
  await each(cases, { run: 6, skipped: 0 }, async ({ challenges: sent, root, answers }) => {
    const challenges = new Challenges(sent.length);
    for (const [slot, challenge] of sent.entries()) {
      await challenges.put(slot, hex(challenge));
    }
    const batch = await challenges.fold(Infinity);
    same(batch?.root, hex(root), "root");
    same(batch?.answers, answers.map((answer, slot) => ({ slot, answer: hex(answer) })), "answers");
    return true;
  });
});

test("each viewer has its turn, the newest challenge counts, and one that left is forgotten", async () => {
  const challenges = new Challenges(5);
  const turns: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    for (let slot = 0; slot < 5; slot += 1) {
      await challenges.put(slot, new Uint8Array(16).fill(round));
      await challenges.put(slot, new Uint8Array(16).fill(100 + slot));
    }
    const batch = await challenges.fold(2);
    for (const { slot, answer } of batch?.answers ?? []) {
      turns.push(slot);
      const root = await answerRoot(parseAnswer(answer), new Uint8Array(16).fill(100 + slot));
      same(root, batch?.root, `the root of slot ${slot}`);
    }
  }
  same(turns, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4], "turns");
  [0, 1, 2, 3, 4].forEach((slot) => {
    challenges.remove(slot);
  });
  same(await challenges.fold(2), undefined, "what waits");
  same(await reasonOf(() => challenges.put(5, new Uint8Array(16)), "slot 5"), "misuse", "reason");
});

const WALL = 1_790_000_000_000_000_000n;
const INFO = {
  codec: "h264", width: 64, height: 48, rate: { numerator: 25, denominator: 1 },
  parameters: new Uint8Array([0, 0, 0, 1, 0x67, 1]),
} as const;

function shared(member: number): Bytes {
  return new Uint8Array(32).fill(member + 1);
}

function picture(number: number): Bytes {
  return new Uint8Array(2_000).map((_, at) => (at * 7 + number) & 0xff);
}

/** A camera in this process, on a clock of its own, which draws nothing by chance. */
class Camera {
  readonly sealer: GroupSealer;
  readonly name: GroupName;
  now = 1_000;
  #frames = 0;
  #sounds = 0;
  #seeds = 0;

  private constructor(identity: Identity, sealer: GroupSealer) {
    this.sealer = sealer;
    this.name = { camera: identity.peerId, stream: 1 };
  }

  static async create(numbers = { next: 1n << 20n, end: 2n << 20n }): Promise<Camera> {
    const identity = await identityFromSeed(new Uint8Array(32).fill(7));
    const config = { identity, stream: 1, suite: AES_256_GCM };
    const begun = { monotonic: 1_000, wall: WALL };
    const [run, seed] = [new Uint8Array(16).fill(3), new Uint8Array(32).fill(4)];
    return new Camera(identity, await GroupSealer.create(begun, config, numbers, run, seed));
  }

  get clock(): { readonly monotonic: number; readonly wall: bigint } {
    return { monotonic: this.now, wall: WALL + BigInt(this.now) * 1_000_000n };
  }

  async admit(member: number): Promise<void> {
    const key = await NodeSecret.ofMember(shared(member), this.name);
    same(this.sealer.admit(this.clock, member, key), undefined, "there is room");
  }

  announce(): Promise<Announcement | undefined> {
    this.#seeds += 1;
    return this.sealer.announce(this.clock, new Uint8Array(32).fill(this.#seeds));
  }

  async frame(keyframe: boolean): Promise<Sealing | undefined> {
    const [number, data] = [this.#frames, picture(this.#frames)];
    this.#frames += 1;
    this.now += 40;
    return this.sealer.seal(this.clock, INFO, {
      stream: 1, keyframe, data,
      stamps: {
        frame: BigInt(number), mediaTime: BigInt(number), captured: 1n, encoded: 2n, previousSeal: 0, previousSend: 0,
        capture: 0, stamp: "arrival",
      },
    });
  }

  /** A packet of sound of so many channels. */
  async sound(channels = 1): Promise<SealedFrame | undefined> {
    const number = this.#sounds;
    this.#sounds += 1;
    this.now += 20;
    const parameters = opusParameters(undefined, { rate: 48_000, channels });
    return this.sealer.sealSound(this.clock, {
      codec: "opus", channels, samplesPerSecond: 48_000, samplesPerFrame: 960, parameters,
    }, {
      stream: 2, keyframe: true, data: picture(number).slice(0, 160),
      stamps: {
        frame: BigInt(number), mediaTime: BigInt(number), captured: 1n, encoded: 2n, previousSeal: 0, previousSend: 0,
        capture: 0, stamp: "arrival",
      },
    });
  }

  async member(member: number): Promise<GroupOpener> {
    const check = await signatureCheck(this.name.camera);
    const config = { group: this.name, asked: "", least: "frame", suites: [AES_256_GCM], check } as const;
    const opener = new GroupOpener(config, new Assembler(), await NodeSecret.ofMember(shared(member), this.name));
    same(await opener.agree(parseTerms(this.sealer.terms)), undefined, "why the terms are refused");
    return opener;
  }

  /** A member that has its first sheet. */
  async joined(member: number): Promise<GroupOpener> {
    const opener = await this.member(member);
    const path = await this.sealer.pathSheet(member);
    const taken = await opener.takeSheet(path ?? new Uint8Array(0));
    assert(typeof taken !== "string" && taken.scope === "path", `the path sheet of member ${member} is taken`);
    return opener;
  }
}

/** Opens a frame; returns what was released, by number, and why anything was refused. */
async function open(opener: GroupOpener, sealing: Sealing | undefined): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const record of recordsOf(sealing?.frame.bytes ?? new Uint8Array(0)) ?? []) {
    const { media, refused, notTheCameras } = await opener.open(0, record);
    for (const one of media) {
      if (one.type === "frame") {
        same(one.data, picture(Number(one.preamble.frame)), "the picture, bit for bit");
        found.push(Number(one.preamble.frame));
      }
    }
    found.push(...[refused, notTheCameras].filter((reason) => reason !== undefined));
  }
  return found;
}

test("members open each frame that a leader in a page seals, and who joins later nothing from before", async () => {
  const camera = await Camera.create();
  same(await camera.frame(false), undefined, "a frame before the first keyframe");
  await camera.admit(0);
  const announced = await camera.announce();
  same([announced?.admitted, announced?.sheet], [[0], undefined], "a join costs nobody else a byte");
  const first = await camera.joined(0);
  const early = await camera.frame(true);
  same([early?.frame.group, early?.frame.epoch], [(1n << 20n) * GROUPS_PER_EPOCH, (1n << 20n) + 1n], "numbers");
  same(await open(first, early), [1], "frames");
  same(await open(first, await camera.frame(false)), [2], "frames");
  await camera.admit(1);
  await camera.announce();
  const second = await camera.joined(1);
  const between = await camera.frame(false);
  const later = await camera.frame(true);
  same(await open(second, early), Array<string>(3).fill("unknown-epoch"), "of the time before");
  same([await open(second, later), await open(first, between), await open(first, later)], [[4], [3], [4]], "frames");
  same(camera.sealer.members, 2, "members");
});

test("who was removed opens nothing of the next epoch, which is in force within a second", async () => {
  const camera = await Camera.create();
  await camera.admit(0);
  await camera.admit(1);
  await camera.announce();
  const [stays, goes] = [await camera.joined(0), await camera.joined(1)];
  const begin = await camera.frame(true);
  same([await open(goes, begin), await open(stays, begin)], [[0], [0]], "while both are members");
  const asked = camera.now;
  same(camera.sealer.remove(camera.clock, 1), undefined, "it is a member");
  const announced = await camera.announce();
  assert(announced?.sheet !== undefined, "everybody is told");
  same([announced.removed, parseSheet(announced.sheet).scope], [[1], "full"], "what is told");
  same(typeof (await stays.takeSheet(announced.sheet)), "object", "who stays takes it");
  same(await goes.takeSheet(announced.sheet), "no-slot", "who goes does not");
  // In the middle of a group of pictures, so it takes as long as it may.
  let frame = 1;
  for (let next = await camera.frame(false); next?.frame.epoch !== announced.epoch; frame += 1) {
    same([await open(goes, next), await open(stays, next)], [[frame], [frame]], "under the epoch before");
    next = await camera.frame(false);
  }
  assert(frame > 1 && camera.now - asked <= 1_000, `${camera.now - asked} ms from the wish to the new key`);
  for (const keyframe of [true, false, false]) {
    const sealing = await camera.frame(keyframe);
    const found = await open(goes, sealing);
    same([...new Set(found)].filter((one) => one !== "tag" && one !== "unknown-epoch"), [], "what opens");
    frame += 1;
    same(await open(stays, sealing), [frame], "who stays sees each");
  }
});

test("answers lead to the root of the frame that follows, which the camera signs", async () => {
  const camera = await Camera.create();
  await camera.admit(5);
  await camera.announce();
  const member = await camera.joined(5);
  const challenge = new Uint8Array(16).fill(9);
  await camera.sealer.challenged(5, challenge);
  const sealing = await camera.frame(true);
  same(sealing?.answers.map(({ slot }) => slot), [5], "slots");
  const root = await answerRoot(parseAnswer(sealing?.answers[0]?.answer ?? new Uint8Array(0)), challenge);
  const roots: (Bytes | undefined)[] = [];
  for (const record of recordsOf(sealing?.frame.bytes ?? new Uint8Array(0)) ?? []) {
    const { statement } = await member.open(0, record);
    roots.push(...(statement === undefined ? [] : [statement.liveness]));
  }
  same(roots, [root], "the root of the statement");
  same((await camera.frame(false))?.answers, [], "each is answered once");
});

test("a leader without reserved numbers announces nothing, and a full group takes nobody", async () => {
  const camera = await Camera.create({ next: 5n, end: 6n });
  await camera.admit(0);
  same(await reasonOf(() => camera.announce(), "without a number"), "misuse", "reason");
  camera.sealer.reserve(200n);
  same((await camera.announce())?.epoch, 6n, "the change has waited");
  for (let member = 1; member < MAX_PLACES; member += 1) {
    await camera.admit(member);
  }
  const key = await NodeSecret.ofMember(shared(0), camera.name);
  same(camera.sealer.admit(camera.clock, MAX_PLACES, key), "full", "one more");
  same(camera.sealer.admit(camera.clock, 3, key), "known", "one that waits");
  same(camera.sealer.remove(camera.clock, MAX_PLACES), "unknown", "one that is none");
});

test("new keys are drawn when the old ones are ten minutes old, or somebody asks for them", async () => {
  const camera = await Camera.create();
  await camera.frame(true);
  same(await camera.announce(), undefined, "nothing waits");
  camera.sealer.rekey(camera.clock);
  assert((await camera.announce())?.sheet !== undefined, "everybody is told of new keys");
  await camera.frame(true);
  const due = camera.sealer.deadline;
  camera.now = due;
  assert((await camera.announce())?.sheet !== undefined, "and of those that are due");
  same(due, 601_000, "when they are due");
});

test("the sheet under which the pictures began stays before the newest on the track of keys", () => {
  const track = new KeyTrack(100n, Uint8Array.of(9));
  assert(track.wantsFull, "nothing is there yet");
  const sheets = (): unknown[] => track.objects.map((object) => {
    const message = parseControl(object);
    return message.type === "key-sheet" ? message.sheet[0] : message.type;
  });
  const expected = [
    { epoch: 1, oldest: 0n, listed: [1] }, { epoch: 2, oldest: 0n, listed: [1, 2] },
    { epoch: 3, oldest: 2n, listed: [2, 3] }, { epoch: 4, oldest: 4n, listed: [4] },
  ];
  for (const [at, { epoch, oldest, listed }] of expected.entries()) {
    track.push(BigInt(epoch), Uint8Array.of(epoch), oldest);
    same([track.number, sheets()], [101n + BigInt(at), ["group-terms", ...listed]], `after epoch ${epoch}`);
  }
  assert(!track.wantsFull, "there is one");
});

/** What a packet of sound opens to: its number, a description before it, why it was refused. */
async function hear(opener: GroupOpener, sealed: SealedFrame | undefined): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const record of recordsOf(sealed?.bytes ?? new Uint8Array(0)) ?? []) {
    const { media, refused, notTheCameras } = await opener.open(0, record);
    for (const one of media) {
      if (one.type === "sound") {
        same(one.data, picture(Number(one.preamble.frame)).slice(0, 160), "the packet, bit for bit");
      }
      found.push(one.type === "sound" ? Number(one.preamble.frame) : one.type);
    }
    found.push(...[refused, notTheCameras].filter((reason) => reason !== undefined));
  }
  return found;
}

test("members hear the sound that a leader in a page seals, through losses and changes of keys", async () => {
  const camera = await Camera.create();
  await camera.admit(0);
  await camera.announce();
  const member = await camera.joined(0);
  same(await camera.sound(), undefined, "a packet before the first keyframe");
  await open(member, await camera.frame(true));
  const first = await camera.sound();
  same([first?.keyframe, first?.group], [true, (1n << 20n) * GROUPS_PER_EPOCH], "the first");
  same(await hear(member, first), ["sound-info", 1], "with its description");
  same(await hear(member, await camera.sound()), [2], "the next");
  const [lost, stereo] = [await camera.sound(), await camera.sound(2)];
  same([lost?.keyframe, stereo?.keyframe], [false, true], "another description");
  same(await hear(member, stereo), ["sound-info", 4], "behind one that was lost");
  same(await open(member, await camera.frame(false)), [1], "which costs no picture");
  camera.sealer.rekey(camera.clock);
  const announced = await camera.announce();
  await member.takeSheet(announced?.sheet ?? new Uint8Array(0));
  let packet = await camera.sound(2);
  let number = 5;
  for (; packet?.epoch !== announced?.epoch; number += 1) {
    same(await hear(member, packet), [number], "under the keys before");
    packet = await camera.sound(2);
  }
  same([await hear(member, packet), number > 5], [[number], true], "under the new ones, which sound may begin");
  same(await open(member, await camera.frame(true)), [2], "the picture follows");
  same(await hear(member, await camera.sound(2)), ["sound-info", number + 1], "each group of pictures begins anew");
  const described: number[] = [];
  for (let index = 1; index < 600; index += 1) {
    described.push(...((await camera.sound(2))?.keyframe === true ? [index] : []));
  }
  same(described, [256, 512], "and long ones in between");
});
