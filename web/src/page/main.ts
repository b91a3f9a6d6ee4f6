// The page: finds out what it was opened for, and switches between its views. All secret work is the worker's.

import { plain } from "../plain.ts";
import { ProtocolError } from "../protocol/index.ts";
import { showBundle } from "./bundle-view.ts";
import { openMicrophone, soundConstraints } from "./capture-sound.ts";
import { type Capture, capture } from "./capture.ts";
import { byId, say } from "./dom.ts";
import { Grid } from "./grid.ts";
import { forgetTicket, keepTicket, keptTicket } from "./kept-ticket.ts";
import { type Destination, type Link, type Role, cameraIn, pageFor, readLink, readRelay, roleIn } from "./link.ts";
import { Live } from "./live.ts";
import { type SoundBegin } from "./microphone.ts";
import { needs, showShortage } from "./needs.ts";
import { isTyping } from "./picture.ts";
import { PublishForm, type Wish } from "./publish-form.ts";
import { watching } from "./watching.ts";
import { MICROPHONE } from "./wording.ts";

/**
 * What stays with the address in the browser, so that a reload finds it: the ticket *without* its invite, or the
 * address of the relay to publish through, which is no secret.
 */
type Kept = { readonly ticket: string } | { readonly relay: string };

function kept(state: unknown, name: "ticket" | "relay"): string | undefined {
  const text = (state as Readonly<Record<string, unknown>> | null)?.[name];
  return typeof text === "string" ? text : undefined;
}

/** The page as a whole. */
class Page {
  readonly #live: Live;
  readonly #grid = new Grid({
    // Who was told of cameras is enrolled, so that the invite is left to the session that proves it.
    watch: (camera) => watching(this.#link?.bare ?? "", camera, this.#live.options),
    open: (camera) => {
      this.#openCamera(camera);
    },
    told: (names) => {
      this.#told(names);
    },
  });
  readonly #form = new PublishForm((wish) => this.#publish(wish));
  readonly #enter = byId("enter", HTMLElement);
  readonly #ticket = byId("ticket", HTMLTextAreaElement);
  readonly #buttons: Readonly<Record<Role, HTMLButtonElement>> = {
    watch: byId("go-watch", HTMLButtonElement), publish: byId("go-publish", HTMLButtonElement),
  };
  readonly #relay = byId("relay", HTMLInputElement);
  readonly #allCameras = byId("all-cameras", HTMLButtonElement);
  #link: Link | undefined;
  /** The relay to publish through, in the place of a ticket. */
  #place: Destination | undefined;
  #role: Role = "watch";
  /** The camera that the address names; empty for the grid, or for the publisher's only one. */
  #camera = "";
  /** The cameras of which the sessions that run were told. */
  #names: readonly string[] = [];

  constructor() {
    this.#live = new Live({
      again: () => {
        this.#enterRole(this.#role);
      },
      otherRole: () => {
        this.#enterRole(this.#role === "watch" ? "publish" : "watch");
      },
      otherTicket: () => {
        const relay = this.#place !== undefined;
        forgetTicket();
        this.#link = undefined;
        this.#place = undefined;
        this.#camera = "";
        this.#enterRole(this.#role);
        this.#choose(relay ? "relay" : this.#role);
        (relay ? this.#relay : this.#ticket).focus();
      },
      told: (names) => {
        this.#told(names);
      },
    });
    this.#allCameras.addEventListener("click", () => {
      this.#backToGrid();
    });
    document.addEventListener("keydown", (event) => {
      const meant = event.key === "Escape" && !event.defaultPrevented && !isTyping(event);
      if (meant && document.fullscreenElement === null && this.#allCameras.checkVisibility()) {
        this.#backToGrid();
      }
    });
    byId("roles", HTMLElement).hidden = false;
    for (const role of ["watch", "publish"] as const) {
      this.#buttons[role].addEventListener("click", () => {
        this.#names = [];
        this.#enterRole(role);
      });
    }
    const form = byId("ticket-form", HTMLFormElement);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = this.#chosen;
      this.#role = chosen === "watch" ? "watch" : "publish";
      if (chosen === "relay") {
        this.openRelay(this.#relay.value);
      } else {
        this.open(this.#ticket.value);
      }
    });
    form.addEventListener("change", () => {
      this.#choose(this.#chosen);
    });
    addEventListener("hashchange", () => {
      this.openAddress();
    });
    addEventListener("pagehide", () => {
      this.#live.stop("The page was left.");
      this.#grid.hide();
    });
    addEventListener("pageshow", ({ persisted }) => {
      // The browser kept the page while it was left.
      if (persisted && this.#role === "watch" && this.#isGrid()) {
        this.#enterRole("watch");
      }
    });
  }

  /** Takes the ticket out of the address, or the one that a reload or an earlier visit left. */
  openAddress(): void {
    this.#role = roleIn(location.search);
    this.#camera = cameraIn(location.search);
    const inAddress = location.hash.slice(1);
    if (inAddress !== "") {
      this.open(inAddress);
      return;
    }
    const [ticket, relay] = [kept(history.state, "ticket"), kept(history.state, "relay")];
    if (ticket !== undefined) {
      this.open(ticket);
    } else if (relay !== undefined && this.#role === "publish") {
      this.openRelay(relay);
    } else {
      const before = this.#role === "watch" ? keptTicket() : undefined;
      if (before === undefined) {
        this.#enterRole(this.#role);
      } else {
        this.open(before);
      }
    }
  }

  /** Opens a ticket, or says what is wrong with it. */
  open(pasted: string): void {
    this.#link = undefined;
    this.#place = undefined;
    this.#names = [];
    let error = "";
    try {
      this.#link = readLink(pasted);
      this.#ticket.value = "";
    } catch (thrown) {
      error = thrown instanceof ProtocolError ? thrown.message : "this is no ticket";
    }
    this.#enterRole(this.#role, error);
  }

  /** Opens a relay's address to publish through it, or says what is wrong with it. */
  openRelay(address: string): void {
    this.#link = undefined;
    this.#place = undefined;
    let error = "";
    try {
      this.#place = readRelay(address);
    } catch (thrown) {
      error = thrown instanceof ProtocolError ? thrown.message : "this is no address of a relay";
    }
    this.#enterRole("publish", error);
    this.#choose("relay");
  }

  /** What the form of the ticket is filled in for. */
  get #chosen(): Role | "relay" {
    const { value } = document.querySelector<HTMLInputElement>("#ticket-form [name=role]:checked") ?? { value: "" };
    return value === "relay" || value === "publish" ? value : "watch";
  }

  /** Shows the fields of the form for a choice. */
  #choose(choice: Role | "relay"): void {
    const button = document.querySelector<HTMLInputElement>(`#ticket-form [value=${choice}]`);
    if (button !== null) {
      button.checked = true;
    }
    const relay = choice === "relay";
    for (const [name, shown] of [["ticket", !relay], ["relay", relay]] as const) {
      byId(`${name}-field`, HTMLElement).hidden = !shown;
      byId(`${name}-help`, HTMLElement).hidden = !shown;
    }
    say(byId("enter-title", HTMLElement), relay ? "Through which relay?" : "Which stream?");
    this.#ticket.required = !relay;
    this.#relay.required = relay;
  }

  #enterRole(role: Role, error = ""): void {
    this.#role = role;
    for (const one of ["watch", "publish"] as const) {
      this.#buttons[one].ariaCurrent = one === role ? "page" : null;
    }
    this.#choose(role);
    const link = this.#link;
    const place = role === "publish" ? this.#place : undefined;
    const state: Kept | null = link !== undefined ? { ticket: link.bare }
      : place?.kind === "relay" ? { relay: place.address } : null;
    // Whatever stood behind # is gone from the address from here on.
    history.replaceState(state, "", pageFor(role, location.pathname, this.#camera));
    this.#live.hide();
    this.#grid.hide();
    this.#form.hide();
    byId("camera-bar", HTMLElement).hidden = role === "publish" || this.#camera === "";
    say(byId("camera-name", HTMLElement), plain(this.#camera));
    this.#enter.hidden = link !== undefined || place !== undefined;
    say(byId("ticket-error", HTMLElement), error === "" ? "" : `${error.charAt(0).toUpperCase()}${error.slice(1)}.`);
    this.#ticket.ariaInvalid = error === "" ? null : "true";
    if (link !== undefined && role === "watch") {
      this.#watch(link);
    } else if (link !== undefined) {
      this.#form.show({ kind: "viewer", link });
    } else if (place !== undefined) {
      this.#form.show(place);
    }
  }

  #watch(link: Link): void {
    keepTicket(link.bare);
    if (this.#isGrid()) {
      this.#grid.show(this.#names);
    } else {
      this.#live.begin({ role: "watch", ...watching(link.text, this.#camera, this.#live.options) });
    }
  }

  #isGrid(): boolean {
    return this.#camera === "" && this.#names.length > 1;
  }

  /** Follows what a session was told: a publisher of several cameras is shown as a grid, unless one was named. */
  #told(names: readonly string[]): void {
    const before = this.#isGrid();
    this.#names = names;
    const after = this.#isGrid();
    if (before !== after) {
      this.#enterRole("watch");
    } else if (after) {
      this.#grid.show(names);
    }
  }

  /** Shows one camera alone. Its session tells anew which there are. */
  #openCamera(camera: string): void {
    this.#camera = camera;
    this.#names = [];
    this.#enterRole("watch");
    this.#allCameras.focus();
  }

  #backToGrid(): void {
    const camera = this.#camera;
    this.#camera = "";
    this.#enterRole("watch");
    this.#grid.focus(camera);
  }

  async #publish(wish: Wish): Promise<void> {
    const { source, options, uses } = wish;
    const [link, place] = [this.#link, this.#place];
    const constraints = wish.sound === "screen" ? soundConstraints(wish.microphone.stereo) : undefined;
    const taken = await capture(source, options, () => {
      this.#live.stop(`The ${source} was taken away.`);
    }, constraints);
    const sound = await soundFor(wish, taken);
    if (this.#link !== link || this.#place !== place || this.#role !== "publish") {
      // The user went elsewhere while the browser asked.
      taken.stop();
      sound.source?.track.stop();
      return;
    }
    this.#form.hide();
    const { pictures, preview } = taken;
    const common = { options, pictures };
    const first = place?.kind === "relay"
      ? { type: "publish-relay", relay: { address: place.address, uses }, ...common } as const
      : { type: "publish", ticket: link?.text ?? "", ...common } as const;
    this.#live.begin({
      role: "publish", picture: preview, transfer: [pictures], first, sound,
      release: () => {
        taken.stop();
      },
    });
  }
}

/** The sound with which a publisher begins. @throws CaptureError: nothing is open then */
async function soundFor({ sound, microphone: wish }: Wish, taken: Capture): Promise<SoundBegin> {
  if (sound === "none") {
    return { wish };
  }
  if (sound === "screen") {
    return taken.sound === undefined
      ? { wish, words: MICROPHONE.noScreen } : { wish, source: { kind: "screen", track: taken.sound } };
  }
  try {
    return { wish, source: { kind: "microphone", track: await openMicrophone(wish) } };
  } catch (thrown) {
    taken.stop();
    throw thrown;
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
