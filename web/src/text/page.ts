// The texts of the page, in the language that it speaks.

import { PAGE as GERMAN } from "./de.ts";
import { PAGE as ENGLISH } from "./en.ts";
import { type Language } from "./kinds.ts";

let spoken = ENGLISH;

/** The page speaks this language from here on. */
export function speak(language: Language): void {
  spoken = language === "de" ? GERMAN : ENGLISH;
}

/** All texts. */
export function texts(): typeof ENGLISH {
  return spoken;
}
