// The steps of opening a record, in the order of protocol.md, section 2.

import { type Bytes } from "../bytes.ts";
import { type Refusal } from "../error.ts";
import { type Accept, type Kind, parseHeader } from "../wire/header.ts";
import { type Opened, type Opener } from "./opener.ts";

/** Finds the opener for a kind and an epoch's low 16 bits. */
export type FindOpener = (kind: Kind, epoch: number) => Opener | undefined;

/** Opens a record, or says why it is refused. */
export async function openRecord(record: Bytes, accept: Accept, find: FindOpener): Promise<Opened | Refusal> {
  const header = parseHeader(record, accept);
  if (typeof header === "string") {
    return header;
  }
  const opener = find(header.kind, header.epoch);
  return opener === undefined ? "unknown-epoch" : opener.open(header, record);
}
