/**
 * Code that runs before and after every request to a server, for access control, auditing or metrics.
 *
 * Hooks can't ask questions: only the handler runs again with each round (2026-07-28).
 */
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Layer } from "effect/Layer"
import { notify } from "../boundary.ts"
import { toPublic } from "../ErrorTranslation.ts"
import { reportUnanswered } from "../handler/report.ts"
import { Request } from "../handler/Request.ts"
import type { Rules } from "../handler/run.ts"
import { query } from "./completers.ts"
import { checkedOptions, type Known } from "./checked.ts"
import type { HookContext, Hooks, IncomingRequest, RequestOutcome } from "./Options.ts"

const outcomeOf = (outcome: Middleware.Outcome): RequestOutcome => {
  switch (outcome._tag) {
    case "Answered":
      return { kind: "answered", result: outcome.result }
    case "ToolFailed":
      return { kind: "toolFailed", result: outcome.result }
    case "Asked":
      return { kind: "asked" }
    case "Cancelled":
      return { kind: "cancelled" }
    case "Failed":
      return { kind: "failed", error: toPublic(outcome.error) }
    default:
      return { kind: "failed", error: Cause.squash(outcome.cause) }
  }
}

const incoming = ({ method, params }: Middleware.Request): IncomingRequest => ({ method, params: { ...params } })

const known: Known<Hooks> = { before: "function", after: "function" }

/** Turns hooks into a feature layer. The first hooks added are the outermost. */
export const hooksLayer = (hooks: Hooks, rules: Rules): Layer<never, never, Middleware.MiddlewareRegistry> => {
  const { after, before } = checkedOptions("A hook", hooks, known)
  return Middleware.layer((request, next) =>
    Effect.contextWith((context: Context.Context<RequestServices>) => {
      const given = incoming(request)
      const known: HookContext = Request.of(context)
      const place = { kind: "hook", name: given.method } as const
      const observed = (outcome: Middleware.Outcome): void =>
        notify(
          () => after?.(given, outcomeOf(outcome), known),
          (thrown) => reportUnanswered(rules.onError, thrown, place)
        )
      const answered = Effect.onExit(next, (exit) => Effect.sync(() => observed(Middleware.outcomeOf(exit))))
      if (before === undefined) return answered
      return Effect.andThen(
        query(() => before(given, known), rules, place),
        answered
      )
    })
  )
}
