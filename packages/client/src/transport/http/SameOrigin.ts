/** Follows redirects only within the same origin, because tokens and session ids belong to one server. */
import * as Effect from "effect/Effect"
import * as Body from "./Body.ts"
import type { HttpFailure, RequestToServer, HttpResponse, HttpSender } from "./HttpSender.ts"

const redirects = new Set([307, 308])

/** Follows a redirect within the same origin with the unchanged request. Any other redirect is returned as the response. */
export const follow = (
  send: HttpSender,
  request: RequestToServer,
  hops = 3
): Effect.Effect<HttpResponse, HttpFailure> =>
  Effect.flatMap(send(request), (response) => {
    // Headers are created each time they are read.
    const location = redirects.has(response.status) && hops > 0 ? response.headers["location"] : undefined
    if (location === undefined || !URL.canParse(location, request.url.href)) return Effect.succeed(response)
    const url = new URL(location, request.url)
    return url.origin === request.url.origin
      ? Effect.andThen(Body.skip(response), follow(send, { ...request, url }, hops - 1))
      : Effect.succeed(response)
  })
