/**
 * Tells services and middleware which of several servers they serve, as `serverName` in `Requester`, in `Consent` actions, and in the
 * requests and questions that middleware sees.
 *
 * The name a server reports is only a claim. Its name in the program's table is reliable.
 */
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Consent from "../answering/Consent.ts"
import { Requester } from "../answering/Requester.ts"
import * as Middleware from "../connection/ClientMiddleware.ts"

/** Returns the context to build the server's client in. */
export const named = <R>(context: Context.Context<R>, serverName: string): Context.Context<R> => {
  const asking = <A, E, R2>(effect: Effect.Effect<A, E, R2>) =>
    Effect.updateService(effect, Requester, (requester) => requester && { ...requester, serverName })
  const policy = Context.get(context, Consent.Consent)
  const answers = [
    Option.map(Context.getOption(context, Elicitation), ({ elicit, modes }) =>
      Context.make(Elicitation, { modes, elicit: (params, options) => asking(elicit(params, options)) })
    ),
    Option.map(Context.getOption(context, Sampling), ({ capabilities, createMessage }) =>
      Context.make(Sampling, {
        capabilities,
        createMessage: (params, options) => asking(createMessage(params, options))
      })
    ),
    Option.map(Context.getOption(context, Roots), ({ changes, list }) =>
      Context.make(Roots, { changes, list: asking(list) })
    ),
    Option.map(Context.getOption(context, Middleware.ClientMiddleware), (all) =>
      Context.make(
        Middleware.ClientMiddleware,
        all.map((one) => Middleware.named(one, serverName))
      )
    ),
    policy === Consent.allow
      ? Option.none()
      : Option.some(
          Context.make(Consent.Consent, {
            ask: (action) => policy.ask({ ...action, serverName }),
            audit: (action, outcome) => policy.audit({ ...action, serverName }, outcome)
          })
        )
  ]
  return answers.reduce<Context.Context<R>>(
    (all, answer) => (Option.isSome(answer) ? Context.merge(all, answer.value) : all),
    context
  )
}
