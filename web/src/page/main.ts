// The page: finds out what it was opened for, and switches between its views. All secret work is the worker's.

import { ProtocolError } from "../protocol/error.ts";
import { showBundle } from "./bundle-view.ts";
import { capture } from "./capture.ts";
import { byId, say } from "./dom.ts";
import { type Link, type Role, pageFor, readLink, roleIn } from "./link.ts";
import { Live } from "./live.ts";
import { needs, showShortage } from "./needs.ts";
import { PublishForm, type Wish } from "./publish-form.ts";

/** What stays with the address in the browser, so that a reload finds it: the ticket *without* its invite. */
interface Kept {
  readonly ticket: string;
}

function kept(state: unknown): string | undefined {
  const ticket = (state as Partial<Kept> | null)?.ticket;
  return typeof ticket === "string" ? ticket : undefined;
}

/** The page as a whole. */
class Page {
  readonly #live: Live;
  readonly #form = new PublishForm((wish) => this.#publish(wish));
  readonly #enter = byId("enter", HTMLElement);
  readonly #ticket = byId("ticket", HTMLTextAreaElement);
  readonly #buttons: Readonly<Record<Role, HTMLButtonElement>> = {
    watch: byId("go-watch", HTMLButtonElement), publish: byId("go-publish", HTMLButtonElement),
  };
  #link: Link | undefined;
  #role: Role = "watch";

  constructor() {
    this.#live = new Live({
      again: () => {
        this.#enterRole(this.#role);
      },
      otherRole: () => {
        this.#enterRole(this.#role === "watch" ? "publish" : "watch");
      },
      otherTicket: () => {
        this.#link = undefined;
        this.#enterRole(this.#role);
        this.#ticket.focus();
      },
    });
    byId("roles", HTMLElement).hidden = false;
    for (const role of ["watch", "publish"] as const) {
      this.#buttons[role].addEventListener("click", () => {
        this.#enterRole(role);
      });
    }
    byId("ticket-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = document.querySelector<HTMLInputElement>("#ticket-form [name=role]:checked");
      this.#role = chosen?.value === "publish" ? "publish" : "watch";
      this.open(this.#ticket.value);
    });
    addEventListener("hashchange", () => {
      this.openAddress();
    });
    addEventListener("pagehide", () => {
      this.#live.stop("The page was left.");
    });
  }

  /** Takes the ticket out of the address, or the one that a reload left. */
  openAddress(): void {
    this.#role = roleIn(location.search);
    const inAddress = location.hash.slice(1);
    if (inAddress !== "") {
      this.open(inAddress);
      return;
    }
    const ticket = kept(history.state);
    if (ticket === undefined) {
      this.#enterRole(this.#role);
    } else {
      this.open(ticket);
    }
  }

  /** Opens a ticket, or says what is wrong with it. */
  open(pasted: string): void {
    this.#link = undefined;
    let error = "";
    try {
      this.#link = readLink(pasted);
      this.#ticket.value = "";
    } catch (thrown) {
      error = thrown instanceof ProtocolError ? thrown.message : "this is no ticket";
    }
    this.#enterRole(this.#role, error);
  }

  #enterRole(role: Role, error = ""): void {
    this.#role = role;
    for (const one of ["watch", "publish"] as const) {
      this.#buttons[one].ariaCurrent = one === role ? "page" : null;
      const choice = document.querySelector<HTMLInputElement>(`#ticket-form [value=${one}]`);
      if (choice !== null) {
        choice.checked = one === role;
      }
    }
    const link = this.#link;
    const state: Kept | null = link === undefined ? null : { ticket: link.bare };
    // Whatever stood behind # is gone from the address from here on.
    history.replaceState(state, "", pageFor(role, location.pathname));
    this.#live.hide();
    this.#form.hide();
    this.#enter.hidden = link !== undefined;
    say(byId("ticket-error", HTMLElement), error === "" ? "" : `${error.charAt(0).toUpperCase()}${error.slice(1)}.`);
    this.#ticket.ariaInvalid = error === "" ? null : "true";
    if (link !== undefined && role === "watch") {
      this.#watch(link);
    } else if (link !== undefined) {
      this.#form.show(link);
    }
  }

  #watch(link: Link): void {
    const picture = document.createElement("canvas");
    picture.role = "img";
    picture.ariaLabel = "The publisher's picture, live";
    const canvas = picture.transferControlToOffscreen();
    const options = { carrier: this.#live.carrier, jitter: this.#live.jitter };
    const first = { type: "watch", ticket: link.text, canvas, options } as const;
    this.#live.begin({ role: "watch", first, transfer: [canvas], picture });
  }

  async #publish({ source, options }: Wish): Promise<void> {
    const link = this.#link;
    if (link === undefined) {
      return;
    }
    const taken = await capture(source, options, () => {
      this.#live.stop(`The ${source} was taken away.`);
    });
    if (this.#link !== link || this.#role !== "publish") {
      // The user went elsewhere while the browser asked.
      taken.stop();
      return;
    }
    this.#form.hide();
    this.#live.begin({
      role: "publish", picture: taken.preview, transfer: [taken.pictures],
      first: { type: "publish", ticket: link.text, options, pictures: taken.pictures },
      release: () => {
        taken.stop();
      },
    });
  }
}

function start(): void {
  byId("starting", HTMLElement).hidden = true;
  void showBundle();
  const found = needs();
  if (found.some(({ present }) => !present)) {
    // No ticket may stay in the address, whether the page works or not.
    history.replaceState(null, "", location.pathname + location.search);
    showShortage(found, location);
    return;
  }
  new Page().openAddress();
}

start();
