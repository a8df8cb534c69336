import { Extensions } from "@effect-mcp/core"
import { McpError } from "@effect-mcp/protocol"
import { Middleware } from "@effect-mcp/server"
import { Effect, Layer, Option } from "effect"
import { Meter } from "./meter.ts"

/**
 * Charges 1 for each tool call by a client with a budget, and rejects calls
 * beyond it. All callers share the total.
 */
export const meter = Layer.suspend(() => {
  let total = 0
  const charge = Middleware.on("tools/call", (call, next) =>
    Effect.gen(function* () {
      const settings = yield* Extensions.declared(Meter)
      if (Option.isNone(settings) || Middleware.isResumed(call))
        return yield* next
      const { budget } = settings.value
      if (total >= budget)
        return yield* McpError.invalidRequest(
          `The budget of ${budget} is spent`
        )
      total++
      yield* Extensions.notify(Meter.notifications.charged, {
        tool: call.params.name,
        total
      })
      return yield* next
    })
  )
  const own = Extensions.layer(Meter, {
    requests: { spent: () => Effect.sync(() => ({ total })) }
  })
  return Layer.merge(charge, own)
})
