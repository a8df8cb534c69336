/**
 * Runs a handler as a tool, and distinguishes its fibers from the server's fibers.
 *
 * A handler may be preempted before any operation. The server's fibers are never preempted, because the server relies on a fiber's first
 * operations, which Effect's scheduler never preempts either.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"

/** Marks the context in which a feature runs. */
const OfFeature = Context.Reference("@effect-mcp/testing/OfFeature", { defaultValue: () => false })

/** Wraps the features so that `isHandler` recognizes their handlers. */
export const marked = <E, R>(features: Layer.Layer<never, E, R>): Layer.Layer<never, E, R> =>
  Layer.provide(features, Layer.succeed(OfFeature, true))

/** True if the fiber is currently running a handler. */
export const isHandler = ({ context }: Fiber.Fiber<unknown, unknown>): boolean =>
  Context.get(context, OfFeature) && Context.getOrUndefined(context, ClientInput) !== undefined

/** A tool that runs the handler. Its result does not show how the handler ended. */
export const handlerTool = <A, E, R>(
  handler: Effect.Effect<A, E, R>,
  task: "required" | "begun" | "never" = "required"
) => {
  const tool = Tool.make("check", { description: "Runs the handler.", task: task === "never" ? undefined : "required" })
  const run = () => Effect.as(Effect.ignore(handler), "done")
  return { tool, features: Tools.layer(tool, run, { beginsTask: task === "begun" }) }
}
