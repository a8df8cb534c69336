/**
 * The point where a call says that it becomes a task.
 *
 * Owns what `begin` does in a request; in a task, and where the client has no tasks, it does nothing.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Effect from "effect/Effect"

/** By the client of the request: each request has one of its own. */
const beginnings = new WeakMap<ClientInput["Service"], Effect.Effect<void>>()

/** Lets `begin` of the requests of this client do this. */
export const onBegin = (client: ClientInput["Service"], effect: Effect.Effect<void>): void => {
  beginnings.set(client, effect)
}

/**
 * Makes the running call a task, for a tool with `task` that is offered with `beginsTask`. Before it the call is an ordinary request, whose
 * questions are answered within it.
 *
 * The handler is interrupted here and starts again as the task: code before `begin` runs once more, where its questions and `Once` steps
 * give what they gave before. In a task, and where the client has no tasks, `begin` does nothing.
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
