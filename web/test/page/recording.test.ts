// Recordings of the program in the browser's own player.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { Program, withFolder } from "../node/program.ts";
import { assert, same } from "../support/harness.ts";
import { BINARY, OPTIONS, Profile } from "./support/browser.ts";
import { command, theClip } from "./support/servers.ts";

/** Matrix of a track that is shown after a quarter turn clockwise, and where it is behind the name of the header. */
const TURNED = [0, 65_536, 0, -65_536, 0, 0, 480 * 65_536, 0, 1 << 30];
const MATRIX = 44;
/** Length of the clip, and how far the player's may be from it, in seconds. */
const LENGTH = 2;
const NEAR = 0.05;

/** The clip, shown after a quarter turn. */
async function turned(clip: string, file: string): Promise<string> {
  const bytes = await readFile(clip);
  const at = bytes.indexOf("tkhd", 0, "latin1") + MATRIX;
  assert(at > MATRIX, "the clip has a track");
  for (const [number, value] of TURNED.entries()) {
    bytes.writeInt32BE(value, at + 4 * number);
  }
  await writeFile(file, bytes);
  return file;
}

/** Publishes a clip once, and records it. */
async function recorded(folder: string, clip: string, file: string): Promise<void> {
  const publisher = Program.start(BINARY, folder, [
    "publish", `file:${clip}`, "--listen", "tcp://127.0.0.1:0", "--ticket-file", "-", "--name", file.replace(/\W/g, ""),
  ]);
  try {
    const ticket = await publisher.line("sealcast://");
    command(folder, "watch", ticket, "--to", `file:${join(folder, file)}`, "--no-reconnect");
    await publisher.succeed();
  } finally {
    publisher.stop();
  }
}

void test("a browser plays a recording in its size and length, as it is turned, and finds a time in it", OPTIONS,
  async () => {
    await withFolder(async (folder) => {
      const { file: clip } = await theClip();
      for (const [name, source, size] of [
        ["upright.mp4", clip, "640x480"],
        ["turned.mp4", await turned(clip, join(folder, "source.mp4")), "480x640"],
      ] as const) {
        await recorded(folder, source, name);
        const html = join(folder, `${name}.html`);
        await writeFile(html, `<!doctype html><video muted preload="auto" src="${name}"></video>`);
        const profile = await Profile.open({ plain: true });
        try {
          const page = await profile.context.newPage();
          await page.goto(`file://${html}`);
          const played = await page.locator("video").evaluate(async (video: HTMLVideoElement) => {
            const happens = (event: string): Promise<void> => new Promise((resolve, reject) => {
              video.addEventListener(event, () => {
                resolve();
              }, { once: true });
              video.addEventListener("error", () => {
                reject(new Error(video.error?.message));
              }, { once: true });
            });
            if (video.readyState < HTMLMediaElement.HAVE_METADATA) {
              await happens("loadedmetadata");
            }
            const size = `${String(video.videoWidth)}x${String(video.videoHeight)}`;
            const length = video.duration;
            const sought: number[] = [];
            for (const time of [1.5, 0.5]) {
              const shown = new Promise<number>((resolve) => {
                video.requestVideoFrameCallback((_, { mediaTime }) => {
                  resolve(mediaTime);
                });
              });
              video.currentTime = time;
              sought.push(await shown);
            }
            const ended = happens("ended");
            await video.play();
            await ended;
            return { size, length, sought, end: video.currentTime };
          });
          same(played.size, size, `size of ${name}`);
          for (const [figure, wanted] of [[played.length, LENGTH], [played.end, LENGTH]] as const) {
            assert(Math.abs(figure - wanted) < NEAR, `${name} is ${String(figure)} s long`);
          }
          const [late = 0, early = 0] = played.sought;
          assert(Math.abs(late - 1.5) < NEAR && Math.abs(early - 0.5) < NEAR, `it finds ${String(played.sought)}`);
        } finally {
          await profile.close();
        }
      }
    });
  });
