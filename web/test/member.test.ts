// A viewer's session in a group: when it joins, what it takes from its publisher, and what ends it.

import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";

import { type Bytes, ascii, concat } from "../src/protocol/bytes.ts";
import { type Now } from "../src/protocol/clock/now.ts";
import { type Stated } from "../src/protocol/group/terms.ts";
import { type GroupPolicy } from "../src/protocol/session/membership.ts";
import { type Output, type SessionEvent } from "../src/protocol/session/output.ts";
import { rootOf } from "../src/protocol/sign/merkle.ts";
import { statementLeaf } from "../src/protocol/sign/statement.ts";
import { type Control, controlBytes, parseControl } from "../src/protocol/wire/control.ts";
import { Writer } from "../src/protocol/wire/writer.ts";
import { GROUP_STREAM, GroupCamera, answerTo, certify, picture } from "./support/group-camera.ts";
import { assert, reasonOf, same, test } from "./support/harness.ts";
import { type Deceived, deceivedViewer } from "./support/liar.ts";
import { breathe } from "./support/virtual-time.ts";

/** Real milliseconds for what a machine computes, however busy it is. */
const PATIENCE = 60_000;
const FRAMES = { sign: "frame" } as const;

/** A viewer, its publisher's group, and a time that goes on where a test says so. */
class Scene {
  readonly pair: Deceived;
  readonly camera: GroupCamera;
  #passed = 0;

  private constructor(pair: Deceived, camera: GroupCamera) {
    this.pair = pair;
    this.camera = camera;
  }

  static async begin(policy: GroupPolicy | undefined, asked = ""): Promise<Scene> {
    const pair = await deceivedViewer(policy, asked);
    return new Scene(pair, await GroupCamera.create(pair.identity));
  }

  /** A viewer that has joined. */
  static async joined(): Promise<Scene> {
    const scene = await Scene.begin(FRAMES);
    await scene.tell(await scene.terms());
    same(parseControl(await scene.pair.heard()), { type: "join", stream: GROUP_STREAM, media: "session" }, "it joins");
    const leaf = scene.camera.admit(scene.pair.exporter);
    await scene.camera.announce();
    await scene.tell({ type: "key-sheet", sheet: await scene.camera.sheet(leaf) });
    same(scene.events(), [{ type: "joined-group", signed: "both" }], "it is a member");
    return scene;
  }

  /** Signatures that the camera's terms state, `both` if a test does not say. */
  async terms(stated: Partial<Stated> = {}): Promise<Control> {
    return { type: "group-terms", terms: await this.camera.terms({ sign: "both", ...stated }) };
  }

  get now(): Now {
    const { monotonic, wall } = this.pair.now;
    return { monotonic: monotonic + this.#passed, wall: wall + BigInt(this.#passed * 1e6) };
  }

  pass(milliseconds: number): void {
    this.#passed += milliseconds;
  }

  async tell(message: Control): Promise<void> {
    await this.pair.victim.message(this.now, await this.pair.control(controlBytes(message)));
  }

  /** Sends records of the group. Returns how each was handled. */
  async send(records: readonly Bytes[]): Promise<unknown[]> {
    const handled: unknown[] = [];
    for (const record of records) {
      handled.push(await this.pair.victim.message(this.now, record));
    }
    return handled;
  }

  /** What came out of the session since the last call, but messages. */
  outputs(): Exclude<Output, { type: "transmit" }>[] {
    return this.pair.drain().filter((output) => output.type !== "transmit");
  }

  events(): SessionEvent[] {
    return this.outputs().flatMap((output) => output.type === "event" ? [output.event] : []);
  }

  /** Numbers of the frames that came out, whose pictures are the camera's. */
  frames(): number[] {
    return this.outputs().flatMap((output) => {
      if (output.type !== "media" || output.media.type !== "frame") {
        return [];
      }
      const number = Number(output.media.preamble.frame);
      same(output.media.data, picture(number), `picture ${number}`);
      return [number];
    });
  }

  /** The challenge that the session sends when it is asked to. */
  async challenge(number: number): Promise<Bytes> {
    await this.pair.victim.timeout(this.now);
    same(this.events().filter(({ type }) => type === "challenge-due").length, 1, "challenges due");
    await this.pair.victim.challenge(this.now, new Uint8Array(16).fill(number));
    const message = parseControl(await this.pair.heard());
    assert(message.type === "challenge", "it challenges");
    return message.challenge;
  }
}

test("a viewer joins a group that signs enough, with a suite that it has, and is served alone else", async () => {
  for (const [what, policy, stated, declined] of [
    ["no group is wanted", undefined, {}],
    ["frames are not signed, by an earlier version", FRAMES, { sign: "gop" }, "gop"],
    ["nothing is signed", FRAMES, { sign: "off" }, "off"],
    ["more is required", { sign: "both" }, { sign: "frame" }, "frame"],
    ["frames are proved after they are shown, by another one", { sign: "off" }, { sign: "tesla" }, "tesla"],
    ["the suite is unknown", FRAMES, { suite: 4 }],
  ] as const) {
    const scene = await Scene.begin(policy);
    await scene.tell(await scene.terms(stated));
    // The program is told of a group that it does not join for what is signed.
    const told = declined === undefined ? [] : [{ type: "declined-group", signed: declined }];
    same(scene.events(), told, what);
    const { victim } = scene.pair;
    assert(victim.isEstablished && victim.group(0) === undefined, `${what}: it goes on alone`);
  }
  await Scene.joined();
});

test("terms that are not the camera's end the session, whatever they state", async () => {
  const other = await GroupCamera.create();
  for (const policy of [undefined, FRAMES]) {
    const { camera } = await Scene.begin(policy);
    const altered = await camera.terms();
    altered[2] = 0;
    for (const [what, terms] of [
      ["altered ones", altered], ["another camera's", await other.terms()], ["no terms", new Uint8Array(9)],
    ] as const) {
      const scene = await Scene.begin(policy);
      same(await reasonOf(() => scene.tell({ type: "group-terms", terms }), what), "protocol-error", what);
      assert(scene.pair.victim.isOver, `${what}: the session is over`);
    }
  }
});

test("who asked for a camera by its name joins that camera's group alone", async () => {
  for (const name of ["back", "", "front door"]) {
    const scene = await Scene.begin(FRAMES, "front");
    const terms = await scene.terms({ name });
    same(await reasonOf(() => scene.tell(terms), name), "protocol-error", `the terms of camera '${name}'`);
  }
  const scene = await Scene.begin(FRAMES, "front");
  await scene.tell(await scene.terms({ name: "front" }));
  same(parseControl(await scene.pair.heard()).type, "join", "the camera that was asked for");
});

test("frames that were sealed for the group come out bit for bit, once they are verified", async () => {
  const scene = await Scene.joined();
  const [config, frame, proof] = await scene.camera.frame(true);
  assert(config !== undefined && frame !== undefined && proof !== undefined, "three records");
  same(await scene.send([config, frame]), ["done", "done"], "before the proof");
  same(scene.outputs(), [], "nothing is handed out before the proof");
  same(await scene.send([proof]), ["done"], "the proof");
  same(scene.frames(), [0], "the frame");
  await scene.send(await scene.camera.frame(false));
  same(scene.frames(), [1], "the next one");
  same(scene.pair.victim.group(scene.now.monotonic)?.accepted, 2, "frames verified");
});

test("media of its own is refused once a viewer is a member, and ends nothing", async () => {
  const scene = await Scene.joined();
  const [stray] = [await scene.pair.seal("media", 0x0f, GROUP_STREAM, new Uint8Array(60))];
  same(await scene.send([stray]), [{ refused: "unknown-epoch" }], "a record of the session");
  await scene.send(await scene.camera.frame(true));
  same(scene.frames(), [0], "the group goes on");
});

test("a frame that an insider sealed is refused, counted and ends nothing", async () => {
  const scene = await Scene.joined();
  await scene.send(await scene.camera.frame(true));
  same(scene.frames(), [0], "the camera's");
  const insider = (await GroupCamera.create()).identity;
  const handled = await scene.send(await scene.camera.frame(false, { signer: insider }));
  same(handled.at(-1), { notTheCameras: "signature" }, "the forgery");
  const lost = scene.outputs();
  same(lost, [{ type: "media", media: { type: "lost" } }], "a keyframe is to be requested");
  await scene.send(await scene.camera.frame(true));
  same(scene.frames(), [2], "the next keyframe");
  same(scene.pair.victim.group(scene.now.monotonic)?.refused.signature, 1, "it is counted");
});

test("what a publisher says out of turn, or makes wrong, ends the session", async () => {
  const sheet = { type: "key-sheet", sheet: new Uint8Array(9) } as const;
  const join = { type: "join", stream: GROUP_STREAM, media: "session" } as const;
  const early: readonly Control[] = [
    sheet, join, { type: "challenge", challenge: new Uint8Array(16) }, { type: "answer", answer: new Uint8Array(9) },
    { type: "gop-key", certificate: new Uint8Array(9) }, { type: "gop-signature", signature: new Uint8Array(9) },
  ];
  for (const message of early) {
    const scene = await Scene.begin(FRAMES);
    same(await reasonOf(() => scene.tell(message), message.type), "protocol-error", `${message.type} without a group`);
    assert(scene.pair.victim.isOver, "the session is over");
  }
  const again = await (await Scene.begin(FRAMES)).terms();
  for (const message of [sheet, again, ...early.slice(1)]) {
    const scene = await Scene.joined();
    same(await reasonOf(() => scene.tell(message), message.type), "protocol-error", `a wrong ${message.type}`);
  }
});

test("answers to challenges tell the age; without them there is an alarm, which the next one ends", async () => {
  const scene = await Scene.joined();
  const age = (): unknown => scene.pair.victim.group(scene.now.monotonic)?.age;
  same(age(), { state: "waiting" }, "before the first challenge");
  const { root, answer } = await answerTo(await scene.challenge(1));
  scene.pass(25);
  await scene.send(await scene.camera.frame(true, { liveness: root }));
  await scene.tell({ type: "answer", answer });
  same(age(), { state: "live", atMost: 25 }, "since the challenge");
  scene.outputs();

  // Frames go on, and none answers: the limit is 30 ms for the round trip, 1 s and 20 ms.
  for (let number = 0; number < 10; number += 1) {
    scene.pass(100);
    if (number >= 3) {
      // A third of a group of pictures after the one that was answered.
      await scene.challenge(10 + number);
    }
    await scene.send(await scene.camera.frame(false));
  }
  same(age(), { state: "live", atMost: 1_025 }, "at the limit, nearly");
  scene.pass(100);
  const late = await scene.challenge(99);
  same(age(), { state: "alarm", cause: "stale" }, "beyond it");
  scene.pass(500);
  await scene.pair.victim.timeout(scene.now);
  scene.pass(1);
  same(age(), { state: "alarm", cause: "freeze" }, "frames stopped as well");
  const again = await answerTo(late);
  await scene.send(await scene.camera.frame(false, { liveness: again.root }));
  await scene.tell({ type: "answer", answer: again.answer });
  same(age(), { state: "live", atMost: 501 }, "the camera answers again");
});

test("only a member challenges, and only when it is asked to", async () => {
  const alone = await Scene.begin(FRAMES);
  same(await reasonOf(() => alone.pair.victim.challenge(alone.now, new Uint8Array(16)), "alone"), "misuse", "alone");
  const scene = await Scene.joined();
  same(await reasonOf(() => scene.pair.victim.challenge(scene.now, new Uint8Array(15)), "15"), "misuse", "15 bytes");
  await scene.challenge(1);
  await scene.pair.victim.challenge(scene.now, new Uint8Array(16).fill(2));
  same(scene.outputs(), [], "none is due, so none is sent");
});

/** The signature of the frames so far as a part of their group of pictures. */
async function signedPart({ statements, identity, name }: GroupCamera, key: Uint8Array): Promise<Bytes> {
  const leaves = await Promise.all(statements.map(statementLeaf));
  const group = statements[0]?.group ?? 0n;
  const head = new Writer()
    .u8(1).u16(name.stream).u16(leaves.length).u32(0).u64(group).bytes(new Uint8Array(32)).done().slice();
  const content = concat(ascii("sealcast2 gop\0"), identity.peerId.bytes, head, await rootOf(leaves));
  return concat(head, Uint8Array.from(ml_dsa65.sign(content, key)), ...leaves);
}

/** Lets what runs beside the session come to its end, and looks what came of it. */
async function proofs(scene: Scene): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for (const began = performance.now(); events.length === 0; ) {
    assert(performance.now() - began < PATIENCE, "signatures are verified at some time");
    await breathe();
    await scene.pair.victim.timeout(scene.now);
    events.push(...scene.events().filter(({ type }) => type === "proven"));
  }
  return events;
}

test("the signature of a group of pictures proves what was shown, and one that is wrong ends the session", async () => {
  const keys = ml_dsa65.keygen(new Uint8Array(32).fill(5));
  const scene = await Scene.joined();
  const { camera } = scene;
  await scene.tell({ type: "gop-key", certificate: await certify(camera.identity, Uint8Array.from(keys.publicKey)) });
  await scene.send(await camera.frame(true));
  await scene.send(await camera.frame(false));
  const { group } = camera;
  const message = await signedPart(camera, keys.secretKey);
  await scene.tell({ type: "gop-signature", signature: message });
  const verdict = { group, outcome: "proven", indexes: [], follows: true };
  same(await proofs(scene), [{ type: "proven", verdict }], "the verdict");

  const altered = message.slice();
  altered[100] = (altered[100] ?? 0) ^ 1;
  await scene.tell({ type: "gop-signature", signature: altered });
  same(await reasonOf(() => proofs(scene), "altered"), "protocol-error", "an altered signature");
  assert(scene.pair.victim.isOver, "the session is over");
});

test("a picture is called forged whose group's signature is over another one", async () => {
  const keys = ml_dsa65.keygen(new Uint8Array(32).fill(5));
  const scene = await Scene.joined();
  const { camera } = scene;
  await scene.tell({ type: "gop-key", certificate: await certify(camera.identity, Uint8Array.from(keys.publicKey)) });
  await scene.send(await camera.frame(true));
  await scene.send(await camera.frame(false));
  const shown = camera.statements.pop();
  assert(shown !== undefined, "a frame was made");
  camera.statements.push({ ...shown, frame: 77n });
  await scene.tell({ type: "gop-signature", signature: await signedPart(camera, keys.secretKey) });
  const [event] = await proofs(scene);
  assert(event?.type === "proven", "a verdict");
  same([event.verdict.outcome, event.verdict.indexes], ["forged", [1]], "outcome");
});
