// The markup of a page as the program serves it: with the signs that both pages share, and with the English texts, so
// that there is something to read before any program runs. A text is named in the markup, and stands in src/text alone.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { build } from "esbuild";

import { ROOT } from "./bundle.mjs";

const SIGNS = "src/page/signs.svg";
const ATTRIBUTES = { "data-label": "aria-label", "data-hint": "title" };

/** What a module of src/text exports. */
export async function texts(name) {
  const { outputFiles } = await build({
    absWorkingDir: ROOT, bundle: true, write: false, format: "esm", platform: "neutral", logLevel: "warning",
    entryPoints: [`src/text/${name}.ts`],
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

async function read(path) {
  return (await readFile(resolve(ROOT, path), "utf8")).replaceAll("\r\n", "\n");
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** The file `from` under web/, complete. @throws Error if it names a text that there is not */
export async function markupOf(from) {
  const [english, german, { pieces }] = await Promise.all([texts("en"), texts("de"), texts("language")]);
  const text = (all, key) => {
    const found = all.PAGE.markup[key];
    if (found === undefined) {
      throw new Error(`${from}: there is no text "${key}"`);
    }
    return found;
  };
  const marked = (all, key) => pieces(text(all, key)).map(({ tag, text: piece }) =>
    tag === undefined ? escaped(piece) : `<${tag}>${escaped(piece)}</${tag}>`).join("");
  let markup = (await read(from)).replace("<!-- signs -->\n", await read(SIGNS));
  markup = markup.replaceAll(/(<[^<>]*\sdata-text="(\w+)"[^<>]*>)(?=<\/)/g, (all, tag, key) => tag + marked(english, key));
  markup = markup.replaceAll(/(<[^<>]*) data-german="(\w+)">(?=<\/)/g, (all, tag, key) => `${tag}>${marked(german, key)}`);
  for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
    markup = markup.replaceAll(new RegExp(`(\\s)(${name}="(\\w+)")`, "g"), (all, space, named, key) =>
      `${space}${attribute}="${escaped(text(english, key))}" ${named}`);
  }
  return markup;
}
