// The form with what a publisher chooses before it connects.

import { type CarrierChoice, type PublishOptions } from "../messages.ts";
import { texts } from "../text/page.ts";
import { type MicrophoneWish, microphones, unableToSendSound } from "./capture-sound.ts";
import { CaptureError, type CameraWish, cameras, canPublish, encodesH264 } from "./capture.ts";
import { byId, fillSelect, say } from "./dom.ts";
import { hexGroups } from "./format.ts";
import { type Destination, type Link } from "./link.ts";
import { peerWords } from "./peer-name.ts";
import { mechanismWords, selectionWarning, selections } from "./wording.ts";

/** The key mechanism that every viewer has. */
const HYBRID = "x25519-mlkem768";

/** Where fingers point there is a camera on either side. */
const HANDHELD = "(pointer: coarse)";

/** What the form gives. */
export interface Wish {
  readonly source: "camera" | "screen";
  readonly camera: CameraWish;
  readonly options: PublishOptions;
  /** Whose sound is sent from the beginning. */
  readonly sound: "none" | "microphone" | "screen";
  readonly microphone: MicrophoneWish;
  /** Viewers that the ticket of a page at a relay admits. */
  readonly uses: number;
}

/** A field of the form. */
function text(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value : "";
}

/** Reads the form's fields, which are all choices of ours but the number of seconds, which the browser checks. */
export function readWish(data: FormData): Wish {
  const [width = 0, height = 0] = text(data, "size").split("x").map(Number);
  const chosen = text(data, "source");
  const source = chosen === "screen" ? "screen" : "camera";
  const facing = chosen === "back" ? "environment" : "user";
  const sound = text(data, "sound");
  return {
    source, camera: { device: chosen === "camera" ? text(data, "device") : "", facing },
    sound: sound === "microphone" || (sound === "screen" && source === "screen") ? sound : "none",
    microphone: { device: text(data, "microphone"), stereo: text(data, "treatment") === "stereo" },
    uses: Number(text(data, "uses")),
    options: {
      carrier: text(data, "carrier") as CarrierChoice,
      codec: text(data, "codec") === "mjpeg" ? "mjpeg" : "h264",
      width, height,
      rate: Number(text(data, "rate")),
      bitrate: Number(text(data, "bitrate")),
      quality: Number(text(data, "quality")),
      suites: [text(data, "suite")],
      mechanisms: [text(data, "mechanism")],
      selection: text(data, "selection"),
      rekeySeconds: Number(text(data, "rekey")),
    },
  };
}

/** The form. */
export class PublishForm {
  readonly #section = byId("publish", HTMLElement);
  readonly #form = byId("publish-form", HTMLFormElement);
  readonly #go = byId("publish-go", HTMLButtonElement);
  readonly #error = byId("publish-error", HTMLElement);
  #checks = 0;

  /** `publish` begins to publish; its errors are shown. `study`: pictures may be left in clear. */
  constructor(publish: (wish: Wish) => Promise<void>, study: boolean) {
    fillSelect(this.#field("selection"), selections());
    for (const part of this.#form.querySelectorAll<HTMLElement>("[data-study]")) {
      part.classList.toggle("unwanted", !study);
    }
    const handheld = matchMedia(HANDHELD).matches;
    say(byId("camera-source", HTMLElement), handheld ? texts().publish.frontCamera : texts().publish.camera);
    byId("back-camera", HTMLElement).hidden = !handheld;
    // Fields that the browser finds wrong must be seen.
    this.#form.addEventListener("invalid", () => {
      byId("publish-more", HTMLDetailsElement).open = true;
    }, true);
    const able = canPublish();
    this.#go.disabled = !able;
    const cannot = byId("cannot-publish", HTMLElement);
    say(cannot, able ? "" : texts().publish.noProcessor);
    cannot.hidden = able;
    this.#form.addEventListener("change", () => {
      this.#changed();
      void this.#checkCodec();
    });
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit(publish);
    });
  }

  show(to: Destination): void {
    this.#section.hidden = false;
    say(this.#error, "");
    for (const part of this.#form.querySelectorAll<HTMLElement>("[data-through]")) {
      part.hidden = (part.dataset["through"] === "relay") !== (to.kind === "relay");
    }
    if (to.kind === "viewer") {
      this.#showViewer(to.link);
    } else {
      // What is sealed for a group is encrypted whole. Viewers, who are many, insist on what they have by default.
      this.#field("selection").value = "all";
      this.#field("mechanism").value = HYBRID;
      say(byId("publish-to", HTMLElement), texts().publish.throughRelay(to.host, to.name));
    }
    void this.#listMicrophones();
    void this.#listCameras();
    this.#changed();
    void this.#checkCodec();
  }

  /** The names that the browser tells; looking at them opens nothing. */
  async #listMicrophones(): Promise<void> {
    const unable = unableToSendSound();
    this.#field("sound").disabled = unable !== "";
    say(byId("sound-note", HTMLElement), unable);
    if (unable === "") {
      const [field, known] = [this.#field("microphone"), await microphones()];
      const { value } = field;
      fillSelect(field, known);
      field.value = known.some(([id]) => id === value) ? value : "";
    }
  }

  /** The cameras by name, where there is a choice that the two sides of a phone do not give. */
  async #listCameras(): Promise<void> {
    const known = matchMedia(HANDHELD).matches || !canPublish() ? [] : await cameras();
    const [field, first] = [this.#field("device"), ["", texts().publish.systemsChoice] as const];
    const { value } = field;
    fillSelect(field, [first, ...known]);
    field.value = known.some(([id]) => id === value) ? value : "";
    byId("camera-device", HTMLElement).hidden = known.length < 2;
  }

  #showViewer(link: Link): void {
    const to = byId("publish-to", HTMLElement);
    say(to, texts().publish.toViewer(link.address, ""));
    void peerWords(link.peer).then((words) => {
      const hex = Array.from(link.peer.bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      const name = words ?? `${hexGroups(hex.slice(0, 16))} …`;
      say(to, texts().publish.toViewer(link.address, name));
    });
  }

  hide(): void {
    this.#section.hidden = true;
  }

  #field(name: string): HTMLSelectElement {
    const found = this.#form.elements.namedItem(name);
    if (!(found instanceof HTMLSelectElement)) {
      throw new Error(`the form has no field "${name}"`);
    }
    return found;
  }

  #changed(): void {
    const screen = this.#form.querySelector("[name=source][value=screen]:checked") !== null;
    const sound = this.#field("sound");
    const own = sound.querySelector<HTMLOptionElement>("[value=screen]");
    if (own) {
      own.disabled = !screen;
    }
    sound.value = sound.value === "screen" && !screen ? "none" : sound.value;
    for (const label of this.#form.querySelectorAll<HTMLElement>("[data-sound]")) {
      label.hidden = label.dataset["sound"]?.split(" ").includes(sound.value) !== true;
    }
    const codec = this.#field("codec").value;
    for (const label of this.#form.querySelectorAll<HTMLElement>("[data-codec]")) {
      label.hidden = label.dataset["codec"] !== codec;
    }
    say(byId("mechanism-note", HTMLElement), `${mechanismWords(this.#field("mechanism").value)}.`);
    const warning = byId("publish-warning", HTMLElement);
    say(warning, selectionWarning(this.#field("selection").value));
    warning.hidden = warning.textContent === "";
  }

  /** Not every browser encodes H.264, and not every size: then there is Motion JPEG alone. */
  async #checkCodec(): Promise<void> {
    this.#checks += 1;
    const check = this.#checks;
    const { width, height, rate, bitrate } = readWish(new FormData(this.#form)).options;
    const able = await encodesH264(width, height, rate, bitrate);
    if (check !== this.#checks) {
      return;
    }
    const codec = this.#field("codec");
    const option = codec.querySelector<HTMLOptionElement>("[value=h264]");
    if (option) {
      option.disabled = !able;
    }
    if (!able) {
      codec.value = "mjpeg";
    }
    say(byId("codec-note", HTMLElement), able ? "" : texts().publish.noH264);
    this.#changed();
  }

  async #submit(publish: (wish: Wish) => Promise<void>): Promise<void> {
    say(this.#error, "");
    this.#go.disabled = true;
    try {
      await publish(readWish(new FormData(this.#form)));
    } catch (thrown) {
      const known = thrown instanceof CaptureError;
      say(this.#error, known ? thrown.message : texts().publish.failed);
    } finally {
      this.#go.disabled = !canPublish();
    }
  }
}
