// The sound that a publishing page sends: its source, which is open only while it is sent, and the controls for it.

import { type ToWorker } from "../messages.ts";
import { texts } from "../text/page.ts";
import { type MicrophoneWish, microphones, openMicrophone, soundOf, unableToSendSound } from "./capture-sound.ts";
import { CaptureError } from "./capture.ts";
import { byId, fillSelect, say } from "./dom.ts";

/** The quietest level that the meter shows, in decibels below the loudest. */
const QUIETEST = -60;

/** What a connection begins with: sound of the screen that was taken with the picture, or of a microphone, or none. */
export interface SoundSource {
  readonly kind: "microphone" | "screen";
  readonly track: MediaStreamTrack;
}

/** What a publisher wants of sound. */
export interface SoundBegin {
  /** Absent: nothing is sent before the user asks for it. */
  readonly source?: SoundSource;
  readonly wish: MicrophoneWish;
  /** What there is to say, such as that the browser gave no sound of the screen. */
  readonly words?: string;
}

/** Sends a message to the worker, and gives away what it transfers. */
type SendWith = (message: ToWorker, transfer: Transferable[]) => void;

/** The button, the meter, and the choice of microphone. */
export class Microphone {
  readonly #button = byId("microphone", HTMLButtonElement);
  readonly #choice = byId("microphone-choice", HTMLSelectElement);
  readonly #label = byId("microphone-label", HTMLElement);
  readonly #meter = byId("microphone-level", HTMLMeterElement);
  readonly #words = byId("microphone-words", HTMLElement);
  readonly #send: SendWith;
  #wish: MicrophoneWish = { device: "", stereo: false };
  /** The sound of the screen stays as long as the picture does: nobody is asked for it twice. */
  #screen: MediaStreamTrack | undefined;
  #track: MediaStreamTrack | undefined;
  /** Counts what was asked for, so that a browser's late answer to an earlier wish is let go. */
  #asked = 0;
  #publishing = false;

  constructor(send: SendWith) {
    this.#send = send;
    this.#meter.min = QUIETEST;
    this.#button.addEventListener("click", () => {
      if (this.#track === undefined) {
        void this.#begin();
      } else {
        this.#mute("");
      }
    });
    this.#choice.addEventListener("change", () => {
      this.#wish = { ...this.#wish, device: this.#choice.value };
      if (this.#track !== undefined) {
        void this.#begin();
      }
    });
  }

  /** A publisher's connection begins. */
  begin({ source, wish, words = "" }: SoundBegin): void {
    this.clear();
    this.#publishing = true;
    this.#wish = wish;
    this.#screen = source?.kind === "screen" ? source.track : undefined;
    if (source !== undefined) {
      this.#use(source.track);
    }
    this.#show(words);
    void this.#list();
  }

  /** The connection is over: what was open is closed. */
  clear(): void {
    this.#asked += 1;
    this.#publishing = false;
    this.#let();
    this.#screen?.stop();
    this.#screen = undefined;
    this.#show("");
  }

  /** The worker says how loud it is, 0 to 1. */
  level(peak: number): void {
    this.#meter.value = Math.max(QUIETEST, 20 * Math.log10(peak));
  }

  /** The worker cannot send it. */
  failed(words: string): void {
    this.#mute(words);
  }

  /** Opens the microphone, if it is not the screen's sound that is sent. */
  async #begin(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    if (this.#screen?.readyState === "live") {
      this.#use(this.#screen);
      this.#show("");
      return;
    }
    // The one before is closed first: a system may have one microphone and give it to one program at a time.
    this.#mute("");
    try {
      const track = await openMicrophone(this.#wish);
      if (asked !== this.#asked) {
        track.stop();
        return;
      }
      this.#use(track);
      this.#show("");
      void this.#list();
    } catch (thrown) {
      if (asked === this.#asked) {
        this.#show(thrown instanceof CaptureError ? thrown.message : texts().publish.soundBroken);
      }
    }
  }

  #use(track: MediaStreamTrack): void {
    this.#track = track;
    track.addEventListener("ended", () => {
      if (track === this.#track) {
        this.#mute(texts().publish.soundGone);
      }
    });
    const sound = soundOf(track);
    this.#send({ type: "microphone", sound }, [sound]);
  }

  /** Nothing is sent from here on, and the microphone is closed. */
  #mute(words: string): void {
    const asked = this.#track !== undefined;
    this.#let();
    if (asked) {
      this.#send({ type: "microphone" }, []);
    }
    this.#show(words);
  }

  #let(): void {
    if (this.#track !== this.#screen) {
      this.#track?.stop();
    }
    this.#track = undefined;
  }

  async #list(): Promise<void> {
    const known = await microphones();
    fillSelect(this.#choice, known);
    const { device } = this.#wish;
    this.#choice.value = known.some(([id]) => id === device) ? device : "";
  }

  #show(words: string): void {
    const unable = unableToSendSound();
    const on = this.#track !== undefined;
    this.#button.hidden = !this.#publishing || unable !== "";
    this.#label.hidden = this.#button.hidden || this.#screen !== undefined;
    this.#meter.hidden = !on;
    this.#meter.value = QUIETEST;
    say(this.#button, on ? texts().publish.soundOff : texts().publish.soundOn);
    const shown = this.#publishing && words === "" ? unable : words;
    say(this.#words, shown);
    this.#words.hidden = shown === "";
  }
}
