// What is in a file with picture and sound that came from a page, and the beeps of Chromium's microphone in it.

import { spawnSync } from "node:child_process";

import { assert, same } from "../../support/harness.ts";
import { tool } from "./servers.ts";

const RATE = 48_000;
/** Milliseconds between the beeps of Chromium's microphone, and how loud they are at least. */
const BEEP_INTERVAL = 500;
const LOUD = 0.1;

/** A stream of a file, as ffprobe names it. */
interface Stream {
  readonly codec_type: string;
  readonly codec_name: string;
  readonly channels?: number;
  readonly sample_rate?: string;
}

/** The streams of a file, of which every frame is decoded without an error. */
export function streamsOf(file: string): Stream[] {
  const entries = ["-count_frames", "-show_entries", "stream=codec_type,codec_name,channels,sample_rate"];
  const { stdout, stderr } = tool("ffprobe", ...entries, "-of", "json", file);
  same(stderr, "", "errors of the decoder");
  return (JSON.parse(stdout) as { readonly streams: Stream[] }).streams;
}

/** SHA-256 of each packet of sound, in the order of the file. */
export function soundHashes(file: string): string[] {
  const entries = ["-select_streams", "a", "-show_data_hash", "sha256", "-show_entries", "packet=data_hash"];
  const { stdout } = tool("ffprobe", ...entries, "-of", "json", file);
  const { packets } = JSON.parse(stdout) as { readonly packets: readonly { readonly data_hash: string }[] };
  return packets.map(({ data_hash: hash }) => hash.replace("SHA256:", "").toLowerCase());
}

/** Where a file's packets stand among those that were sent, without a gap; -1 if nowhere. Silent ones are equal. */
export function placeOf(packets: readonly string[], sent: readonly string[]): number {
  return sent.findIndex((_, at) => packets.every((packet, number) => sent[at + number] === packet));
}

/** Times (ms) at which it gets loud after it was not. */
export function onsets(samples: Float32Array, rate: number): number[] {
  const found: number[] = [];
  let quietSince = -Infinity;
  samples.forEach((value, at) => {
    if (Math.abs(value) > LOUD) {
      if (at - quietSince > rate / 20) {
        found.push((at / rate) * 1_000);
      }
      quietSince = at;
    }
  });
  return found;
}

/** What ffmpeg decodes of a file's sound, one channel of 48 kHz. */
export function decoded(file: string): Float32Array {
  const args = ["-v", "error", "-i", file, "-map", "0:a", "-ac", "1", "-ar", String(RATE), "-f", "f32le", "-"];
  const { stdout, stderr, status } = spawnSync("ffmpeg", args, { maxBuffer: 1 << 28 });
  assert(status === 0, `ffmpeg decodes the sound: ${stderr.toString()}`);
  return new Float32Array(stdout.length / 4).map((_, at) => stdout.readFloatLE(4 * at));
}

/** Checks that beeps are heard, as many as Chromium's microphone makes in this time, but for some at the ends. */
export function checkBeeps(found: readonly number[], milliseconds: number): void {
  const expected = milliseconds / BEEP_INTERVAL;
  assert(found.length >= Math.max(2, expected / 2) && found.length <= expected + 2,
    `${found.length} beeps in ${milliseconds.toFixed(0)} ms: ${found.map((at) => at.toFixed(0)).join()}`);
}
