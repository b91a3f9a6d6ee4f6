// Whom a page admits that publishes through a relay: who proves its invite, or was enrolled before (peers.md).

import { Close, HelloKeys, type Invite, type Now, type Peer, type PeerId, PresharedKey } from "../protocol/index.ts";
import { equal } from "../protocol/bytes.ts";
import { type CameraStore, type Guest, MAX_GUESTS } from "../store/camera-store.ts";

/** Nanoseconds for which an invite lives: a day. */
const LIFE = 86_400_000_000_000n;
const USED_UP = "the invite was used up, withdrawn or has expired";

/** What is decided on a peer that has proved its identity. */
export type Decision =
  | { readonly admitted: true; /** Who was enrolled just now. */ readonly enrolled?: Guest }
  | { readonly admitted: false; readonly reason: number; readonly text: string };

/** Decides on viewers of one place, by one invite. */
export class Admission {
  readonly #place: string;
  readonly #store: CameraStore;
  readonly #camera: PeerId;
  readonly #uses: number;
  readonly #expires: bigint;
  readonly #news: (words: string, bad: boolean) => void;
  #invite: { readonly invite: Invite; readonly psk: PresharedKey } | undefined;
  /** Who used the invite, which the same peer may do again. */
  readonly #used = new Set<string>();
  readonly #guests = new Map<string, Guest>();
  #helloKeys: Promise<HelloKeys> | undefined;

  private constructor(
    place: string, store: CameraStore, camera: PeerId, uses: number, now: Now,
    news: (words: string, bad: boolean) => void,
  ) {
    this.#place = place;
    this.#store = store;
    this.#camera = camera;
    this.#uses = uses;
    this.#expires = now.wall + LIFE;
    this.#news = news;
  }

  /**
   * Admits who was enrolled at this place before, and so many others by this invite.
   * @param uses 1 to `MAX_GUESTS`
   * @param news takes lines for the log of events
   */
  static async open(
    place: string, store: CameraStore, camera: PeerId, invite: Invite, uses: number, now: Now,
    news: (words: string, bad: boolean) => void,
  ): Promise<Admission> {
    const admission = new Admission(place, store, camera, uses, now, news);
    admission.#invite = { invite, psk: await PresharedKey.fromInvite(invite) };
    for (const guest of await store.guests(place)) {
      admission.#guests.set(guest.peer.toString(), guest);
    }
    return admission;
  }

  /** Those who are enrolled. */
  get guests(): readonly Guest[] {
    return [...this.#guests.values()];
  }

  /** The invite, while it admits further viewers, and how many. */
  invite(now: Now): { readonly invite: Invite; readonly left: number } | undefined {
    const left = now.wall >= this.#expires ? 0 : this.#uses - this.#used.size;
    return this.#invite !== undefined && left > 0 ? { invite: this.#invite.invite, left } : undefined;
  }

  /** What checks the hellos to this end, by all keys that are known now. */
  helloKeys(): Promise<HelloKeys> {
    const psks = [...(this.#invite === undefined ? [] : [this.#invite.psk]), ...this.guests.map(({ psk }) => psk)];
    this.#helloKeys ??= HelloKeys.create(this.#camera, psks);
    return this.#helloKeys;
  }

  /**
   * Decides on a peer, and enrols it by the invite.
   * @param lacks why what the peer wishes is not here, if it is not: it has used nothing up then
   * @param secrets gives what both ends keep of the session; called at most once
   */
  async judge(
    now: Now, { id, pskName }: Peer, lacks: string | undefined, secrets: () => Promise<Omit<Guest, "peer"> | undefined>,
  ): Promise<Decision> {
    const peer = id.toString();
    const known = this.#guests.get(peer);
    const refused = lacks === undefined
      ? undefined : { admitted: false, reason: Close.NotOffered, text: lacks } as const;
    if (pskName !== undefined && known !== undefined && equal(pskName, await known.psk.name())) {
      return refused ?? { admitted: true };
    }
    const invited = pskName !== undefined && this.#invite !== undefined &&
      equal(pskName, await this.#invite.psk.name()) && now.wall < this.#expires;
    if (!invited || (!this.#used.has(peer) && this.#used.size >= this.#uses)) {
      return { admitted: false, reason: Close.NotAuthorised, text: USED_UP };
    }
    if (refused !== undefined) {
      return refused;
    }
    if (known === undefined && this.#guests.size >= MAX_GUESTS) {
      return { admitted: false, reason: Close.TooManyViewers, text: `${MAX_GUESTS} viewers are enrolled here` };
    }
    // Before anything is awaited: of two sessions at once one alone may use the last place.
    this.#used.add(peer);
    const kept = await secrets();
    if (kept === undefined) {
      return { admitted: false, reason: Close.NotAuthorised, text: USED_UP };
    }
    const guest = { peer: id, ...kept };
    this.#guests.set(peer, guest);
    this.#helloKeys = undefined;
    try {
      await this.#store.keepGuest(this.#place, guest);
    } catch {
      this.#news("this browser could not keep who was enrolled: after a reload that viewer needs a new ticket", true);
    }
    return { admitted: true, enrolled: guest };
  }

  /** Ends the access of a viewer. The invite that enrolled it goes as well, since it knows that. */
  async remove(peer: PeerId): Promise<void> {
    const name = peer.toString();
    if (this.#used.has(name)) {
      this.#invite?.invite.wipe();
      this.#invite = undefined;
    }
    this.#guests.delete(name);
    this.#helloKeys = undefined;
    try {
      await this.#store.forgetGuest(this.#place, peer);
    } catch {
      this.#news("this browser could not forget a viewer, which may come back after a reload: clear this page's data",
        true);
    }
  }
}
