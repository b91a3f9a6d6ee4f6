// Which bytes of a frame each selection encrypts, and that a viewer gets the frame whatever is in clear.

import { type Bytes, concat } from "../src/protocol/bytes.ts";
import { findStartCode } from "../src/protocol/unit/annexb.ts";
import { Cutter } from "../src/protocol/unit/cut.ts";
import { type Codec, type StreamInfo } from "../src/protocol/unit/info.ts";
import { MAX_RANGES, MIN_CLEAR } from "../src/protocol/unit/plan.ts";
import { Planner } from "../src/protocol/unit/planner.ts";
import { type Unit } from "../src/protocol/unit/unit.ts";
import { Flag, Kind } from "../src/protocol/wire/header.ts";
import {
  type Selection, selectionFromWire, selectionName, selectionNamed, selectionToWire,
} from "../src/protocol/wire/selection.ts";
import { assert, hex, reasonOf, same, sequence, test } from "./support/harness.ts";
import { Pair, frame, framesOf } from "./support/pair.ts";
import { type Case, vectors } from "./support/vectors.ts";

const CODECS = ["h264", "mjpeg"] as const;
const HEADERS: Selection = { mode: "headers" };
const LONG = Uint8Array.of(0, 0, 0, 1);
const SHORT = Uint8Array.of(0, 0, 1);

function info(codec: Codec, parameters: Bytes = new Uint8Array(0)): StreamInfo {
  return { codec, width: 96, height: 64, rate: { numerator: 25, denominator: 1 }, parameters };
}

/** Lengths of the planned ranges; those in clear are negative. */
function lengths(selection: Selection, codec: Codec | undefined, data: Bytes, keyframe = false): number[] {
  const planner = new Planner();
  if (codec !== undefined) {
    planner.describe(1, info(codec));
  }
  const planned = planner.plan(selection, 1, keyframe, data);
  const signed: number[] = [];
  let from = 0;
  for (const { end, encrypt } of planned.ranges) {
    assert(end > from || signed.length === 0, "ranges are in order and not empty");
    signed.push(encrypt ? end - from : from - end);
    from = end;
  }
  assert(from === planned.data.length && signed.length <= MAX_RANGES, "the plan covers the frame");
  return signed;
}

/** A NAL unit of this type with `length` bytes after the first. They contain no start code. */
function nal(code: Bytes, kind: number, length: number): Bytes {
  return concat(code, Uint8Array.of(0x60 | kind), new Uint8Array(length).map((_, at) => 0x80 | at));
}

/** A segment with this marker. Markers inside a segment do not count. */
function segment(marker: number, length: number): Bytes {
  const content = new Uint8Array(length - 2).map((_, at) => (at % 2 === 0 ? 0xff : 0xd9));
  return concat(Uint8Array.of(0xff, marker, length >> 8, length & 0xff), content);
}

test("start codes are found wherever they begin", () => {
  const cases: readonly [number[], number, number][] = [
    [[0, 0, 1], 0, 0], [[0, 0, 0, 1], 0, 1], [[9, 0, 0, 0, 0, 1, 9], 0, 3], [[0, 0, 1, 0, 0, 1], 1, 3],
    [[0, 1, 0, 0, 2, 0, 1], 0, -1], [[0, 0], 0, -1], [[], 7, -1],
  ];
  for (const [bytes, from, expected] of cases) {
    same(findStartCode(Uint8Array.from(bytes), from), expected, bytes.join());
  }
});

test("whole frames are encrypted or not", () => {
  const data = nal(LONG, 1, 500);
  for (const codec of CODECS) {
    const whole = (selection: Selection, keyframe: boolean): number[] => lengths(selection, codec, data, keyframe);
    for (const keyframe of [true, false]) {
      same(whole({ mode: "all" }, keyframe), [505], "all");
      same(whole({ mode: "level", level: 4 }, keyframe), [505], "level 4");
      same(whole({ mode: "none" }, keyframe), [-505], "none");
      same(whole({ mode: "keyframes" }, keyframe), [keyframe ? 505 : -505], "keyframes");
    }
    same(whole({ mode: "headers+keyframes" }, true), [505], "headers and keyframes");
  }
  same(lengths(HEADERS, undefined, data), [505], "nothing is known of the stream");
});

test("of H.264 only slice data stays in clear", () => {
  const parameters = concat(nal(LONG, 9, 2), nal(LONG, 7, 200), nal(LONG, 8, 100), nal(SHORT, 6, 300));
  const slices = concat(nal(LONG, 5, 1_000), nal(SHORT, 1, 500), nal(LONG, 1, 40), nal(LONG, 12, 99));
  const data = concat(parameters, slices);
  // At last a slice that is shorter than the longest slice header, and a unit of another type.
  const expected = [parameters.length + 69, -936, 68, -436, 45 + 104];
  for (const selection of [HEADERS, { mode: "headers+keyframes" }, { mode: "level", level: 1 }] as const) {
    same(lengths(selection, "h264", data), expected, selection.mode);
  }
  for (let kind = 0; kind < 32; kind += 1) {
    const slice = (kind >= 1 && kind <= 5) || (kind >= 19 && kind <= 21);
    same(lengths(HEADERS, "h264", nal(SHORT, kind, 400)).length, slice ? 2 : 1, `type ${kind}`);
  }
  const before = new Uint8Array(300).fill(0xaa);
  same(lengths(HEADERS, "h264", concat(before, nal(SHORT, 1, 300))), [368, -236], "before the first start code");
});

test("a stretch that is too short for a record of its own is encrypted, and so are slices without room", () => {
  same(lengths(HEADERS, "h264", nal(SHORT, 1, 64 + MIN_CLEAR - 1)).length, 1, "short");
  const slice = nal(SHORT, 1, 64 + MIN_CLEAR);
  same(lengths(HEADERS, "h264", slice).length, 2, "long");
  const ranges = lengths(HEADERS, "h264", concat(...new Array<Bytes>(5_000).fill(slice)));
  same([ranges.length, (ranges.at(-1) ?? 0) > 0], [MAX_RANGES - 1, true], "thousands of slices");
  const scan = concat(segment(0xda, 8), new Uint8Array(MIN_CLEAR).fill(0x55));
  const scans = lengths(HEADERS, "mjpeg", concat(...new Array<Bytes>(5_000).fill(scan)));
  assert(scans.length < MAX_RANGES && (scans.at(-1) ?? 0) > 0, "thousands of scans");
});

test("of JPEG only entropy-coded data stays in clear", () => {
  const scan = concat(new Uint8Array(500).fill(0x55), Uint8Array.of(0xff, 0, 0xff, 0xd0, 7, 0xff, 0xd7));
  const image = concat(
    Uint8Array.of(0xff, 0xd8), segment(0xe0, 16), segment(0xdb, 67), segment(0xda, 12), scan, Uint8Array.of(0xff, 0xff),
    segment(0xc4, 31), segment(0xda, 8), scan, Uint8Array.of(0xff, 0xd9), new Uint8Array(100).fill(9),
  );
  const expected = [2 + 18 + 69 + 14, -scan.length, 2 + 33 + 10, -scan.length, 2 + 100];
  same(lengths(HEADERS, "mjpeg", image), expected, "ranges");
});

test("an image that makes no sense is encrypted", () => {
  const filler = new Uint8Array(300).fill(0x55);
  const images = [
    [], [0xff], [...filler], [0xff, 0xd8, ...filler], [0xff, 0xd8, 0xff, 0xe0, 0, 0, ...filler],
    // A segment that claims to extend past the end, and one that is truncated.
    [0xff, 0xd8, 0xff, 0xe0, 0xff, 0xff, 1, 2, 3], [0xff, 0xd8, 0xff, 0xda, 0xff, 0xff, 1, 2, 3],
    [0xff, 0xd8, 0xff, 0xda, 0], new Array<number>(1_000).fill(0xff),
  ];
  for (const image of images) {
    same(lengths(HEADERS, "mjpeg", Uint8Array.from(image)), [image.length], image.slice(0, 9).join());
  }
});

test("any bytes are planned to their end", () => {
  // Mostly bytes that have a meaning.
  const words = [0, 0, 0, 1, 1, 0xff, 0xff, 0xda, 0xd8, 0xc4, 0x65, 0x41, 0x67, 0x68];
  const levels = [1, 2, 3].map((level) => ({ mode: "level", level }) as const);
  for (let seed = 0; seed < 500; seed += 1) {
    const next = sequence(seed);
    const data = new Uint8Array((seed * 7) % 3_000).map(() => words[next() % 20] ?? next());
    for (const codec of CODECS) {
      levels.forEach((level) => lengths(level, codec, data));
    }
  }
  for (const byte of [0, 1, 0xff, 0xd8]) {
    for (const codec of CODECS) {
      levels.forEach((level) => lengths(level, codec, new Uint8Array(1 << 20).fill(byte)));
    }
  }
});

test("packets and chunks keep their size and are encrypted if any byte is to be", () => {
  const data = concat(nal(LONG, 1, 1_000), nal(LONG, 1, 1_000));
  const cut = (unit: Unit): number[] => {
    const cutter = new Cutter(unit, 1);
    cutter.describe(1, info("h264"));
    const pieces = [...cutter.cut(HEADERS, 1, false, data).pieces];
    same(concat(...pieces.map((piece) => piece.data)), data, "the pieces are the frame");
    const ends = pieces.map(({ first, last }) => [first, last]);
    same(ends, pieces.map((_, at) => [at === 0, at === pieces.length - 1]), "first and last");
    return pieces.map((piece) => (piece.encrypt ? piece.data.length : -piece.data.length));
  };
  same(cut("frame"), [69, -936, 69, -936], "ranges of a frame");
  same(cut("packet"), [1_108, -902], "packets: both headers lie in the first");
  // The headers are bytes 0 to 69 and 1005 to 1074.
  const chunks = Array.from({ length: 16 }, (_, chunk) => {
    const [from, to] = [chunk * 128, Math.min(chunk * 128 + 128, 2_010)];
    return from < 69 || (from < 1_074 && to > 1_005) ? to - from : from - to;
  });
  same(cut({ chunk: 128 }), chunks, "chunks");
});

test("images are laid out anew at levels 2 and 3, and the viewer puts them together again", async () => {
  const cases = await vectors<(Case & { readonly image: string })[]>("splits");
  const images = [...new Set(cases.filter(({ expect }) => expect === "ok").map(({ image }) => image))].map(hex);
  for (const level of [2, 3]) {
    const pair = await Pair.begin();
    await pair.run();
    await pair.publisher.session.sealInfo(pair.now, 1, info("mjpeg"));
    await pair.publisher.session.select(pair.now, { mode: "level", level });
    await pair.run();
    for (const [number, data] of images.entries()) {
      await pair.publisher.session.sealFrame(pair.now, { ...frame(number, true), data });
      await pair.run();
    }
    same(framesOf(pair.viewer).map(({ data }) => data), images, `level ${level}`);
    assert(framesOf(pair.viewer).some(({ preamble }) => preamble.layout === "split-scan"), "some are split");
    same(pair.publisher.session.unsplit, undefined, "none is refused");
  }
});

test("an image that cannot be split is encrypted whole, and it is said why", async () => {
  const cases = await vectors<(Case & { readonly image: string })[]>("splits");
  const refused = cases.filter(({ expect }) => expect === "refused").map(({ image }) => hex(image));
  const pair = await Pair.begin();
  await pair.run();
  const { session } = pair.publisher;
  await session.sealInfo(pair.now, 1, info("mjpeg"));
  await session.select(pair.now, { mode: "level", level: 2 });
  await pair.run();
  const before = pair.publisher.sent.length;
  for (const [number, data] of refused.entries()) {
    await session.sealFrame(pair.now, { ...frame(number, true), data });
  }
  await pair.run();
  same(framesOf(pair.viewer).map(({ data }) => data), refused, "they arrive");
  const media = pair.publisher.sent.slice(before).filter((message) => message[0] === Kind.Media);
  assert(media.every((message) => ((message[1] ?? 0) & Flag.Encrypted) !== 0), "all is encrypted");
  same(session.unsplit?.count, refused.length, "images that were not split");
  assert(/image|picture/.test(session.unsplit?.reason ?? ""), "with a reason in words");
});

test("a selection that is written as it is read is the same, and nothing else is one", async () => {
  const texts = [
    "all", "none", "rate:0", "rate:25", "rate:12.5", "rate:0.1", "rate:100", "keyframes", "headers",
    "headers+keyframes", "level:1", "level:2", "level:3", "level:4",
  ];
  for (const text of texts) {
    const [mode, argument] = selectionToWire(selectionNamed(text));
    same(selectionName(selectionFromWire(mode, argument)), text, text);
  }
  same(selectionNamed("rate:7.0"), { mode: "rate", thousandths: 70 }, "a needless decimal");
  for (const text of [
    "", "All", "rate", "rate:", "rate:-1", "rate:+5", "rate:100.1", "rate:101", "rate:1000", "rate:12.55", "rate:.5",
    "rate:5.", "rate: 5", "rate:5e1", "rate:99999999999", "keyframes+headers", "headers,keyframes", " all", "level",
    "level:", "level:0", "level:5", "level:x", "level:+1", "level:01", "level: 1", "level:1 ", "level:65537", "all\n",
  ]) {
    same(await reasonOf(() => selectionNamed(text), text), "selection", text);
  }
});
