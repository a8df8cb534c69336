/** Runs a program's completers and other query callbacks, which can't ask the client questions. */
import type * as Completions from "@effect-mcp/core/Completions"
import * as Wire from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import { isThenable } from "../boundary.ts"
import { messageOf, wireOf } from "../ErrorTranslation.ts"
import type { ErrorPlace } from "../handler/Context.ts"
import { report } from "../handler/report.ts"
import type { Rules } from "../handler/run.ts"
import type { Completer } from "./Options.ts"

/** Calls a function that returns a value or a promise. Errors are handled the same way as handler errors. */
export const query = <A>(
  call: () => A | PromiseLike<A>,
  { onError }: Rules,
  place: ErrorPlace
): Effect.Effect<A, Wire.McpError> =>
  Effect.suspend(() => {
    const failure = (thrown: unknown): Effect.Effect<never, Wire.McpError> => {
      report(onError, thrown, place)
      return Effect.fail(wireOf(thrown) ?? Wire.internalError(messageOf(thrown)))
    }
    try {
      const result = call()
      if (!isThenable(result)) return Effect.succeed(result)
      return Effect.callback<A, Wire.McpError>((resume) => {
        Promise.resolve(result).then(
          (value) => resume(Effect.succeed(value)),
          (thrown: unknown) => resume(failure(thrown))
        )
      })
    } catch (thrown) {
      return failure(thrown)
    }
  })

/** Creates the completers for one feature. */
export const completers = (
  given: { readonly [argument: string]: Completer | undefined },
  rules: Rules,
  name: string
): { readonly [argument: string]: Completions.Completer } =>
  Object.fromEntries(
    Object.entries(given).flatMap(([argument, complete]) => {
      if (complete === undefined) return []
      const completer: Completions.Completer = (value, others) =>
        query(() => complete(value, others), rules, { kind: "completion", name })
      return [[argument, completer]]
    })
  )
