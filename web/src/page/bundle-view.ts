// Shows the hash of the page's own code in the footer.

import { texts } from "../text/page.ts";
import { FILES, bundleHash } from "./bundle-hash.ts";
import { byId, say } from "./dom.ts";

/** Hexadecimal digits that stand there at first. */
const SHORT = 16;
/** Where the browser keeps the hash of the last visit. */
const KEY = "sealcast-code";

/** The hash of the last visit, if it was another; from now on it is this one. Private windows may keep none. */
function hashBefore(hash: string): string | undefined {
  try {
    const before = localStorage.getItem(KEY) ?? undefined;
    localStorage.setItem(KEY, hash);
    return before === hash ? undefined : before;
  } catch {
    return undefined;
  }
}

async function load(path: string): Promise<Uint8Array> {
  // What the server has now, not what the browser kept.
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) {
    throw new Error(`the server has no ${path}`);
  }
  return new Uint8Array(await answer.arrayBuffer());
}

/** Fetches the page's files again, and shows their hash, or why there is none. Never rejects. */
export async function showBundle(): Promise<void> {
  const button = byId("bundle", HTMLButtonElement);
  try {
    const hash = await bundleHash(await Promise.all(FILES.map(load)));
    let open = false;
    const show = (): void => {
      say(button, open ? hash : `${hash.slice(0, SHORT)}…`);
      button.ariaExpanded = String(open);
    };
    button.addEventListener("click", () => {
      open = !open;
      show();
    });
    const before = hashBefore(hash);
    if (before !== undefined) {
      say(byId("bundle-words", HTMLElement), texts().enter.newCode(before.slice(0, SHORT)));
    }
    button.title = hash;
    button.disabled = false;
    show();
  } catch {
    say(button, texts().enter.notComputed);
    say(byId("bundle-words", HTMLElement), texts().enter.noBundle);
  }
}
