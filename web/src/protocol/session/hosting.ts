// A publisher's half of what a session says of a group (groups.md, section 10): it offers, and hears who joins.

import { type Bytes, wipe } from "../bytes.ts";
import { type Now } from "../clock/now.ts";
import { ProtocolError } from "../error.ts";
import { type GroupName, NodeSecret } from "../group/secret.ts";
import { parseTerms } from "../group/terms.ts";
import { type GroupMessage, type MediaFrom } from "../wire/group-message.ts";
import { type Link } from "./link.ts";
import { type Outbox } from "./output.ts";

/** What only a viewer says of a group. */
type OfViewer = Extract<GroupMessage, { type: "join" | "challenge" }>;

/** Offers the group in one session. The program leads the group, and says what there is to be told. */
export class Hosting {
  readonly #terms: Bytes;
  readonly #stream: number;
  readonly #exporter: Bytes;
  readonly #link: Link;
  readonly #out: Outbox;
  #joined: MediaFrom | undefined;

  /**
   * @param terms those of the group's run
   * @param exporter a secret of the session, which this takes over
   */
  constructor(terms: Bytes, exporter: Bytes, link: Link, out: Outbox) {
    this.#terms = terms;
    this.#stream = parseTerms(terms).stream;
    this.#exporter = exporter;
    this.#link = link;
    this.#out = out;
  }

  /** Offers it, once, after the welcome. */
  begin(now: Now): Promise<void> {
    return this.tell(now, { type: "group-terms", terms: this.#terms });
  }

  tell(now: Now, message: GroupMessage): Promise<void> {
    return this.#link.sendControl(now, message);
  }

  /** The key of a member for as long as this session lasts. */
  memberKey(group: GroupName): Promise<NodeSecret> {
    return NodeSecret.ofMember(this.#exporter, group);
  }

  /** Handles what a viewer says. @throws ProtocolError `protocol-error` where it is out of turn */
  said(message: OfViewer): void {
    if (message.type === "challenge") {
      // Before it has joined, nothing is signed for it.
      if (this.#joined !== undefined) {
        this.#out.event({ type: "challenged", challenge: message.challenge });
      }
      return;
    }
    const again = this.#joined !== undefined;
    // Said once more by who has its frames from a relay, it means that a sheet is missing.
    const once = message.media === "session" || message.media === "sealed";
    const twice = again && (this.#joined !== message.media || once);
    if (message.stream !== this.#stream || twice) {
      throw new ProtocolError("protocol-error");
    }
    this.#joined = message.media;
    this.#out.event({ type: "joins-group", media: message.media, again });
  }

  wipe(): void {
    wipe(this.#exporter);
  }
}
