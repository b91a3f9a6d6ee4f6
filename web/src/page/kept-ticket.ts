// The ticket of the stream that was watched last, *without* its invite: the page's bare address, which a bookmark has,
// opens that stream again. A browser that keeps nothing asks for the ticket.

const KEY = "sealcast-ticket";

export function keepTicket(bare: string): void {
  attempt(() => {
    localStorage.setItem(KEY, bare);
  });
}

export function keptTicket(): string | undefined {
  return attempt(() => localStorage.getItem(KEY)) ?? undefined;
}

export function forgetTicket(): void {
  attempt(() => {
    localStorage.removeItem(KEY);
  });
}

/** Private windows and settings may refuse each of it. */
function attempt<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch {
    return undefined;
  }
}
