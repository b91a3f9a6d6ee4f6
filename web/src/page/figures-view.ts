// Shows the figures: the table of stages, the total, and what the stream is like.

import { type Figures, type Membership, type SendingFigures, type SoundFigures } from "../messages.ts";
import { texts } from "../text/page.ts";
import {
  ageFigure, decoderWords, frameRefusalWords, lipsAreOff, lipsWords, refusalWords, soundWords,
} from "./wording.ts";
import { ORDER } from "./chart.ts";
import { type Line, byId, element, say, showLines } from "./dom.ts";
import { bitRate, byteCount, count, milliseconds, withUnit } from "./format.ts";
import { type Role } from "./link.ts";

/** The cells of a row: stage, median, p99, count. */
function row(cells: readonly string[], stage?: string): HTMLTableRowElement {
  const made = document.createElement("tr");
  const [name = "", ...numbers] = cells;
  const head = element("th");
  head.scope = "row";
  if (stage !== undefined) {
    const swatch = element("span", "", "swatch");
    swatch.dataset["stage"] = stage;
    head.append(swatch);
  }
  head.append(name);
  made.append(head, ...numbers.map((text) => element("td", text)));
  return made;
}

/** What there is to say of the stream. */
function streamLines(figures: Figures, role: Role): Line[] {
  const { figures: words } = texts();
  const { width, height, codec, frames, drawn, dropped, keyframes, bytes, framesPerSecond, bitsPerSecond } = figures;
  const both = [
    { name: words.picture, value: width > 0 ? `${width} × ${height}, ${codec}` : codec },
    { name: words.rate, value: words.perSecond(framesPerSecond.toFixed(1), bitRate(bitsPerSecond)) },
    { name: words.frames, value: words.keyframes(count(frames), count(keyframes)) },
    { name: words.bytes, value: byteCount(bytes) },
  ];
  const trip = figures.roundTrip === undefined ? [] : [{ name: words.roundTrip, value: withUnit(figures.roundTrip) }];
  const lost = { name: words.dropped, value: count(dropped), ...(dropped > 0 && { look: "bad" }) };
  if (role === "publish") {
    return [...both, lost, ...trip, ...(figures.sending === undefined ? [] : sendingLines(figures.sending))];
  }
  const { inDecoder, decoder, decoderRestarts } = figures;
  const group = figures.membership === undefined ? [] : groupLines(figures.membership);
  const sound = figures.sound === undefined ? [] : soundLines(figures.sound);
  const { freezes, frozen } = figures;
  const froze = freezes === 0 ? "0" : words.froze(count(freezes), (frozen / 1_000).toFixed(1));
  const restarts = decoderRestarts === 0 ? "" : words.madeAnew(count(decoderRestarts));
  return [
    ...both, { name: words.drawn, value: count(drawn) }, lost,
    { name: words.freezes, value: froze, ...(freezes > 0 && { look: "bad" }) },
    { name: words.decoder, value: `${decoderWords(decoder)}${restarts}` },
    { name: words.inDecoder, value: count(inDecoder) }, ...trip, ...group, ...sound,
  ];
}

/** What there is to say of the sound that is sent. */
function sendingLines({ name, on, packets, dropped }: SendingFigures): Line[] {
  const { figures: words } = texts();
  return [
    { name: words.sound, value: `${name}: ${on ? words.sent : words.muted}` },
    { name: words.packets, value: count(packets) },
    ...(dropped > 0 ? [{ name: words.packetsLeft, value: count(dropped), look: "bad" }] : []),
  ];
}

/** What there is to say of the sound. */
function soundLines({ name, state, frames, lost, dropped, playout }: SoundFigures): Line[] {
  const { figures: words } = texts();
  const gone = lost + dropped;
  const missing = { name: words.packetsLost, value: count(gone), look: "bad" };
  const common = [
    { name: words.sound, value: `${name}: ${soundWords(state)}`, ...(state === "stalled" && { look: "bad" }) },
    { name: words.packets, value: count(frames) }, ...(gone > 0 ? [missing] : []),
  ];
  if (playout === undefined) {
    return common;
  }
  const { skew, waiting, silence } = playout;
  const lips = skew && { name: words.lips, value: lipsWords(skew), ...(lipsAreOff(skew) && { look: "bad" }) };
  return [
    ...common, ...(lips ? [lips] : []), { name: words.soundWaits, value: withUnit(waiting) },
    ...(silence > 0 ? [{ name: words.silence, value: withUnit(silence) }] : []),
  ];
}

/** What there is to say of the group. */
function groupLines({ age, accepted, proven, forged, unproven, suite, epoch }: Membership): Line[] {
  const { figures: words } = texts();
  const shown = { name: words.forged, value: words.groupsForged(count(forged)), look: "bad" };
  return [
    { name: words.age, value: ageFigure(age), ...(age.state === "alarm" && { look: "bad" }) },
    { name: words.verified, value: words.groupsProven(count(accepted), count(proven)) },
    ...(forged > 0 ? [shown] : []),
    ...(unproven > 0 ? [{ name: words.unproven, value: words.ofFrames(count(unproven)), look: "bad" }] : []),
    { name: words.group, value: words.groupEpoch(suite, count(epoch)) },
  ];
}

function refusedLines(refused: Figures["refused"], wordsOf: (reason: string) => string): Line[] {
  const some = Object.entries(refused).filter(([, times]) => times > 0);
  return some.map(([reason, times]) => ({ name: count(times), value: wordsOf(reason), look: "bad" }));
}

/** Everything that is a number, but the chart. */
export class FiguresView {
  readonly #stages = byId("stages", HTMLTableSectionElement);
  readonly #total = byId("stages-total", HTMLTableSectionElement);
  #role: Role = "watch";

  constructor() {
    const help = ORDER.map((name) => ({ name, value: texts().figures.stages[name] }));
    showLines(byId("stages-help", HTMLDListElement), help);
  }

  /** `live` is false once the figures are of a time that is over. */
  when(live: boolean): void {
    say(byId("figures-when", HTMLElement), live ? texts().figures.lastSecond : texts().figures.whenLast);
  }

  begin(role: Role): void {
    this.#role = role;
    this.when(true);
    this.#stages.replaceChildren(row([texts().figures.noneYet, "–", "–", "0"]));
    this.#total.replaceChildren();
    say(byId("total", HTMLElement), "");
    say(byId("total-note", HTMLElement), "");
    showLines(byId("stream", HTMLDListElement), [{ name: texts().figures.picture, value: texts().figures.noneYet }]);
    this.#showRefused({});
  }

  show(figures: Figures): void {
    const { stages } = figures;
    this.#stages.replaceChildren(...stages.map(({ name, median, p99, count: frames }) => {
      // A stage that no frame measured is not known, which is not the same as no time.
      const known = (value: number): string => milliseconds(frames > 0 ? value : NaN);
      return row([name, known(median), known(p99), count(frames)], name);
    }));
    this.#showTotal(figures.total);
    showLines(byId("stream", HTMLDListElement), streamLines(figures, this.#role));
    this.#showRefused(figures.refused, figures.membership?.refused);
  }

  #showTotal(total: Figures["total"]): void {
    const at = byId("total", HTMLElement);
    const note = byId("total-note", HTMLElement);
    if (total === undefined) {
      this.#total.replaceChildren();
      say(at, "");
      say(note, this.#role === "watch" ? texts().figures.noTotal : "");
      return;
    }
    const { median, p99, uncertainty } = total;
    at.replaceChildren(element("b", withUnit(median)), ` ± ${withUnit(uncertainty)}`);
    say(note, texts().figures.medianNote);
    const all = `${milliseconds(median)} ± ${milliseconds(uncertainty)}`;
    const cells = [texts().figures.total, all, milliseconds(p99), ""];
    this.#total.replaceChildren(row(cells));
  }

  #showRefused(records: Figures["refused"], frames: Figures["refused"] = {}): void {
    const lines = [
      ...refusedLines(records, refusalWords),
      ...refusedLines(frames, frameRefusalWords),
    ];
    byId("refused-none", HTMLElement).hidden = lines.length > 0;
    showLines(byId("refused", HTMLDListElement), lines);
  }
}
