/**
 * Requests that a stateless server answers with questions (spec 2026-07-28: basic/patterns/mrtr). The client answers the questions with the
 * same services it uses for a stateful server, and repeats the request until it receives a result.
 *
 * `requestState` is returned unchanged, and only with its own request. Rounds and time are limited. If the server asks a question it may
 * not ask, the request fails with `InvalidResult`. If the user, the model or the host fails, the request fails with the same error.
 */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import { inputRequired } from "@effect-mcp/protocol/internal/eras"
import * as Effect from "effect/Effect"
import { defaultAttempts, isPermanent, type RetryPolicy, wait } from "./Backoff.ts"
import { Closed, InvalidResult, sent, Timeout } from "../ClientError.ts"
import type { Refused } from "../answering/RefusedQuestion.ts"

/** Default maximum number of rounds per request. */
const defaultMaxRounds = 10

const coder = Codecs.coder(inputRequired)

/** How the client answers. */
export interface QuestionAnswers {
  /** Answers one question. Params and result are in the revision's format. */
  readonly answer: (question: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError | Refused>
  /** True if a question belongs to one of the client's extensions. All other questions are defined by the revision. */
  readonly isOwn: (method: string) => boolean
}

export interface Options<E> extends QuestionAnswers {
  readonly maxRounds: number | undefined
  /** Time limit for all further rounds in milliseconds, or Infinity. */
  readonly left: number
  /** Sends one round. */
  readonly send: (params: JsonRpc.Params) => Effect.Effect<unknown, E>
}

/** The final result. `retried` means that it depends on answers and must not be cached. */
interface Final {
  readonly wire: unknown
  readonly retried: boolean
}

type Failure<E> = E | InvalidResult | McpError.McpError

/** Answers the questions in a request's first result and repeats the request, round by round, until it has a final result. */
export const answerRounds = <E>(
  method: string,
  params: JsonObject,
  first: unknown,
  options: Options<E>
): Effect.Effect<Final, Failure<E> | Timeout> => {
  const rounds = answered(method, params, first, options)
  return options.left === Infinity
    ? rounds
    : Effect.timeoutOrElse(rounds, {
        duration: options.left,
        orElse: () => Effect.fail(new Timeout({ method, message: `${method} took too long, including its questions` }))
      })
}

const answered = Effect.fnUntraced(function* <E>(
  method: string,
  params: JsonObject,
  first: unknown,
  { maxRounds = defaultMaxRounds, send, ...answers }: Options<E>
): Effect.fn.Return<Final, Failure<E>> {
  let wire = first
  for (let round = 1; round <= maxRounds; round++) {
    wire = yield* send({ ...params, ...(yield* answersTo(method, wire, answers)) })
    if (!ResultType.isInputRequired(wire)) return { wire, retried: true }
  }
  const message = `The server asked for input more than ${maxRounds} times`
  return yield* new InvalidResult({ method, message, result: wire })
})

/** Returns the params to add to the request for the next round. */
const answersTo = Effect.fnUntraced(function* (
  method: string,
  wire: unknown,
  { answer, isOwn }: QuestionAnswers
): Effect.fn.Return<JsonObject, Failure<never>> {
  const invalid = (message: string) => new InvalidResult({ method, message, result: wire })
  const { own, rest } = withoutOwn(wire, isOwn)
  const { inputRequests, requestState } = yield* Effect.mapError(coder.decode(rest), (message) =>
    invalid(`The server sent invalid questions for ${method}: ${message}`)
  )
  const state = requestState === undefined ? undefined : { requestState }
  if (inputRequests === undefined) return { ...state }
  const answers = yield* Effect.forEach(
    [...own, ...Object.entries(inputRequests)],
    ([key, { method, params }]) => {
      const question = { jsonrpc: "2.0", id: key, method, params: isJsonObject(params) ? params : {} } as const
      return Effect.map(answer(question), (result) => [key, result] as const)
    },
    { concurrency: "unbounded" }
  ).pipe(
    Effect.catchTag("Refused", ({ error }) =>
      Effect.fail(invalid(`The server asked a question that is not allowed: ${error.message}`))
    )
  )
  return { inputResponses: Object.fromEntries(answers), ...state }
})

interface Asked {
  readonly method: string
  readonly params?: unknown
}

/** Separates extension questions, which the revision cannot decode, from the rest of the result. */
const withoutOwn = (
  wire: unknown,
  isOwn: QuestionAnswers["isOwn"]
): { readonly own: ReadonlyArray<readonly [key: string, question: Asked]>; readonly rest: unknown } => {
  const questions = isJsonObject(wire) ? wire["inputRequests"] : undefined
  if (!isJsonObject(wire) || !isJsonObject(questions)) return { own: [], rest: wire }
  const own = Object.entries(questions).flatMap(([key, question]): ReadonlyArray<readonly [string, Asked]> => {
    if (!isJsonObject(question) || typeof question["method"] !== "string" || !isOwn(question["method"])) return []
    return [[key, { method: question["method"], params: question["params"] }]]
  })
  if (own.length === 0) return { own, rest: wire }
  const keys = new Set(own.map(([key]) => key))
  const others = Object.entries(questions).filter(([key]) => !keys.has(key))
  return { own, rest: { ...wire, inputRequests: Object.fromEntries(others) } }
}

/** Returns the `inputResponses` to questions that arrived in a result of another type. */
export const answers = (
  method: string,
  inputRequests: JsonObject,
  how: QuestionAnswers
): Effect.Effect<JsonObject, InvalidResult | McpError.McpError> =>
  Effect.map(answersTo(method, { resultType: "input_required", inputRequests }, how), ({ inputResponses }) =>
    isJsonObject(inputResponses) ? inputResponses : {}
  )

/**
 * Resends a later round if it did not reach the server, because it carries the user's answers. Its last failure is never `unsent`: the
 * server has seen earlier rounds.
 */
export const retryRound = <A, E>(
  round: Effect.Effect<A, E | Closed>,
  ended: Effect.Effect<unknown, unknown>,
  policy: RetryPolicy | undefined
): Effect.Effect<A, E | Closed> => {
  const over = Effect.as(Effect.exit(ended), true)
  const from = (tried: number): Effect.Effect<A, E | Closed> =>
    Effect.catchIf(round, isUnsent, (closed) => {
      const hopeless = policy === undefined || tried >= (policy.attempts ?? defaultAttempts) || isPermanent(closed)
      if (hopeless) return Effect.fail(sent(closed))
      return Effect.flatMap(Effect.raceFirst(over, Effect.as(wait(tried + 1, policy), false)), (isOver) =>
        isOver ? Effect.fail(sent(closed)) : from(tried + 1)
      )
    })
  return from(1)
}

const isUnsent = (error: unknown): error is Closed => error instanceof Closed && error.unsent === true
