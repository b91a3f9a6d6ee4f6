// Loads what speaks to relays, which most visits need not, and connects.

import { CarrierError } from "../carrier/carrier.ts";
import { hasWebTransport } from "../carrier/webtransport.ts";
import { type Relay, type RelayAddress } from "./relay.ts";

/** The file of the page that `src/relay/moq.ts` is the entry of. */
const FILE = "/relay.js";

/**
 * Connects to a relay.
 * @param origin the page's, whose server has the file
 * @throws CarrierError
 */
export async function openRelay(origin: string, address: RelayAddress, signal: AbortSignal): Promise<Relay> {
  if (!hasWebTransport() && address.hashes.length > 0) {
    throw new CarrierError(`this browser has no WebTransport, and by a WebSocket it cannot check the certificate of ` +
      `relay ${address.host} that the ticket names: update it, use Chromium, or ask for a link to the camera itself`,
    "relay");
  }
  const { openMoq } = await (import(`${origin}${FILE}`) as Promise<typeof import("./moq.ts")>).catch(() => {
    throw new CarrierError("a part of the page could not be loaded: reload it", "relay");
  });
  return openMoq(address, signal, (words) => new CarrierError(words, "relay"));
}
