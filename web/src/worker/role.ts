// What the worker's entry and its two roles agree on: `watch.ts` and `publish.ts`.

import { type FromWorker, type ToWorker } from "../messages.ts";

/** A role that runs. */
export interface Commands {
  /** Takes a message that came after the first one; one that does not belong to the role is ignored. */
  command(message: ToWorker): void;
}

/** Tells the page something. */
export type Post = (message: FromWorker) => void;

/** The first message of a viewer, and of a publisher. */
export type WatchMessage = Extract<ToWorker, { type: "watch" }>;
export type PublishMessage = Extract<ToWorker, { type: "publish" | "publish-relay" }>;

/**
 * What the two modules export:
 * `watch.ts` a `startWatching: Start<WatchMessage>`, `publish.ts` a `startPublishing: Start<PublishMessage>`.
 * They return at once and throw nothing: whatever goes wrong is posted as a state.
 */
export type Start<Message> = (message: Message, post: Post) => Commands;
