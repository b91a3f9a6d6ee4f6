// What the page and its log are told of the group whose member a viewer is.

import { type FromWorker } from "../src/messages.ts";
import { type Bytes } from "../src/protocol/bytes.ts";
import { type AgeState } from "../src/protocol/live/picture-age.ts";
import { type GroupFacts } from "../src/protocol/session/membership.ts";
import { MemberReport } from "../src/worker/member.ts";
import { same, test } from "./support/harness.ts";

const NONE = {
  unsigned: 0, malformed: 0, stream: 0, epoch: 0, records: 0, digest: 0, order: 0, group: 0, signature: 0,
} as const;

/** A session of which a test says what is known, and what is told of it. */
class Told {
  facts: GroupFacts | undefined;
  missing = false;
  readonly challenges: Bytes[] = [];
  readonly posts: FromWorker[] = [];
  readonly lines: string[] = [];
  readonly report: MemberReport;

  constructor() {
    const session = {
      group: (): GroupFacts | undefined => this.facts,
      challenge: (random: Bytes): void => {
        this.challenges.push(random);
      },
    };
    const parts = {
      post: (message: FromWorker): void => {
        this.posts.push(message);
      },
      random: (): Bytes => new Uint8Array(32).fill(3),
    };
    this.report = new MemberReport(session, parts, (words, bad) => {
      this.lines.push(`${bad ? "bad" : "good"}: ${words}`);
    });
  }

  knows(age: AgeState | undefined, refused: Partial<Record<keyof typeof NONE, number>> = {}): void {
    this.facts = {
      signed: "both", suite: "aes-256-gcm", epoch: 7n, accepted: 5, refused: { ...NONE, ...refused },
      unproven: 0, proofsMissing: this.missing,
      ...(age && { age }),
    };
  }

  /** A challenge is due; returns the new lines of the log. */
  due(): string[] {
    const before = this.lines.length;
    this.report.event({ type: "challenge-due" });
    return this.lines.slice(before);
  }
}

test("a viewer says why it is no member of a group of an earlier version", () => {
  const told = new Told();
  told.report.event({ type: "declined-group", signed: "tesla" });
  const words = "the camera has a group of viewers; its signing mode tesla is not supported any more: this page is " +
    "no member of it, and the picture is sealed for it alone";
  same(told.lines, [`good: ${words}`], "a line of the log");
});

test("a viewer that is served alone has no membership", () => {
  const told = new Told();
  same([told.report.report(), told.posts], [undefined, []], "nothing");
});

test("each challenge that is due is made of 16 bytes", () => {
  const told = new Told();
  told.knows({ state: "waiting" });
  told.due();
  same(told.challenges, [new Uint8Array(16).fill(3)], "challenges");
});

test("an alarm is told when it begins and when it ends, and not in between", () => {
  const told = new Told();
  told.knows({ state: "waiting" });
  told.report.event({ type: "joined-group", signed: "both" });
  same(told.posts.length, 1, "the page is told at once");
  same(told.due(), [], "waiting");
  told.knows({ state: "live", atMost: 40 });
  same(told.due(), [], "live");
  told.knows({ state: "alarm", cause: "stale" });
  same(told.due().map((line) => line.slice(0, 30)), ["bad: the picture may be old: f"], "the alarm");
  same(told.due(), [], "it goes on");
  told.knows({ state: "alarm", cause: "freeze" });
  same(told.due(), ["bad: the picture may be old: no frame comes that the camera signed"], "another cause");
  told.knows({ state: "live", atMost: 61.4 });
  same(told.due(), ["good: the picture is live again: at most 61 ms old"], "its end");
  same(told.posts.length, 4, "each is told to the page at once");
});

test("signatures of groups that do not come are told when that begins and when it ends", () => {
  const told = new Told();
  told.knows({ state: "live", atMost: 40 });
  same(told.due(), [], "nothing is missing");
  told.missing = true;
  told.knows({ state: "live", atMost: 40 });
  same(told.due().map((line) => line.slice(0, 41)), ["bad: pictures are shown without the proof"], "the alarm");
  same([told.due(), told.posts.length, told.report.membership?.proofsMissing], [[], 1, true], "it goes on");
  told.missing = false;
  told.knows({ state: "live", atMost: 40 });
  told.report.event({ type: "proven", verdict: { group: 1n, outcome: "proven", indexes: [], follows: false } });
  same(told.lines.at(-1), "good: the signatures of groups of pictures come again", "its end");
});

test("frames that were refused are told once, by reason, and forged pictures at once", () => {
  const told = new Told();
  told.knows({ state: "waiting" }, { signature: 1 });
  same(told.report.report()?.refused, { signature: 1 }, "reasons that occurred");
  told.knows({ state: "waiting" }, { signature: 3, digest: 1 });
  told.report.report();
  told.report.report();
  same(told.lines, [
    "bad: a frame was refused that the camera did not sign as it came (signature)",
    "bad: a frame was refused that the camera did not sign as it came (digest)",
    "bad: 2 frames were refused that the camera did not sign as they came (signature)",
  ], "lines");
  const verdict = { group: 1n, indexes: [4], follows: true };
  told.report.event({ type: "proven", verdict: { ...verdict, outcome: "incomplete" } });
  same(told.posts, [], "what is proven is told with the figures");
  told.report.event({ type: "proven", verdict: { ...verdict, outcome: "forged" } });
  same(told.posts.length, 1, "what is forged at once");
  same([told.report.membership?.proven, told.report.membership?.forged], [1, 1], "counts");
});
