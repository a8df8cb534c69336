/** List changes that the upstream server announces while its connection opens. */
import { Memory } from "@effect-mcp/core"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Gateway from "../src/Gateway.ts"
import { join } from "./support/gateway.ts"

/** Announces changes of all lists right after the client's `notifications/initialized`, or with the answer to `initialize`. */
const eager = (when: "before the answer" | "initialize" | "notifications/initialized") =>
  Effect.gen(function* () {
    const [client, end] = yield* Memory.pair()
    const announce = () => {
      for (const list of ["tools", "resources", "prompts"]) {
        end.sink.send({ jsonrpc: "2.0", method: `notifications/${list}/list_changed` }, "data")
      }
    }
    yield* Effect.forkScoped(
      Stream.runForEach(end.incoming, (inbound) =>
        Effect.sync(() => {
          if (inbound._tag !== "Message" || !("method" in inbound.message)) return
          const { message } = inbound
          if (message.method === "initialize" && "id" in message) {
            if (when === "before the answer") announce()
            const changing = { listChanged: true }
            const result = {
              protocolVersion: "2025-11-25",
              capabilities: { tools: changing, prompts: changing, resources: changing },
              serverInfo: { name: "eager", version: "1" }
            }
            end.sink.send({ jsonrpc: "2.0", id: message.id, result }, "data")
          }
          if (message.method === when) announce()
        })
      )
    )
    return client
  })

describe.each(["before the answer", "initialize", "notifications/initialized"] as const)(
  "Upstream servers that announce after %s",
  (when) => {
    it.effect.each(Revision.stateful.map(({ version }) => version))(
      "A %s session is notified of list changes announced while its connection opens",
      (version) =>
        Effect.gen(function* () {
          const heard = yield* Queue.unbounded<string>()
          yield* join(Revision.get(version)!, {
            onAnnouncement: ({ method }) => void Queue.offerUnsafe(heard, method)
          })
          const methods = yield* Effect.forEach([1, 2, 3], () => Queue.take(heard))
          assert.deepStrictEqual(methods.toSorted(), [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/tools/list_changed"
          ])
          assert.strictEqual(yield* Queue.size(heard), 0)
        }).pipe(Effect.provide(Gateway.layer({ connector: eager(when), client: { revisions: ["2025-11-25"] } })))
    )
  }
)

/** A server of 2026-07-28 that acknowledges a subscription to all lists when the test says so. */
const acknowledging = (acknowledged: Deferred.Deferred<void>) =>
  Effect.gen(function* () {
    const [client, end] = yield* Memory.pair()
    const changing = { listChanged: true }
    const answer = (id: JsonRpc.Id, result: object) =>
      end.sink.send({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } }, "data")
    yield* Effect.forkScoped(
      Stream.runForEach(end.incoming, (inbound) =>
        Effect.suspend(() => {
          if (inbound._tag !== "Message" || !JsonRpc.isRequest(inbound.message)) return Effect.void
          const { id, method, params } = inbound.message
          if (method === "server/discover") {
            const capabilities = { tools: changing, prompts: changing, resources: changing }
            answer(id, { supportedVersions: ["2026-07-28"], capabilities, ttlMs: 0, cacheScope: "private" })
          }
          if (method !== "subscriptions/listen") return Effect.void
          return Effect.forkScoped(
            Effect.map(Deferred.await(acknowledged), () =>
              end.sink.send(
                JsonRpc.notification("notifications/subscriptions/acknowledged", {
                  notifications: params?.["notifications"],
                  _meta: { [Meta.subscriptionId]: id }
                }),
                "data"
              )
            )
          )
        })
      )
    )
    return client
  })

describe("2026-07-28 upstream servers", () => {
  const joined = Effect.gen(function* () {
    const acknowledged = yield* Deferred.make<void>()
    const heard: Array<string> = []
    const connector = acknowledging(acknowledged)
    const gateway = yield* Layer.build(Gateway.layer({ connector, client: { revisions: ["2026-07-28"] } }))
    const joining = join(Revision.get("2025-11-25")!, { onAnnouncement: ({ method }) => void heard.push(method) })
    const fiber = yield* Effect.forkScoped(Effect.provide(joining, gateway), { startImmediately: true })
    yield* quiesce
    return { acknowledged, fiber, heard }
  })

  it.effect("A session opens once its upstream server announces list changes", () =>
    Effect.gen(function* () {
      const { acknowledged, fiber, heard } = yield* joined
      assert.isUndefined(fiber.pollUnsafe())
      yield* Deferred.succeed(acknowledged, undefined)
      yield* Fiber.join(fiber)
      yield* quiesce
      assert.deepStrictEqual(heard, [])
    })
  )

  it.effect("A session is notified that any list may have changed if its upstream server acknowledges late", () =>
    Effect.gen(function* () {
      const { acknowledged, fiber, heard } = yield* joined
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(heard, [])
      yield* Deferred.succeed(acknowledged, undefined)
      yield* quiesce
      assert.deepStrictEqual(heard.toSorted(), [
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/tools/list_changed"
      ])
    })
  )
})
