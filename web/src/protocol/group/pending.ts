// Changes of a group that wait to be announced.

import { type NodeSecret } from "./secret.ts";

/** Why the leader did not do what the program asked for. */
export type LeaderRefusal = "full" | "known" | "unknown";

/** Changes that wait. Those who join are at most as many as the group has places, those who leave as it has members. */
export class Pending {
  readonly join = new Map<number, NodeSecret>();
  readonly leave = new Set<number>();
  renew = false;
  /** When the first of them was asked for. */
  #since: number | undefined;

  get since(): number | undefined {
    return this.#since;
  }

  /**
   * Notes a join.
   * @param seated whether the member has a leaf now
   * @param members how many have one, of at most `places`
   */
  admit(
    now: number, member: number, key: NodeSecret, seated: boolean, members: number, places: number,
  ): LeaderRefusal | undefined {
    if (this.join.has(member) || (seated && !this.leave.has(member))) {
      return "known";
    }
    if (members - this.leave.size + this.join.size >= places) {
      return "full";
    }
    this.join.set(member, key);
    this.#since ??= now;
    return undefined;
  }

  /** Notes a leave, or takes a join back. */
  remove(now: number, member: number, seated: boolean): LeaderRefusal | undefined {
    this.join.get(member)?.wipe();
    const takenBack = this.join.delete(member);
    const leaves = seated && !this.leave.has(member);
    if (leaves) {
      this.leave.add(member);
    }
    if (!takenBack && !leaves) {
      return "unknown";
    }
    const nothing = this.join.size === 0 && this.leave.size === 0 && !this.renew;
    this.#since = nothing ? undefined : (this.#since ?? now);
    return undefined;
  }

  rekey(now: number): void {
    this.renew = true;
    this.#since ??= now;
  }
}
