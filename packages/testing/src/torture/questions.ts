/** The client's user, model and folders, with one answer replaced. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Replacement for the answer to a question. */
export type AnswerFault = "declined" | "dismissed" | "an error" | "no answer"

/** Possible replacements for an answer, by the method of the question. */
export const answersTo = (method: string): ReadonlyArray<AnswerFault> =>
  method === "elicitation/create"
    ? ["declined", "dismissed", "an error", "no answer"]
    : method === "sampling/createMessage"
      ? ["declined", "an error", "no answer"]
      : ["an error", "no answer"]

/** Called with the method of each question. If it returns `undefined`, the world answers. */
export type Ask = (method: string) => AnswerFault | undefined

const broken = Effect.fail(McpError.internalError("The client cannot answer"))

/** Wraps the client services of the world so that they call `ask` first. */
export const questioned = <W>(world: Context.Context<W>, ask: Ask): Context.Context<W> => {
  let asked = world
  const elicitation = Option.getOrUndefined(Context.getOption(world, Elicitation.Elicitation))
  const sampling = Option.getOrUndefined(Context.getOption(world, Sampling.Sampling))
  const roots = Option.getOrUndefined(Context.getOption(world, Roots.Roots))
  if (elicitation !== undefined) {
    asked = Context.add(asked, Elicitation.Elicitation, {
      ...elicitation,
      elicit: (params, options) =>
        Effect.suspend(() => {
          const answer = ask("elicitation/create")
          if (answer === undefined) return elicitation.elicit(params, options)
          if (answer === "declined") return Effect.succeed({ action: "decline" as const })
          if (answer === "dismissed") return Effect.succeed({ action: "cancel" as const })
          return answer === "an error" ? broken : Effect.never
        })
    })
  }
  if (sampling !== undefined) {
    asked = Context.add(asked, Sampling.Sampling, {
      ...sampling,
      createMessage: (params, options) =>
        Effect.suspend(() => {
          const answer = ask("sampling/createMessage")
          if (answer === undefined) return sampling.createMessage(params, options)
          if (answer === "declined") return Effect.fail(Sampling.rejected())
          return answer === "no answer" ? Effect.never : broken
        })
    })
  }
  if (roots !== undefined) {
    const list = Effect.suspend(() => {
      const answer = ask("roots/list")
      return answer === undefined ? roots.list : answer === "no answer" ? Effect.never : broken
    })
    asked = Context.add(asked, Roots.Roots, { ...roots, list })
  }
  return asked
}
