// The program `sealcast` as a process, and clips for it.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "../support/harness.ts";

/** How long a process may take for what a test waits for, on however busy a machine. */
const PATIENCE_MS = 120_000;

/** A process, and what it has written. */
export class Program {
  readonly #child: ChildProcess;
  #stdout: Buffer = Buffer.alloc(0);
  #stderr = "";
  readonly exited: Promise<number | null>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.on("data", (piece: Buffer) => {
      this.#stdout = Buffer.concat([this.#stdout, piece]);
    });
    child.stderr?.on("data", (piece: Buffer) => {
      this.#stderr += piece.toString();
    });
    this.exited = new Promise((resolve) => child.once("close", resolve));
  }

  /** Starts the program with these arguments. Its configuration is in `home`. */
  static start(binary: string, home: string, args: readonly string[]): Program {
    const environment = { PATH: process.env["PATH"], HOME: home, XDG_CONFIG_HOME: home, NO_COLOR: "1" };
    return new Program(spawn(binary, args, { env: environment, cwd: home, stdio: ["ignore", "pipe", "pipe"] }));
  }

  get stdout(): Buffer {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** The first line of standard output that begins so, and has this in it. */
  async line(begin: string, has = ""): Promise<string> {
    const until = Date.now() + PATIENCE_MS;
    while (Date.now() < until && this.#child.exitCode === null) {
      const line = this.#stdout.toString("latin1").split("\n").slice(0, -1)
        .find((one) => one.startsWith(begin) && one.includes(has));
      if (line !== undefined) {
        return line;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`the program wrote no line that begins with ${begin}; it said: ${this.#stderr}`);
  }

  /** Waits until it has said this in its log. */
  async said(words: string): Promise<void> {
    const until = Date.now() + PATIENCE_MS;
    while (!this.#stderr.includes(words)) {
      assert(Date.now() < until && this.#child.exitCode === null, `it says "${words}"; it said: ${this.#stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Waits for the end, and checks that all went well. */
  async succeed(): Promise<void> {
    const code = await within(this.exited, "the program's end");
    assert(code === 0, `the program ended with ${String(code)}: ${this.#stderr}`);
  }

  stop(): void {
    this.#child.kill();
  }
}

/** Rejects if `promise` takes longer than any busy machine needs. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`waited too long for ${what}`));
    }, PATIENCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A folder of its own for a test. */
export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sealcast-web-"));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function ffmpeg(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("ffmpeg", ["-hide_banner", "-loglevel", "error", ...args], {
    encoding: "utf8",
  });
  assert(status === 0, `ffmpeg works: ${stderr}`);
  return stdout;
}

/** A clip: its file, and the SHA-256 of each of its access units as ffmpeg cuts them. */
export interface Clip {
  readonly file: string;
  readonly hashes: readonly string[];
}

const CODECS = {
  h264: ["-c:v", "libx264", "-profile:v", "baseline", "-g", "10", "-x264-params", "repeat-headers=1:scenecut=0"],
  mjpeg: ["-c:v", "mjpeg", "-q:v", "4", "-pix_fmt", "yuvj420p", "-huffman", "default"],
};

/** Makes a clip of `frames` frames, Annex B or AVI. */
export function makeClip(folder: string, codec: "h264" | "mjpeg", frames: number): Clip {
  const file = join(folder, codec === "h264" ? "clip.h264" : "clip.avi");
  const source = ["-f", "lavfi", "-i", `testsrc2=size=320x240:rate=25`, "-frames:v", String(frames)];
  ffmpeg([...source, ...CODECS[codec], file]);
  const hashes = accessUnits(file);
  assert(hashes.length === frames, `ffmpeg finds ${frames} access units, not ${hashes.length}`);
  return { file, hashes };
}

/** The SHA-256 of each access unit of a file. */
export function accessUnits(file: string): string[] {
  const text = ffmpeg(["-i", file, "-c", "copy", "-f", "framehash", "-hash", "sha256", "-"]);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => line.split(",").at(-1)?.trim() ?? "");
}
