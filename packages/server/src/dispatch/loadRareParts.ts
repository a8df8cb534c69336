/** Loads what not every server uses. */
import { lateImport } from "@effect-mcp/core/internal/lateImport"
import * as Tracing from "@effect-mcp/core/internal/Tracing"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Parts from "./RareParts.ts"

export type RareParts = typeof Parts

let parts: RareParts | undefined

/** The parts, once anything in the process has loaded them. */
export const loaded = (): RareParts | undefined => parts

/** Takes a turn also where they are loaded, so that what runs after it does so in the same order always. */
export const loadRareParts: Effect.Effect<RareParts> = Effect.map(
  Effect.promise(lateImport(() => import("./RareParts.ts"))),
  (found) => (parts = found)
)

const spans = Effect.map(loadRareParts, ({ Spans }) => Spans)

/** Waits for what makes spans, where the context has a tracer. */
export const spansReady = (context: Context.Context<never>): Effect.Effect<unknown> => Tracing.ready(context, spans)
