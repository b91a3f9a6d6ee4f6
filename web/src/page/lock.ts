// The lock: one look says whether the stream is protected, a click says by what and from whom.

import { type Audience, type Protection } from "../messages.ts";
import { PeerId } from "../protocol/index.ts";
import { texts } from "../text/page.ts";
import { byId, say, showLines } from "./dom.ts";
import { age, hexGroups } from "./format.ts";
import { type Role } from "./link.ts";
import { peerWords } from "./peer-name.ts";
import {
  carrierWords, encryptsAll, mechanismKind, mechanismWords, protectionWords, sealedForWords, selectionWarning,
  selectionWords, signedWords,
} from "./wording.ts";

/** The button in the header, the panel that it opens, and the warning below the picture. */
export class Lock {
  readonly #button = byId("lock", HTMLButtonElement);
  readonly #panel = byId("who", HTMLElement);
  #protection: Protection | undefined;
  /** Milliseconds of `performance.now()` at which the epoch began. */
  #epochBegan = 0;
  #role: Role = "watch";
  #nameOf = "";

  constructor() {
    this.#button.addEventListener("click", () => {
      this.#open(this.#panel.hidden === true);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.#panel.hidden) {
        return;
      }
      const { activeElement } = document;
      if (activeElement === this.#button || this.#panel.contains(activeElement)) {
        event.preventDefault();
        this.#open(false);
        this.#button.focus();
      }
    });
  }

  /** A connection begins: nothing is known of it. */
  begin(role: Role): void {
    this.#role = role;
    this.#button.hidden = false;
    this.#open(false);
    this.clear();
  }

  hide(): void {
    this.#button.hidden = true;
    this.clear();
  }

  /** The connection is over: what was true of it must not be read as true now. */
  clear(): void {
    this.#protection = undefined;
    this.#nameOf = "";
    this.#button.dataset["lock"] = "none";
    byId("lock-sign", SVGUseElement).setAttribute("href", "#lock-none");
    const { notConnected, nothing, who, nobody } = texts().lock;
    say(byId("lock-words", HTMLElement), notConnected);
    say(byId("lock-detail", HTMLElement), nothing);
    say(byId("who-title", HTMLElement), who);
    say(byId("who-words", HTMLElement), "");
    say(byId("who-help", HTMLElement), nobody);
    showLines(byId("who-list", HTMLDListElement), []);
    byId("warning", HTMLElement).hidden = true;
    byId("badge", HTMLElement).hidden = true;
  }

  show(protection: Protection): void {
    this.#protection = protection;
    this.#epochBegan = performance.now() - protection.epochAge * 1_000;
    const all = encryptsAll(protection.selection);
    const words = protectionWords(protection.selection);
    this.#button.dataset["lock"] = all ? "closed" : "open";
    byId("lock-sign", SVGUseElement).setAttribute("href", all ? "#lock-closed" : "#lock-open");
    say(byId("lock-words", HTMLElement), words);
    say(byId("lock-detail", HTMLElement), mechanismKind(protection.mechanism));
    const warning = byId("warning", HTMLElement);
    say(warning, selectionWarning(protection.selection));
    warning.hidden = all;
    const badge = byId("badge", HTMLElement);
    say(badge, all ? "" : words);
    badge.hidden = all;
    this.tick();
    void this.#showName(protection);
  }

  /** A page publishes through a relay, for a group: whom it is sealed for, says the list of viewers. */
  showGroup({ own, suite, mechanism, epoch, relay, broadcast, way }: Audience): void {
    this.#button.dataset["lock"] = "closed";
    byId("lock-sign", SVGUseElement).setAttribute("href", "#lock-closed");
    const { lock } = texts();
    say(byId("lock-words", HTMLElement), lock.endToEnd);
    say(byId("lock-detail", HTMLElement), mechanismKind(mechanism));
    say(byId("who-title", HTMLElement), lock.thisEnd);
    say(byId("who-help", HTMLElement), lock.ownName);
    showLines(byId("who-list", HTMLDListElement), [
      { name: lock.peerId, value: own, look: "code" },
      { name: lock.keys, value: mechanismWords(mechanism) },
      { name: lock.suite, value: suite },
      { name: lock.groupEpoch, value: String(epoch) },
      { name: lock.sealedFor, value: lock.allViewers },
      { name: lock.signed, value: signedWords("frame") },
      { name: lock.relay, value: lock.relayAs(relay, broadcast) },
      { name: lock.carrier, value: carrierWords(way === "websocket" ? "relay-websocket" : "relay") },
    ]);
    if (this.#nameOf !== own) {
      this.#nameOf = own;
      const peer = PeerId.parse(own);
      void (peer && peerWords(peer))?.then((name) => {
        say(byId("who-words", HTMLElement), this.#nameOf === own ? (name ?? "") : "");
      });
    }
  }

  /** The age of the keys grows. */
  tick(): void {
    const protection = this.#protection;
    if (protection === undefined) {
      return;
    }
    const { lock } = texts();
    const seconds = Math.max(0, (performance.now() - this.#epochBegan) / 1_000);
    showLines(byId("who-list", HTMLDListElement), [
      { name: lock.hexadecimal, value: hexGroups(protection.peerHex), look: "code" },
      { name: lock.peerId, value: protection.peer, look: "code" },
      { name: lock.keys, value: mechanismWords(protection.mechanism) },
      { name: lock.suite, value: protection.suite },
      { name: lock.epoch, value: lock.epochFor(protection.epoch, age(seconds)) },
      { name: lock.encrypted, value: selectionWords(protection.selection) },
      ...(this.#role === "watch" ? [
        { name: lock.sealedFor, value: sealedForWords(protection.signed) },
        { name: lock.signed, value: signedWords(protection.signed) },
      ] : []),
      { name: lock.carrier, value: carrierWords(protection.carrier) },
      { name: lock.own, value: protection.own, look: "code" },
    ]);
  }

  async #showName(protection: Protection): Promise<void> {
    if (this.#nameOf === protection.peer) {
      return;
    }
    this.#nameOf = protection.peer;
    const peer = PeerId.parse(protection.peer);
    const name = peer && await peerWords(peer);
    if (this.#nameOf !== protection.peer) {
      return;
    }
    const { lock } = texts();
    say(byId("who-title", HTMLElement), this.#role === "watch" ? lock.publisher : lock.viewer);
    say(byId("who-words", HTMLElement), name ?? hexGroups(protection.peerHex.slice(0, 16)));
    say(byId("who-help", HTMLElement), lock.proved(this.#role === "publish"));
  }

  #open(open: boolean): void {
    this.#panel.hidden = !open;
    this.#button.ariaExpanded = String(open);
  }
}
