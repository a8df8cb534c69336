/** Turns a program's answer functions into the services that the underlying client looks up. */
import * as Requester from "@effect-mcp/client/Requester"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as Wire from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { messageOf, wireOf } from "../ErrorTranslation.ts"
import type { AnswerContext, Answers } from "./Options.ts"

const failure = (thrown: unknown): Wire.McpError => wireOf(thrown) ?? Wire.internalError(messageOf(thrown))

/** Calls an answer function. Its signal aborts when the server cancels the question. */
const answer = <A>(call: (context: AnswerContext) => A | PromiseLike<A>): Effect.Effect<A, Wire.McpError> =>
  Effect.flatMap(Requester.Requester, (requester) =>
    Effect.tryPromise({ try: async (signal) => call({ signal, server: requester?.server }), catch: failure })
  )

const elicitation = ({ form, url }: NonNullable<Answers["elicitation"]>): Layer.Layer<Elicitation.Elicitation> =>
  Elicitation.layer({
    ...(form && { form: (question) => answer((context) => form(question, context)) }),
    ...(url && { url: (question) => answer((context) => url(question, context)) })
  })

const roots = (given: NonNullable<Answers["roots"]>): Layer.Layer<Roots> =>
  Layer.succeed(Roots, { list: answer(() => (typeof given === "function" ? given() : given)), changes: undefined })

/** Builds the services for the given answers. The client declares its capabilities from them. */
export const answers = (given: Answers): Layer.Layer<never> => {
  const { sampling, samplingTools = false } = given
  return Layer.mergeAll(
    given.elicitation === undefined ? Layer.empty : elicitation(given.elicitation),
    given.roots === undefined ? Layer.empty : roots(given.roots),
    sampling === undefined
      ? Layer.empty
      : Sampling.layer((params) => answer((context) => sampling(params, context)), { tools: samplingTools })
  )
}
