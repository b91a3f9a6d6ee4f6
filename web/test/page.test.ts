// The page's own logic: what it reads, what it shows, and what it must never show. What needs a page is tried in one.

import { type Figures, type FromWorker, type LinkState, type Membership } from "../src/messages.ts";
import { bundleHash } from "../src/page/bundle-hash.ts";
import { h264Codec } from "../src/page/capture.ts";
import { ORDER, SPAN, type Sample, axis, layOut, sampleOf, spread, withSample } from "../src/page/chart.ts";
import { age, bitRate, byteCount, count, hexGroups, milliseconds, timeOfDay, withUnit } from "../src/page/format.ts";
import { pageFor, readLink, roleIn, ticketIn } from "../src/page/link.ts";
import { Log, MAX_LINES } from "../src/page/log.ts";
import { NoticeBoard } from "../src/page/notice.ts";
import {
  ageWords, alarmWords, awayReason, encryptsAll, mechanismKind, mechanismWords,
  noticeOf, pictureName, selectionWarning, selections,
} from "../src/page/wording.ts";
import { WHOLE, moved, zoomed } from "../src/page/zoom.ts";
import { plain } from "../src/protocol/index.ts";
import { DEFAULT_MECHANISMS } from "../src/protocol/crypto/policy.ts";
import { ProtocolError, type Reason } from "../src/protocol/error.ts";
import { Close } from "../src/protocol/wire/control.ts";
import { goodbyeOutcome, handshakeOutcome, lossOutcome } from "../src/worker/outcome.ts";
import { publisherOutcome } from "../src/worker/publish-outcome.ts";
import { assert, reasonOf, same, test } from "./support/harness.ts";

const PEER = "lbmkkmjbacmg6k2e3k4pd6eqdejjmckmqeijfa46wvwwoj3bhuaa";
const INVITE = "aaaqeayeaudaocajbifqydiob4";

function bare(): string {
  return `sealcast://camera.example:9443/${PEER}`;
}

test("a ticket is found in what people paste", () => {
  const ticket = `${bare()}#${INVITE}`;
  for (const pasted of [
    ticket, `  ${ticket}\n`, `<${ticket}>`, `"${ticket}"`, `https://camera.example:9443/#${ticket}`,
    `https://camera.example:9443/?publish#${ticket}`, `${ticket.slice(0, 40)}\r\n  ${ticket.slice(40)}`,
    encodeURIComponent(ticket), ticket.replace("#", "%23"),
  ]) {
    same(ticketIn(pasted), ticket, pasted);
  }
  same(ticketIn("https://camera.example:9443/"), undefined, "no ticket");
  same(ticketIn("%E0%A4%A"), undefined, "a broken escape");
});

test("a link keeps its invite apart, and an error does not repeat the ticket", async () => {
  const link = readLink(`https://camera.example:9443/#${bare()}#${INVITE}`);
  same(link.text, `${bare()}#${INVITE}`, "the whole ticket");
  same(link.bare, bare(), "without the invite");
  same(link.address, "camera.example:9443", "the address");
  same(link.peer.toString(), PEER, "the peer");
  same(readLink(bare()).bare, bare(), "a ticket without an invite");
  const web = `${bare()}?transport=https&certhash=${PEER}`;
  const page = readLink(`https://camera.example:9443/?publish#${web}#${INVITE}`);
  same([page.bare, page.text], [web, `${web}#${INVITE}`], "a ticket as a page's link has it");
  same(readLink(`sealcast://[2001:db8::1]:9443/${PEER}`).address, "[2001:db8::1]:9443", "an IPv6 address");
  for (const wrong of ["", "nonsense", `${bare()}#short`, `${bare()}x`, `sealcast://camera.example/${PEER}`]) {
    same(await reasonOf(() => readLink(wrong), wrong), "ticket", wrong);
  }
  let words = "";
  try {
    readLink(`${bare()}#${INVITE}x`);
  } catch (thrown) {
    words = String(thrown);
  }
  assert(words !== "" && !words.includes(INVITE), "the error has no invite in it");
});

test("the role is in the query, and the page's address has no fragment", () => {
  same(roleIn("?publish"), "publish", "asked for");
  same(roleIn(""), "watch", "the default");
  same(pageFor("publish", "/"), "/?publish", "publishing");
  same(pageFor("watch", "/"), "/", "watching");
});

test("figures have as many digits as they deserve, and unknown ones are dashes", () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, "0.00"], [0.004, "0.00"], [0.126, "0.13"], [9.994, "9.99"], [9.996, "10.0"], [12.34, "12.3"], [99.94, "99.9"],
    [99.96, "100"], [1234.5, "1235"], [-0.5, "−0.50"], [-0.001, "0.00"], [NaN, "–"], [Infinity, "–"],
  ];
  for (const [value, text] of cases) {
    same(milliseconds(value), text, `${value} ms`);
  }
  same(withUnit(1.5), "1.50 ms", "with a unit");
  same(withUnit(NaN), "–", "unknown, without one");
  same(count(1_234_567), "1\u202f234\u202f567", "thousands apart");
  same(count(123), "123", "a small count");
  same(bitRate(1_250_000), "1.25 Mbit/s", "a bit rate");
  same(bitRate(999_600), "1.00 Mbit/s", "rounded up into the next unit");
  same(bitRate(0), "0 bit/s", "nothing");
  same(byteCount(12_345), "12.3 kB", "bytes");
  same([age(5), age(65), age(3_700), age(-1), age(NaN)], ["5 s", "1 min 5 s", "1 h 1 min", "–", "–"], "ages");
  same(hexGroups("00112233445"), "0011 2233 445", "groups of four");
  same(timeOfDay(new Date(2026, 0, 1, 3, 4, 5)), "03:04:05", "a time of day");
});

test("the axis has few lines at round numbers and covers the highest value", () => {
  for (let highest = 0.013; highest < 5_000; highest *= 1.07) {
    const { step, top } = axis(highest);
    const lines = Math.round(top / step);
    assert(top >= highest * (1 - 1e-9), `${highest}: the top ${top} covers it`);
    assert(lines >= 2 && lines <= 5, `${highest}: ${lines} steps`);
    const lead = Number(step.toExponential().split("e", 1)[0]);
    assert([1, 2, 5].some((one) => Math.abs(lead - one) < 1e-9), `${highest}: a step of ${step}`);
  }
  for (const none of [0, -1, NaN, Infinity]) {
    assert(axis(none).top > 0, `an axis even for ${none}`);
  }
});

function sample(at: number, medians: Readonly<Record<string, number>>): Sample {
  const named = ORDER.filter((name) => name in medians);
  return sampleOf(at, named.map((name) => ({ name, median: medians[name] ?? 0, p99: 0, count: 1 })));
}

test("areas lie on each other and end at their sum", () => {
  const frame = { left: 0, top: 0, right: 600, bottom: 100 };
  const samples = [sample(0, { encode: 2, network: 6 }), sample(500, { encode: 4, network: 4, draw: 2 })];
  const chart = layOut(samples, 500, frame);
  assert(chart !== undefined, "there is a chart");
  same(chart.areas.map(({ name }) => name), ["encode", "network", "draw"], "stages that occur, in their order");
  same(chart.lines.map(({ value }) => value), [0, 2, 4, 6, 8, 10], "the axis");
  same(chart.areas.map(({ middle }) => middle), [80, 40, 10], "middles at the right edge");
  same(chart.areas[0]?.path, "M595.0 100.0L600.0 100.0L600.0 60.0L595.0 80.0Z", "the lowest area");
  same(chart.areas[1]?.path, "M595.0 80.0L600.0 60.0L600.0 20.0L595.0 20.0Z", "the one on it");
  same(layOut([], 0, frame), undefined, "nothing to show");
  same(layOut([sample(0, {})], 0, frame), undefined, "no stage");
});

test("a gap in time is a gap in the chart, and a negative median has no height", () => {
  const frame = { left: 0, top: 0, right: 600, bottom: 100 };
  const parts = (samples: readonly Sample[]): number | undefined =>
    layOut(samples, 9_000, frame)?.areas[0]?.path.split("M").length;
  same(parts([sample(0, { network: 1 }), sample(500, { network: 1 }), sample(9_000, { network: 1 })]), 3, "two runs");
  const chart = layOut([sample(0, { network: -3, draw: 5 })], 0, frame);
  same(chart?.areas.map(({ value, middle }) => [value, middle]), [[-3, 100], [5, 50]], "shown as it is, drawn as none");
});

test("the chart keeps one minute and what reaches into it", () => {
  let samples: readonly Sample[] = [];
  for (let at = 0; at <= 2 * SPAN; at += 500) {
    samples = withSample(samples, sample(at, { network: 1 }));
  }
  same(samples[0]?.at, SPAN - 500, "one more than fits");
  same(samples.length, SPAN / 500 + 2, "bounded");
  samples = withSample(samples, sample(10 * SPAN, { network: 1 }));
  same(samples.length, 1, "after a long pause only the new one");
});

test("words of others begin no line and turn none around, in the log and elsewhere", () => {
  const hostile = "a\nb\rc\u001b[2Jd\u202ee\u2028f\u009bg\0h\u2067i\u200fj";
  const clean = "a\ufffdb\ufffdc\ufffd[2Jd\ufffde\ufffdf\ufffdg\ufffdh\ufffdi\ufffdj";
  same(plain(hostile), clean, "what the page shows");
  same(plain("ä 日本 שלום 🎥"), "ä 日本 שלום 🎥", "words that do no harm");
  const log = new Log();
  log.add(new Date(0), `the viewer said: ${hostile}`, false);
  same(log.lines[0]?.words, `the viewer said: ${clean}`, "the log");
});

test("labels never overlap and stay inside", () => {
  for (const wanted of [[100, 100, 100], [100, 60, 20], [5, 4, 3], [99, 98, 50, 49, 2, 1], []]) {
    const placed = spread(wanted, 15, 0, 100);
    placed.forEach((y, at) => {
      assert(y >= 0 && y <= 100, `${wanted.join()}: ${y} is inside`);
      assert(at === 0 || (placed[at - 1] ?? 0) - y >= 15, `${wanted.join()}: ${y} has its room`);
    });
  }
  same(spread([80, 40, 10], 15, 0, 100), [80, 40, 10], "labels with room stay where they are");
});

test("the log is bounded, and what happens again is counted", () => {
  const log = new Log();
  const at = new Date(0);
  for (let n = 0; n < 3 * MAX_LINES; n += 1) {
    assert(log.add(at, `event ${n}`, false), "a new line");
  }
  same(log.lines.length, MAX_LINES, "bounded");
  same(log.lines[0]?.words, `event ${3 * MAX_LINES - 1}`, "the newest first");
  same(log.add(at, `event ${3 * MAX_LINES - 1}`, false), false, "again");
  same(log.lines[0]?.times, 2, "counted");
  log.add(at, "x".repeat(10_000), true);
  assert((log.lines[0]?.words.length ?? 0) <= 301, "a long line is cut");
});

function state(name: LinkState): FromWorker {
  return { type: "state", state: name };
}
function figures(drawn: number, refused: Figures["refused"] = {}, membership?: Membership): FromWorker {
  return { type: "figures", figures: { drawn, refused, ...(membership && { membership }) } as Figures };
}
const SIZE: FromWorker = { type: "size", width: 4, height: 3 };

test("a picture is shown only while the session is live and has drawn one since", () => {
  const board = new NoticeBoard("watch");
  same(board.at(0), "connecting", "at first");
  for (const name of ["handshake", "live"] as const) {
    board.take(state(name), 0);
  }
  same(board.at(0), "waiting", "no picture yet");
  board.take(SIZE, 0);
  same(board.at(0), "none", "the picture");
  board.take(state("lost"), 100);
  same(board.at(100), "lost", "not the old one");
  board.take(SIZE, 100);
  same(board.at(100), "lost", "whatever comes late");
  board.take(state("live"), 200);
  same(board.at(200), "waiting", "live again is not a picture");
  board.take(figures(40), 300);
  same(board.at(300), "waiting", "figures of the pictures before");
  board.take(figures(41), 400);
  same(board.at(400), "none", "a new picture");
});

test("a silent worker's picture is taken away, and comes back with its news", () => {
  const board = new NoticeBoard("watch");
  board.take(state("live"), 0);
  board.take(SIZE, 0);
  board.take(figures(1), 0);
  same(board.at(4_999), "none", "not yet");
  same(board.at(5_001), "silent", "silent for too long");
  board.take(figures(2), 6_000);
  same(board.at(6_000), "none", "another picture");
});

test("a picture that no other follows is taken away, whatever the worker says", () => {
  const board = new NoticeBoard("watch");
  board.take(state("live"), 0);
  board.take(SIZE, 0);
  for (let now = 0; now <= 6_000; now += 500) {
    board.take(figures(1), now);
    same(board.at(now), now > 5_000 ? "silent" : "none", `${now} ms`);
  }
});

test("frames of a group that the camera did not sign are refused records to the page", () => {
  const board = new NoticeBoard("watch");
  board.take(state("live"), 0);
  const membership: Membership = {
    signed: "frame", suite: "aes-256-gcm", epoch: 1, age: { state: "waiting" }, accepted: 0, refused: { signature: 3 },
    proven: 0, forged: 0, unproven: 0, proofsMissing: false,
  };
  board.take(figures(0), 0);
  same(board.at(0), "waiting", "nothing was refused");
  board.take(figures(0, {}, membership), 500);
  same(board.at(500), "tampered", "nothing else came");
});

test("an age is rounded up, so that the bound holds, and grows by itself between two reports", () => {
  same(ageWords({ state: "live", atMost: 121 }, 0), "The newest frame is at most 130 ms old.", "rounded up");
  same(ageWords({ state: "live", atMost: 121 }, 500), "The newest frame is at most 630 ms old.", "half a second later");
  same(ageWords({ state: "alarm", cause: "stale" }, 0), "", "an alarm has words of its own");
  for (const cause of ["freeze", "stale"] as const) {
    const old = alarmWords({ age: { state: "alarm", cause }, proofsMissing: false });
    assert(old.startsWith("The picture may be old"), `the alarm says it first: ${cause}`);
    const both = alarmWords({ age: { state: "alarm", cause }, proofsMissing: true });
    assert(both.startsWith(old) && both.includes("signatures of their groups do not come"), both);
  }
});

test("a camera that is off is said to be off, whatever is drawn, until it is on or another session begins", () => {
  const board = new NoticeBoard("watch");
  const camera = (on: boolean): FromWorker => ({ type: "camera", on, since: 0, why: "it cannot be reached" });
  board.take(state("live"), 0);
  board.take(camera(false), 0);
  same(board.at(0), "away", "it was off before");
  assert(board.reason("away").words?.includes("it cannot be reached") === true, "and why");
  board.take(camera(true), 100);
  same(board.at(100), "waiting", "no picture yet");
  board.take(SIZE, 200);
  same(board.at(200), "none", "the picture");
  board.take(camera(false), 300);
  board.take(figures(1), 400);
  board.take(figures(2), 500);
  same(board.at(500), "away", "pictures of before");
  board.take(state("lost"), 600);
  board.take(state("live"), 700);
  same(board.at(700), "waiting", "the next session says it itself");
  const since = new Date(2026, 10, 29, 11, 58, 3).getTime();
  const { title, words } = awayReason(since, "it cannot be reached", since + 3_600_000);
  same(title, "The camera is off since 11:58", "title");
  same(words, "The reason: it cannot be reached. The page waits until it is back.", "words");
  const later = awayReason(since, "it failed", since + 86_400_000);
  same(later.title, "The camera is off since Nov 29, 11:58", "title a day later");
});

test("a picture that stands still is said to be old, by the second, before it is taken away", () => {
  const board = new NoticeBoard("watch");
  board.take(state("live"), 0);
  board.take(SIZE, 0);
  same([board.stands(1_900), board.stands(2_000), board.stands(4_900)], [0, 2, 4], "seconds");
  board.take(figures(0), 4_000);
  board.take(figures(1), 4_500);
  same(board.stands(4_900), 0, "another picture came");
  board.take(figures(1), 9_000);
  same([board.at(9_600), board.stands(9_600)], ["silent", 0], "no picture, so no age of one");
  assert(/^No new picture since .*\d\d:\d\d$/.test(board.reason("silent").title ?? ""), "and since when");
});

test("who is removed while it watches is told that, and not that it was refused", () => {
  const board = new NoticeBoard("watch");
  board.take(state("live"), 0);
  const { state: over, cause, words } = goodbyeOutcome({ reason: Close.NotAuthorised, text: "" }, "admission");
  board.take({ type: "state", state: over, cause, words }, 1);
  same([board.at(1), board.over], ["removed", true], "the notice");
  assert(words.includes("ended your access"), words);
  const stranger = goodbyeOutcome({ reason: Close.NotAuthorised, text: "" }, "invite");
  same(stranger.cause, "not-authorised", "who was never admitted");
});

test("who was replaced is told why there is no picture, in words for both languages", () => {
  const board = new NoticeBoard("watch");
  board.take(state("live"), 0);
  const { state: lost, cause, words } = goodbyeOutcome({ reason: Close.Replaced, text: "" }, "admission");
  board.take({ type: "state", state: lost, cause, words }, 1);
  same([board.at(1), board.over], ["lost", false], "the notice");
  assert(words.includes("after a minute") && board.reason("lost").words === words, words);
});

test("what is larger than the view stays within it, and what is under the fingers stays there", () => {
  const view = { x: 400, y: 300 };
  const twice = zoomed(WHOLE, 2, { x: 100, y: 0 }, view);
  same(twice, { scale: 2, x: -100, y: 0 }, "zoomed at a point");
  same(moved(twice, { x: 1_000, y: -1_000 }, view), { scale: 2, x: 200, y: -150 }, "moved as far as it goes");
  same(zoomed(twice, 0.1, { x: 0, y: 0 }, view), WHOLE, "never smaller than the view");
  same(zoomed(WHOLE, 100, { x: 0, y: 0 }, view).scale, 8, "never larger than that");
});

test("a picture's file is named after camera and time, without what a file's name cannot have", () => {
  const at = new Date(2026, 10, 29, 11, 58, 3);
  same(pictureName("Hof/../hinten ü", at), "Hof-hinten-ü-2026-11-29-11-58-03.png", "a name");
  same(pictureName("", at), "camera-2026-11-29-11-58-03.png", "none");
});

test("where nothing but refused records comes, the page says so", () => {
  const board = new NoticeBoard("watch");
  board.take(state("live"), 0);
  board.take(figures(0), 0);
  same(board.at(0), "waiting", "nothing was refused");
  board.take(figures(0, { "unknown-epoch": 4 }), 400);
  same(board.at(400), "waiting", "what comes too late for its keys is no attack");
  board.take(figures(0, { tag: 2, replay: 1 }), 500);
  same(board.at(500), "tampered", "nothing else came");
  board.take(figures(1, { tag: 3 }), 1_000);
  same(board.at(1_000), "none", "a picture comes all the same");
  board.take(figures(1, { tag: 3 }), 5_900);
  same(board.at(6_001), "silent", "nothing comes");
  board.take(figures(1, { tag: 4 }), 6_100);
  same(board.at(6_100), "tampered", "what comes is refused");
  board.take(state("lost"), 7_000);
  board.take(state("live"), 7_100);
  same(board.at(7_100), "waiting", "another session");
});

test("words of attack are those for refused tags and replays alone", () => {
  const accusing = /altere|attack|forge|interfer|manipul|somebody|tamper/i;
  const reasons: [Reason, boolean][] = [
    ["malformed", false], ["version", false], ["role", false], ["no-common-suite", false],
    ["no-common-mechanism", false], ["not-offered", false], ["share", false], ["retry", false], ["alert", false],
    ["mac", false], ["timeout", false], ["framing", false], ["protocol-error", false], ["peer-lost", false],
    ["key-limit", false], ["sealed", true], ["too-many-refusals", true],
  ];
  for (const [reason, accuses] of reasons) {
    const error = new ProtocolError(reason);
    const outcomes = [handshakeOutcome(error), lossOutcome(error)];
    const words = outcomes.flatMap((outcome) => [outcome.words, publisherOutcome(outcome, "").words]).join(" ");
    same(accusing.test(words), accuses, `${reason}: ${words}`);
  }
  for (const cause of ["freeze", "stale"] as const) {
    const words = alarmWords({ age: { state: "alarm", cause }, proofsMissing: true });
    assert(!accusing.test(words), words);
  }
  assert(!accusing.test(lossOutcome(undefined).words), "a lost connection");
  assert(accusing.test(noticeOf("tampered").words), "records that were refused");
});

test("nothing follows the end, and a publisher sees its own picture once it is live", () => {
  for (const end of ["ended", "refused", "failed"] as const) {
    const board = new NoticeBoard("watch");
    board.take(state("live"), 0);
    board.take(SIZE, 0);
    board.take(state(end), 0);
    assert(board.over, `${end} is the end`);
    board.take(state("live"), 0);
    board.take(SIZE, 0);
    same(board.at(0), end, `${end} stays`);
  }
  const board = new NoticeBoard("publish");
  same(board.at(0), "connecting", "not before");
  board.take(state("live"), 0);
  same(board.at(0), "none", "live");
});

test("every selection but the whole is warned of", () => {
  same(selections().filter(([value]) => selectionWarning(value) === "").map(([value]) => value), ["all", "level:4"],
    "selections without a warning");
  assert(selectionWarning("rate:12.5") !== "", "a rate that the form does not have");
  assert(!encryptsAll("something new"), "what is not known protects nothing");
});

test("the lock says whether the mechanism is post-quantum", () => {
  for (const { name } of DEFAULT_MECHANISMS) {
    same(mechanismKind(name), "post-quantum hybrid", name);
  }
  same(mechanismKind("x25519"), "classical", "x25519");
  same(mechanismKind("other"), "other", "an unknown one promises nothing");
  assert(mechanismWords("other").includes("does not know"), "and says so");
});

test("H.264 gets the lowest level that fits", () => {
  same(h264Codec(640, 480, 30), "avc1.42E01E", "VGA");
  same(h264Codec(1280, 720, 30), "avc1.42E01F", "720p");
  same(h264Codec(1920, 1080, 30), "avc1.42E028", "1080p");
  same(h264Codec(1920, 1080, 60), "avc1.42E02A", "1080p at 60");
  same(h264Codec(3840, 2160, 60), "avc1.42E033", "more");
});

test("the hash of the bundle is over lengths and bytes", async () => {
  const files = ["<p>", "", "page"].map((text) => new TextEncoder().encode(text));
  // printf '\0\0\0\3<p>\0\0\0\0\0\0\0\4page' | sha256sum
  same(await bundleHash(files), "b75801f7942f649b15085c481e4a9ac6a41eb04fb5e20554b065aff39dbcb655", "the hash");
});
