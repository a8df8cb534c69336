/**
 * Requests that a stateless server answers with questions (spec 2026-07-28: basic/patterns/mrtr): the client answers them by the same
 * services that answer a stateful server's, and sends the request again, until it gets a result.
 *
 * `requestState` goes back as it came, with that request only; every retry has an id of its own. Bounded in rounds.
 */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import { inputRequired } from "@effect-mcp/protocol/revision/v2026_07_28"
import * as Effect from "effect/Effect"
import { InvalidResult } from "./ClientError.ts"

/** Rounds of one request, unless the client says otherwise. */
export const defaultMaxRounds = 10

const coder = Codecs.coder(inputRequired)

/** The methods whose results may be questions; from any other they are invalid. */
const asking: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"])

export interface Options<E> {
  readonly maxRounds: number
  /** Sends the request once more. */
  readonly send: (params: JsonRpc.Params) => Effect.Effect<unknown, E>
  /** Answers one question, on the wire's own terms. */
  readonly answer: (question: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError>
}

/** Sends a request until it is answered for good. `retried` says that the result depends on answers, and must not be cached. */
export const run = Effect.fnUntraced(function* <E>(
  method: string,
  params: JsonObject,
  { answer, maxRounds, send }: Options<E>
): Effect.fn.Return<{ readonly wire: unknown; readonly retried: boolean }, E | InvalidResult | McpError.McpError> {
  let extra: JsonObject = {}
  for (let round = 0; ; round++) {
    const wire = yield* send({ ...params, ...extra })
    if (!ResultType.isInputRequired(wire) || !asking.has(method)) return { wire, retried: round > 0 }
    if (round >= maxRounds) {
      return yield* new InvalidResult({ method, message: `The server asked in more than ${maxRounds} rounds` })
    }
    const { inputRequests, requestState } = yield* Effect.mapError(
      coder.decode(wire),
      (message) => new InvalidResult({ method, message: `The questions of ${method} are malformed: ${message}` })
    )
    const questions = Object.entries(inputRequests ?? {})
    const answers = yield* Effect.forEach(
      questions,
      ([key, question]) =>
        Effect.map(
          answer({
            jsonrpc: "2.0",
            id: key,
            method: question.method,
            params: isJsonObject(question.params) ? question.params : {}
          }),
          (result) => [key, result] as const
        ),
      { concurrency: "unbounded" }
    )
    extra = {
      ...(inputRequests === undefined ? undefined : { inputResponses: Object.fromEntries(answers) }),
      ...(requestState === undefined ? undefined : { requestState })
    }
  }
})
