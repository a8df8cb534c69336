/** Posts a message without an answer, which is accepted or rejected. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Body from "./Body.ts"
import type { Answered } from "./Denial.ts"
import type { RemoteEndpoint } from "./Endpoint.ts"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import { type OneWayMessage, opensSession } from "./OneWayMessage.ts"
import * as Refusal from "./Refusal.ts"
import * as SessionExpired from "./SessionExpired.ts"
import type { HttpResponse } from "./HttpSender.ts"

const isResponse = (message: OneWayMessage): boolean =>
  JsonRpc.isBatch(message) ? message.every(JsonRpc.isResponse) : JsonRpc.isResponse(message)

/** Returns the message's name for errors. */
const nameOf = (message: OneWayMessage): string =>
  JsonRpc.isBatch(message) ? "a batch" : "method" in message ? message.method : "an answer"

/** Maximum number of times to resend a message that the server is waiting for. */
const times = 8

/**
 * Returns the delay before the next attempt, which starts at 100 milliseconds and doubles each time, with a random variation of up to a
 * fifth.
 */
const pause = (tried: number): Effect.Effect<void> =>
  Effect.flatMap(Random.next, (random) => Effect.sleep(100 * 2 ** tried * (0.8 + random * 0.4)))

/** Repeats a POST that the server is waiting for and may receive twice, unless the server rejected it. */
const repeated = <A>(
  post: Effect.Effect<A, ExchangeFailure.ExchangeFailure>,
  tried = 0
): Effect.Effect<A, ExchangeFailure.ExchangeFailure> =>
  // A broken connection has no status.
  Effect.catchIf(
    post,
    ({ error: { status = 500 } }) => status >= 500 && tried < times,
    () => Effect.andThen(pause(tried), repeated(post, tried + 1))
  )

/** Fails with the reason why the server did not accept the message. */
const checkAccepted = (
  response: HttpResponse,
  method: string,
  url: URL,
  inSession: boolean
): Effect.Effect<void, ExchangeFailure.ExchangeFailure> => {
  const { status } = response
  const answered = (body: string): Answered => ({ method, url, response, body })
  if (status >= 200 && status < 300) return Effect.void
  if (inSession && SessionExpired.isCandidate(status)) {
    return Effect.flatMap(SessionExpired.read(response), (body) =>
      Effect.fail((SessionExpired.matches(body) ? Refusal.sessionForgotten : Refusal.refused)(answered(body)))
    )
  }
  const failure = inSession && status === 404 ? ExchangeFailure.sessionLost(true) : Refusal.refused(answered(""))
  return Effect.andThen(Body.skip(response), Effect.fail(failure))
}

/**
 * Posts the message until it is accepted or rejected. `initialized` and responses are resent if the connection or the server fails. `lost`
 * returns the failure with which the session ended in the meantime.
 */
export const post = (
  endpoint: RemoteEndpoint,
  message: OneWayMessage,
  text: string,
  lost: () => ExchangeFailure.ExchangeFailure | undefined
): Effect.Effect<HttpResponse, ExchangeFailure.ExchangeFailure> => {
  const inSession = endpoint.session !== undefined
  const name = nameOf(message)
  const once = Effect.suspend((): Effect.Effect<HttpResponse, ExchangeFailure.ExchangeFailure> => {
    const failure = lost()
    return failure === undefined
      ? Effect.mapError(endpoint.post(message, text), (error) => Refusal.unreachable(error, name, endpoint.url))
      : Effect.fail(failure)
  }).pipe(Effect.tap((response) => checkAccepted(response, name, endpoint.url, inSession)))
  return opensSession(message) || isResponse(message) ? repeated(once) : once
}
