// The page: finds out what it was opened for, and switches between its views. All secret work is the worker's.

import { plain, ProtocolError } from "../protocol/index.ts";
import { languageOf } from "../text/language.ts";
import { speak, texts } from "../text/page.ts";
import { showBundle } from "./bundle-view.ts";
import { openMicrophone, soundConstraints } from "./capture-sound.ts";
import { type Capture, capture } from "./capture.ts";
import { byId, say } from "./dom.ts";
import { Grid } from "./grid.ts";
import { type Place, forget, isKnown, known, placesOf, remember } from "./known.ts";
import {
  type Destination, type Link, type Role, cameraIn, isStudy, pageFor, readLink, readRelay, roleIn,
} from "./link.ts";
import { Live } from "./live.ts";
import { translate } from "./markup.ts";
import { type SoundBegin } from "./microphone.ts";
import { needs, showShortage } from "./needs.ts";
import { isTyping } from "./picture.ts";
import { PublishForm, type Wish } from "./publish-form.ts";
import { watching } from "./watching.ts";

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
    // Whoever is shown in it admitted this browser, so that an invite is left to the session that proves it.
    watch: ({ ticket, camera }) => watching(ticket, camera, this.#live.options),
    open: (place) => {
      this.#openCamera(place);
    },
    told: (place, names) => {
      this.#toldInGrid(place, names);
    },
  });
  readonly #study = isStudy(location.search);
  readonly #form = new PublishForm((wish) => this.#publish(wish), this.#study);
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
  /** True where the user wants to enter a ticket though there are cameras that the browser knows. */
  #asks = false;
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
        this.#ask();
      },
      admitted: () => {
        if (this.#link !== undefined) {
          remember(this.#link);
          this.#showBar();
        }
      },
      told: (names) => {
        this.#told(names);
      },
    }, this.#study);
    this.#allCameras.addEventListener("click", () => {
      this.#backToGrid();
    });
    byId("add-camera", HTMLButtonElement).addEventListener("click", () => {
      this.#ask();
    });
    for (const button of document.querySelectorAll<HTMLButtonElement>("button.forget")) {
      button.addEventListener("click", () => {
        this.#forget();
      });
    }
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
        this.#asks = false;
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
    this.#follow();
  }

  /** What the browser does with the page. */
  #follow(): void {
    addEventListener("hashchange", () => {
      this.openAddress();
    });
    addEventListener("pagehide", () => {
      this.#live.stop(texts().live.left);
      this.#grid.hide();
    });
    addEventListener("pageshow", ({ persisted }) => {
      // The browser kept the page while it was left.
      if (persisted && !byId("cameras", HTMLElement).hidden) {
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
      const named = known().find(({ cameras }) => cameras.includes(this.#camera));
      this.#link = this.#role === "watch" ? named?.link : undefined;
      this.#enterRole(this.#role);
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
      error = errorWords(thrown, texts().enter.noTicket);
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
      error = errorWords(thrown, texts().enter.noRelay);
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
    say(byId("enter-title", HTMLElement), relay ? texts().enter.whichRelay : texts().enter.whichStream);
    this.#ticket.required = !relay;
    this.#relay.required = relay;
  }

  /** Shows the form for another ticket, or another relay's address. */
  #ask(): void {
    const relay = this.#place !== undefined;
    this.#link = undefined;
    this.#place = undefined;
    this.#camera = "";
    this.#asks = true;
    this.#enterRole(this.#role);
    this.#choose(relay ? "relay" : this.#role);
    (relay ? this.#relay : this.#ticket).focus();
  }

  #forget(): void {
    if (this.#link !== undefined) {
      forget(this.#link);
    }
    this.#link = undefined;
    this.#camera = "";
    this.#names = [];
    this.#asks = false;
    this.#enterRole("watch");
  }

  /** True if there is nothing to watch but all cameras that the browser knows. */
  #isHome(): boolean {
    return this.#role === "watch" && this.#link === undefined && !this.#asks && known().length > 1;
  }

  #enterRole(role: Role, error = ""): void {
    this.#role = role;
    this.#asks ||= error !== "";
    if (role === "watch" && !this.#asks && known().length === 1) {
      this.#link ??= known()[0]?.link;
    }
    for (const one of ["watch", "publish"] as const) {
      this.#buttons[one].ariaCurrent = one === role ? "page" : null;
    }
    this.#choose(role);
    const link = this.#link;
    const place = role === "publish" ? this.#place : undefined;
    const state: Kept | null = link !== undefined ? { ticket: link.bare }
      : place?.kind === "relay" ? { relay: place.address } : null;
    // Whatever stood behind # is gone from the address from here on.
    history.replaceState(state, "", pageFor(role, location.pathname, this.#camera, this.#study));
    this.#live.hide();
    this.#grid.hide();
    this.#form.hide();
    this.#showBar();
    this.#enter.hidden = link !== undefined || place !== undefined || this.#isHome();
    say(byId("ticket-error", HTMLElement), error === "" ? "" : `${error.charAt(0).toUpperCase()}${error.slice(1)}.`);
    this.#ticket.ariaInvalid = error === "" ? null : "true";
    if (link !== undefined && role === "watch") {
      this.#watch(link);
    } else if (link !== undefined) {
      this.#form.show({ kind: "viewer", link });
    } else if (place !== undefined) {
      this.#form.show(place);
    } else if (this.#isHome()) {
      this.#grid.show(known().flatMap(placesOf));
    }
  }

  /** The name of the one camera that is shown, where there are others, and what may be done with it. */
  #showBar(): void {
    const [link, camera] = [this.#link, this.#camera];
    const shown = this.#role === "watch" && link !== undefined;
    const others = camera !== "" || known().length > 1;
    byId("camera-bar", HTMLElement).hidden = !shown || !others;
    const of = known().find((one) => one.link.peer.toString() === link?.peer.toString());
    const name = camera === "" && of !== undefined ? placesOf(of)[0]?.name : plain(camera);
    say(byId("camera-name", HTMLElement), name ?? "");
    for (const button of document.querySelectorAll<HTMLButtonElement>("button.forget")) {
      button.hidden = !shown || !isKnown(link);
    }
  }

  #watch(link: Link): void {
    if (this.#isGrid()) {
      this.#grid.show(placesOf({ link, cameras: this.#names }));
    } else {
      this.#live.begin({ role: "watch", ...watching(link.text, this.#camera, this.#live.options) });
    }
  }

  #isGrid(): boolean {
    return this.#camera === "" && this.#names.length > 1;
  }

  /** Follows what a session was told: a publisher of several cameras is shown as a grid, unless one was named. */
  #told(names: readonly string[]): void {
    const link = this.#link;
    if (link === undefined) {
      return;
    }
    remember(link, names);
    this.#showBar();
    const before = this.#isGrid();
    this.#names = names;
    const after = this.#isGrid();
    if (before !== after) {
      this.#enterRole("watch");
    } else if (after) {
      this.#grid.show(placesOf({ link, cameras: names }));
    }
  }

  /** Of all cameras that the browser knows, a publisher told of its own. */
  #toldInGrid({ ticket }: Place, names: readonly string[]): void {
    if (this.#link !== undefined) {
      this.#told(names);
    } else if (this.#isHome()) {
      remember(readLink(ticket), names);
      this.#grid.show(known().flatMap(placesOf));
    }
  }

  /** Shows one camera alone. Its session tells anew which there are. */
  #openCamera({ ticket, camera }: Place): void {
    this.#link = readLink(ticket);
    this.#camera = camera;
    this.#names = [];
    this.#enterRole("watch");
    this.#allCameras.focus();
  }

  #backToGrid(): void {
    const key = `${this.#link?.peer.toString() ?? ""} ${this.#camera}`;
    this.#camera = "";
    this.#asks = false;
    if (known().length > 1) {
      this.#link = undefined;
      this.#names = [];
    }
    this.#enterRole("watch");
    this.#grid.focus(key);
  }

  async #publish(wish: Wish): Promise<void> {
    const { source, camera, options, uses } = wish;
    const [link, place] = [this.#link, this.#place];
    const constraints = wish.sound === "screen" ? soundConstraints(wish.microphone.stereo) : undefined;
    const taken = await capture(source, camera, options, () => {
      this.#live.stop(texts().publish.takenAway[source]);
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
    const common = { options, pictures, language: texts().language };
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
      ? { wish, words: texts().publish.noScreenSound } : { wish, source: { kind: "screen", track: taken.sound } };
  }
  try {
    return { wish, source: { kind: "microphone", track: await openMicrophone(wish) } };
  } catch (thrown) {
    taken.stop();
    throw thrown;
  }
}

/** What is wrong with what was entered: an error of the protocol has its details in English alone. */
function errorWords(thrown: unknown, general: string): string {
  return thrown instanceof ProtocolError && texts().language === "en" ? thrown.message : general;
}

function start(): void {
  speak(languageOf(navigator.languages));
  translate();
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
