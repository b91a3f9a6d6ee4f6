// What a camera signs, and whether that is enough.

/** Signatures of a camera. */
export type SignMode = "off" | "frame" | "both";
/** The same by its number in terms. `gop` and `tesla` are reserved: earlier versions had them. */
export const SIGN_NUMBERS = ["off", "frame", "gop", "both", "tesla"] as const;
export type StatedSign = (typeof SIGN_NUMBERS)[number];

/** Each signs what the one before does, and more. */
const MODES: readonly StatedSign[] = ["off", "frame", "both"] satisfies SignMode[];

/** True if each frame is signed, with Ed25519: it is verified before it is shown. */
export function signsFrames(mode: StatedSign): boolean {
  return mode !== "off";
}

/** True if each group of pictures is signed, with ML-DSA-65: it is proven once more after it was shown. */
export function signsGops(mode: StatedSign): boolean {
  return mode === "both";
}

/** True if this is a mode: earlier versions had others. */
export function isSignMode(stated: StatedSign): stated is SignMode {
  return MODES.includes(stated);
}

/** True if this is a mode, and whoever insists on `least` is content with it. */
export function covers(stated: StatedSign, least: SignMode): stated is SignMode {
  return MODES.indexOf(stated) >= MODES.indexOf(least);
}
