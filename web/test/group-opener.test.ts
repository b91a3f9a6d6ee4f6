// A member's media: what a camera sealed once for all comes bit for bit, and what anybody else made is refused.

import { type Bytes } from "../src/protocol/bytes.ts";
import { GroupOpener } from "../src/protocol/group/opener.ts";
import { NodeSecret } from "../src/protocol/group/secret.ts";
import { parseTerms } from "../src/protocol/group/terms.ts";
import { identityFromSeed, signatureCheck } from "../src/protocol/keys/identity.ts";
import { AES_256_GCM } from "../src/protocol/seal/suite.ts";
import { type SignMode } from "../src/protocol/sign/mode.ts";
import { Assembler } from "../src/protocol/unit/assemble.ts";
import { Flag } from "../src/protocol/wire/header.ts";
import { GroupCamera, picture } from "./support/group-camera.ts";
import { assert, same, test } from "./support/harness.ts";

function shared(member: number): Bytes {
  return new Uint8Array(32).fill(member + 1);
}

async function memberOf(camera: GroupCamera, member: number, sign: SignMode = "frame"): Promise<GroupOpener> {
  const { name } = camera;
  const check = await signatureCheck(name.camera);
  const config = { group: name, asked: "", least: "off", suites: [AES_256_GCM], check } as const;
  const opener = new GroupOpener(config, new Assembler(), await NodeSecret.ofMember(shared(member), name));
  await agree(opener, camera, sign);
  return opener;
}

async function agree(opener: GroupOpener, camera: GroupCamera, sign: SignMode): Promise<void> {
  same(await opener.agree(parseTerms(await camera.terms({ sign }))), undefined, "why the terms are refused");
}

/** What comes of records: numbers of frames that were released, and why others were refused. */
async function open(opener: GroupOpener, records: readonly Bytes[], now = 0): Promise<[number[], string[]]> {
  const [released, refused]: [number[], string[]] = [[], []];
  for (const record of records) {
    const { media, refused: why, notTheCameras } = await opener.open(now, record);
    refused.push(...[why, notTheCameras].filter((reason) => reason !== undefined));
    for (const one of media) {
      if (one.type === "frame") {
        const number = Number(one.preamble.frame);
        same(one.data, picture(number), `picture ${number}`);
        released.push(number);
      }
    }
  }
  return [released, refused];
}

/** A camera with two members, and the leaf of the second. */
interface Two {
  readonly camera: GroupCamera;
  readonly stays: GroupOpener;
  readonly leaves: GroupOpener;
  readonly leaf: number;
}

/** A camera with two members that have their sheets. */
async function cameraWithTwo(): Promise<Two> {
  const camera = await GroupCamera.create();
  const leaves = [0, 1].map((member) => camera.admit(shared(member)));
  await camera.announce();
  const members: GroupOpener[] = [];
  for (const [member, leaf] of leaves.entries()) {
    const opener = await memberOf(camera, member);
    const taken = await opener.takeSheet(await camera.sheet(leaf));
    assert(typeof taken !== "string" && taken.scope === "path", "its sheet");
    members.push(opener);
  }
  const [stays, goes] = members;
  assert(stays !== undefined && goes !== undefined, "two members");
  return { camera, stays, leaves: goes, leaf: leaves[1] ?? 0 };
}

/** A camera with one member. */
async function cameraWithOne(sign: SignMode = "frame"): Promise<{ camera: GroupCamera; viewer: GroupOpener }> {
  const camera = await GroupCamera.create();
  const leaf = camera.admit(shared(0));
  await camera.announce();
  const viewer = await memberOf(camera, 0, sign);
  await viewer.takeSheet(await camera.sheet(leaf));
  return { camera, viewer };
}

test("two members open what was sealed once, bit for bit", async () => {
  const { camera, stays, leaves } = await cameraWithTwo();
  for (let number = 0; number < 6; number += 1) {
    const records = await camera.frame(number % 3 === 0);
    same(await open(stays, records), [[number], []], "one member");
    same(await open(leaves, records), [[number], []], "the other");
  }
  same([stays.accepted, leaves.accepted], [6, 6], "frames verified");
});

test("records with unit headers, as other members get them in packets, make the same frames", async () => {
  const { camera, viewer } = await cameraWithOne();
  for (let number = 0; number < 6; number += 1) {
    camera.packets = number >= 2;
    same(await open(viewer, await camera.frame(number % 3 === 0)), [[number], []], `frame ${number}`);
  }
});

test("a record whose unit header does not fit is refused", async () => {
  const { camera, viewer } = await cameraWithOne();
  camera.packets = true;
  same(await open(viewer, await camera.frame(true)), [[0], []], "one that fits");
  const empty = await camera.sealed(Flag.First | Flag.Last | Flag.Encrypted | Flag.Unit, new Uint8Array(9));
  same((await viewer.open(0, empty)).refused, "malformed", "too short for a unit header");
  const repair = await camera.sealed(Flag.Repair | Flag.Encrypted | Flag.Unit, new Uint8Array(99));
  same((await viewer.open(0, repair)).refused, "malformed", "a repair record on a byte stream");
});

test("a removed member opens nothing of the next epoch, with all that the others get", async () => {
  const { camera, stays, leaves, leaf } = await cameraWithTwo();
  const first = await camera.frame(true);
  same([await open(stays, first), await open(leaves, first)], [[[0], []], [[0], []]], "while both are members");
  camera.remove(leaf);
  await camera.announce();
  const sheet = await camera.sheet();
  assert(typeof (await stays.takeSheet(sheet)) !== "string", "who stays takes it");
  same(await leaves.takeSheet(sheet), "no-slot", "it is not for who left");
  for (const number of [1, 2, 3]) {
    const records = await camera.frame(number === 1);
    same(await open(stays, records), [[number], []], "who stays");
    const [released, refused] = await open(leaves, records);
    same(released, [], "frames for who left");
    same(refused.every((reason) => reason === "tag" || reason === "unknown-epoch"), true, `reasons ${refused.join()}`);
  }
});

test("who joins opens nothing of the epoch before", async () => {
  const { camera, stays } = await cameraWithTwo();
  const before = await camera.frame(true);
  const leaf = camera.admit(shared(7));
  await camera.announce();
  const late = await memberOf(camera, 7);
  await late.takeSheet(await camera.sheet(leaf));
  const [released, refused] = await open(late, before);
  same([released, [...new Set(refused)]], [[], ["unknown-epoch"]], "the past");
  await stays.takeSheet(await camera.sheet());
  const now = await camera.frame(true);
  same([await open(late, now), await open(stays, now)], [[[1], []], [[1], []]], "the present");
});

test("epochs of the ratchet open without a sheet, and a member that seals far ahead drives nobody away", async () => {
  const { camera, viewer } = await cameraWithOne();
  await open(viewer, await camera.frame(true));
  await camera.ratchet();
  same(await open(viewer, await camera.frame(true)), [[1], []], "one step");
  // A member seals under later epochs: they open, the camera's signature is missing, and nothing of it stays.
  const insider = await identityFromSeed(new Uint8Array(32).fill(8));
  const frames = camera.frames;
  const forged: Bytes[] = [];
  for (let step = 0; step < 8; step += 1) {
    await camera.ratchet();
    forged.push(...await camera.frame(true, { signer: insider }));
  }
  const [released, refused] = await open(viewer, forged);
  same([released, [...new Set(refused)]], [[], ["signature"]], "what the member sealed");
  camera.frames = frames;
  await camera.announce();
  await viewer.takeSheet(await camera.sheet());
  same(await open(viewer, await camera.frame(true)), [[frames], []], "the camera goes on");
});

test("an insider with the group's key cannot forge the camera, and the stream goes on with a keyframe", async () => {
  const { camera, viewer } = await cameraWithOne();
  const insider = await identityFromSeed(new Uint8Array(32).fill(8));
  await open(viewer, await camera.frame(true));
  same(await open(viewer, await camera.frame(false, { signer: insider })), [[], ["signature"]], "the forgery");
  same(await open(viewer, await camera.frame(false)), [[], []], "what depends on the lost frame is not shown");
  same(await open(viewer, await camera.frame(true)), [[3], []], "the next keyframe");
  same(viewer.refused.signature, 1, "forgeries counted");
});

test("frames without a proof, or with one that has no signature, are not shown", async () => {
  const { camera, viewer } = await cameraWithOne();
  await open(viewer, await camera.frame(true));
  same(await open(viewer, await camera.frame(false, { signed: false })), [[], ["unsigned"]], "no signature");
  const unproven = (await camera.frame(true)).slice(0, -1);
  same(await open(viewer, unproven), [[], []], "it waits for its proof");
  const next = await camera.frame(true);
  same(await open(viewer, next), [[3], []], "the next keyframe, with its own");
  same(viewer.refused.unsigned, 1, "the first is counted; the second follows a gap and counts as lost");
});

test("a flipped bit anywhere in a frame, and a record left out, are refused", async () => {
  for (const at of [0, 1, 2]) {
    const { camera, viewer } = await cameraWithOne();
    const records = await camera.frame(true);
    const record = records[at];
    assert(record !== undefined, "description, frame and proof");
    const middle = Math.floor(record.length / 2);
    record[middle] = (record[middle] ?? 0) ^ 1;
    const [released, refused] = await open(viewer, records);
    same([released, refused[0]], [[], "tag"], `record ${at} altered`);
    same((await open(viewer, await camera.frame(true)))[0], [1], "it goes on with a keyframe");
    const short = await camera.frame(true);
    short.splice(at, 1);
    same((await open(viewer, short))[0], [], `record ${at} left out`);
    same((await open(viewer, await camera.frame(true)))[0], [3], "it goes on again");
  }
});

test("a copy of a record is a replay, and takes nothing away", async () => {
  const { camera, viewer } = await cameraWithOne();
  const first = await camera.frame(true);
  await open(viewer, first);
  same(await open(viewer, first), [[], ["replay", "replay", "replay"]], "copies");
  same(await open(viewer, await camera.frame(false)), [[1], []], "the frame after them");
});

test("what a camera sealed before its keys were replaced is not shown once they are", async () => {
  const { camera, viewer } = await cameraWithOne();
  await open(viewer, await camera.frame(true));
  const late = await camera.frame(true);
  await camera.announce();
  await viewer.takeSheet(await camera.sheet());
  same(await open(viewer, await camera.frame(true)), [[2], []], "the new epoch");
  const [released, refused] = await open(viewer, late);
  same([released, refused.at(-1)], [[], "epoch"], "the old one, of a group that it no longer seals");
});

test("what is under way when a sheet comes is shown, unless the sheet says that it is not the camera's", async () => {
  for (const [isLate, expected] of [[false, [[1], []]], [true, [[], ["epoch"]]]] as const) {
    const { camera, viewer } = await cameraWithOne();
    await open(viewer, await camera.frame(true));
    const underWay = await camera.frame(true);
    await camera.announce();
    await viewer.takeSheet(await camera.sheet(undefined, isLate ? camera.group : camera.group + 1n));
    same(await open(viewer, underWay), expected, isLate ? "of a group from the effect on" : "of the group before");
  }
});

test("the keys of an epoch are forgotten five seconds after a later one is in use", async () => {
  const { camera, viewer } = await cameraWithOne();
  await open(viewer, await camera.frame(true));
  const [soon, late] = [await camera.frame(false), await camera.frame(false)];
  await camera.ratchet();
  same(await open(viewer, await camera.frame(true), 1_000), [[3], []], "the later one");
  same(await open(viewer, soon, 5_999), [[], ["epoch"]], "its records open, and its time is over");
  same(await open(viewer, late, 6_000), [[], ["unknown-epoch", "unknown-epoch"]], "nobody can open them any more");
});

test("a camera that begins anew is followed, and its past is refused", async () => {
  const { camera, viewer } = await cameraWithOne();
  await open(viewer, await camera.frame(true));
  const [before, past] = [await camera.sheet(), await camera.frame(false)];
  const anew = await GroupCamera.create(camera.identity, 10);
  [anew.epoch, anew.group] = [500n, 5_000n];
  const leaf = anew.admit(shared(0));
  await anew.announce();
  same(await viewer.takeSheet(await anew.sheet(leaf)), "wrong-run", "a later run without its terms");
  await agree(viewer, anew, "frame");
  assert(typeof (await viewer.takeSheet(await anew.sheet(leaf))) !== "string", "a later run");
  same((await open(viewer, await anew.frame(true)))[0], [0], "its first frame");
  same((await open(viewer, past))[0], [], "what was sealed before");
  same(await viewer.takeSheet(before), "wrong-run", "the sheet of before");
});

test("a run is verified as its own terms say, from its first sheet on, whatever comes again of the one before",
  async () => {
    const { camera, viewer } = await cameraWithOne("off");
    const old = await camera.sheet();
    const unsigned = async (of: GroupCamera, keyframe: boolean): Promise<Bytes[]> =>
      (await of.frame(keyframe)).slice(0, -1);
    same(await open(viewer, await unsigned(camera, true)), [[0], []], "where nothing is signed");
    const anew = await GroupCamera.create(camera.identity, 10);
    [anew.epoch, anew.group] = [500n, 5_000n];
    const leaf = anew.admit(shared(0));
    await anew.announce();
    await agree(viewer, anew, "frame");
    same(viewer.sign, "off", "terms alone change nothing");
    same(await open(viewer, await unsigned(camera, true)), [[1], []], "before the sheet");
    await viewer.takeSheet(await anew.sheet(leaf));
    await agree(viewer, camera, "off");
    same([viewer.sign, await viewer.takeSheet(old)], ["frame", "stale"], "after it");
    same(await open(viewer, await unsigned(anew, true)), [[], []], "a frame without its proof");
    same((await open(viewer, await anew.frame(true)))[0], [1], "one with it");
  });

test("where nothing is signed, a proof is a malformed record, and frames come without one", async () => {
  const { camera, viewer } = await cameraWithOne("off");
  const records = await camera.frame(true);
  same(await open(viewer, records), [[0], ["cleartext"]], "the frame, and its proof");
});

test("records in clear are shown to a member that agreed to them, and refused by every other", async () => {
  for (const sign of ["off", "frame"] as const) {
    for (const packets of [false, true]) {
      const { camera, viewer } = await cameraWithOne(sign);
      camera.packets = packets;
      const first = await camera.frame(true);
      // A proof is for members of a group whose frames are signed.
      const records = (all: readonly Bytes[]): readonly Bytes[] => (sign === "off" ? all.slice(0, -1) : all);
      same(await open(viewer, records(first)), [[0], []], `${sign}: sealed`);
      camera.clear = true;
      const clear = await camera.frame(true);
      const count = packets ? 3 : 2;
      same(await open(viewer, records(clear)), [[], new Array(count).fill("cleartext")], `${sign}: not agreed`);
      viewer.acceptsClear = true;
      same(await open(viewer, records(await camera.frame(true))), [[2], []], `${sign}: agreed`);
      const altered = (await camera.frame(false))[0]?.slice() ?? new Uint8Array(0);
      altered[100] = (altered[100] ?? 0) ^ 1;
      same(await open(viewer, [altered]), [[], ["tag"]], `${sign}: altered in clear`);
    }
  }
});
