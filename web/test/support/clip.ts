// A clip for tests: eight pictures of 32 by 32 pixels, a keyframe each fourth, with delimiters (x264, Baseline tools).

import { type Bytes } from "../../src/protocol/bytes.ts";
import { nalType, nalUnits } from "../../src/protocol/unit/annexb.ts";

const BASE64 =
  "AAAAAQkQAAAAAWdkAAqstktgIgAAAwACAAADAGQeJE3AAAAAAWjKwMSyLAAAAWWIhD+iERUAYEIfhwAB7/ACXpOPK+wHSCZDxYMiv4j6DHrn" +
  "q+zEYbtK9qZbiyfzre881HmlrJLt+bHTs9sebK0b6BAERzQMAsMAM5pwmPF4A+aF7OPzwtoVkHu6DCP0zMf8YvihHF3jDbPxtSoqIjwa7CnO" +
  "AAK4RbVUGK1v3f6BvwaRMoCHlzxX2ekk2OnttudHo8Y89w9PPW0g6mrXzvtKk0gtPbWmg6m6co9kBgACGAYGFobfSCf71zJbAwnVCn//flcf" +
  "44v/34/VOf56b6YUpvtN/5n7+871rn/35AAY4Q+w17f77xoAYhAOex9AVj6BTubwJdx8IR//4angPr/PeDkABQeD/zXLcfCwtuHhYgAAAAEJ" +
  "MAAAAUGaOx5YAAAAAQkwAAABQZpX4QyZTDywAAAAAQkwAAABQZp34QyZTDywAAAAAQkQAAAAAWdkAAqstktgIgAAAwACAAADAGQeJE3AAAAA" +
  "AWjKwMSyLAAAAWWIgg/ohEVAGBCH4cAAe/wAl6TjyvsB0gmQ8WDIr+I+gx656vsxGG7SvamW4sn863vPNR5payS7fmx07PbHmytG+gQBEc0D" +
  "ALDADOacJjxeAPmhezj88LaFZB7ugwj9MzH/GL4oRxd4w2z8bUqKiI8GuwpzgACuEW1VBitb93+gb8GkTKAh5c8V9npJNjp7bbnR6PGPPcPT" +
  "z1tIOpq1877SpNILT21poOpunKPZAYAAhgGBhaG30gn+9cyWwMJ1Qp//35XH+OL/9+P1Tn+em+mFKb7Tf+Z+/vO9a5/9+QAGOEPsNe3++8aA" +
  "GIQDnsfQFY+gU7m8CXcfCEf/+Gp4D6/z3g5AAUHg/81y3HwsLbh4WIAAAAABCTAAAAFBmjsf4ZYTNS4Qn8AOIzy8IMlDvAAxXSdlSDP7iyQA" +
  "AAABCTAAAAFBmlfhDJlMPLAAAAABCTAAAAFBmnfhDJlMP+eBaxRACBVmqGAK338N4SJZz/kg";

const DELIMITER = 9;

/** The clip as an Annex B byte stream. */
export const CLIP: Bytes = Uint8Array.from(atob(BASE64), (character) => character.charCodeAt(0));

/** An access unit of the clip, in a buffer of its own. */
export interface ClipFrame {
  readonly data: Bytes;
  readonly keyframe: boolean;
}

/** The access units, each of which begins with its delimiter. */
export function clipFrames(): ClipFrame[] {
  const starts = [...nalUnits(CLIP)].filter(({ first }) => nalType(CLIP[first]) === DELIMITER);
  return starts.map(({ first }, number) => {
    const data = CLIP.slice(first - 4, (starts[number + 1]?.first ?? CLIP.length + 4) - 4);
    return { data, keyframe: number % 4 === 0 };
  });
}

/** SPS and PPS of the clip, in Annex B. */
export function clipParameters(): Bytes {
  const [, sps, pps] = [...nalUnits(CLIP)];
  return CLIP.slice((sps?.first ?? 0) - 4, pps?.end);
}
