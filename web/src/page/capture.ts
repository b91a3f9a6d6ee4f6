// Takes the camera's or the screen's pictures, and what sound the browser gives of a screen that is asked for it.

import { type PublishOptions } from "../messages.ts";
import { plain } from "../protocol/index.ts";
import { texts } from "../text/page.ts";

interface Processor {
  readonly readable: ReadableStream<unknown>;
}
type ProcessorClass = new (init: { track: MediaStreamTrack }) => Processor;

function processorClass(): ProcessorClass | undefined {
  // Not in TypeScript's description of pages: the standard has it in workers, Chromium in pages.
  return (globalThis as { MediaStreamTrackProcessor?: ProcessorClass }).MediaStreamTrackProcessor;
}

/** What a track gives, as the browser has it: pictures or sound. @throws CaptureError */
export function processorOf<T extends VideoFrame | AudioData>(track: MediaStreamTrack): ReadableStream<T> {
  const Processor = processorClass();
  if (Processor === undefined) {
    throw new CaptureError(texts().publish.noProcessor);
  }
  return new Processor({ track }).readable as ReadableStream<T>;
}

/** True if this browser can publish. */
export function canPublish(): boolean {
  return processorClass() !== undefined && "mediaDevices" in navigator && "VideoEncoder" in globalThis;
}

/** Which camera is opened. */
export interface CameraWish {
  /** The browser's id of the device; empty for one that looks that way. */
  readonly device: string;
  readonly facing: "user" | "environment";
}

/** The cameras that there are, by id and name; before any was allowed browsers do not name them. */
export async function cameras(): Promise<(readonly [id: string, name: string])[]> {
  const devices = await navigator.mediaDevices.enumerateDevices().catch(() => []);
  const named = devices.filter(({ kind, label, deviceId }) => kind === "videoinput" && label !== "" && deviceId !== "");
  return named.map(({ deviceId, label }) => [deviceId, plain(label)] as const);
}

function facing({ device, facing: way }: CameraWish): MediaTrackConstraints {
  return device === "" ? { facingMode: { ideal: way } } : { deviceId: { exact: device } };
}

/** The pictures, and the preview of them. */
export interface Capture {
  readonly pictures: ReadableStream<VideoFrame>;
  readonly preview: HTMLVideoElement;
  /** The sound of the screen, which whoever takes it stops; absent where it is not wanted, or not given. */
  readonly sound: MediaStreamTrack | undefined;
  /** Lets go of the camera or screen. */
  stop(): void;
}

/** An error in words that the form shows. */
export class CaptureError extends Error {
  override readonly name = "CaptureError";
}

function explain(thrown: unknown, source: "camera" | "screen"): CaptureError {
  const { notAllowed, notFound, inUse, notOpened } = texts().publish;
  switch (thrown instanceof DOMException ? thrown.name : "") {
    case "NotAllowedError":
      return new CaptureError(notAllowed[source]);
    case "NotFoundError":
    case "OverconstrainedError":
      return new CaptureError(notFound[source]);
    case "NotReadableError":
      return new CaptureError(inUse[source]);
    default:
      return new CaptureError(notOpened[source]);
  }
}

/**
 * Asks the user for the camera or the screen. `ended` is called when the user or the system takes it away.
 * @param sound how the sound of the screen is wanted, if it is
 * @throws CaptureError
 */
export async function capture(
  source: "camera" | "screen", camera: CameraWish, { width, height, rate }: PublishOptions, ended: () => void,
  sound?: MediaTrackConstraints,
): Promise<Capture> {
  if (processorClass() === undefined) {
    throw new CaptureError(texts().publish.noProcessor);
  }
  const video = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: rate, max: rate } };
  let stream: MediaStream;
  try {
    stream = source === "camera"
      ? await navigator.mediaDevices.getUserMedia({ audio: false, video: { ...video, ...facing(camera) } })
      : await navigator.mediaDevices.getDisplayMedia({ audio: sound ?? false, video });
  } catch (thrown) {
    throw explain(thrown, source);
  }
  const [track] = stream.getVideoTracks();
  if (track === undefined) {
    stream.getTracks().forEach((other) => {
      other.stop();
    });
    throw new CaptureError(texts().publish.noPicture);
  }
  track.addEventListener("ended", ended);
  const preview = document.createElement("video");
  preview.muted = true;
  preview.playsInline = true;
  preview.autoplay = true;
  preview.ariaLabel = texts().publish.previews[source];
  preview.srcObject = new MediaStream([track]);
  return {
    pictures: processorOf<VideoFrame>(track), preview, sound: stream.getAudioTracks()[0],
    stop() {
      track.removeEventListener("ended", ended);
      track.stop();
      preview.srcObject = null;
    },
  };
}

/** H.264 Constrained Baseline of the lowest level that has this many macroblocks in a picture and in a second. */
export function h264Codec(width: number, height: number, rate: number): string {
  const blocks = Math.ceil(width / 16) * Math.ceil(height / 16);
  // ITU-T H.264, table A-1: levels 3, 3.1, 4, 4.2, 5.1.
  const levels =
    [["1E", 1_620, 40_500], ["1F", 3_600, 108_000], ["28", 8_192, 245_760], ["2A", 8_704, 522_240]] as const;
  const level = levels.find(([, picture, second]) => blocks <= picture && blocks * rate <= second)?.[0] ?? "33";
  return `avc1.42E0${level}`;
}

/** True if this browser encodes H.264 of this size. */
export async function encodesH264(width: number, height: number, rate: number, bitrate: number): Promise<boolean> {
  if (!("VideoEncoder" in globalThis)) {
    return false;
  }
  const codec = h264Codec(width, height, rate);
  const config = { codec, width, height, framerate: rate, bitrate, latencyMode: "realtime" } as const;
  return VideoEncoder.isConfigSupported(config).then(({ supported }) => supported === true, () => false);
}
