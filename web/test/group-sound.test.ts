// The sound of a group: what is lost or forged of one stream leaves the other whole.

import { type Bytes } from "../src/protocol/bytes.ts";
import { GroupOpener } from "../src/protocol/group/opener.ts";
import { NodeSecret } from "../src/protocol/group/secret.ts";
import { parseTerms } from "../src/protocol/group/terms.ts";
import { identityFromSeed, signatureCheck } from "../src/protocol/keys/identity.ts";
import { AES_256_GCM } from "../src/protocol/seal/suite.ts";
import { Assembler } from "../src/protocol/unit/assemble.ts";
import { GroupCamera, soundPacket } from "./support/group-camera.ts";
import { same, test } from "./support/harness.ts";

const SHARED = new Uint8Array(32).fill(1);

/** What comes of records. */
interface Played {
  readonly pictures: number[];
  readonly sounds: number[];
  /** What else comes: descriptions of sound, losses of the picture. */
  readonly others: string[];
  readonly refused: string[];
}

async function play(opener: GroupOpener, ...frames: readonly (readonly Bytes[])[]): Promise<Played> {
  const played: Played = { pictures: [], sounds: [], others: [], refused: [] };
  for (const record of frames.flat()) {
    const { media, refused, notTheCameras } = await opener.open(0, record.slice());
    played.refused.push(...[refused, notTheCameras].filter((reason) => reason !== undefined));
    for (const one of media) {
      if (one.type === "sound") {
        const number = Number(one.preamble.frame);
        same(one.data, soundPacket(number), `packet ${number}`);
        played.sounds.push(number);
      } else if (one.type === "frame") {
        played.pictures.push(Number(one.preamble.frame));
      } else if (one.type !== "info") {
        played.others.push(one.type);
      }
    }
  }
  return played;
}

async function cameraAndViewer(): Promise<{ camera: GroupCamera; viewer: GroupOpener }> {
  const camera = await GroupCamera.create();
  const leaf = camera.admit(SHARED);
  await camera.announce();
  const check = await signatureCheck(camera.name.camera);
  const config = { group: camera.name, asked: "", least: "frame", suites: [AES_256_GCM], check } as const;
  const viewer = new GroupOpener(config, new Assembler(), await NodeSecret.ofMember(SHARED, camera.name));
  await viewer.agree(parseTerms(await camera.terms()));
  await viewer.takeSheet(await camera.sheet(leaf));
  return { camera, viewer };
}

test("a member gets the sound of its group with its description, through a change of epochs", async () => {
  const { camera, viewer } = await cameraAndViewer();
  for (let number = 0; number < 9; number += 1) {
    if (number === 6) {
      await camera.ratchet();
    }
    const begins = number % 3 === 0;
    const played = await play(viewer, await camera.frame(begins), await camera.sound(), await camera.sound());
    same(played, {
      pictures: [number], sounds: [2 * number, 2 * number + 1], others: begins ? ["sound-info"] : [], refused: [],
    }, `picture ${number}`);
  }
});

test("what is lost of the sound costs no picture, and what is lost of the picture no sound", async () => {
  const { camera, viewer } = await cameraAndViewer();
  await play(viewer, await camera.frame(true), await camera.sound());
  for (const kept of [[], [0], [1]]) {
    const gone = (await camera.sound()).filter((_, at) => kept.includes(at));
    const played = await play(viewer, gone, await camera.frame(false), await camera.sound());
    same([played.pictures.length, played.sounds.length, played.others], [1, 1, []], `of a packet only ${kept.join()}`);
  }
  await camera.frame(false);
  const played = await play(viewer, await camera.sound(), await camera.frame(false), await camera.sound());
  same([played.pictures, played.sounds.length, played.others.includes("lost")], [[], 2, true], "a picture is missing");
});

test("sound that an insider makes, alters, repeats or swaps is refused, and the picture is untouched", async () => {
  const { camera, viewer } = await cameraAndViewer();
  await play(viewer, await camera.frame(true), await camera.sound());
  const replayed = await camera.sound();
  await play(viewer, replayed);
  const altered = (await camera.sound()).map((record) => record.map((byte, at) => (at === 60 ? byte ^ 1 : byte)));
  const signer = await identityFromSeed(new Uint8Array(32).fill(8));
  const forged = await camera.sound({ signer });
  const unsigned = await camera.sound({ signed: false });
  const [first, second] = [await camera.sound(), await camera.sound()];
  const attacks: readonly (readonly [string, readonly Bytes[], number])[] = [
    ["replayed", replayed, 0], ["altered", altered, 0], ["forged", forged, 0], ["unsigned", unsigned, 0],
    ["swapped", [...second, ...first], 1],
  ];
  for (const [what, sound, most] of attacks) {
    const played = await play(viewer, sound, await camera.frame(false));
    same([played.sounds.length <= most, played.pictures.length, played.others], [true, 1, []], what);
    same(played.refused.length > 0, true, `${what} is counted`);
  }
  same(viewer.refused.signature, 1, "signatures that are not the camera's");
  same((await play(viewer, await camera.sound())).sounds.length, 1, "it goes on");
});
