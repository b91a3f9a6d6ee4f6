// What the page and its worker say to each other. Keys never cross: the worker has identity, session and media.

import { type SignMode } from "./protocol/index.ts";
import { type Pcm, type PlayoutReport } from "./sound/pcm.ts";
import { type Language } from "./text/kinds.ts";

/** Which carrier to use: the better one that works, or one alone. */
export type CarrierChoice = "auto" | "webtransport" | "websocket";

/** What the viewer chooses. */
export interface WatchOptions {
  readonly carrier: CarrierChoice;
  /** Milliseconds for which a decoded picture is held back to even out its way, 0 to 500; 0 draws at once. */
  readonly jitter: number;
}

/** What the publisher chooses before it connects. */
export interface PublishOptions {
  readonly carrier: CarrierChoice;
  readonly codec: "h264" | "mjpeg";
  /** Pixels of the picture to send. */
  readonly width: number;
  readonly height: number;
  /** Pictures a second, 1 to 60. */
  readonly rate: number;
  /** Bits a second at most, for `h264`. */
  readonly bitrate: number;
  /** Quality of JPEG images, 0.1 to 1, for `mjpeg`. */
  readonly quality: number;
  /** Names of suites and mechanisms, best first: see `suiteNamed` and `mechanismNamed`. */
  readonly suites: readonly string[];
  readonly mechanisms: readonly string[];
  /** As `--encrypt` of the program writes it, such as `all`, `rate:25` or `level:2`. */
  readonly selection: string;
  /** Seconds of an epoch of keys, 1 to 600. */
  readonly rekeySeconds: number;
}

/** Where a page publishes for any number of viewers. */
export interface RelayWish {
  /** `https://HOST:PORT/NAME[#sha256=HASH]`. */
  readonly address: string;
  /** Viewers that the ticket's invite admits, 1 to 64. */
  readonly uses: number;
}

/** From the page to the worker. The first is `watch`, `publish` or `publish-relay`, once. */
export type ToWorker =
  | {
    readonly type: "watch"; readonly ticket: string; readonly options: WatchOptions; readonly language: Language;
    /** The camera's name; empty for the one that the publisher gives to who names none. */
    readonly camera: string;
    /** What is drawn on (transferred). */
    readonly canvas: OffscreenCanvas;
  }
  | {
    readonly type: "publish"; readonly ticket: string; readonly options: PublishOptions; readonly language: Language;
    /** The camera's or screen's pictures (transferred). */
    readonly pictures: ReadableStream<VideoFrame>;
  }
  | {
    readonly type: "publish-relay"; readonly relay: RelayWish; readonly options: PublishOptions;
    readonly language: Language;
    readonly pictures: ReadableStream<VideoFrame>;
  }
  /** Publisher through a relay: a viewer, by its peer id, is admitted no more. */
  | { readonly type: "end-access"; readonly peer: string }
  /** Viewer: ask for a keyframe. Publisher: make one. */
  | { readonly type: "keyframe" }
  /** Publisher: this sound goes with the pictures from now on (transferred), or without one none does. */
  | { readonly type: "microphone"; readonly sound?: ReadableStream<AudioData> }
  /** Publisher: another selection. */
  | { readonly type: "select"; readonly selection: string }
  /** Publisher: other keys now. Viewer: ask for them. */
  | { readonly type: "rekey" }
  | { readonly type: "jitter"; readonly milliseconds: number }
  /** Viewer: sound goes to the audio thread through this port (transferred), or without one nowhere. */
  | { readonly type: "sound"; readonly port?: MessagePort }
  /** Close the session in good order. */
  | { readonly type: "stop" };

/**
 * What a session is doing. After `refused`, `ended` and `failed` nothing follows; `lost` tries again by itself.
 * Nothing is shown in any state but `live`.
 */
export type LinkState = "connecting" | "handshake" | "live" | "lost" | "ended" | "refused" | "failed";

/** Who the other end is and how the stream is protected, for the lock. */
export interface Protection {
  /** The peer id in its one spelling, and in hexadecimal. */
  readonly peer: string;
  readonly peerHex: string;
  /** Our own. */
  readonly own: string;
  readonly suite: string;
  readonly mechanism: string;
  readonly carrier: "webtransport" | "websocket" | "relay" | "relay-websocket";
  /** The epoch of keys in force, and how many seconds ago it began. */
  readonly epoch: number;
  readonly epochAge: number;
  /** What is encrypted, as `--encrypt` writes it; anything but `all` is shown as a warning. */
  readonly selection: string;
  /** What the camera signs for the group in which this end is a member; absent where it seals for this end alone. */
  readonly signed?: SignMode;
}

/** A viewer of a page that publishes through a relay. */
export interface AudienceMember {
  readonly peer: string;
  /** `watching`: it has a session and is a member. `joining`: it has a session. `away`: enrolled, and may come. */
  readonly state: "watching" | "joining" | "away";
}

/** For whom a page publishes through a relay. */
export interface Audience {
  /** The ticket for viewers. It has the invite while that admits further ones: a secret. */
  readonly ticket: string;
  /** How many viewers the invite still admits. */
  readonly left: number;
  /** Host and port of the relay, and the name of the broadcast there. */
  readonly relay: string;
  readonly broadcast: string;
  /** What carries the connection to the relay. */
  readonly way: "webtransport" | "websocket";
  /** This end's peer id. */
  readonly own: string;
  readonly suite: string;
  readonly mechanism: string;
  /** The newest epoch of the group's keys. */
  readonly epoch: number;
  readonly viewers: readonly AudienceMember[];
}

/** How old the picture is at most. `unsigned`: the camera signs no frames, so nobody can tell. */
export type Age =
  | { readonly state: "unsigned" | "waiting" }
  /** Milliseconds since the newest frame was signed, at most, when this was posted. */
  | { readonly state: "live"; readonly atMost: number }
  /** `freeze`: no frame comes that the camera signed. `stale`: frames come, and none answers this end in time. */
  | { readonly state: "alarm"; readonly cause: "freeze" | "stale" };

/** The group of viewers for all of whom the picture is sealed once, and in which this end is a member. */
export interface Membership {
  /** What the camera signs. */
  readonly signed: SignMode;
  /** The group's suite and epoch of keys. */
  readonly suite: string;
  readonly epoch: number;
  readonly age: Age;
  /** Frames whose proof fitted, and frames refused by reason. */
  readonly accepted: number;
  readonly refused: Readonly<Record<string, number>>;
  /** Groups of pictures whose signature came: how many are the camera's, and in how many frames were forged. */
  readonly proven: number;
  readonly forged: number;
  /** Frames whose group of pictures went without a signature. */
  readonly unproven: number;
  /** True while these signatures do not come, though the camera makes them. */
  readonly proofsMissing: boolean;
}

/** The stages of a frame's way, in their order; docs/latency.md says where each begins and ends. */
export type StageName =
  | "capture" | "encode" | "queue" | "seal" | "send" | "network" | "open" | "wait" | "decode" | "draw";

/** One stage over the last second, in milliseconds. */
export interface StageFigures {
  readonly name: StageName;
  readonly median: number;
  readonly p99: number;
  readonly count: number;
}

/** The stream's sound, as the page offers it. */
export interface SoundOffer {
  /** Such as `AAC, 48 kHz, 2 channels`. */
  readonly name: string;
  readonly channels: number;
  /** Samples a second. */
  readonly rate: number;
  /** Why it cannot be played here; empty where it can. */
  readonly unable: string;
}

/** Figures of the sound. */
export interface SoundFigures {
  readonly name: string;
  /** `stalled`: the browser's audio takes nothing. */
  readonly state: "off" | "unable" | "stalled" | "on";
  /** Packets since the session began: those that came, those that are missing, and of which nothing came. */
  readonly frames: number;
  readonly lost: number;
  readonly dropped: number;
  readonly decoded: number;
  /** What the audio thread said last, while sound is on. */
  readonly playout?: PlayoutReport;
}

/** Figures of the sound that a publisher sends. */
export interface SendingFigures {
  /** Such as `Opus, 48 kHz, 1 channel`. */
  readonly name: string;
  /** False while it is muted. */
  readonly on: boolean;
  /** Since the session began: packets that were sealed, and that were left out. */
  readonly packets: number;
  readonly dropped: number;
}

/** Figures of the stream, every half second. */
export interface Figures {
  readonly width: number;
  readonly height: number;
  readonly codec: string;
  /** Since the session began. */
  readonly frames: number;
  readonly drawn: number;
  readonly dropped: number;
  /** Freezes of the picture, and how long they lasted together (ms). */
  readonly freezes: number;
  readonly frozen: number;
  readonly keyframes: number;
  readonly bytes: number;
  /** Over the last second. */
  readonly framesPerSecond: number;
  readonly bitsPerSecond: number;
  /** Frames that the decoder holds, the decoder's kind, and how often it was made anew. */
  readonly inDecoder: number;
  readonly decoder: "hardware-allowed" | "software" | "images";
  readonly decoderRestarts: number;
  /** Records refused, by reason; empty as long as nobody interferes. */
  readonly refused: Readonly<Record<string, number>>;
  readonly stages: readonly StageFigures[];
  /** From the source's stamp to the canvas, and how wrong the clocks may make it (ms); absent before it is known. */
  readonly total?: { readonly median: number; readonly p99: number; readonly uncertainty: number };
  /** Round trip of the last exchange of clocks, ms. */
  readonly roundTrip?: number;
  /** Viewer: absent where the picture is sealed for this end alone. */
  readonly membership?: Membership;
  /** Viewer: absent where the stream has no sound. */
  readonly sound?: SoundFigures;
  /** Publisher: absent as long as no sound was sent. */
  readonly sending?: SendingFigures;
}

/** One frame's way, for the laboratory; in milliseconds. */
export interface FrameRow {
  readonly frame: number;
  /** Stages that are not known are absent; the network contains sealing and sending where these are. */
  readonly stages: Readonly<Partial<Record<StageName, number>>>;
  /** As in `Figures`; absent before anything is known of the publisher's clock. */
  readonly total?: number;
  readonly uncertainty?: number;
  /** Until `at` (monotonic): messages that the sessions of this worker took, and for how long they worked on them. */
  readonly opening: { readonly at: number; readonly messages: number; readonly milliseconds: number };
}

/** From the worker to the page. */
export type FromWorker =
  | {
    readonly type: "state"; readonly state: LinkState;
    /** A word for the cause, such as `peer`, `psk` or `not-authorised`, and a sentence with what to do. */
    readonly cause?: string; readonly words?: string;
  }
  | { readonly type: "protection"; readonly protection: Protection }
  /** Publisher through a relay: when it begins, and with every change. */
  | { readonly type: "audience"; readonly audience: Audience }
  | { readonly type: "figures"; readonly figures: Figures }
  /** Viewer: it became a member, an alarm began or ended, or frames were forged; beside this it is in the figures. */
  | { readonly type: "membership"; readonly membership: Membership }
  /** One line for the log of events: rekeyed, refused, reconnected, decoder made anew. */
  | { readonly type: "event"; readonly at: number; readonly words: string; readonly bad: boolean }
  /** Viewer: whether the publisher's camera gives pictures; since when by its clock (ms since 1970), and its words. */
  | { readonly type: "camera"; readonly on: boolean; readonly since: number; readonly why: string }
  /**
   * Viewer: the cameras that it may watch, none twice, when this browser is enrolled, and when they change. The names
   * are as they came, so they are to be shown by `plain`.
   */
  | { readonly type: "cameras"; readonly names: readonly string[] }
  /** The first picture is on the canvas, or another size is. */
  | { readonly type: "size"; readonly width: number; readonly height: number }
  /** Viewer: the stream has sound, or it turned out that it cannot be played. */
  | { readonly type: "sound"; readonly sound: SoundOffer }
  /** Publisher: the loudest sample of the last moment, 0 to 1, while there is sound to send. */
  | { readonly type: "microphone-level"; readonly peak: number }
  /** Publisher: the sound cannot be sent, and its source was let go. */
  | { readonly type: "microphone-failed"; readonly words: string }
  /** Only from a worker with the name `test`: what a packet of sound decoded to. */
  | { readonly type: "pcm"; readonly pcm: Pcm }
  /** Only from a worker with the name `test`: an access unit that goes to the decoder, or from here to a relay. */
  | { readonly type: "unit"; readonly frame: number; readonly sha256: string }
  /** Only from such a worker: a packet of sound that this page sealed. */
  | { readonly type: "sound-unit"; readonly frame: number; readonly sha256: string }
  /** Only from a worker with the name `measure`: a frame that was drawn, told when the next one is. */
  | { readonly type: "frame"; readonly row: FrameRow };
