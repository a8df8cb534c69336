/**
 * A call that is answered within its request where it ends soon, and by its task where it does not (2026-07-28).
 *
 * The handler runs as the task from its start, once. The task of a call that was answered so is read: its store may forget it first.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { stateOf, type Task } from "../model/Task.ts"
import { canonicalResult, found, type Service } from "./Service.ts"

/** What a call is answered by after the time that it had. */
export type Shortcut =
  | { readonly _tag: "Result"; readonly result: CallToolResult }
  | { readonly _tag: "Task"; readonly task: Task }

/** Waits for the end of a task; gives it at once where it asks its client. Fails as the call does. */
export const endedWithin = (
  { store }: Service,
  { id }: Task,
  owner: string,
  patience: Duration.Input
): Effect.Effect<Shortcut, McpError.McpError> =>
  Effect.gen(function* () {
    const settled = Stream.runHead(Stream.filter(store.changes(id, owner), (task) => stateOf(task) !== "working"))
    const last = Option.flatten(yield* Effect.timeoutOption(settled, patience))
    const read = yield* store.get(id, owner)
    // The store may have forgotten the task since then, for another one.
    const task = yield* found(Effect.succeed(Option.orElse(read, () => last)))
    const { outcome } = task
    if (outcome === undefined) return { _tag: "Task", task }
    if (outcome._tag === "Cancelled") return yield* McpError.interrupted("The call was cancelled")
    if (outcome._tag === "Result") return { _tag: "Result", result: yield* canonicalResult(outcome.result) }
    const { code, data, message } = outcome
    return yield* new McpError.McpError({ code, message, ...(data === undefined ? undefined : { data }) })
  })
