/**
 * Suggestions for arguments of prompts and resource templates (spec: server/utilities/completion).
 *
 * A completer is registered with the prompt or the template that it completes. A result has at most 100 values.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import { HandlerContext } from "./HandlerContext.ts"
import type { QueryServices } from "../request/RequestContext.ts"

/** Values in order of relevance; with `total` where there are more than these. */
export type Suggestions =
  | ReadonlyArray<string>
  | { readonly values: ReadonlyArray<string>; readonly total?: number; readonly hasMore?: boolean }

/** Suggests values for one argument. `value` is its text so far; `others` are the values of the arguments that are set already. */
export type Completer<R = never> = (
  value: string,
  others: { readonly [argument: string]: string }
) => Effect.Effect<Suggestions, McpError.McpError, R>

/** Answers `completion/complete`: a server's registries, or a client's view of a server. */
export class Completions extends Context.Service<
  Completions,
  {
    readonly complete: (params: CompleteParams) => Effect.Effect<CompleteResult, McpError.McpError, QueryServices>
  }
>()("@effect-mcp/core/Completions") {}

/** The most values of one result. */
export const maxValues = 100

/** The result of suggestions: the first 100 values, and how many there are. */
export const resultOf = (suggestions: Suggestions): CompleteResult => {
  const given = isList(suggestions) ? { values: suggestions } : suggestions
  const values = given.values.slice(0, maxValues)
  // With `hasMore` only the completer knows how many there are.
  const total = given.total ?? (given.hasMore === true ? undefined : given.values.length)
  const hasMore = given.hasMore === true || (total ?? 0) > values.length
  return { completion: total === undefined ? { values, hasMore } : { values, total, hasMore } }
}
const isList = (suggestions: Suggestions): suggestions is ReadonlyArray<string> => Array.isArray(suggestions)

/**
 * A completer over fixed choices: those that start with the text so far, without regard to case.
 *
 * @example
 * ```ts
 * import { Completions } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const color = Completions.choices(["red", "green", "grey"])
 *
 * console.log(JSON.stringify(Effect.runSync(color("Gr", {})))) // => ["green","grey"]
 * ```
 */
export const choices =
  (values: ReadonlyArray<string>): Completer =>
  (value) =>
    Effect.sync(() => values.filter((choice) => choice.toLowerCase().startsWith(value.toLowerCase())))

/** The completer of an argument. Names that every object inherits are no arguments. */
export const ownCompleter = <R>(
  completers: { readonly [argument: string]: Completer<R> },
  argument: string
): Completer<R> | undefined => (Object.hasOwn(completers, argument) ? completers[argument] : undefined)

/** The completers with the services that their layer captured; what remains are those of a query. */
export const inQuery = <R>(
  completers: { readonly [argument: string]: Completer<R> | undefined },
  services: Context.Context<Exclude<R, QueryServices>>
): { readonly [argument: string]: Completer<QueryServices> } => {
  const context = new HandlerContext<R, QueryServices>(services)
  return Object.fromEntries(
    Object.entries(completers).flatMap(([argument, completer]) =>
      completer === undefined
        ? []
        : [[argument, context.provided(completer)] satisfies [string, Completer<QueryServices>]]
    )
  )
}

/** Completers without suggestions if a variable has a value that no URI of the template can have. */
export const confined = <R>(
  completers: { readonly [variable: string]: Completer<R> },
  admits: (name: string, value: string) => boolean
): { readonly [variable: string]: Completer<R> } =>
  Record.map(
    completers,
    (complete, name): Completer<R> =>
      (value, others) =>
        admits(name, value) && Object.entries(others).every(([other, set]) => admits(other, set))
          ? complete(value, others)
          : Effect.succeed([])
  )
