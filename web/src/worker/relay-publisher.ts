// The publisher through a relay: a camera's pictures, sealed once for all viewers, and one relay that has no key.

import { CarrierError } from "../carrier/carrier.ts";
import { type Encoded } from "../media/encoder.ts";
import { type Audience, type Figures, type LinkState, type RelayWish, type ToWorker } from "../messages.ts";
import { type Bytes } from "../protocol/bytes.ts";
import { Close, type Identity, Invite, INVITE_LEN, ProtocolError, type StreamInfo } from "../protocol/index.ts";
import { type RelayPlace, parseRelayAddress, ticketAt, ticketText } from "../relay/address.ts";
import { relayOf } from "../relay/meet.ts";
import { type CameraBroadcast, type OpenRelay, type Relay, type RelayWay } from "../relay/relay.ts";
import { type CameraStore, MAX_GUESTS } from "../store/camera-store.ts";
import { type KeyStore, ownIdentity } from "../store/key-store.ts";
import { Admission } from "./admission.ts";
import { type Cancel, type Time } from "./clock.ts";
import { type Outcome, startOutcome } from "./outcome.ts";
import { Camera, type CameraEvents } from "./publish-camera.ts";
import { PublishFigures } from "./publish-figures.ts";
import { type Choice, describeStream, highestRate } from "./publish-options.ts";
import { RateController } from "./publish-rate.ts";
import { MAX_BACKLOG, type Numbered, Sender, type SenderEvents, type Target } from "./publish-sender.ts";
import { type PublisherParts } from "./publisher.ts";
import { GroupHost } from "./relay-group.ts";
import { RelaySessions } from "./relay-sessions.ts";
import { PublishSound, type SoundTarget } from "./publish-sound.ts";
import { type Commands, type Post } from "./role.ts";

/** Milliseconds between looks at what waits, and between figures and looks at the round trip. */
const OBSERVE_INTERVAL = 50;
const FIGURES_INTERVAL = 500;
/** No exchange of clocks is late: the relay tells the round trip when it likes. */
const NOT_LATE = -1;
/** Milliseconds between keyframes: who comes late sees nothing before the next group of pictures is there. */
export const GROUP_LENGTH = 2_000;
/** Milliseconds between two attempts at the relay: at first, and at most; one that stood so long was a good one. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
const STOOD = 8_000;
/**
 * Milliseconds for which a broadcast of the same name may be there: relays keep that of a page which was closed for as
 * long as 10 s. And between two looks.
 */
const TAKEN_FOR = 12_000;
const TAKEN_LOOK = 1_000;

/** Milliseconds for what is said last to leave before the connection ends. */
const LAST_WORDS = 250;

const STOPPED: Outcome = { state: "ended", cause: "stopped", words: "You stopped publishing." };
const NO_STORE = "This browser keeps no data for this page. A page that publishes through a relay must note which " +
  "numbers its keys have used, or a key could be used twice: allow the page to store data, leave the private window, " +
  "or publish to a viewer instead.";

/** What does not change while it runs. */
export interface RelayPublisherParts
  extends Pick<PublisherParts,
    "pictures" | "choice" | "makeEncoder" | "makeSoundEncoder" | "soundUnit" | "time" | "random"> {
  readonly relay: RelayWish;
  readonly openStore: () => Promise<KeyStore>;
  readonly openCameraStore: () => Promise<CameraStore>;
  readonly openRelay: OpenRelay;
  readonly post: Post;
  /** For tests: an access unit that goes to the relay, by its number. */
  readonly unit?: (frame: bigint, data: Bytes) => void;
}

/** What is made once, before the relay is asked for the first time. */
interface Base {
  readonly place: RelayPlace;
  readonly identity: Identity;
  readonly admission: Admission;
  readonly host: GroupHost;
  readonly sessions: RelaySessions;
}

/** The relay that takes the pictures. */
interface Live {
  readonly relay: Relay;
  readonly broadcast: CameraBroadcast;
  readonly sender: Sender;
}

/** Publishes until it is told to stop, the pictures end, or there is no hope. */
export class RelayPublisher implements Commands, CameraEvents, SenderEvents {
  readonly #parts: RelayPublisherParts;
  readonly #choice: Choice;
  readonly #time: Time;
  readonly #camera: Camera;
  readonly #sound: PublishSound;
  readonly #abort = new AbortController();
  #way: RelayWay = "webtransport";
  readonly #aborted: Promise<void>;
  readonly #figures = new PublishFigures();
  #rate: RateController;
  #base: Base | undefined;
  #live: Live | undefined;
  /** True once the relay took the pictures: from then on a loss is repaired. */
  #stood = false;
  /** Why it ends, if that is not the relay's doing. */
  #ending: { readonly outcome: Outcome; readonly reason: number } | undefined;
  #timers: Cancel[] = [];
  #number = 0n;
  #lastKeyframe = -Infinity;

  constructor(parts: RelayPublisherParts) {
    this.#parts = parts;
    this.#choice = parts.choice;
    this.#time = parts.time;
    this.#aborted = new Promise((resolve) => {
      this.#abort.signal.addEventListener("abort", () => {
        resolve();
      });
    });
    this.#rate = new RateController(highestRate(parts.choice.encoder));
    this.#camera = new Camera(parts.pictures, parts.choice.encoder, parts.makeEncoder, this, parts.time);
    this.#sound = new PublishSound({
      makeEncoder: parts.makeSoundEncoder, time: parts.time, post: parts.post, unit: parts.soundUnit,
      mediaTimeAt: (monotonic) => this.#camera.mediaTimeAt(monotonic),
      isHeard: () => this.#base?.host.hasMembers === true,
      sent: (length) => {
        this.#live?.sender.wentBeside(length);
      },
    });
  }

  /** Begins; it never rejects. */
  async run(): Promise<void> {
    void this.#camera.run();
    let outcome: Outcome;
    try {
      this.#tell("connecting");
      this.#base = await this.#prepare();
      this.#audience();
      outcome = await this.#repeat(this.#base);
    } catch (thrown) {
      const storage = thrown instanceof ProtocolError && thrown.reason === "storage";
      outcome = storage ? { state: "failed", cause: "storage", words: NO_STORE } : startOutcome(thrown);
    }
    this.#stopTimers();
    this.#camera.stop();
    this.#sound.stop();
    this.#base?.host.end();
    const { state, cause, words } = this.#ending?.outcome ?? outcome;
    this.#parts.post({ type: "state", state, cause, words });
  }

  command(message: ToWorker): void {
    switch (message.type) {
      case "keyframe":
        this.#camera.requestKeyframe();
        return;
      case "microphone":
        this.#sound.turn(message.sound);
        return;
      case "rekey":
        void this.#base?.host.rekey();
        return;
      case "end-access":
        void this.#base?.sessions.endAccess(message.peer);
        return;
      case "stop":
        this.#end(STOPPED, Close.EndOfStream);
        return;
      case "watch":
      case "publish":
      case "publish-relay":
      case "select":
      case "jitter":
        // None of this publisher's: whatever is sealed for a group is encrypted whole.
    }
  }

  #end(outcome: Outcome, reason: number): void {
    this.#ending ??= { outcome, reason };
    this.#abort.abort();
  }

  #tell(state: LinkState, outcome?: Outcome): void {
    this.#parts.post({ type: "state", state, ...(outcome && { cause: outcome.cause, words: outcome.words }) });
  }

  #news(words: string, bad: boolean): void {
    this.#parts.post({ type: "event", at: Date.now(), words, bad });
  }

  async #prepare(): Promise<Base> {
    const { relay: { address, uses }, openStore, openCameraStore, time, random } = this.#parts;
    const place = parseRelayAddress(address);
    const { suites, mechanisms, rekey } = this.#choice;
    const [suite] = suites;
    if (suite === undefined || !Number.isInteger(uses) || uses < 1 || uses > MAX_GUESTS) {
      throw new ProtocolError("misuse", `a ticket admits 1 to ${MAX_GUESTS} viewers`);
    }
    const identity = await ownIdentity(await openStore());
    const store = await openCameraStore();
    const invite = new Invite(random().slice(0, INVITE_LEN));
    // A name that fits in no ticket is said before anybody is asked.
    ticketText(ticketAt(place, identity.peerId, invite));
    const { host: at, name } = relayOf(place);
    const news = (words: string, bad: boolean): void => {
      this.#news(words, bad);
    };
    const { peerId } = identity;
    const admission = await Admission.open(`${at}/${place.broadcast}`, store, peerId, invite, uses, time.now(), news);
    const host = await GroupHost.create({
      identity, suite, store, time, random, events: {
        keyframeNeeded: () => {
          this.keyframeNeeded();
        },
        changed: () => {
          this.#audience();
        },
        failed: (error) => {
          const storage = error instanceof ProtocolError && error.reason === "storage";
          const words = storage ? NO_STORE : startOutcome(error).words;
          this.#end({ state: "failed", cause: storage ? "storage" : "keys", words }, Close.KeyLimit);
        },
      },
    });
    for (const guest of admission.guests) {
      await host.enrol(guest);
    }
    const sessions = new RelaySessions({ identity, suites, mechanisms, rekey, time, random }, admission, host, {
      changed: () => {
        this.#audience();
      },
      keyframeNeeded: () => {
        this.keyframeNeeded();
      },
      news,
    });
    this.#news(`publishing as ${name} at relay ${at}`, false);
    return { place, identity, admission, host, sessions };
  }

  /** Tells the page for whom it publishes. */
  #audience(): void {
    const base = this.#base;
    if (base === undefined) {
      return;
    }
    const { place, identity, admission, host, sessions } = base;
    const { suites: [suite], mechanisms: [mechanism] } = this.#choice;
    const found = admission.invite(this.#time.now());
    const audience: Audience = {
      ticket: ticketText(ticketAt(place, identity.peerId, found?.invite)), left: found?.left ?? 0,
      relay: relayOf(place).host, broadcast: place.broadcast, way: this.#way, own: identity.peerId.toString(),
      suite: suite?.name ?? "", mechanism: mechanism?.name ?? "", epoch: Number(host.epoch),
      viewers: sessions.viewers,
    };
    this.#parts.post({ type: "audience", audience });
  }

  async #repeat(base: Base): Promise<Outcome> {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const began = this.#time.now().monotonic;
      const outcome = await this.#attempt(base);
      if (this.#abort.signal.aborted || !this.#stood) {
        return outcome.state === "lost" ? { ...outcome, state: "failed" } : outcome;
      }
      this.#tell("lost", outcome);
      pause = this.#time.now().monotonic - began >= STOOD ? FIRST_PAUSE : pause;
      await this.#pause(pause);
    }
  }

  /** One connection to the relay, until it is over. */
  async #attempt(base: Base): Promise<Outcome> {
    const { name, ...address } = relayOf(base.place);
    let relay: Relay | undefined;
    try {
      relay = await this.#parts.openRelay(address, this.#abort.signal);
      this.#way = relay.way;
      if (await this.#isTaken(relay, name)) {
        const words = `Another camera has the name ${name} at relay ${address.host}: choose another name behind the ` +
          "address. If it was a page of your own that was closed just now, try again.";
        return { state: "lost", cause: "name-taken", words };
      }
      await this.#publish(base, relay, name);
      const words = `The connection to relay ${address.host} broke: the relay went away, or the network did. This ` +
        "page tries again by itself.";
      return { state: "lost", cause: "carrier", words };
    } catch (thrown) {
      return { ...startOutcome(thrown), ...(thrown instanceof CarrierError && { state: "lost" as const }) };
    } finally {
      await this.#leave(base);
      relay?.close();
    }
  }

  /** True if another broadcast of this name is there, and stays. */
  async #isTaken(relay: Relay, name: string): Promise<boolean> {
    const until = this.#time.now().monotonic + TAKEN_FOR;
    let waited = false;
    while (await relay.has(name)) {
      if (this.#abort.signal.aborted || this.#time.now().monotonic >= until) {
        return true;
      }
      if (!waited) {
        waited = true;
        this.#news(`the relay has a broadcast ${name} already: waiting whether it goes`, true);
      }
      await this.#pause(TAKEN_LOOK);
    }
    return false;
  }

  async #publish(base: Base, relay: Relay, name: string): Promise<void> {
    const broadcast = relay.camera(name);
    this.#rate = new RateController(highestRate(this.#choice.encoder));
    this.#camera.setBitrate(this.#rate.rate);
    const target = targetOf(base.host, () => this.#live?.broadcast.backlog ?? 0);
    const describe = (parameters: Bytes): StreamInfo => describeStream(this.#choice.encoder, parameters);
    const live: Live = { relay, broadcast, sender: new Sender(target, describe, this, this.#time) };
    this.#live = live;
    await base.host.attach(broadcast);
    if (this.#stood) {
      this.#news("connected to the relay again", false);
    }
    this.#stood = true;
    this.#tell("live");
    this.#audience();
    live.sender.begin();
    this.#sound.begin(soundTargetOf(base.host, () => this.#live?.broadcast.backlog ?? 0));
    this.#observe(live);
    this.#showFigures();
    void this.#takeViewers(base, live);
    await Promise.race([relay.closed, this.#aborted]);
  }

  async #takeViewers({ sessions }: Base, { relay, broadcast }: Live): Promise<void> {
    for (let viewer = await broadcast.viewer(); viewer !== undefined; viewer = await broadcast.viewer()) {
      void sessions.take(relay, viewer);
    }
  }

  /** The relay takes nothing any more. */
  async #leave({ host, sessions }: Base): Promise<void> {
    this.#stopTimers();
    this.#live?.sender.stop();
    this.#sound.over();
    const stood = this.#live !== undefined;
    this.#live = undefined;
    if (stood) {
      // Where the connection broke, nobody hears it; else the last words have a moment.
      await sessions.closeAll(this.#ending?.reason ?? Close.GoingAway);
      await host.attach(undefined);
      if (this.#ending !== undefined) {
        await new Promise<void>((resolve) => {
          this.#time.after(LAST_WORDS, resolve);
        });
      }
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return Promise.race([this.#aborted, new Promise<void>((resolve) => {
      this.#time.after(milliseconds, resolve);
    })]);
  }

  #stopTimers(): void {
    for (const cancel of this.#timers.splice(0)) {
      cancel();
    }
  }

  /** Looks at what waits, has the encoder follow, and begins a group of pictures where it is time. */
  #observe(live: Live): void {
    this.#timers[0]?.();
    this.#timers[0] = this.#time.after(OBSERVE_INTERVAL, () => {
      const now = this.#time.now().monotonic;
      this.#rate.observeRoundTrip(now, NOT_LATE);
      this.#rate.observe(now, live.sender.waitingBytes);
      const bitrate = this.#rate.takeChange();
      if (bitrate !== undefined) {
        this.#camera.setBitrate(bitrate);
      }
      if (now - this.#lastKeyframe >= GROUP_LENGTH) {
        this.#camera.requestKeyframe();
      }
      this.#observe(live);
    });
  }

  #showFigures(): void {
    this.#timers[1]?.();
    this.#timers[1] = this.#time.after(FIGURES_INTERVAL, () => {
      const roundTrip = this.#live?.broadcast.roundTrip;
      this.#rate.observeRoundTrip(this.#time.now().monotonic, roundTrip ?? NOT_LATE);
      const figures = { ...this.figures(), refused: {}, ...(roundTrip !== undefined && { roundTrip }) };
      this.#parts.post({ type: "figures", figures });
      this.#showFigures();
    });
  }

  figures(): Omit<Figures, "refused" | "roundTrip"> {
    const { codec, width, height } = this.#choice.encoder;
    const { failures } = this.#camera;
    const allowed = failures === 0 ? "hardware-allowed" : "software";
    const decoder = codec === "mjpeg" ? "images" : allowed;
    const stream = { width, height, codec: this.#camera.codec, decoder, decoderRestarts: failures } as const;
    const sending = this.#sound.figures;
    return { ...this.#figures.figures(this.#time.now().monotonic, stream), ...(sending && { sending }) };
  }

  // What the camera and its encoder tell.

  open(): "open" | "away" | "full" {
    const live = this.#live;
    if (live === undefined || this.#base?.host.hasMembers !== true) {
      // Nobody could open it.
      return "away";
    }
    const waiting = live.sender.waitingBytes;
    return waiting >= MAX_BACKLOG || this.#rate.isFull(this.#time.now().monotonic, waiting) ? "full" : "open";
  }

  encoded(picture: Encoded): void {
    const numbered: Numbered = { ...picture, number: this.#number };
    this.#number += 1n;
    if (picture.keyframe) {
      this.#lastKeyframe = picture.encoded.monotonic;
    }
    if (this.#live !== undefined) {
      this.#figures.encoded(numbered);
      this.#rate.encoded(picture.encoded.monotonic, picture.data.length);
      this.#live.sender.offer(numbered);
    }
  }

  restarted(): void {
    this.#news("the encoder failed, and was made anew", true);
  }

  ended(why?: string): void {
    if (why === undefined) {
      const words = "The pictures ended: the camera was taken away, or is not shared any more.";
      this.#end({ state: "ended", cause: "source", words }, Close.EndOfStream);
    } else {
      const words = `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
      this.#end({ state: "failed", cause: "encoder", words }, Close.SourceFailed);
    }
  }

  // What the sender tells.

  sent(...[picture, stages]: Parameters<SenderEvents["sent"]>): void {
    this.#figures.sent(picture, stages, this.#time.now().monotonic);
    this.#sound.wentBeside(picture.data.length);
    this.#parts.unit?.(picture.number, picture.data);
  }

  left(send: number): void {
    this.#figures.left(send, this.#time.now().monotonic);
  }

  /** Of the camera one picture, of the sender one or more. */
  dropped(count = 1): void {
    this.#figures.dropped(count);
  }

  keyframeNeeded(): void {
    this.#camera.requestKeyframe();
  }
}

/** The group as the place where pictures go. Its description is needed with each keyframe. */
function targetOf(host: GroupHost, backlog: () => number): Target {
  let described: StreamInfo | undefined;
  return {
    isOver: false,
    get backlog() {
      return backlog();
    },
    seal: (frame, info) => {
      described = info ?? described;
      return described === undefined
        ? Promise.reject(new ProtocolError("misuse", "a description precedes the first frame"))
        : host.seal(described, frame);
    },
  };
}

/** The group as the place where sound goes. */
function soundTargetOf(host: GroupHost, backlog: () => number): SoundTarget {
  return {
    isOver: false,
    get backlog() {
      return backlog();
    },
    seal: (packet, info) => host.sealSound(info, packet),
  };
}
