/** Logging of rejected hosts and origins. */
import * as Admission from "../../../src/http/request/Admission.ts"
import * as Http from "../../../src/http/RouterEndpoint.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"

it("A rejected host or origin is reported once, with the option that allows it", () => {
  const reported: Array<string> = []
  const admission = Admission.make({}, (message) => reported.push(message))
  const refused = (host: string, origin?: string) =>
    admission.caller({ headers: origin === undefined ? { host } : { host, origin }, url: "/" } as never) !== undefined
  assert.isTrue(refused("mcp.example.com"))
  assert.isTrue(refused("mcp.example.com"))
  assert.isTrue(refused("localhost", "https://evil.example.com"))
  assert.isFalse(refused("localhost"))
  assert.strictEqual(reported.length, 2)
  assert.include(reported[0], 'The host "mcp.example.com" is not allowed here')
  assert.include(reported[0], "allowedHosts")
  assert.include(reported[1], 'The origin "https://evil.example.com" is not allowed here')
  assert.include(reported[1], "allowedOrigins")
})

it("Only a few rejected hosts are logged, and long ones are truncated", () => {
  const reported: Array<string> = []
  const admission = Admission.make({}, (message) => reported.push(message))
  for (let n = 0; n < 100; n++) {
    assert.isDefined(admission.caller({ headers: { host: `${n}${"x".repeat(10_000)}` }, url: "/" } as never))
  }
  assert.strictEqual(reported.length, 16)
  for (const message of reported) assert.isBelow(message.length, 500)
})

it.effect("An endpoint logs a rejected host as a warning", () =>
  Effect.gen(function* () {
    const logged: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void logged.push(`${logLevel} ${String(message)}`))
    const server = McpServer.layer({ name: "test", version: "0", features: Layer.empty })
    const { dispose, handler } = Http.toWebHandler(Layer.provideMerge(server, Logger.layer([logger])), { path: "/mcp" })
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
    const response = yield* Effect.promise(() =>
      handler(new Request("http://mcp.example.com/mcp", { method: "POST", headers, body }))
    )
    assert.strictEqual(response.status, 403)
    yield* Effect.promise(dispose)
    assert.include(logged.join("\n"), 'Warn Rejected a request: The host "mcp.example.com" is not allowed here')
  })
)
