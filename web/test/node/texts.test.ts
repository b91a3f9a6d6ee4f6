// The page's texts: one file a language, the same texts in each, and none in the markup itself.

import { readFile } from "node:fs/promises";

import { PAGE as GERMAN, WORKER as GERMAN_WORKER } from "../../src/text/de.ts";
import { PAGE as ENGLISH, WORKER as ENGLISH_WORKER } from "../../src/text/en.ts";
import { languageOf, pieces } from "../../src/text/language.ts";
import { assert, same, test } from "../support/harness.ts";

type Tree = Readonly<Record<string, unknown>>;

/** Every text by its place; of one that is made, what it gives for these arguments. */
function flat(tree: Tree, place = ""): [place: string, text: string][] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const at = `${place}.${key}`;
    if (typeof value === "function") {
      return [[at, String((value as (...all: readonly number[]) => unknown)(2, 3))] as [string, string]];
    }
    return typeof value === "string" ? [[at, value] as [string, string]] : flat(value as Tree, at);
  });
}

/** Texts that are the same in both, since they are names. */
const NAMES = /^(live|[\d s]+|[a-z0-9-]+: .*|.*(ticket|codec|median|decoder|bytes|relay|webtransport|websocket).*)$/i;

test("both languages have the same texts, and German is not English left over", () => {
  const [english, german] = [
    flat({ ...ENGLISH, why: {}, worker: { ...ENGLISH_WORKER, reasons: {} } }),
    flat({ ...GERMAN, why: {}, worker: { ...GERMAN_WORKER, reasons: {} } }),
  ];
  same(german.map(([place]) => place), english.map(([place]) => place), "places");
  const equal = english.filter(([place, text], at) => text === german[at]?.[1] && !NAMES.test(text) && place !== "");
  same(equal, [], "texts that were not translated");
  assert(english.every(([, text]) => text.trim() !== ""), "no text is empty");
});

test("the language is the first that the browser wants and the page has", () => {
  for (const [wanted, language] of [
    [["de-AT", "en"], "de"], [["en-GB", "de"], "en"], [["fr", "de"], "de"], [["fr"], "en"], [[], "en"],
  ] as const) {
    same(languageOf(wanted), language, wanted.join());
  }
});

test("marks in a text become code and bold, and nothing else", () => {
  same(pieces("a `b` *c* <d>"), [
    { tag: undefined, text: "a " }, { tag: "code", text: "b" }, { tag: undefined, text: " " }, { tag: "b", text: "c" },
    { tag: undefined, text: " <d>" },
  ], "pieces");
});

/** What stands in the markup all the same: names, numbers and signs. */
const SPELLED = new Set([
  "sealcast", "auto", "ms", "s", "p99", "H.264", "Motion", "JPEG", "Mbit/s", "WebTransport", "WebSocket", "1×", "−",
  "+", "x25519-mlkem768", "x25519", "p256", "aes-256-gcm", "aes-128-gcm",
]);

test("the markup has no text of its own, and each of its texts is there and used", async () => {
  const markup = (await readFile("src/page/index.html", "utf8")).replaceAll(/<!--.*?-->/gs, "");
  const words = markup.replaceAll(/<[^>]+>/g, " ").split(/\s+/).filter((word) => word !== "");
  same(words.filter((word) => !SPELLED.has(word) && !/^[\d.x]+$/.test(word)), [], "words");
  same(/\s(title|alt|aria-label)="[^"]+"/.exec(markup)?.[0], undefined, "a text in an attribute");
  const used = [...markup.matchAll(/data-(?:text|label|hint)="(\w+)"/g)].map(([, key]) => key);
  const source = await Promise.all(["src/page/live.ts", "src/page/tile.ts", "src/page/grid.ts"].map((path) =>
    readFile(path, "utf8")));
  const named = source.join();
  const unused = Object.keys(ENGLISH.markup).filter((key) => !used.includes(key) && !named.includes(`markup.${key}`));
  same(unused, [], "texts that nobody uses");
  same(used.filter((key) => !((key ?? "") in ENGLISH.markup)), [], "texts that there are not");
});
