/** A client over HTTP without what its first call does not run: when it is loaded, what waits for it, and what fails where it is missing. */
import { NotLoaded } from "@effect-mcp/client/ClientError"
import * as Http from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { HttpClient } from "effect/http"
import { vi } from "vitest"
import * as Parts from "../../src/transport/http/RareParts.ts"
import { quiesce } from "../support/connected.ts"
import * as Fake from "../support/fake.ts"

const rejected = (): Promise<unknown> => Promise.reject(new TypeError("Failed to fetch dynamically imported module"))

/** The import of the rare parts of HTTP. */
const module = vi.hoisted(() => ({ loads: 0, load: (): Promise<unknown> => Promise.resolve() }))
vi.mock("../../src/transport/http/loadRareParts.ts", async () => {
  const { imported } = await import("../../src/internal/Late.ts")
  return { rareParts: { loaded: () => undefined, load: imported(() => (module.loads++, module.load())) } }
})

const fine = { resultType: "complete", content: [{ type: "text", text: "fine" }] }

/** A client, and what its server has heard since it was connected. */
const connected = Effect.fnUntraced(function* (
  version: Revision.Version,
  answer: (posted: Fake.Posted) => Response = ({ message }) => Fake.result(message, fine)
) {
  const heard: Array<string> = []
  const http = Fake.server(version, (posted) => {
    heard.push(posted.message.params?.name ?? posted.message.method)
    return answer(posted)
  })
  const client = yield* McpClient.open(Http.open({ url: "https://mcp.example.com/mcp" }), {
    reconnect: false,
    listsTools: false
  }).pipe(Effect.provideService(HttpClient.HttpClient, http), Effect.provideService(Http.ServerEraCache, new Map()))
  return { client, heard }
})

describe("Rare parts of HTTP", () => {
  it.effect("A client that calls a tool of a server without sessions and closes does not load them", () =>
    Effect.gen(function* () {
      module.loads = 0
      module.load = rejected
      const { client } = yield* connected("2026-07-28")
      assert.isUndefined((yield* client.callToolByName("a", {})).isError)
      assert.strictEqual(module.loads, 0)
    })
  )

  it.effect(
    "A request that is refused fails with NotLoaded where they are missing, and the next one loads them again",
    () =>
      Effect.gen(function* () {
        const { client } = yield* connected("2026-07-28", ({ message }) =>
          message.params.name === "a" ? Fake.json({}, 401) : Fake.result(message, fine)
        )
        module.load = rejected
        const error = yield* Effect.flip(client.callToolByName("a", {}))
        assert.instanceOf(error, NotLoaded)
        assert.include(error.message, "Failed to fetch dynamically imported module")
        assert.isUndefined((yield* client.callToolByName("b", {})).isError)
        module.load = () => Promise.resolve(Parts)
        assert.propertyVal(yield* Effect.flip(client.callToolByName("a", {})), "_tag", "Unauthorized")
      })
  )

  it.effect(
    "A client does not connect to a server with sessions where they are missing, and does so at the next try",
    () =>
      Effect.gen(function* () {
        module.load = rejected
        assert.instanceOf(yield* Effect.flip(connected("2025-11-25")), NotLoaded)
        module.load = () => Promise.resolve(Parts)
        const { client } = yield* connected("2025-11-25")
        assert.strictEqual(client.revision.version, "2025-11-25")
        assert.isUndefined((yield* client.callToolByName("a", {})).isError)
      })
  )

  it.effect("Messages that wait for them reach the server in their order", () =>
    Effect.gen(function* () {
      const gate = Promise.withResolvers<typeof Parts>()
      const { client, heard } = yield* connected("2026-07-28", ({ message }) =>
        message.id === undefined ? new Response(null, { status: 202 }) : Fake.result(message, fine)
      )
      module.load = () => gate.promise
      yield* client.raw.notify("x/first", {})
      yield* client.raw.notify("x/second", {})
      const call = yield* Effect.forkChild(client.callToolByName("third", {}), { startImmediately: true })
      yield* quiesce
      assert.deepStrictEqual(heard, [])
      gate.resolve(Parts)
      yield* Fiber.join(call)
      assert.deepStrictEqual(heard, ["x/first", "x/second", "third"])
    })
  )
})
