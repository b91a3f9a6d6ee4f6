// Takes the sound of a microphone, and hands sound to the worker. Nothing is opened before the user asks for it.

import { plain } from "../plain.ts";
import { CaptureError, processorOf } from "./capture.ts";

/** Samples a second that are asked for: what Opus codes. A microphone with others is taken as it is. */
const RATE = 48_000;

/** Which microphone is opened, and how its sound is treated. */
export interface MicrophoneWish {
  /** The browser's id of the device; empty for the one that the system prefers. */
  readonly device: string;
  /** Stereo, as it is; else one channel, without echo and noise, for speech. */
  readonly stereo: boolean;
}

/** Why this browser sends no sound; empty if it does. */
export function unableToSendSound(): string {
  return typeof AudioEncoder === "function" && "mediaDevices" in navigator
    ? "" : "This browser cannot send sound: it has no encoder for it (WebCodecs has no AudioEncoder here).";
}

function explain(thrown: unknown): CaptureError {
  switch (thrown instanceof DOMException ? thrown.name : "") {
    case "NotAllowedError":
      return new CaptureError("The microphone was not allowed. Allow it when asked, or publish without sound.");
    case "NotFoundError":
    case "OverconstrainedError":
      return new CaptureError("There is no such microphone here. Connect or choose another, or publish without sound.");
    case "NotReadableError":
      return new CaptureError("The microphone is in use by another program. Close that, and try again.");
    default:
      return new CaptureError("The microphone could not be opened. Choose another one, or publish without sound.");
  }
}

/** How sound is asked for. */
export function soundConstraints(stereo: boolean): MediaTrackConstraints {
  return {
    sampleRate: { ideal: RATE }, channelCount: { ideal: stereo ? 2 : 1 },
    echoCancellation: !stereo, noiseSuppression: !stereo, autoGainControl: !stereo,
  };
}

/** Opens a microphone. @throws CaptureError */
export async function openMicrophone({ device, stereo }: MicrophoneWish): Promise<MediaStreamTrack> {
  const named = device === "" ? {} : { deviceId: { exact: device } };
  let stream: MediaStream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: { ...soundConstraints(stereo), ...named } });
  } catch (thrown) {
    throw explain(thrown);
  }
  const [track] = stream.getAudioTracks();
  if (track === undefined) {
    throw new CaptureError("The microphone gives no sound. Choose another one.");
  }
  return track;
}

/** The sound of a track, for the worker. */
export function soundOf(track: MediaStreamTrack): ReadableStream<AudioData> {
  return processorOf<AudioData>(track);
}

/**
 * The microphones that there are, by id and name. Before any was allowed browsers do not name them, and then the list
 * has the preferred one alone.
 */
export async function microphones(): Promise<(readonly [id: string, name: string])[]> {
  const devices = await navigator.mediaDevices.enumerateDevices().catch(() => []);
  const named = devices.filter(({ kind, label, deviceId }) =>
    kind === "audioinput" && label !== "" && deviceId !== "" && deviceId !== "default");
  return [["", "the system's choice"], ...named.map(({ deviceId, label }) => [deviceId, plain(label)] as const)];
}
