/** List changes that the upstream server announces while its conversation is being opened. */
import { Memory } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue, Stream } from "effect"
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
  "An upstream server that announces after %s",
  (when) => {
    it.effect.each(Revision.stateful.map(({ version }) => version))(
      "A session of %s hears of list changes announced while its conversation opens",
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
