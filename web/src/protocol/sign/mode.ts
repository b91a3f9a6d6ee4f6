// What a camera signs, and whether that is enough.

import { type OfferedSign, type SignMode } from "../wire/group-message.ts";

/** Each signs what the one before does, and more. */
const MODES: readonly OfferedSign[] = ["off", "frame", "both"] satisfies SignMode[];

/** True if each frame is signed, with Ed25519: it is verified before it is shown. */
export function signsFrames(mode: SignMode): boolean {
  return mode !== "off";
}

/** True if each group of pictures is signed, with ML-DSA-65: it is proven once more after it was shown. */
export function signsGops(mode: SignMode): boolean {
  return mode === "both";
}

/** True if this is a mode: earlier versions had others. */
export function isSignMode(offered: OfferedSign): offered is SignMode {
  return MODES.includes(offered);
}

/** True if whoever insists on `least` is content with this. */
export function covers(offered: OfferedSign, least: SignMode): offered is SignMode {
  return MODES.indexOf(offered) >= MODES.indexOf(least);
}
