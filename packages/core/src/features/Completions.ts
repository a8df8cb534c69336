/**
 * Autocompletion for prompt arguments and resource template variables (spec: server/utilities/completion).
 *
 * Completers are registered together with the prompt or template they belong to. A result has at most 100 values.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import { HandlerContext } from "./HandlerContext.ts"
import type { QueryServices } from "../request/RequestContext.ts"

/** Suggested values, most relevant first. Set `total` if more values exist than are returned. */
export type Suggestions =
  | ReadonlyArray<string>
  | { readonly values: ReadonlyArray<string>; readonly total?: number; readonly hasMore?: boolean }

/** Suggests values for one argument. `value` is the text typed so far; `others` contains the arguments that already have values. */
export type Completer<R = never> = (
  value: string,
  others: { readonly [argument: string]: string }
) => Effect.Effect<Suggestions, McpError.McpError, R>

/** Handles `completion/complete`, using a server's registries or a client's view of a server. */
export class Completions extends Context.Service<
  Completions,
  {
    readonly complete: (params: CompleteParams) => Effect.Effect<CompleteResult, McpError.McpError, QueryServices>
  }
>()("@effect-mcp/core/Completions") {}

/** Maximum number of values in a result. */
export const maxValues = 100

/** Converts suggestions to a result with the first 100 values and the total. */
export const resultOf = (suggestions: Suggestions): CompleteResult => {
  const given = isList(suggestions) ? { values: suggestions } : suggestions
  const values = given.values.slice(0, maxValues)
  // With `hasMore`, only the completer knows the total.
  const total = given.total ?? (given.hasMore === true ? undefined : given.values.length)
  const hasMore = given.hasMore === true || (total ?? 0) > values.length
  return { completion: total === undefined ? { values, hasMore } : { values, total, hasMore } }
}
const isList = (suggestions: Suggestions): suggestions is ReadonlyArray<string> => Array.isArray(suggestions)

/**
 * Suggests the choices that start with the text typed so far, ignoring case.
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

/**
 * Returns a choice's rank for the text typed so far (lower is better), or `undefined` if it doesn't match. Both are in
 * lower case.
 */
const rankOf = (choice: string, typed: string): number | undefined => {
  const at = choice.indexOf(typed)
  if (at === 0) return 0
  if (at > 0) return isLetter.test(choice.charAt(at - 1)) ? 2 : 1
  let matched = 0
  for (let place = 0; place < choice.length && matched < typed.length; place++) {
    if (choice.charCodeAt(place) === typed.charCodeAt(matched)) matched++
  }
  return matched === typed.length ? 3 : undefined
}
const isLetter = /[\p{L}\p{N}]/u

/**
 * Suggests the choices that contain the typed characters in the same order, ignoring case. Choices that start with the
 * text come first, then those with a word that starts with it, then those that contain it. Equal matches keep the given
 * order.
 *
 * @example
 * ```ts
 * import { Completions } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const branch = Completions.fuzzy(["unmain", "fix/main-page", "main", "made-in"])
 *
 * console.log(JSON.stringify(Effect.runSync(branch("main", {})))) // => ["main","fix/main-page","unmain","made-in"]
 * ```
 */
export const fuzzy = (values: ReadonlyArray<string>): Completer => {
  const choices = values.map((value) => ({ value, lower: value.toLowerCase() }))
  return (typed) =>
    Effect.sync(() => {
      const lower = typed.toLowerCase()
      return choices
        .flatMap(({ lower: choice, value }) => {
          const rank = rankOf(choice, lower)
          return rank === undefined ? [] : [{ rank, value }]
        })
        .toSorted((one, other) => one.rank - other.rank)
        .map(({ value }) => value)
    })
}

/** Returns an argument's completer. Ignores inherited names such as `toString`. */
export const ownCompleter = <R>(
  completers: { readonly [argument: string]: Completer<R> },
  argument: string
): Completer<R> | undefined => (Object.hasOwn(completers, argument) ? completers[argument] : undefined)

/** Provides completers with the services their layer captured. The remaining services come from the query. */
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

/** Wraps completers so that they suggest nothing if a variable's value cannot occur in any of the template's URIs. */
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
