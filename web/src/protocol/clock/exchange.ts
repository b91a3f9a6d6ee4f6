// Clock exchanges (protocol.md, section 4, "Liveness and clocks"): what one ping and its pong say.

/** What one exchange says of the peer's clock. */
export interface ClockReading {
  /** Nanoseconds that the messages travelled, both ways. */
  readonly roundTrip: bigint;
  /** The peer's wall clock minus ours in nanoseconds, if the path is equally fast in both directions. */
  readonly offset: bigint;
  /** The offset is right to within so many nanoseconds on any path: half the round trip, rounded up. */
  readonly uncertainty: bigint;
}

/**
 * The reading of an exchange; all times are wall clocks in nanoseconds.
 * @param t1 ours, when the ping left
 * @param t2 the peer's, when the ping came
 * @param t3 the peer's, when the pong left
 * @param t4 ours, when the pong came
 */
export function clockReading(t1: bigint, t2: bigint, t3: bigint, t4: bigint): ClockReading {
  const roundTrip = t4 - t1 - (t3 - t2);
  return { roundTrip, offset: (t2 - t1 + (t3 - t4)) / 2n, uncertainty: (roundTrip + 1n) / 2n };
}
