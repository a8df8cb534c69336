/** The metadata of requests and answers in the stateless era. */
import {
  type ClientInput,
  Elicitation,
  Log,
  Progress,
  Prompt,
  Prompts,
  Resources,
  Roots,
  Sampling,
  Tool,
  Tools
} from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import { Middleware } from "@effect-mcp/server"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Schema } from "effect"
import { connect, serve, session } from "../../support/raw.ts"
import { accept, everything, join, metaOf, modern, open, version } from "../../support/modern.ts"

const echo = Tools.layer(
  Tool.make("echo", { description: "", input: { text: Schema.String }, output: { text: Schema.String } }),
  (input) => Effect.succeed(input)
)
const whoami = Tools.layer(Tool.make("whoami", { description: "" }), () =>
  Effect.map(RequestContext, ({ clientCapabilities, clientInfo, revision, sessionId }) =>
    JSON.stringify({ clientCapabilities, clientInfo, revision: revision.version, sessionId: sessionId ?? null })
  )
)
const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("soup"))
const dishes = Resources.layerTemplate(
  { uriTemplate: "dish://{name}", name: "dish", complete: { name: () => Effect.succeed(["soup"]) } },
  ({ name }) => Effect.succeed(name)
)
const review = Prompts.layer(Prompt.make("review", { arguments: { file: Schema.String } }), ({ file }) =>
  Effect.succeed(`Review ${file}`)
)
const features = Layer.mergeAll(echo, whoami, menu, dishes, review)

const requests: ReadonlyArray<readonly [method: string, params: object]> = [
  ["server/discover", {}],
  ["tools/list", {}],
  ["tools/call", { name: "echo", arguments: { text: "a" } }],
  ["tools/call", { name: "echo", arguments: {} }],
  ["prompts/list", {}],
  ["prompts/get", { name: "review", arguments: { file: "a" } }],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["resources/read", { uri: "menu://today" }],
  [
    "completion/complete",
    { ref: { type: "ref/resource", uri: "dish://{name}" }, argument: { name: "name", value: "" } }
  ]
]

it.effect(
  "A request is handled the same way whatever its clientInfo (2026-07-28)",
  () =>
    Effect.gen(function* () {
      const client = yield* open(features)
      for (const [method, params] of requests) {
        const one = yield* client.request(method, params)
        for (const name of ["admin", "", "modern"]) {
          const info = { [Meta.clientInfo]: { name, version: "9" } }
          assert.deepStrictEqual(yield* client.request(method, { ...params, _meta: info }), one)
        }
      }
    }),
  verifies("meta.info.behaviour", "meta.info.security")
)

it.effect(
  "Only clients send requests, and every message carries its metadata (2026-07-28)",
  () =>
    Effect.gen(function* () {
      const asks = Tools.layer(Tool.make("asks", { description: "" }), () =>
        Effect.gen(function* () {
          yield* Progress.report(1)
          yield* Log.info("hello")
          const { meta } = yield* RequestContext
          yield* Elicitation.confirm("?")
          return JSON.stringify(meta["com.example/mine"])
        })
      )
      const client = yield* open(Layer.merge(features, asks))
      const listening = yield* client.listen({ toolsListChanged: true })
      const _meta = { progressToken: 7, [Meta.logLevel]: "debug", "com.example/mine": { a: [1] } }
      const { result } = yield* client.play("tools/call", { name: "asks", arguments: {}, _meta }, () => accept())
      assert.strictEqual(result.content[0].text, '{"a":[1]}')
      yield* listening.cancel
      for (const message of client.received) assert.isFalse("method" in message && "id" in message)
      assert.deepStrictEqual(
        new Set(client.received.map(({ method }) => method ?? "answer")),
        new Set([
          "notifications/subscriptions/acknowledged",
          "notifications/progress",
          "notifications/message",
          "answer"
        ])
      )
    }),
  verifies(
    "transport.directions",
    "transport.custom.preserves-patterns",
    "versioning.base.supported",
    "stateless.server.no-requests"
  )
)

describe("Request declarations", () => {
  const broken: ReadonlyArray<readonly [why: string, meta: object]> = [
    ["no capabilities", { [Meta.clientCapabilities]: undefined }],
    ["non-object capabilities", { [Meta.clientCapabilities]: true }],
    ["null capabilities", { [Meta.clientCapabilities]: null }],
    ["a non-object capability", { [Meta.clientCapabilities]: { roots: 1 } }],
    ["client info without a version", { [Meta.clientInfo]: { name: "a" } }],
    ["non-object client info", { [Meta.clientInfo]: "me" }],
    ["an unknown log level", { [Meta.logLevel]: "loud" }],
    ["a non-string log level", { [Meta.logLevel]: 3 }],
    ["an object as progress token", { progressToken: {} }],
    ["a non-string version", { [Meta.protocolVersion]: 20260728 }],
    ["a null version", { [Meta.protocolVersion]: null }]
  ]
  for (const [why, meta] of broken) {
    it.effect(
      `A request with ${why} fails with -32602 (2026-07-28)`,
      () =>
        Effect.gen(function* () {
          const client = yield* open(features)
          for (const [method, params] of requests) {
            const error = yield* client.refused(method, { ...params, _meta: meta })
            assert.strictEqual(error.code, McpError.InvalidParams, method)
          }
        }),
      verifies(
        "meta.request.malformed",
        ...(why.includes("log level") ? (["logging.level.invalid", "logging.security.fields-validated"] as const) : [])
      )
    )
  }

  it.effect("Client info is optional (2026-07-28)", () =>
    Effect.gen(function* () {
      const client = yield* open(features)
      const result = yield* client.call("whoami", {}, { [Meta.clientInfo]: undefined })
      assert.deepStrictEqual(JSON.parse(result.content[0].text), {
        clientCapabilities: everything,
        revision: version,
        sessionId: null
      })
    })
  )

  it.effect(
    "A declaration applies only to its own request (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const asks = Tools.layer(Tool.make("asks", { description: "" }), () =>
          Effect.as(Elicitation.confirm("Really?"), "done")
        )
        const client = yield* open(Layer.merge(features, asks))
        const first = yield* client.call("asks")
        assert.strictEqual(first.resultType, "input_required")
        const error = yield* client.refused("tools/call", {
          name: "asks",
          _meta: { [Meta.clientCapabilities]: {}, [Meta.clientInfo]: { name: "other", version: "1" } }
        })
        assert.strictEqual(error.code, McpError.MissingClientCapability)
        const other = yield* client.call("whoami", {}, { [Meta.clientInfo]: { name: "other", version: "1" } })
        assert.strictEqual(JSON.parse(other.content[0].text).clientInfo.name, "other")
        const again = yield* client.call("whoami")
        assert.strictEqual(JSON.parse(again.content[0].text).clientInfo.name, "modern")
      }),
    verifies(
      "stateless.request.no-prior-context",
      "meta.capabilities.undeclared",
      "stateless.server.many-conversations"
    )
  )

  it.effect(
    "A later round of a request can arrive on another connection (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const asks = Tools.layer(Tool.make("asks", { description: "" }), () =>
          Effect.as(Elicitation.confirm("?"), "done")
        )
        const server = yield* serve({ features: asks })
        const one = yield* join(server)
        const two = yield* join(server)
        const first = yield* one.call("asks")
        const [key] = Object.keys(first.inputRequests)
        const done = yield* two.request("tools/call", {
          name: "asks",
          arguments: {},
          requestState: first.requestState,
          inputResponses: { [key!]: accept() }
        })
        assert.strictEqual(done.content[0].text, "done")
      }),
    verifies("stateless.server.any-connection")
  )
})

describe("Versions", () => {
  for (const requested of ["1900-01-01", "2025-11-25", "2024-11-05", "", "2026-07-28 "]) {
    it.effect(
      `The version ${JSON.stringify(requested)} in _meta fails with -32022 and lists the supported versions (2026-07-28)`,
      () =>
        Effect.gen(function* () {
          const client = yield* open(features)
          for (const [method, params] of requests) {
            const error = yield* client.refused(method, { ...params, _meta: { [Meta.protocolVersion]: requested } })
            assert.strictEqual(error.code, McpError.UnsupportedProtocolVersion)
            assert.deepStrictEqual(error.data, {
              supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
              requested
            })
          }
        }),
      verifies("versioning.unsupported.error")
    )
  }

  it.effect("A version excluded by the options is unsupported", () =>
    Effect.gen(function* () {
      const client = yield* open(features, {}, { revisions: ["2025-11-25"] })
      const error = yield* client.refused("server/discover")
      assert.strictEqual(error.code, McpError.UnsupportedProtocolVersion)
      assert.deepInclude(error.data, { supported: ["2025-11-25"], requested: "2026-07-28" })
    })
  )

  it.effect(
    "A stateless-only server rejects initialize and lists its versions (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ features, revisions: ["2026-07-28"] })
        const client = yield* connect(server, { handshake: false })
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old", version: "1" } }
        const error = yield* client.refused("initialize", params)
        assert.match(JSON.stringify([error.message, error.data]), /2026-07-28/)
        // An initialize that carries the `_meta` of the stateless era fails the same way.
        const both = yield* client.refused("initialize", { ...params, _meta: metaOf() })
        assert.match(JSON.stringify([both.message, both.data]), /2026-07-28/)
      }),
    verifies("versioning.initialize.names-versions")
  )

  it.effect(
    "A stateless-only server rejects a request without declarations as malformed (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ features, revisions: ["2026-07-28"] })
        const client = yield* connect(server, { handshake: false })
        for (const [method, params] of requests) {
          assert.strictEqual((yield* client.refused(method, params)).code, McpError.InvalidParams, method)
        }
        assert.strictEqual((yield* client.refused("ping")).code, McpError.InvalidParams)
      }),
    verifies("meta.request.malformed")
  )
})

describe("Every answer", () => {
  for (const [method, params] of requests) {
    it.effect(
      `The answer to ${method} ${JSON.stringify(params)} includes its type and the server's name (2026-07-28)`,
      () =>
        Effect.gen(function* () {
          const client = yield* open(features, {}, { title: "Test server" })
          const result = yield* client.request(method, params)
          assert.strictEqual(result.resultType, "complete")
          assert.deepStrictEqual(result._meta[Meta.serverInfo], {
            name: "test",
            version: "1.2.3",
            title: "Test server"
          })
        }),
      verifies("json-rpc.result.type-included", "meta.result.server-info")
    )
  }

  it.effect("The answer includes the _meta returned by the handler", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Tools.layer(Tool.make("meta", { description: "" }), () =>
          Effect.succeed({ content: [], _meta: { "com.example/a": 1 } })
        )
      )
      const { _meta } = yield* client.call("meta")
      assert.strictEqual(_meta["com.example/a"], 1)
      assert.isDefined(_meta[Meta.serverInfo])
    })
  )
})

describe("Errors", () => {
  // The last ones are defined by the specification, but handlers would use them with another meaning.
  const codes = [-32000, -32001, -32002, -32019, -32023, -32042, -32050, -32099, -32020, -32021, -32022]
  const failing = Layer.mergeAll(
    Tools.layer(Tool.make("fail", { description: "", input: { code: Schema.Int } }), ({ code }) =>
      // Data other than the data that the specification defines for these codes.
      Effect.fail(new McpError.McpError({ code, message: "The code is the message", data: { reason: "mine" } }))
    ),
    Resources.layerTemplate({ uriTemplate: "fail://{code}", name: "fail" }, ({ code }) =>
      Effect.fail(new McpError.McpError({ code: -Number(code), message: "The code is the message" }))
    ),
    Prompts.layer(Prompt.make("fail", { arguments: { code: Schema.String } }), ({ code }) =>
      Effect.fail(new McpError.McpError({ code: Number(code), message: "The code is the message" }))
    )
  )
  it.effect(
    "Handler errors never use a reserved or legacy code (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(failing)
        for (const code of codes) {
          const errors = [
            yield* client.refused("tools/call", { name: "fail", arguments: { code } }),
            yield* client.refused("resources/read", { uri: `fail://${-code}` }),
            yield* client.refused("prompts/get", { name: "fail", arguments: { code: `${code}` } })
          ]
          for (const error of errors) {
            assert.strictEqual(error.code, McpError.InternalError, `${code}`)
            assert.strictEqual(error.message, "The code is the message")
          }
        }
      }),
    verifies(
      "json-rpc.error.reserved",
      "json-rpc.error.former",
      "json-rpc.error.legacy-not-used",
      "json-rpc.error.legacy-not-allocated",
      "json-rpc.error.own-range",
      "json-rpc.error.meaning"
    )
  )

  it.effect("Handler errors with a custom code are sent unchanged", () =>
    Effect.gen(function* () {
      const client = yield* open(failing)
      for (const code of [1, -1, -31999, -32100, 42_000]) {
        const error = yield* client.refused("tools/call", { name: "fail", arguments: { code } })
        assert.strictEqual(error.code, code)
      }
    })
  )

  it.effect(
    "Unknown tools, prompts, resources and completion targets fail with -32602 (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(features)
        for (const [method, params] of [
          ["tools/call", { name: "nope", arguments: {} }],
          ["prompts/get", { name: "nope" }],
          ["resources/read", { uri: "nope://nope" }],
          ["completion/complete", { ref: { type: "ref/prompt", name: "nope" }, argument: { name: "a", value: "" } }]
        ] as const) {
          assert.strictEqual((yield* client.refused(method, params)).code, McpError.InvalidParams, method)
        }
      }),
    verifies("resources.read.unknown", "resources.read.not-empty", "tools.call.unknown-tool")
  )

  it.effect("A resource that its handler cannot find also fails with -32602", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Resources.layerTemplate({ uriTemplate: "dish://{name}", name: "dish" }, ({ name }) =>
          Effect.fail(new Resources.ResourceNotFound({ uri: `dish://${name}` }))
        )
      )
      const error = yield* client.refused("resources/read", { uri: "dish://soup" })
      assert.strictEqual(error.code, McpError.InvalidParams)
      assert.deepStrictEqual(error.data, { uri: "dish://soup" })
    })
  )

  const removed = [
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/list",
    "toString",
    "__proto__"
  ]
  it.effect("Methods that 2026-07-28 removed or never had fail with -32601", () =>
    Effect.gen(function* () {
      const client = yield* open(features)
      for (const method of removed) {
        const error = yield* client.refused(method, { level: "info", uri: "menu://today" })
        assert.strictEqual(error.code, McpError.MethodNotFound, method)
      }
    })
  )

  it.effect("Listing features that the server lacks fails with -32601", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      for (const method of ["prompts/list", "resources/list", "resources/read", "completion/complete"]) {
        const error = yield* client.refused(method, { uri: "a://b" })
        assert.strictEqual(error.code, McpError.MethodNotFound, method)
      }
    })
  )

  it.effect("Errors do not reveal the defect behind them", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Tools.layer(Tool.make("dies", { description: "" }), () => Effect.die(new Error("secret")))
      )
      const error = yield* client.refused("tools/call", { name: "dies" })
      assert.strictEqual(error.code, McpError.InternalError)
      assert.notMatch(JSON.stringify(error), /secret/)
    })
  )
})

type Asking = Elicitation.Elicitation | Sampling.Sampling | Roots.Roots

describe("Missing capabilities", () => {
  const url = { message: "Pay", url: "https://example.com/", elicitationId: "1" }
  const messages = [{ role: "user", content: { type: "text", text: "?" } }] as const
  const questions = {
    form: Elicitation.form("?", Schema.Struct({ a: Schema.String })),
    confirm: Elicitation.confirm("?"),
    url: Elicitation.url(url),
    model: Sampling.createMessage({ messages, maxTokens: 1 }),
    tools: Sampling.createMessage({ messages, maxTokens: 1, tools: [{ name: "t", inputSchema: { type: "object" } }] }),
    context: Sampling.createMessage({ messages, maxTokens: 1, includeContext: "thisServer" }),
    roots: Roots.list
  }
  const needs: { readonly [question in keyof typeof questions]: object } = {
    form: { elicitation: { form: {} } },
    confirm: { elicitation: { form: {} } },
    url: { elicitation: { url: {} } },
    model: { sampling: {} },
    tools: { sampling: { tools: {} } },
    context: { sampling: { context: {} } },
    roots: { roots: {} }
  }
  const lacking: { readonly [question in keyof typeof questions]: object } = {
    form: { elicitation: { url: {} }, roots: {}, sampling: {} },
    confirm: { roots: {} },
    url: { elicitation: {} },
    model: { elicitation: {} },
    tools: { sampling: {} },
    context: { sampling: {} },
    roots: { sampling: {} }
  }
  for (const name of Object.keys(questions) as Array<keyof typeof questions>) {
    const question: Effect.Effect<unknown, ClientInput.AskError | McpError.McpError, Asking> = questions[name]
    const asking = Layer.mergeAll(
      Tools.layer(Tool.make("ask", { description: "" }), () => Effect.as(question, "asked")),
      Tools.layer(Tool.make("caught", { description: "" }), () =>
        Effect.catchTag(Effect.as(question, "asked"), "CapabilityMissing", () => Effect.succeed("without"))
      ),
      Prompts.layer(Prompt.make("ask"), () => Effect.as(question, "asked")),
      Resources.layer({ uri: "ask://it", name: "ask" }, Effect.as(question, "asked"))
    )
    it.effect(
      `Asking without a declared capability (${name}) fails with -32021, unless the handler recovers (2026-07-28)`,
      () =>
        Effect.gen(function* () {
          const client = yield* open(asking, { capabilities: lacking[name] })
          for (const [method, params] of [
            ["tools/call", { name: "ask", arguments: {} }],
            ["prompts/get", { name: "ask" }],
            ["resources/read", { uri: "ask://it" }]
          ] as const) {
            const error = yield* client.refused(method, params)
            assert.strictEqual(error.code, McpError.MissingClientCapability, method)
            assert.deepStrictEqual(error.data, { requiredCapabilities: needs[name] })
          }
          assert.strictEqual((yield* client.call("caught")).content[0].text, "without")
        }),
      verifies("meta.capabilities.missing", "mrtr.questions.declared")
    )
  }
})

describe("server/discover", () => {
  it.effect(
    "server/discover returns the versions, capabilities and instructions (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(
          features,
          {},
          {
            instructions: "Be brief.",
            extensions: { "com.example/ext": { a: 1 } },
            caching: { discover: { timeToLive: "1 hour", scope: "public" } }
          }
        )
        const result = yield* client.request("server/discover")
        assert.deepStrictEqual(result, {
          resultType: "complete",
          supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
          capabilities: {
            logging: {},
            tools: { listChanged: true },
            resources: { listChanged: true },
            prompts: { listChanged: true },
            completions: {},
            extensions: { "com.example/ext": { a: 1 } }
          },
          instructions: "Be brief.",
          ttlMs: 3_600_000,
          cacheScope: "public",
          _meta: { [Meta.serverInfo]: { name: "test", version: "1.2.3" } }
        })
      }),
    verifies("discover.implemented", "discover.result.lists")
  )

  it.effect("server/discover and subscriptions/listen are unknown methods in a stateful session", () =>
    Effect.gen(function* () {
      const client = yield* session(features)
      assert.strictEqual((yield* client.refused("server/discover")).code, McpError.MethodNotFound)
      assert.strictEqual(
        (yield* client.refused("subscriptions/listen", { notifications: {} })).code,
        McpError.MethodNotFound
      )
    })
  )
})

describe("Logging and progress", () => {
  const reports = Tools.layer(Tool.make("reports", { description: "" }), () =>
    Effect.gen(function* () {
      for (const progress of [1, 3, 2, 3, 4]) yield* Progress.report(progress, { total: 4, message: `${progress}` })
      return "done"
    })
  )
  it.effect("Progress uses the request's token and only increases; without a token, none is sent", () =>
    Effect.gen(function* () {
      const client = yield* open(reports)
      yield* client.call("reports")
      assert.deepStrictEqual(client.notes("notifications/progress"), [])
      for (const progressToken of [0, "", "t"]) {
        const before = client.notes("notifications/progress").length
        yield* client.call("reports", {}, { progressToken })
        assert.deepStrictEqual(
          client
            .notes("notifications/progress")
            .slice(before)
            .map(({ params }) => params),
          [1, 3, 4].map((progress) => ({ progressToken, progress, total: 4, message: `${progress}` }))
        )
      }
    })
  )

  const logs = Tools.layer(Tool.make("logs", { description: "" }), () =>
    Effect.gen(function* () {
      yield* Log.debug("a debug")
      yield* Log.info("an info")
      yield* Log.error("an error")
      yield* Effect.logWarning("a warning")
      return "done"
    })
  )
  const texts = (notes: ReadonlyArray<any>) => notes.map(({ params }) => params.level)

  it.effect(
    "Log messages are sent only to a request that sets a level (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ features: logs })
        // Even the level that a stateful session set on the same wire does not count here.
        const wire = yield* connect(server)
        yield* wire.request("logging/setLevel", { level: "debug" })
        const client = modern(wire)
        yield* client.call("logs")
        assert.deepStrictEqual(client.notes("notifications/message"), [])
        yield* wire.call("logs")
        assert.isAbove(client.notes("notifications/message").length, 0)
      }),
    verifies("logging.request.silent")
  )

  it.effect(
    "The log level applies to one request, whose messages precede its answer (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(logs)
        yield* client.call("logs", {}, { [Meta.logLevel]: "error" })
        assert.deepStrictEqual(texts(client.notes("notifications/message")), ["error"])
        yield* client.call("logs", {}, { [Meta.logLevel]: "debug" })
        assert.deepStrictEqual(texts(client.notes("notifications/message")), [
          "error",
          "debug",
          "info",
          "error",
          "warning"
        ])
        assert.strictEqual(client.received.at(-1).result?.resultType, "complete")
      }),
    verifies("logging.request.threshold", "logging.request.own-stream")
  )

  it.effect(
    "Log messages and progress stop when the request ends, even if fibers are still running (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const answered = yield* Deferred.make<void>()
        const left = yield* Deferred.make<void>()
        const leaves = Tools.layer(Tool.make("leaves", { description: "" }), () =>
          Effect.gen(function* () {
            yield* Effect.forkDetach(
              Deferred.await(answered).pipe(
                Effect.andThen(Log.error("too late")),
                Effect.onExit((exit) => Deferred.done(left, exit))
              )
            )
            return "done"
          })
        )
        const client = yield* open(leaves)
        yield* client.call("leaves", {}, { [Meta.logLevel]: "debug", progressToken: "t" })
        yield* Deferred.succeed(answered, undefined)
        yield* Deferred.await(left)
        assert.deepStrictEqual(client.notes("notifications/message"), [])
      }),
    verifies("logging.request.own-stream")
  )
})

describe("Middleware", () => {
  it.effect("Middleware sees 2026-07-28 requests", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const audit = Middleware.layer(({ method }, next) =>
        Effect.andThen(
          Effect.sync(() => seen.push(method)),
          next
        )
      )
      const client = yield* open(Layer.merge(features, audit))
      for (const [method, params] of requests) yield* client.request(method, params)
      assert.deepStrictEqual(
        seen,
        requests.map(([method]) => method)
      )
    })
  )

  it.effect(
    "Middleware that asks during a non-interactive request fails with a typed error (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const nosy = Middleware.layer((_request, next) =>
          Effect.andThen(
            Effect.catchTag(
              Elicitation.confirm("May I?"),
              ["Declined", "Timeout", "Closed", "CapabilityMissing"],
              (e) => Effect.fail(McpError.invalidRequest(e.message))
            ),
            next
          )
        )
        const client = yield* open(Layer.merge(features, nosy))
        for (const [method, params] of requests) {
          if (["tools/call", "prompts/get", "resources/read"].includes(method)) {
            assert.strictEqual((yield* client.request(method, params)).resultType, "input_required")
          } else assert.strictEqual((yield* client.refused(method, params)).code, McpError.InvalidRequest)
        }
      }),
    verifies("mrtr.result.supported-methods")
  )
})
