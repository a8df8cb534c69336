/**
 * A handler as a tool, and its fibers among those of the server.
 *
 * A handler may be preempted before any operation. The server's own fibers are left alone: it relies on the first operations of a fiber, which
 * Effect's scheduler never preempts.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"

/** In the context of what a feature runs. */
const OfFeature = Context.Reference("@effect-mcp/testing/OfFeature", { defaultValue: () => false })

/** The features, whose handlers are known by `isHandler`. */
export const marked = <E, R>(features: Layer.Layer<never, E, R>): Layer.Layer<never, E, R> =>
  Layer.provide(features, Layer.succeed(OfFeature, true))

/** Whether the fiber runs a handler now. */
export const isHandler = ({ context }: Fiber.Fiber<unknown, unknown>): boolean =>
  Context.get(context, OfFeature) && Context.getOrUndefined(context, ClientInput) !== undefined

/** A tool that runs the handler. Its result says nothing about how the handler ended. */
export const handlerTool = <A, E, R>(
  handler: Effect.Effect<A, E, R>,
  task: "required" | "begun" | "never" = "required"
) => {
  const tool = Tool.make("check", { description: "Runs the handler.", task: task === "never" ? undefined : "required" })
  const run = () => Effect.as(Effect.ignore(handler), "done")
  return { tool, features: Tools.layer(tool, run, { beginsTask: task === "begun" }) }
}
