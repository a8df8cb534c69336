/** Provides a client's capabilities and its answers to questions as services of the underlying client. */
import * as ClientMiddleware from "@effect-mcp/client/ClientMiddleware"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as Wire from "@effect-mcp/protocol/McpError"
import { messageOf, toWire } from "@effect-mcp/promise/internal/compat"
import { McpError } from "@effect-mcp/promise"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { ClientCapabilities } from "../model/types.ts"
import { toAnswer } from "../request/errors.ts"
import { withDefaults } from "./defaults.ts"
import type { Handlers } from "./Handlers.ts"

const failure = (thrown: unknown): Wire.McpError => {
  try {
    const error = toAnswer(thrown)
    return error instanceof McpError ? toWire(error) : Wire.internalError(messageOf(error))
  } catch {
    return Wire.internalError(messageOf(thrown))
  }
}

/** Handler for a capability that is only declared, because the middleware answers first. */
const unhandled = (method: string) => Effect.fail(Wire.methodNotFound(method))

const declared = ({ elicitation, roots, sampling }: ClientCapabilities) => {
  const ask = () => unhandled("elicitation/create")
  const isForm = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  return Layer.mergeAll(
    elicitation === undefined
      ? Layer.empty
      : Elicitation.layer({ ...(isForm && { form: ask }), ...(elicitation.url !== undefined && { url: ask }) }),
    sampling === undefined
      ? Layer.empty
      : Sampling.layer(() => unhandled("sampling/createMessage"), {
          tools: sampling.tools !== undefined,
          context: sampling.context !== undefined
        }),
    roots === undefined
      ? Layer.empty
      : Layer.succeed(Roots, {
          list: unhandled("roots/list"),
          // The program announces changes itself.
          changes: roots.listChanged === true ? Stream.never : undefined
        })
  )
}

/** Returns the services for a client that declares `capabilities` and answers with `handlers`. */
export const answering = (
  capabilities: ClientCapabilities,
  { questions }: Handlers,
  around: ClientMiddleware.Middleware
) => {
  const { form } = capabilities.elicitation ?? {}
  const fills = form !== undefined && "applyDefaults" in form && form.applyDefaults === true
  return Layer.merge(
    declared(capabilities),
    ClientMiddleware.layer(around, {
      question: ({ method, params }, next) => {
        const handler = questions.get(method)
        if (handler === undefined) return next
        return Effect.tryPromise({
          try: async (signal) => {
            const answer: unknown = await handler(
              { method, params: { ...params } },
              { signal, mcpReq: { signal, method } }
            )
            return method === "elicitation/create" && fills ? withDefaults(answer, { ...params }) : answer
          },
          catch: failure
        })
      }
    })
  )
}
