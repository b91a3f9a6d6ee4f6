// For whom a page publishes through a relay: the ticket to give away, who watches, and the end of their access.

import { type Audience, type AudienceMember } from "../messages.ts";
import { PeerId } from "../protocol/index.ts";
import { texts } from "../text/page.ts";
import { byId, element, say } from "./dom.ts";
import { peerWords } from "./peer-name.ts";
import { audienceCount, audienceNote, viewerWords } from "./wording.ts";

/** Milliseconds for which the button says that it has copied. */
const COPIED = 2_000;

/** A row of the list, which stays while its viewer does: a button under the pointer must not be made anew. */
interface Row {
  readonly item: HTMLLIElement;
  readonly state: HTMLElement;
}

/** The card. */
export class AudienceView {
  readonly #card = byId("audience", HTMLElement);
  readonly #list = byId("audience-list", HTMLUListElement);
  readonly #ticket = byId("audience-ticket", HTMLTextAreaElement);
  readonly #copy = byId("audience-copy", HTMLButtonElement);
  readonly #endAccess: (peer: string) => void;
  readonly #rows = new Map<string, Row>();

  /** `endAccess` ends the access of the viewer with this peer id. */
  constructor(endAccess: (peer: string) => void) {
    this.#endAccess = endAccess;
    this.#copy.addEventListener("click", () => {
      void this.#copied();
    });
  }

  show(audience: Audience): void {
    this.#card.hidden = false;
    if (this.#ticket.value !== audience.ticket) {
      this.#ticket.value = audience.ticket;
    }
    say(byId("audience-count", HTMLElement), audienceCount(audience.viewers));
    say(byId("audience-note", HTMLElement), audienceNote(audience));
    const present = new Set(audience.viewers.map(({ peer }) => peer));
    for (const [peer, { item }] of this.#rows) {
      if (!present.has(peer)) {
        item.remove();
        this.#rows.delete(peer);
      }
    }
    for (const viewer of audience.viewers) {
      const row = this.#rows.get(viewer.peer) ?? this.#added(viewer);
      say(row.state, viewerWords(viewer.state));
    }
  }

  /** Nobody watches any more. The ticket, a secret, goes as well. */
  clear(): void {
    this.#card.hidden = true;
    this.#ticket.value = "";
    this.#list.replaceChildren();
    this.#rows.clear();
  }

  #added({ peer }: AudienceMember): Row {
    const [item, who, state] = [element("li"), element("b", `${peer.slice(0, 12)}…`), element("small")];
    const text = element("span");
    text.append(who, " ", state);
    const end = element("button", texts().publish.endAccess);
    end.type = "button";
    end.addEventListener("click", () => {
      this.#endAccess(peer);
    });
    item.append(text, end);
    this.#list.append(item);
    const row = { item, state };
    this.#rows.set(peer, row);
    const id = PeerId.parse(peer);
    void (id && peerWords(id))?.then((words) => {
      say(who, words ?? who.textContent);
      end.ariaLabel = texts().publish.endAccessOf(who.textContent);
    });
    return row;
  }

  async #copied(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.#ticket.value);
      say(this.#copy, texts().publish.copied);
    } catch {
      this.#ticket.select();
      say(this.#copy, texts().publish.selected);
    }
    setTimeout(() => {
      say(this.#copy, texts().publish.copy);
    }, COPIED);
  }
}
