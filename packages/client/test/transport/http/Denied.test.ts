/** Requests whose login the user declined: repeating them would prompt the user again. */
import * as Body from "../../../src/transport/http/Body.ts"
import { RemoteEndpoint } from "../../../src/transport/http/Endpoint.ts"
import * as HttpClientSender from "../../../src/transport/http/HttpClientSender.ts"
import { ResumeStream } from "../../../src/transport/http/ResumeStream.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"

describe("Streams whose login the user declines", () => {
  const scene = () => {
    let count = 0
    const http = HttpClient.make((request) => {
      if (++count === 1) {
        const headers = { "content-type": "text/event-stream" }
        return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("id: 1\ndata: \n\n", { headers })))
      }
      const response = HttpClientResponse.fromWeb(request, new Response("", { status: 401 }))
      return Effect.fail(
        new HttpClientError.HttpClientError({ reason: new HttpClientError.StatusCodeError({ request, response }) })
      )
    })
    const endpoint = new RemoteEndpoint(HttpClientSender.make(http), new URL("https://mcp.example.com/mcp"))
    endpoint.session = "1"
    return { asked: () => count, reconnect: new ResumeStream(endpoint, 1000, { delay: 0 }) }
  }

  it.live("The session stream is not retried after the user declines its login", () =>
    Effect.gen(function* () {
      const { asked, reconnect } = scene()
      const ended = yield* reconnect.standalone(
        () => Effect.void,
        () => {},
        () => {}
      )
      assert.deepStrictEqual([ended, asked()], ["Denied", 2])
    })
  )

  it.live("A request stream is not retried after the user declines its login", () =>
    Effect.gen(function* () {
      const { asked, reconnect } = scene()
      const ended = yield* reconnect.resume(
        Body.start(),
        () => Effect.void,
        () => false
      )
      assert.deepStrictEqual([ended, asked()], ["Denied", 2])
    })
  )
})
