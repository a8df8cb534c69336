/**
 * Progress of the answer to a server's question (spec: basic/utilities/progress), reported by the client's own services.
 */
import { Requester } from "@effect-mcp/client/Requester"
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Sampling from "@effect-mcp/core/Sampling"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connected, versions } from "../support/connected.ts"
import { answer, sampling } from "../support/questions.ts"

const reports = [
  { progress: 1, total: 2, message: "half" },
  { progress: 2, total: 2 }
]

/** A model that reports twice before it answers, and records its questions. */
const reporting = (asked: Array<unknown>) =>
  Sampling.layer((params) =>
    Effect.map(Requester, (requester) => {
      asked.push(params)
      for (const report of reports) requester?.progress?.(report)
      return answer
    })
  )

describe.each(versions)("Progress while answering a question, %s", (version) => {
  const withMessages = version >= "2025-03-26"
  const received = reports.map(({ message, ...report }) =>
    message === undefined || !withMessages ? report : { ...report, message }
  )

  it.effect("Progress is sent before the answer, with messages if the revision has them", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const { server } = yield* connected({ version }).pipe(Effect.provide(reporting(asked)))
      const events: Array<unknown> = []
      const onProgress = ({ progressToken: _token, ...event }: { readonly progressToken?: unknown }) =>
        void events.push(event)
      yield* server.peer.request("sampling/createMessage", sampling, { onProgress })
      assert.deepStrictEqual(events, received)
      assert.notInclude(JSON.stringify(asked), "progressToken")
    })
  )

  it.effect("Progress is not sent to a server that did not request it", () =>
    Effect.gen(function* () {
      const { server } = yield* connected({ version }).pipe(Effect.provide(reporting([])))
      yield* server.peer.request("sampling/createMessage", sampling)
      assert.notInclude(JSON.stringify(server.heard), "notifications/progress")
    })
  )

  it.effect("Progress is forwarded if the client relays the request for another caller", () =>
    Effect.gen(function* () {
      const { client } = yield* connected({
        version,
        answers: {
          "tools/call": (_params, { peer }) =>
            Effect.as(
              Effect.orDie(
                peer.request("sampling/createMessage", sampling, {
                  onProgress: ({ progress }) => void events.push(progress)
                })
              ),
              { content: [] }
            )
        }
      }).pipe(Effect.provide(reporting([])))
      const events: Array<unknown> = []
      const input = {
        ask: (
          _method: string,
          _params: unknown,
          options: { onProgress?: (event: { progress: number }) => void } = {}
        ) =>
          Effect.sync(() => {
            options.onProgress?.({ progress: 7 })
            return answer
          })
      } as unknown as ClientInput["Service"]
      yield* client.forwarded.forward({ input, connection: undefined }, (onSend) =>
        client.callToolByName("ask", {}, { onSend })
      )
      assert.deepStrictEqual(events, [7])
    })
  )
})
