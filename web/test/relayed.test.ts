// A member whose pictures come through a relay that nobody trusts.

import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";

import { type Bytes, concat } from "../src/protocol/bytes.ts";
import { type Now } from "../src/protocol/clock/now.ts";
import { type Stated } from "../src/protocol/group/terms.ts";
import { type Output } from "../src/protocol/session/output.ts";
import { MAX_WAITING, type RelayTrack, type RelayedObject } from "../src/protocol/session/relayed.ts";
import { type Control, controlBytes, parseControl } from "../src/protocol/wire/control.ts";
import { lengthPrefix } from "../src/protocol/wire/framing.ts";
import { GROUP_STREAM, GroupCamera, certify, picture } from "./support/group-camera.ts";
import { assert, same, test } from "./support/harness.ts";
import { type Deceived, deceivedViewer } from "./support/liar.ts";
import { breathe } from "./support/virtual-time.ts";

/** Real milliseconds for what a machine computes, however busy it is. */
const PATIENCE = 60_000;

const POLICY = { sign: "frame", relayed: true } as const;
const JOIN = { type: "join", stream: GROUP_STREAM, media: "relay" } as const;

/** A viewer whose session is with the camera, and to which a relay gives what a test says. */
class Scene {
  readonly pair: Deceived;
  readonly camera: GroupCamera;
  leaf = 0;
  #passed = 0;

  private constructor(pair: Deceived, camera: GroupCamera) {
    this.pair = pair;
    this.camera = camera;
  }

  static async begin(): Promise<Scene> {
    const pair = await deceivedViewer(POLICY);
    return new Scene(pair, await GroupCamera.create(pair.identity));
  }

  /** A viewer that has joined, and has its first sheet. */
  static async joined(): Promise<Scene> {
    const scene = await Scene.begin();
    await scene.tell(await scene.terms());
    same(parseControl(await scene.pair.heard()), JOIN, "it joins for a relay");
    scene.leaf = scene.camera.admit(scene.pair.exporter);
    await scene.camera.announce();
    await scene.tell(await scene.sheet());
    same(scene.outputs(), [{ type: "event", event: { type: "joined-group", signed: "frame" } }], "it is a member");
    return scene;
  }

  get now(): Now {
    const { monotonic, wall } = this.pair.now;
    return { monotonic: monotonic + this.#passed, wall: wall + BigInt(this.#passed * 1e6) };
  }

  async terms(stated: Partial<Stated> = {}): Promise<Control> {
    return { type: "group-terms", terms: await this.camera.terms(stated) };
  }

  async sheet(): Promise<Control> {
    return { type: "key-sheet", sheet: await this.camera.sheet(this.leaf) };
  }

  /** Lets time pass; the session does what is due then. */
  async pass(milliseconds: number): Promise<void> {
    this.#passed += milliseconds;
    await this.pair.victim.timeout(this.now);
  }

  async tell(message: Control): Promise<void> {
    await this.pair.victim.message(this.now, await this.pair.control(controlBytes(message)));
  }

  give(object: RelayedObject): Promise<void> {
    return this.pair.victim.relayed(this.now, object);
  }

  /** The relay gives a frame, whose records a test may have changed. */
  async film(records: readonly Bytes[], begins = false): Promise<void> {
    await this.give({ track: "video", begins, bytes: frameOf(records) });
  }

  outputs(): Output[] {
    return this.pair.drain().filter((output) => output.type !== "transmit");
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

  /** What the relay gave and was refused, since the last call. */
  refused(): unknown[] {
    return this.outputs().flatMap((output) =>
      output.type === "event" && output.event.type === "relay-refused" ? [[output.event.track, output.event.reason]] :
        []);
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(this.pair.victim.refusals).filter(([, count]) => count > 0));
  }
}

function frameOf(records: readonly Bytes[]): Bytes {
  return concat(...records.flatMap((record) => [lengthPrefix(record), record]));
}

test("pictures that a relay brings come out bit for bit, and those of the session itself are left", async () => {
  const scene = await Scene.joined();
  await scene.pair.victim.message(scene.now, await scene.pair.seal("media", 0x0f, GROUP_STREAM, new Uint8Array(60)));
  same(scene.outputs(), [], "media of the session");
  await scene.film(await scene.camera.frame(true), true);
  await scene.film(await scene.camera.frame(false));
  same(scene.frames(), [0, 1], "frames");
  same([scene.pair.victim.group(scene.now.monotonic)?.accepted, scene.counts], [2, {}], "verified, and refused");
});

test("a frame that overtakes its key waits for it, and the camera is asked for the sheet that a relay withholds",
  async () => {
    const scene = await Scene.joined();
    await scene.film(await scene.camera.frame(true), true);
    same(scene.frames(), [0], "the first");
    await scene.camera.announce();
    await scene.film(await scene.camera.frame(true), true);
    await scene.film(await scene.camera.frame(false));
    await scene.pass(249);
    same(scene.frames(), [], "nothing before its key");
    await scene.pass(1);
    same(parseControl(await scene.pair.heard()), JOIN, "the camera is asked");
    await scene.pass(10);
    same(scene.outputs(), [], "once");
    await scene.tell(await scene.sheet());
    same(scene.frames(), [1, 2], "both, in order");
    same(scene.counts, {}, "nothing was refused");
  });

test("the sheet comes as well by the relay, and a copy of it in the session says nothing new", async () => {
  const scene = await Scene.joined();
  await scene.camera.announce();
  await scene.film(await scene.camera.frame(true), true);
  const sheet = await scene.camera.sheet();
  await scene.give({ track: "keys", begins: true, bytes: controlBytes(await scene.terms()) });
  await scene.give({ track: "keys", begins: false, bytes: controlBytes({ type: "key-sheet", sheet }) });
  same(scene.frames(), [0], "the frame that waited");
  await scene.give({ track: "keys", begins: true, bytes: controlBytes({ type: "key-sheet", sheet }) });
  await scene.tell(await scene.sheet());
  assert(scene.pair.victim.isEstablished, "a sheet that is known ends nothing");
  same(scene.outputs(), [], "nor does it say anything");
});

test("a frame whose key never comes is refused in the end, and what depends on it is left out", async () => {
  const scene = await Scene.joined();
  await scene.film(await scene.camera.frame(true), true);
  scene.frames();
  const before = scene.camera;
  await before.announce();
  await scene.film(await before.frame(true), true);
  for (let more = 0; more < 3; more += 1) {
    await scene.film(await before.frame(false));
  }
  await scene.pass(1_000);
  same(scene.frames(), [], "nothing");
  same(scene.counts, { tag: 1 }, "its beginning alone is counted");
  await scene.tell(await scene.sheet());
  await scene.film(await before.frame(true), true);
  same(scene.frames(), [5], "the next group of pictures");
});

test("frames that wait for a key are bounded", async () => {
  const scene = await Scene.joined();
  await scene.film(await scene.camera.frame(true), true);
  scene.frames();
  await scene.camera.announce();
  const lost = await scene.camera.frame(true);
  for (let sent = 0; sent <= MAX_WAITING; sent += 1) {
    await scene.film(lost, true);
  }
  same(scene.counts, { tag: 1 }, "the first of too many does not wait");
});

test("frames that a relay alters, repeats or makes up are refused and counted, and end nothing", async () => {
  const scene = await Scene.joined();
  const first = await scene.camera.frame(true);
  await scene.film(first, true);
  same(scene.frames(), [0], "the first");
  await scene.film(first, true);
  same([scene.frames(), scene.counts], [[], {}], "a copy is not shown again, nor told");
  for (let number = 0; number < 100; number += 1) {
    const records = await scene.camera.frame(false);
    const [record, ...rest] = records.map((one) => one.slice());
    assert(record !== undefined, "a frame has records");
    record[record.length - 1] = (record.at(-1) ?? 0) ^ 1;
    await scene.film([record, ...rest]);
  }
  same(scene.frames(), [], "altered frames");
  await scene.give({ track: "video", begins: false, bytes: new Uint8Array(9) });
  same(scene.counts, { malformed: 1, tag: 100 }, "each is counted once");
  assert(scene.pair.victim.isEstablished, "the session stands");
  await scene.film(await scene.camera.frame(true), true);
  same(scene.frames(), [101], "the next keyframe");
});

test("what an insider seals and a relay brings is refused by the camera's signature", async () => {
  const scene = await Scene.joined();
  await scene.film(await scene.camera.frame(true), true);
  scene.frames();
  const insider = (await GroupCamera.create()).identity;
  await scene.film(await scene.camera.frame(false, { signer: insider }));
  same(scene.frames(), [], "the forgery");
  same(scene.pair.victim.group(scene.now.monotonic)?.refused.signature, 1, "it is counted");
});

test("sheets, certificates and signatures of somebody else are refused in words and change nothing", async () => {
  const scene = await Scene.joined();
  const other = await GroupCamera.create();
  other.admit(scene.pair.exporter);
  await other.announce();
  const sheet = await other.sheet();
  const certificate = await certify(other.identity, new Uint8Array(1_952));
  for (const [track, message, reason] of [
    ["keys", { type: "key-sheet", sheet }, "wrong-camera"],
    ["keys", { type: "key-sheet", sheet: new Uint8Array(3) }, "malformed"],
    ["keys", { type: "gop-key", certificate }, "protocol-error"],
    ["keys", { type: "welcome" }, "malformed"],
    ["proofs", { type: "key-sheet", sheet }, "malformed"],
  ] as const) {
    await scene.give({ track, begins: true, bytes: controlBytes(message) });
    same(scene.refused(), [[track, reason]], `${message.type} on ${track}`);
  }
  await scene.give({ track: "proofs", begins: true, bytes: new Uint8Array(0) });
  same(scene.refused(), [["proofs", "malformed"]], "nothing at all");
  await scene.film(await scene.camera.frame(true), true);
  same(scene.frames(), [0], "the camera's pictures go on");
});

test("a camera that does not sign each frame is named, and a relay that says so of one that does is not heard",
  async () => {
    const unfit = await Scene.begin();
    await unfit.tell(await unfit.terms({ sign: "gop" }));
    same(unfit.outputs(), [{ type: "event", event: { type: "unfit-group", signed: "gop" } }], "the camera says it");
    const scene = await Scene.joined();
    const altered = async (at: number): Promise<Bytes> => {
      const terms = await scene.camera.terms();
      terms[at] = (terms[at] ?? 0) ^ 1;
      return terms;
    };
    for (const [terms, reason] of [
      [await altered(2), "signature"], [await altered(3), "signature"], [await altered(45), "signature"],
      [await (await GroupCamera.create()).terms(), "wrong-camera"], [new Uint8Array(9), "malformed"],
      // Of the camera, if it were to sign them.
      [await scene.camera.terms({ sign: "off" }), "sign"], [await scene.camera.terms({ sign: "tesla" }), "sign"],
      [await scene.camera.terms({ suite: 4 }), "suite"], [await scene.camera.terms({ sign: "both" }), "changed"],
    ] as const) {
      await scene.give({ track: "keys", begins: true, bytes: controlBytes({ type: "group-terms", terms }) });
      same(scene.refused(), [["keys", reason]], `terms are refused as ${reason}`);
    }
    await scene.film(await scene.camera.frame(true, { signed: false }), true);
    same(scene.frames(), [], "a frame without a signature");
  });

test("a new run of the camera holds from its first sheet on, with the signatures that its terms state", async () => {
  const scene = await Scene.joined();
  const { camera, pair } = scene;
  const signed = (): unknown => pair.victim.group(scene.now.monotonic)?.signed;
  const give = async (track: RelayTrack, message: Control): Promise<unknown[]> => {
    await scene.give({ track, begins: true, bytes: controlBytes(message) });
    return scene.refused();
  };
  const key = Uint8Array.from(ml_dsa65.keygen(new Uint8Array(32).fill(5)).publicKey);
  await give("keys", { type: "gop-key", certificate: await certify(camera.identity, key) });
  const stray = { type: "gop-signature", signature: new Uint8Array(9) } as const;
  same(await give("proofs", stray), [], "where no groups of pictures are signed");

  const anew = await GroupCamera.create(camera.identity, 10);
  [anew.epoch, anew.group] = [500n, 5_000n];
  anew.admit(pair.exporter);
  await anew.announce();
  const sheet = { type: "key-sheet", sheet: await anew.sheet() } as const;
  same(await give("keys", sheet), [["keys", "wrong-run"]], "a sheet of a run without terms");
  const [before, terms] = [await scene.terms(), await anew.terms({ sign: "both" })];
  same([await give("keys", { type: "group-terms", terms }), signed()], [[], "frame"], "terms alone change nothing");
  same([await give("keys", sheet), signed()], [[], "both"], "its sheet");
  same([await give("keys", before), signed()], [[], "both"], "terms of the run that is over");
  await scene.film(await anew.frame(true), true);
  same(scene.frames(), [0], "its pictures");
  const refused = await give("proofs", stray);
  for (const began = performance.now(); refused.length === 0; refused.push(...scene.refused())) {
    assert(performance.now() - began < PATIENCE, "signatures are verified at some time");
    await breathe();
  }
  same(refused, [["proofs", "malformed"]], "signatures of groups of pictures are verified");
});

test("what a relay gives before the viewer is a member is left", async () => {
  const scene = await Scene.begin();
  await scene.give({ track: "keys", begins: true, bytes: new Uint8Array(5) });
  await scene.give({ track: "video", begins: true, bytes: new Uint8Array(5) });
  same([scene.outputs(), scene.counts], [[], {}], "nothing comes of it");
});
