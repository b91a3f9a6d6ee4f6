// The program as the server of a page, and clips for it.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { assert } from "../../support/harness.ts";
import { Program, withFolder, within } from "../../node/program.ts";
import { BINARY } from "./browser.ts";

/** Ends a program that a test forgot, long after every deadline. */
const SAFETY_SECONDS = "400";

/** A publisher or a listening viewer that serves a page. */
export interface Server {
  readonly program: Program;
  /** The page's address with the ticket and its invite. */
  readonly link: string;
  /** Has the identity and the lists of the program. */
  readonly folder: string;
}

/** Ends a program in good order; what it writes at its end is written. */
export async function stop({ program }: Server): Promise<void> {
  program.stop();
  await within(program.exited, "the program's end");
}

/** What a link consists of. */
export interface LinkParts {
  /** With a slash at its end. */
  readonly page: string;
  /** `?publish` where the page is to publish, or nothing. */
  readonly role: string;
  readonly port: number;
  readonly peer: string;
  /** Behind the `?` of the ticket. */
  readonly query: string;
  readonly invite: string | undefined;
}

const PAGE = /^(https?:\/\/127\.0\.0\.1:(\d+)\/)(\?publish)?#(.*)$/;
/** The # of the ticket is %23 in an address. */
const TICKET = /^sealcast:\/\/[^/]+\/([a-z2-7]{52})\?([^#%]*)(?:(?:#|%23)([a-z2-7]{26}))?$/;

/** Takes a link apart. */
export function partsOf(link: string): LinkParts {
  const [, page = "", port = "", role = "", ticket = ""] = PAGE.exec(link) ?? [];
  const found = TICKET.exec(ticket);
  assert(found !== null, `the program prints a link to a page with a ticket: ${link.replace(/#.*/, "#…")}`);
  const [, peer = "", query = "", invite] = found;
  return { page, port: Number(port), role, peer, query, invite };
}

/** A link of these parts. */
export function linkOf({ page, port, role, peer, query, invite }: LinkParts): string {
  return `${page}${role}#sealcast://127.0.0.1:${port}/${peer}?${query}${invite === undefined ? "" : `%23${invite}`}`;
}

/** The link for a page that publishes, whatever its end prints. */
export function publishing(link: string): string {
  return linkOf({ ...partsOf(link), role: "?publish" });
}

/** The same link through something that listens at another port of this machine. */
export function throughPort(link: string, port: number): string {
  return link.replace(/^(https?:\/\/127\.0\.0\.1):\d+/, `$1:${port}`);
}

/** A publisher of this source with a page. `home` has its identity and its lists. */
export async function publish(home: string, source: string, args: readonly string[] = [], web = "http://127.0.0.1:0"):
Promise<Server> {
  const program = Program.start(BINARY, home, [
    "publish", source, "--listen", "tcp://127.0.0.1:0", "--web", web, "--ticket-file", "-", "--name", "page",
    "--seconds", SAFETY_SECONDS, ...args,
  ]);
  return { program, link: await program.line("http"), folder: home };
}

/** A viewer with a page from which a browser publishes, that writes to a file and reports at its end. */
export async function watch(home: string, to: string, args: readonly string[] = []): Promise<Server> {
  const program = Program.start(BINARY, home, [
    "watch", "--web", "http://127.0.0.1:0", "--to", to, "--ticket-file", "-", "--name", "page",
    "--report", join(home, "report.json"), "--seconds", SAFETY_SECONDS, ...args,
  ]);
  return { program, link: await program.line("http"), folder: home };
}

/** A report of the program, as far as the tests read it. */
export interface Report {
  readonly totals: {
    readonly frames_in: number;
    readonly open_failures: Readonly<Record<string, number>>;
  };
}

/** The report that the program wrote at its end. */
export async function reportOf(home: string): Promise<Report> {
  return JSON.parse(await readFile(join(home, "report.json"), "utf8")) as Report;
}

/** Runs a command of the program to its end. */
export function command(home: string, ...args: string[]): string {
  const env = { PATH: process.env["PATH"], HOME: home, XDG_CONFIG_HOME: home, NO_COLOR: "1" };
  const { status, stdout, stderr } = spawnSync(BINARY, args, { env, cwd: home, encoding: "utf8" });
  assert(status === 0, `sealcast ${args.join(" ")} works: ${stderr}`);
  return stdout;
}

/** What a tool wrote. */
export interface Said {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs ffmpeg or ffprobe. */
export function tool(name: "ffmpeg" | "ffprobe", ...args: string[]): Said {
  const quiet = ["-hide_banner", "-loglevel", "error"];
  const { status, stdout, stderr } = spawnSync(name, [...quiet, ...args], { encoding: "utf8", maxBuffer: 64 << 20 });
  assert(status === 0, `${name} works: ${stderr}`);
  return { stdout, stderr };
}

/** A clip, its access units as the program sends them, and their SHA-256. */
export interface Clip {
  readonly file: string;
  readonly units: readonly Unit[];
  readonly hashes: readonly string[];
  /** SPS and PPS in Annex B. */
  readonly parameters: Buffer;
}

/** An access unit in Annex B. */
export interface Unit {
  readonly data: Buffer;
  readonly keyframe: boolean;
}

/** Frames of a clip, and how many of them lie between two keyframes. */
const CLIP_FRAMES = 50;
const GOP = 25;
const START_CODE = Buffer.from([0, 0, 0, 1]);

/** Makes two seconds of H.264 in an MP4 file. */
async function makeClip(folder: string): Promise<Clip> {
  const file = join(folder, "clip.mp4");
  tool(
    "ffmpeg", "-f", "lavfi", "-i", "testsrc2=size=640x480:rate=25", "-frames:v", String(CLIP_FRAMES), "-c:v", "libx264",
    "-preset", "ultrafast", "-profile:v", "baseline", "-b:v", "1M", "-g", String(GOP), "-x264-params", "scenecut=0",
    file,
  );
  const bytes = await readFile(file);
  const sets = parameterSets(bytes);
  const units = accessUnits(file, bytes, sets);
  const hashes = units.map(({ data }) => createHash("sha256").update(data).digest("hex"));
  assert(hashes.length === CLIP_FRAMES && new Set(hashes).size === CLIP_FRAMES, "ffprobe finds different access units");
  return { file, units, hashes, parameters: annexB(sets) };
}

/**
 * The access units of an MP4 file in Annex B: its NAL units as they are in the file, each after a start
 * code of four bytes, and in a keyframe the file's parameter sets before them. ffmpeg's own filter puts the parameter
 * sets behind the SEI of the first access unit, and has start codes of three bytes too; an H.264 decoder does not care.
 * The bytes come from the file alone: ffprobe says where each packet is.
 */
function accessUnits(file: string, bytes: Buffer, sets: readonly Buffer[]): Unit[] {
  const entries = ["-select_streams", "v", "-show_entries", "packet=size,pos,flags", "-of", "json"];
  const { stdout } = tool("ffprobe", ...entries, file);
  const { packets } = JSON.parse(stdout) as { packets: { size: string; pos: string; flags: string }[] };
  return packets.map(({ size, pos, flags }) => {
    const keyframe = flags.startsWith("K");
    const packet = bytes.subarray(Number(pos), Number(pos) + Number(size));
    return { keyframe, data: annexB([...(keyframe ? sets : []), ...nalUnits(packet)]) };
  });
}

/** NAL units, each behind a start code. */
export function annexB(units: readonly Buffer[]): Buffer {
  return Buffer.concat(units.flatMap((unit) => [START_CODE, unit]));
}

/** NAL units behind their lengths of four bytes. */
export function nalUnits(packet: Buffer): Buffer[] {
  const units: Buffer[] = [];
  for (let at = 0; at < packet.length; ) {
    const end = at + 4 + packet.readUInt32BE(at);
    units.push(packet.subarray(at + 4, end));
    at = end;
  }
  return units;
}

/** SPS and PPS of the avcC box (ISO/IEC 14496-15), of which a baseline file has one each. */
export function parameterSets(bytes: Buffer): Buffer[] {
  const box = bytes.indexOf("avcC", 0, "latin1") + 4;
  // Version, profile, compatibility, level, length size, number of SPS.
  assert(box > 4 && bytes[box] === 1 && bytes[box + 5] === 0xe1, "the clip has one SPS");
  const sps = box + 8;
  const afterSps = sps + bytes.readUInt16BE(box + 6);
  assert(bytes[afterSps] === 1, "the clip has one PPS");
  const pps = afterSps + 3;
  return [bytes.subarray(sps, afterSps), bytes.subarray(pps, pps + bytes.readUInt16BE(afterSps + 1))];
}

/** Runs a test with a server in a folder of its own, and ends it. */
async function withServer(start: (folder: string) => Promise<Server>, body: (server: Server) => Promise<void>):
Promise<void> {
  await withFolder(async (folder) => {
    const server = await start(folder);
    try {
      await body(server);
    } finally {
      await stop(server);
    }
  });
}

/** Runs a test with a publisher of a source. */
export function withPublisher(
  source: string, args: readonly string[], body: (server: Server) => Promise<void>, web?: string,
): Promise<void> {
  return withServer((folder) => publish(folder, source, args, web), body);
}

/** Runs a test with a viewer that writes to a sink, or to a file of this name in its folder. */
export function withViewer(to: string, body: (server: Server) => Promise<void>): Promise<void> {
  return withServer((folder) => watch(folder, to === "null:" ? to : `file:${join(folder, to)}`), body);
}

let madeClip: { readonly folder: string; readonly clip: Promise<Clip> } | undefined;

/** The clip of all tests. */
export async function theClip(): Promise<Clip> {
  if (madeClip === undefined) {
    const folder = await mkdtemp(join(tmpdir(), "sealcast-clip-"));
    madeClip = { folder, clip: makeClip(folder) };
  }
  return madeClip.clip;
}

after(async () => {
  if (madeClip !== undefined) {
    await rm(madeClip.folder, { recursive: true, force: true });
  }
});

/** Runs a test with a publisher that repeats the clip without end. */
export async function withClip(
  args: readonly string[], body: (server: Server, clip: Clip) => Promise<void>,
): Promise<void> {
  const clip = await theClip();
  await withPublisher(`file:${clip.file}?loop`, args, (server) => body(server, clip));
}
