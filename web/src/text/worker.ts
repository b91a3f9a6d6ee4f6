// The texts of the page's worker, in the language that the page speaks.

import { WORKER as GERMAN } from "./de.ts";
import { WORKER as ENGLISH } from "./en.ts";
import { type Language } from "./kinds.ts";

let spoken = ENGLISH;

/** The worker speaks this language from here on. */
export function speak(language: Language): void {
  spoken = language === "de" ? GERMAN : ENGLISH;
}

/** All texts. */
export function texts(): typeof ENGLISH {
  return spoken;
}
