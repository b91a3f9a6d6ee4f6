// What a camera signs, and whether that is enough.

import { type SignMode } from "../wire/group-message.ts";

/** True if each frame is signed, with Ed25519: it is verified before it is shown. */
export function signsFrames(mode: SignMode): boolean {
  return mode === "frame" || mode === "both";
}

/** True if each group of pictures is signed, with ML-DSA-65: it is proven after it was shown. */
export function signsGops(mode: SignMode): boolean {
  return mode === "gop" || mode === "both";
}

/** True if whoever insists on `least` is content with this, and can verify it: nothing here verifies `tesla`. */
export function covers(mode: SignMode, least: SignMode): boolean {
  const provesFrames = signsFrames(mode) || !(signsFrames(least) || least === "tesla");
  return mode !== "tesla" && provesFrames && (signsGops(mode) || !signsGops(least));
}
