// The time as a program passes it in.

/** Both clocks of this end, read at the same time. */
export interface Now {
  /** The monotonic clock in milliseconds, from any origin; used for deadlines only. */
  readonly monotonic: number;
  /** The wall clock in nanoseconds since 1970; used for stamps only. */
  readonly wall: bigint;
}
