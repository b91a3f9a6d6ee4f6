// What the program tells of the stream, four times a second at most, as `DemoStats` in the program's web/demo/stats.rs.
// Times are in microseconds, sizes in bytes; `null` is a value that nobody knows.

/** A distribution of times, over all frames since the start. */
export interface Spread {
  readonly p50_us: number;
  readonly p99_us: number;
  readonly max_us: number;
  readonly samples: number;
}

/** What a frame's protection costs, measured in pairs. */
export interface Price {
  readonly unsealed_us: number;
  readonly sealed_us: number;
  readonly difference: { readonly median_us: number; readonly low_us: number; readonly high_us: number };
  readonly pairs: number;
  readonly frame_interval_us: number;
  readonly added_bytes: number;
  /** 0 before a frame was sent. */
  readonly frame_bytes: number;
}

/** Frames at each step. */
export interface FrameCounts {
  readonly captured: number;
  readonly sealed: number;
  readonly sent: number;
  readonly received: number;
  readonly opened: number;
  readonly decoded: number;
  readonly refused: number;
  readonly dropped: number;
}

/** Everything, at one moment. */
export interface DemoStats {
  readonly running_seconds: number;
  readonly source: string;
  readonly transport: string;
  readonly session: {
    readonly suite: string; readonly mechanism: string; readonly epoch: number; readonly handshake_us: number | null;
  };
  readonly frames: FrameCounts;
  readonly stages: readonly ({ readonly stage: string } & Spread)[];
  readonly end_to_end: Spread | null;
  readonly clock_uncertainty_us: number | null;
  readonly eavesdropper: { readonly selection: string; readonly shape: string; readonly known_percent: number };
  readonly price: Price | null;
  readonly machine: {
    readonly cpu_percent: number | null; readonly memory_bytes: number | null;
    readonly temperature_celsius: number | null; readonly codec_assembly: boolean | null;
  };
}

/** Who wants to know how the demo is. */
export interface StatsListener {
  stats(stats: DemoStats): void;
  /** Nobody answers. */
  lost(): void;
}

/**
 * Listens to the program while the page can be seen. A browser has six connections to a server for all its tabs
 * together, so tabs in the background leave theirs to the others.
 */
export function listen(listener: StatsListener): void {
  let events: EventSource | undefined;
  const update = (): void => {
    if (document.hidden) {
      events?.close();
      events = undefined;
      return;
    }
    if (events !== undefined && events.readyState !== EventSource.CLOSED) {
      return;
    }
    events = new EventSource("/events");
    events.onmessage = ({ data }: MessageEvent<string>) => {
      listener.stats(JSON.parse(data) as DemoStats);
    };
    events.onerror = () => {
      listener.lost();
    };
  };
  document.addEventListener("visibilitychange", update);
  update();
}
