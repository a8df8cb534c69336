/** Builds the features of a server. What only some servers have is loaded by the first layer that needs it. */
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { CallLimits } from "@effect-mcp/core/Tools"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Features from "../features/Features.ts"
import { loadRareParts } from "./loadRareParts.ts"

/** `limits` are those of tools without their own. */
export const build = <E, R>(
  layer: Layer.Layer<never, E, R>,
  limits?: CallLimits
): Effect.Effect<Features.Features, E, Exclude<R, Features.Registries | RequestServices> | Scope.Scope> =>
  Features.build(layer, loadRareParts, limits)
