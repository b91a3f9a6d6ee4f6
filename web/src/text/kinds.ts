// Kinds by which texts are chosen.

/** The languages that there are. */
export type Language = "en" | "de";

/** What a camera signs. */
export type SignMode = "off" | "frame" | "both";

/** Why a picture may be old. */
export type AgeAlarm = "freeze" | "stale";
