/** Randomly mutated messages are rejected and have no other effect. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { echo, open } from "./support/http.ts"
import { able, callOf, initialize, openSession, request } from "./support/session.ts"

const Text = Schema.Literals(["", " ", "{", "[]", "[[]]", "null", "1", `"x"`, "\u0000", "{}", `{"jsonrpc":"2.0"}`])
const Id = Schema.Union([Schema.Literals([0, "", 1, "1", 1.5, -1]), Schema.Null])
const Method = Schema.Literals(["ping", "initialize", "tools/call", "notifications/cancelled", "", "tools/list"])
const Message = Schema.Struct({
  jsonrpc: Schema.Literals(["2.0", "1.0", 2]),
  id: Schema.optionalKey(Id),
  method: Schema.optionalKey(Schema.Union([Method, Schema.Int])),
  params: Schema.optionalKey(Schema.Json),
  result: Schema.optionalKey(Schema.Json),
  error: Schema.optionalKey(Schema.Json)
})
const Body = Schema.Union([Text, Message, Schema.Array(Message).check(Schema.isMaxLength(4)), Schema.Json])
const Header = (...values: ReadonlyArray<string>) => Schema.optionalKey(Schema.Literals(values))
const Headers = Schema.Struct({
  "mcp-protocol-version": Header("", "2025-03-26", "2025-11-25", "2026-07-28", "9999-99-99", "x,y"),
  "last-event-id": Header("", "0-0", "1-0", "1-99999999999999999999", "-", "../1-0"),
  accept: Header("*/*", "application/json, text/event-stream", "text/event-stream", "", ";;q=,"),
  "content-type": Header("application/json", "application/json;charset=x", "text/plain", "")
})
const Sent = Schema.Struct({
  method: Schema.Literals(["POST", "POST", "POST", "GET", "DELETE", "PUT", "OPTIONS", "HEAD"]),
  session: Schema.Literals(["own", "own", "none", "other"]),
  headers: Headers,
  body: Body
})

describe("Randomly mutated messages", () => {
  it.live.prop(
    "A mutated message never gets a 5xx or affects another session",
    { all: Arbitrary.array(Arbitrary.schema(Sent), { maxLength: 25 }) },
    ({ all }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const client = yield* open(echo, { drain: "1 millis" })
          const bystander = yield* openSession(client, "2025-11-25", { capabilities: able })
          const opened = yield* client.fetch({ body: JSON.stringify(initialize("2025-03-26")) })
          const ids = { own: String(opened.headers["mcp-session-id"]), none: undefined, other: "nobody's" }
          for (const { body, headers, method, session } of all) {
            const reply = yield* client.fetch({
              method,
              headers: { ...headers, "mcp-session-id": ids[session] },
              ...(method === "POST" ? { body: typeof body === "string" ? body : JSON.stringify(body) } : {})
            })
            assert.isBelow(reply.status, 500, JSON.stringify({ body, headers, method, session }))
            yield* reply.disconnect
          }
          const answer = yield* (yield* bystander.post(callOf("echo", { text: "still here" }))).json
          assert.strictEqual(answer.result.content[0].text, "still here")
          assert.strictEqual((yield* bystander.post(request("ping"))).status, 200)
        })
      ),
    { arbitrary: { runs: 25, size: 25 } }
  )
})
