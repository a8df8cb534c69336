/**
 * Lets a handler decide when its call becomes a task.
 *
 * `begin` only has an effect in a request from a client that supports tasks. Inside a task, and for other clients, it does nothing.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Effect from "effect/Effect"

/** Keyed by the request's client, because each request has its own. */
const beginnings = new WeakMap<ClientInput["Service"], Effect.Effect<void>>()

/** Sets the effect that `begin` runs in this client's requests. */
export const onBegin = (client: ClientInput["Service"], effect: Effect.Effect<void>): void => {
  beginnings.set(client, effect)
}

/**
 * Turns the current call into a task. Works for tools that have `task` set and are registered with `beginsTask`. Until then, the call is an
 * ordinary request, and its questions are answered within it.
 *
 * The handler is interrupted here and starts over as the task. Code before `begin` runs a second time, and its questions and `Once` steps
 * return the same values as before. Inside a task, or if the client doesn't support tasks, `begin` does nothing.
 *
 * @example
 * ```ts
 * import { Elicitation, Tool, Tools } from "@effect-mcp/core"
 * import { Tasks } from "@effect-mcp/tasks"
 * import { Effect } from "effect"
 *
 * declare const publishing: Effect.Effect<string>
 *
 * const Publish = Tool.make("publish", { description: "Publishes the site", task: "optional" })
 *
 * export const publish = Tools.layer(
 *   Publish,
 *   Effect.fn("publish")(function* () {
 *     yield* Elicitation.confirm("Publish the site?")
 *     yield* Tasks.begin
 *     return yield* publishing
 *   }),
 *   { beginsTask: true }
 * )
 * ```
 */
export const begin: Effect.Effect<void, never, ClientInput> = Effect.flatMap(
  ClientInput,
  (client) => beginnings.get(client) ?? Effect.void
)
