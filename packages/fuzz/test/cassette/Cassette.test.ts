import { McpClient } from "@effect-mcp/client"
import { Elicitation } from "@effect-mcp/core"
import { Cassette } from "@effect-mcp/fuzz"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"

type Said = readonly [from: "client" | "server", message: object]

const clientInfo = { name: "recorded", version: "1" }
const opening: ReadonlyArray<Said> = [
  ["client", { id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } }],
  [
    "server",
    {
      id: 0,
      result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }
    }
  ],
  ["client", { method: "notifications/initialized" }]
]
const call = (id: number, name: string, args: object = {}): Said => [
  "client",
  { id, method: "tools/call", params: { name, arguments: args, _meta: { progressToken: id } } }
]
const text = (id: number, text: string): Said => ["server", { id, result: { content: [{ type: "text", text }] } }]

const written = (...said: ReadonlyArray<Said>): string => {
  const lines: Array<string> = []
  const recorder = new Cassette.Recorder({ server: "s", now: () => 0, write: (line) => void lines.push(line) })
  const wire = recorder.lines()
  for (const [from, message] of [...opening, ...said]) {
    const bytes = new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
    if (from === "client") wire.sent(bytes)
    else wire.received(bytes)
  }
  return lines.join("\n")
}

const connect = Effect.fnUntraced(function* (...said: ReadonlyArray<Said>) {
  const tape = yield* Cassette.make(written(...said), "a.jsonl")
  const client = yield* McpClient.open(tape.open, { revisions: [tape.revision] })
  const say = (name: string, args: Record<string, unknown> = {}) =>
    Effect.map(client.callToolByName(name, args), ({ content }) => content.map((block) => Object(block).text).join())
  return { ...tape, say }
})

describe("Cassettes", () => {
  it.effect("A cassette answers requests in any order", () =>
    Effect.gen(function* () {
      const { differences, left, say } = yield* connect(call(1, "a"), call(2, "b"), text(2, "B"), text(1, "A"))
      assert.strictEqual((yield* left).length, 2)
      assert.deepStrictEqual([yield* say("b"), yield* say("a")], ["B", "A"])
      assert.deepStrictEqual([yield* differences, yield* left], [[], []])
    })
  )

  it.effect("A cassette answers identical requests in their recorded order", () =>
    Effect.gen(function* () {
      const { say } = yield* connect(call(1, "next"), text(1, "one"), call(2, "next"), text(2, "two"))
      assert.deepStrictEqual([yield* say("next"), yield* say("next")], ["one", "two"])
    })
  )

  it.effect("A cassette answers a request only once its question is answered", () =>
    Effect.gen(function* () {
      const tape = yield* Cassette.make(
        written(
          call(1, "greet"),
          ["server", { id: "q", method: "elicitation/create", params: {} }],
          ["client", { id: "q", result: { action: "decline" } }],
          text(1, "Hello")
        ),
        "a.jsonl"
      )
      const { incoming, sink } = yield* tape.open
      const heard: Array<unknown> = []
      const listening = Stream.runForEach(incoming, (inbound) =>
        Effect.sync(() => heard.push(Object(inbound).message.id))
      )
      yield* Effect.forkScoped(listening, { startImmediately: true })
      sink.send({ jsonrpc: "2.0", id: 6, method: "tools/call", params: { name: "greet", arguments: {} } }, "data")
      yield* quiesce
      assert.deepStrictEqual(heard, ["q"])
      sink.send({ jsonrpc: "2.0", id: "q", result: { action: "decline" } }, "control")
      yield* quiesce
      assert.deepStrictEqual(heard, ["q", 6])
    })
  )

  it.effect("A cassette repeats a request's questions", () =>
    Effect.gen(function* () {
      const question = {
        message: "Who?",
        requestedSchema: { type: "object", properties: { name: { type: "string" } } }
      }
      const { differences, say } = yield* connect(
        call(1, "greet"),
        ["server", { id: "q", method: "elicitation/create", params: question }],
        ["client", { id: "q", result: { action: "accept", content: { name: "Ada" } } }],
        text(1, "Hello Ada")
      ).pipe(Effect.provide(Elicitation.layerAccept({ name: "Ada" })))
      assert.strictEqual(yield* say("greet"), "Hello Ada")
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("A cassette fails a request whose question is answered differently", () =>
    Effect.gen(function* () {
      const question = {
        message: "Who?",
        requestedSchema: { type: "object", properties: { name: { type: "string" } } }
      }
      const { say } = yield* connect(
        call(1, "greet"),
        ["server", { id: "q", method: "elicitation/create", params: question }],
        ["client", { id: "q", result: { action: "accept", content: { name: "Ada" } } }],
        text(1, "Hello Ada")
      ).pipe(Effect.provide(Elicitation.layerAccept({ name: "Bob" })))
      const error = yield* Effect.flip(say("greet"))
      assert.include(
        error.message,
        'a.jsonl has another answer to a question, in line 7: .result.content.name is "Bob"'
      )
    })
  )

  it.effect("A cassette names the closest request for a mismatch and answers the other requests", () =>
    Effect.gen(function* () {
      const { differences, say } = yield* connect(
        call(1, "add", { a: 1, b: 2 }),
        text(1, "3"),
        call(2, "other"),
        text(2, "x")
      )
      const changed = yield* Effect.flip(say("add", { a: 1, c: 2 }))
      assert.include(
        changed.message,
        'a.jsonl does not have this request. The client sent tools/call {"name":"add","arguments":{"a":1,"c":2}}'
      )
      assert.include(changed.message, "line 5 has tools/call")
      assert.include(
        changed.message,
        "params.arguments.b is missing, but was 2; params.arguments.c is 2, but was missing"
      )
      assert.strictEqual(yield* say("add", { a: 1, b: 2 }), "3")
      const again = yield* Effect.flip(say("add", { a: 1, b: 2 }))
      assert.include(again.message, "once more than a.jsonl has it: line 5 was the last one")
      assert.lengthOf(yield* differences, 2)
    })
  )

  it.effect("A cassette leaves a request unanswered if the recording did too", () =>
    Effect.gen(function* () {
      const { say } = yield* connect(call(1, "never"), call(2, "other"), text(2, "x"))
      const waiting = yield* Effect.forkScoped(say("never"), { startImmediately: true })
      assert.strictEqual(yield* say("other"), "x")
      assert.isUndefined(waiting.pollUnsafe())
      yield* Fiber.interrupt(waiting)
    })
  )

  it.effect.each([
    ["", "a.jsonl, line 1: the file is empty"],
    ["nonsense", "a.jsonl, line 1: "],
    ['{"cassette":2,"server":"s"}', "a.jsonl, line 1: "],
    ['{"cassette":1,"server":"s"}\n\n{"from":"nobody","at":1,"message":{}}', "a.jsonl, line 3: "],
    ['{"cassette":1,"server":"s"}', "a.jsonl has no conversation"]
  ] as const)("An unreadable cassette explains why: %j", ([text, message]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Cassette.make(text, "a.jsonl"))
      assert.include(error.message, message)
    })
  )
})

describe("Recordings", () => {
  const secrets: ReadonlyArray<readonly [json: unknown, hidden: unknown]> = [
    [
      { apiKey: "abc", api_key: "x", count: 3 },
      { apiKey: "[redacted]", api_key: "[redacted]", count: 3 }
    ],
    [
      { password: 1234, list: { tokens: [1] } },
      { password: "[redacted]", list: { tokens: [1] } }
    ],
    [{ clientSecret: ["a", "b"] }, { clientSecret: ["[redacted]", "[redacted]"] }],
    [
      { access_token: "x", progressToken: "p" },
      { access_token: "[redacted]", progressToken: "p" }
    ],
    [{ properties: { password: { type: "string" } } }, { properties: { password: { type: "string" } } }],
    ["Authorization: Bearer abcdefgh12345", "Authorization: Bearer [redacted]"],
    ["https://a.b/?token=abc&x=1", "https://a.b/?token=[redacted]&x=1"],
    ["postgres://me:pw@host/db", "postgres://me:[redacted]@host/db"],
    ['{"password":"hunter2","a":1}', '{"password":"[redacted]","a":1}'],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def", "[redacted]"],
    [`key ghp_${"a".repeat(36)}.`, "key [redacted]."],
    ["nothing to hide: a token is a word", "nothing to hide: a token is a word"],
    ["AWS_SECRET_ACCESS_KEY=abc/def\nMODE=x", "AWS_SECRET_ACCESS_KEY=[redacted]\nMODE=x"],
    ["GITHUB_TOKEN=abc maxTokens=3", "GITHUB_TOKEN=[redacted] maxTokens=3"],
    ['{"password":"two words","a":1}', '{"password":"[redacted]","a":1}'],
    [String.raw`{\"client_secret\":\"two words\"}`, String.raw`{\"client_secret\":\"[redacted]\"}`],
    ['{"properties":{"password":{"type":"string"}}}', '{"properties":{"password":{"type":"string"}}}'],
    ['{"credentials": {"user": "me"}, "n": 1}', '{"credentials":{"user":"[redacted]"},"n":1}'],
    ['[\n  { "pin": 1234 }\n]', '[\n  {\n    "pin": "[redacted]"\n  }\n]'],
    [JSON.stringify({ inner: JSON.stringify({ otp: "1" }) }), JSON.stringify({ inner: '{"otp":"[redacted]"}' })],
    ['{ "a":  1 }', '{ "a":  1 }'],
    [
      {
        "set-cookie": ["sid=1"],
        "x-auth-key": "a",
        userPin: 1,
        PINCode: "2",
        otp_code: "3",
        DB_PWD: "4",
        pinned: true
      },
      {
        "set-cookie": ["[redacted]"],
        "x-auth-key": "[redacted]",
        userPin: "[redacted]",
        PINCode: "[redacted]",
        otp_code: "[redacted]",
        DB_PWD: "[redacted]",
        pinned: true
      }
    ],
    ["HTTP/1.1 200 OK\nSet-Cookie: sid=1; Path=/\nAge: 1", "HTTP/1.1 200 OK\nSet-Cookie: [redacted]\nAge: 1"],
    ["Cookie: a=1; b=2", "Cookie: [redacted]"],
    ["Authorization: token abc", "Authorization: [redacted]"],
    ["'x-auth-user': 'me too', a", "'x-auth-user': '[redacted]', a"],
    ["DB_PWD=abc pin: 1234, a spin=1", "DB_PWD=[redacted] pin: [redacted], a spin=1"],
    ["https://a.b/?pin=1&x=1", "https://a.b/?pin=[redacted]&x=1"],
    [
      {
        headers: [
          { name: "Set-Cookie", value: "sid=1" },
          { name: "age", value: "1" }
        ]
      },
      {
        headers: [
          { name: "Set-Cookie", value: "[redacted]" },
          { name: "age", value: "1" }
        ]
      }
    ],
    [
      { [`ghp_${"a".repeat(36)}`]: 1, [`ghp_${"b".repeat(36)}`]: 2 },
      { "[redacted]": 1, "[redacted] 2": 2 }
    ],
    [
      { credentials: { user: "me", value: ["x"], of: { a: 1 } } },
      { credentials: { user: "[redacted]", value: ["[redacted]"], of: { a: "[redacted]" } } }
    ]
  ]

  it.each(secrets)("A recording contains no secrets: %j", (json, hidden) => {
    const { paths, value } = Cassette.redact({ json })
    assert.deepStrictEqual(value, { json: hidden })
    assert.strictEqual(paths.length > 0, JSON.stringify(json) !== JSON.stringify(hidden))
  })

  it("A recording of a deeply nested message hides what exceeds the depth limit", () => {
    const written: Array<string> = []
    const recorder = new Cassette.Recorder({ server: "s", now: () => 0, write: (line) => void written.push(line) })
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`
    const line = `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":${deep}}}\n`
    recorder.lines().received(new TextEncoder().encode(line))
    assert.isBelow(written[1]?.length ?? 0, 1000)
    assert.include(written[1], "[redacted]")
    assert.strictEqual(recorder.messages, 1)
  })

  // With a backtracking pattern, a megabyte would take minutes, and the test would time out.
  it.each([
    "a",
    "a.",
    "-eyJ",
    "eyJa",
    "secret ",
    "a://",
    "Bearer ",
    "-----BEGIN ",
    "password:'",
    "sk-",
    "cookie:",
    "x-auth-",
    "pin=",
    '{"a":'
  ])("A recording can contain a megabyte of %j", (text) => {
    const { value } = Cassette.redact(text.repeat(1_000_000 / text.length))
    assert.isString(value)
  })

  it.each([
    ["node server.js --api-key s3cret --port 80", "node server.js --api-key [redacted] --port 80"],
    ["node server.js --token=s3cret -v", "node server.js --token=[redacted] -v"],
    ["server --db-password s3cret", "server --db-password [redacted]"],
    ["server --pin 1234 --db-pwd=s3cret --spin 1", "server --pin [redacted] --db-pwd=[redacted] --spin 1"],
    ["env API_KEY=s3cret server --password --verbose", "env API_KEY=[redacted] server --password --verbose"],
    [
      "https://me:s3cret@host/mcp?access_token=s3cret&x=1",
      "https://me:[redacted]@host/mcp?access_token=[redacted]&x=1"
    ],
    ["node --max-old-space-size=99 a/tokens.js", "node --max-old-space-size=99 a/tokens.js"]
  ])("A recording names its server without secrets from its command or URL: %s", (server, shown) => {
    const written: Array<string> = []
    const recorder = new Cassette.Recorder({ server, now: () => 0, write: (line) => void written.push(line) })
    recorder.lines().sent(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'))
    assert.deepStrictEqual(JSON.parse(written[0] ?? ""), { cassette: 1, server: shown })
  })

  it("A recording hides user-defined fields and lists their paths", () => {
    const { paths, value } = Cassette.redact({ params: { arguments: { Word: "x" } } }, { names: ["word"] })
    assert.deepStrictEqual(value, { params: { arguments: { Word: "[redacted]" } } })
    assert.deepStrictEqual(paths, ["params.arguments.Word"])
  })

  it.effect("A request with a hidden secret is replayed to a client that sends the secret", () =>
    Effect.gen(function* () {
      const { differences, say } = yield* connect(call(1, "login", { apiKey: "s3cret" }), text(1, "welcome"))
      assert.strictEqual(yield* say("login", { apiKey: "s3cret" }), "welcome")
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("A request with a hidden secret in JSON text is replayed to a client that sends the secret", () =>
    Effect.gen(function* () {
      const args = { body: '{ "pin": 1234, "to": "Bob" }' }
      const { say } = yield* connect(call(1, "pay", args), text(1, "paid"))
      assert.include((yield* Effect.flip(say("pay", { body: '{"pin":1,"to":"Eve"}' }))).message, 'body.to is "Eve"')
      assert.strictEqual(yield* say("pay", args), "paid")
    })
  )

  it.effect("A request with a hidden field name is replayed to a client that sends the name", () =>
    Effect.gen(function* () {
      const scopes = { [`ghp_${"a".repeat(36)}`]: ["read"] }
      const { differences, say } = yield* connect(call(1, "grant", { scopes }), text(1, "granted"))
      assert.strictEqual(yield* say("grant", { scopes }), "granted")
      assert.deepStrictEqual(yield* differences, [])
    })
  )

  it.effect("A field named like an Object.prototype member distinguishes a request", () =>
    Effect.gen(function* () {
      const { say } = yield* connect(call(1, "a"), text(1, "A"))
      const { message } = yield* Effect.flip(say("a", { constructor: 1 }))
      assert.include(message, "params.arguments.constructor is 1, but was missing")
    })
  )
})
