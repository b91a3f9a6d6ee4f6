// A clip with a flash and a beep at the same media times, and what is seen and heard of it in a page.

import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { type SoundInfo } from "../../../src/protocol/unit/sound-info.ts";
import { withFolder } from "../../node/program.ts";
import { type Visit } from "./browser.ts";
import { type Viewer } from "./page-server.ts";
import { annexB, nalUnits, parameterSets, tool } from "./servers.ts";

/** Seconds of the clip; in each second light and tone begin together. */
export const SECONDS = 4;
/** Samples a second. */
export const RATE = 48_000;
const BRIGHT = "lt(mod(t\\,1)\\,0.12)";
const NS_PER_S = 1e9;

/** A frame of the picture or a packet of sound. */
interface Packet {
  readonly kind: "video" | "audio";
  /** Nanoseconds. */
  readonly media: bigint;
  readonly keyframe: boolean;
  readonly data: Buffer;
}

/** The clip. */
export interface FlashClip {
  readonly file: string;
  readonly packets: readonly Packet[];
  readonly parameters: Buffer;
  readonly sound: SoundInfo;
  /** What ffmpeg decodes of its sound: the left channel, from media time 0 on. */
  readonly reference: Float32Array;
}

/** Makes the clip: AAC beside H.264 in an MP4 file. Under the tone lies a quiet one that rises. */
export function withFlashClip(body: (clip: FlashClip) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const file = join(folder, "flash.mp4");
    const tone = `0.6*sin(2*PI*1000*t)*${BRIGHT}+0.03*sin(2*PI*(300+400*t)*t)`;
    const light = `color=black:s=320x240:r=25:d=${SECONDS},drawbox=color=white:t=fill:enable=${BRIGHT}`;
    tool(
      "ffmpeg", "-f", "lavfi", "-i", light, "-f", "lavfi", "-i", `aevalsrc=${tone}:s=${RATE}:d=${SECONDS}:c=stereo`,
      "-c:v", "libx264", "-preset", "ultrafast", "-profile:v", "baseline", "-g", "25", "-x264-params", "scenecut=0",
      "-c:a", "aac", "-b:a", "128k", file,
    );
    const raw = join(folder, "left.f32");
    tool("ffmpeg", "-i", file, "-map", "0:a", "-af", "pan=mono|c0=c0", "-f", "f32le", raw);
    const bytes = await readFile(raw);
    const reference = new Float32Array(bytes.length / 4).map((_, at) => bytes.readFloatLE(4 * at));
    await body({ file, ...packetsOf(file, await readFile(file)), reference });
  });
}

function packetsOf(file: string, bytes: Buffer): Omit<FlashClip, "file" | "reference"> {
  const { stdout } = tool("ffprobe", "-show_entries", "packet=codec_type,pts_time,size,pos,flags", "-of", "json", file);
  const { packets } = JSON.parse(stdout) as {
    packets: { codec_type: "video" | "audio"; pts_time: string; size: string; pos: string; flags: string }[];
  };
  const sets = parameterSets(bytes);
  const all = packets.map(({ codec_type: kind, pts_time: time, size, pos, flags }) => {
    const data = bytes.subarray(Number(pos), Number(pos) + Number(size));
    const keyframe = flags.startsWith("K");
    const unit = kind === "audio" ? data : annexB([...(keyframe ? sets : []), ...nalUnits(data)]);
    return { kind, media: BigInt(Math.round(Number(time) * NS_PER_S)), keyframe, data: unit };
  });
  // What stands before the beginning only prepares the decoder.
  const heard = all.filter(({ media }) => media >= 0n).sort((a, b) => Number(a.media - b.media));
  const sound: SoundInfo = {
    codec: "aac", channels: 2, samplesPerSecond: RATE, samplesPerFrame: 1_024, parameters: Uint8Array.of(0x11, 0x90),
  };
  return { packets: heard, parameters: annexB(sets), sound };
}

/** Sends the clip again and again, each frame at its time, until the viewer leaves. */
export async function play({ packets, parameters, sound }: FlashClip, viewer: Viewer): Promise<void> {
  await viewer.describe({ codec: "h264", width: 320, height: 240, parameters: Uint8Array.from(parameters) });
  await viewer.describeSound(sound);
  const began = performance.now();
  for (let round = 0; ; round += 1) {
    for (const { kind, media, keyframe, data } of packets) {
      const at = media + BigInt(round * SECONDS) * BigInt(NS_PER_S);
      const wait = began + Number(at) / 1e6 - performance.now();
      if (wait > 0) {
        await new Promise((done) => setTimeout(done, wait));
      }
      if (viewer.isOver) {
        return;
      }
      await (kind === "video" ? viewer.frame(data, keyframe, at) : viewer.sound(data, at));
    }
  }
}

/** Times at which something began to be seen and to be heard (ms of the page's clock). */
export interface Noticed {
  readonly flashes: number[];
  readonly beeps: number[];
}

/**
 * Looks at the canvas and listens to the page's output for so many seconds, each time the browser draws. A flash is
 * noticed when the page draws next; of a beep the first sample is found, and when the output says that it leaves.
 */
export function notice(visit: Visit, seconds: number): Promise<Noticed> {
  return visit.page.evaluate(async (wanted) => {
    const { tap } = globalThis;
    const shown = document.querySelector<HTMLCanvasElement>("#picture canvas");
    const small = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    if (tap === undefined || shown === null || small === null || !(tap.context instanceof AudioContext)) {
      throw new Error("there is no sound or no picture");
    }
    const { context } = tap;
    tap.fftSize = 4_096;
    const samples = new Float32Array(tap.fftSize);
    const [flashes, beeps]: [number[], number[]] = [[], []];
    let [bright, heardUntil] = [true, 0];
    for (const until = performance.now() + wanted * 1_000; performance.now() < until; ) {
      const now = await new Promise<number>((done) => requestAnimationFrame(done));
      small.drawImage(shown, 0, 0, 1, 1);
      const isBright = (small.getImageData(0, 0, 1, 1).data[0] ?? 0) > 128;
      if (isBright && !bright) {
        flashes.push(now);
      }
      bright = isBright;
      tap.getFloatTimeDomainData(samples);
      const end = context.currentTime;
      const loud = samples.findIndex((value) => Math.abs(value) > 0.15);
      const onset = end - (samples.length - loud) / context.sampleRate;
      const { contextTime = 0, performanceTime = 0 } = context.getOutputTimestamp();
      // One that begins within these samples, and is not the one before.
      if (loud > 64 && onset > heardUntil + 0.5) {
        beeps.push(performanceTime + (onset - contextTime) * 1_000);
        heardUntil = onset;
      }
    }
    return { flashes, beeps };
  }, seconds);
}
