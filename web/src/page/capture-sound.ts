// Takes the sound of a microphone, and hands sound to the worker. Nothing is opened before the user asks for it.

import { plain } from "../protocol/index.ts";
import { texts } from "../text/page.ts";
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
    ? "" : texts().publish.noSoundEncoder;
}

function explain(thrown: unknown): CaptureError {
  switch (thrown instanceof DOMException ? thrown.name : "") {
    case "NotAllowedError":
      return new CaptureError(texts().publish.microphoneNotAllowed);
    case "NotFoundError":
    case "OverconstrainedError":
      return new CaptureError(texts().publish.microphoneNotFound);
    case "NotReadableError":
      return new CaptureError(texts().publish.microphoneInUse);
    default:
      return new CaptureError(texts().publish.microphoneNotOpened);
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
    throw new CaptureError(texts().publish.microphoneSilent);
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
  const first = ["", texts().publish.systemsChoice] as const;
  return [first, ...named.map(({ deviceId, label }) => [deviceId, plain(label)] as const)];
}
