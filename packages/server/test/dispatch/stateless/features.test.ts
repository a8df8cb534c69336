/**
 * Lists, reads and calls in the stateless era: cache hints, order, and values that older revisions cannot represent.
 */
import { Elicitation, Principal, Prompt, Prompts, Resources, Tool, Tools } from "@effect-mcp/core"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { type Context, Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { connect, serve, session, quiesce, versions } from "../../support/raw.ts"
import { join, modern, open } from "../../support/modern.ts"

const tool = (name: string) => Tools.layer(Tool.make(name, { description: "" }), () => Effect.succeed(name))
const many = (n: number) =>
  Layer.mergeAll(...(Array.from({ length: n }, (_, i) => tool(`tool-${i}`)) as [ReturnType<typeof tool>]))
const prompt = Prompts.layer(Prompt.make("p"), () => Effect.succeed("x"))
const resource = (options: Partial<Parameters<typeof Resources.layer>[0]> = {}) =>
  Resources.layer({ uri: "a://b", name: "b", ...options }, Effect.succeed("x"))
const template = Resources.layerTemplate({ uriTemplate: "t://{x}", name: "t" }, () => Effect.succeed("x"))
const lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"] as const
const read = (uri: string) => ["resources/read", { uri }] as const

describe("Caching hints", () => {
  it.effect(
    "Every list, discovery and read has caching hints, private and stale by default (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(Layer.mergeAll(tool("a"), prompt, resource(), template))
        for (const [method, params] of [
          ...lists.map((method) => [method, {}] as const),
          read("a://b"),
          read("t://1")
        ]) {
          assert.deepInclude(yield* client.request(method, params), { ttlMs: 0, cacheScope: "private" }, method)
        }
        for (const [method, params] of [
          ["tools/call", { name: "a", arguments: {} }],
          ["prompts/get", { name: "p" }]
        ] as const) {
          const result = yield* client.request(method, params)
          assert.notProperty(result, "ttlMs")
          assert.notProperty(result, "cacheScope")
        }
      }),
    verifies("caching.hints.included", "caching.ttl.not-negative")
  )

  it.effect("Each list has one option for its caching hints", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Layer.mergeAll(tool("a"), prompt, resource(), template),
        {},
        {
          caching: {
            tools: { timeToLive: "1 minute", scope: "public" },
            prompts: { timeToLive: 1.6 },
            resources: { scope: "public" },
            resourceTemplates: { timeToLive: "Infinity" },
            discover: { timeToLive: -5, scope: "private" }
          }
        }
      )
      const expected = [
        [60_000, "public"],
        [2, "private"],
        [0, "public"],
        [Number.MAX_SAFE_INTEGER, "private"],
        [0, "private"]
      ]
      for (const [i, method] of lists.entries()) {
        const { cacheScope, ttlMs } = yield* client.request(method)
        assert.deepStrictEqual([ttlMs, cacheScope], expected[i], method)
      }
    })
  )

  it.effect("Caching hints for resources and templates come from an option or the read result", () =>
    Effect.gen(function* () {
      const cache = { timeToLive: "7 millis", scope: "public" } as const
      const own = Resources.layer(
        { uri: "own://it", name: "own", cache },
        Effect.succeed({ contents: [{ uri: "own://it", text: "x" }], ttlMs: 1 })
      )
      const many = Resources.layerTemplate({ uriTemplate: "c://{x}", name: "c", cache }, () => Effect.succeed("x"))
      const client = yield* open(Layer.mergeAll(resource({ cache }), own, many))
      assert.deepInclude(yield* client.request(...read("a://b")), { ttlMs: 7, cacheScope: "public" })
      assert.deepInclude(yield* client.request(...read("c://1")), { ttlMs: 7, cacheScope: "public" })
      assert.deepInclude(yield* client.request(...read("own://it")), { ttlMs: 1, cacheScope: "public" })
    })
  )

  it.effect(
    "All pages of a list share one cache scope (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(
          many(5),
          {},
          { pageSize: 2, caching: { tools: { timeToLive: 10, scope: "public" } } }
        )
        const scopes: Array<unknown> = []
        let cursor: string | undefined
        do {
          const page = yield* client.request("tools/list", cursor === undefined ? {} : { cursor })
          scopes.push([page.ttlMs, page.cacheScope, page.tools.length])
          cursor = page.nextCursor
        } while (cursor !== undefined)
        assert.deepStrictEqual(scopes, [
          [10, "public", 2],
          [10, "public", 2],
          [10, "public", 1]
        ])
      }),
    verifies("caching.pages.same-scope")
  )

  it.effect(
    "A list is cached privately if some entries are limited to some callers, regardless of the option (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const cache = { timeToLive: 1000, scope: "public" } as const
        const caching = { tools: cache, prompts: cache, resources: cache, resourceTemplates: cache }
        const visible = () => true
        const restricted = Layer.mergeAll(
          tool("open"),
          Tools.layer(Tool.make("secret", { description: "" }), () => Effect.succeed("x"), { visible }),
          Prompts.layer(Prompt.make("secret"), () => Effect.succeed("x"), { visible }),
          resource({ visible, cache }),
          Resources.layerTemplate({ uriTemplate: "secret://{id}", name: "secret", visible, cache }, () =>
            Effect.succeed("x")
          )
        )
        const client = yield* open(restricted, {}, { caching })
        for (const [method, params] of [
          ["tools/list", {}],
          ["prompts/list", {}],
          ["resources/list", {}],
          ["resources/templates/list", {}],
          read("a://b"),
          read("secret://1")
        ] as const) {
          assert.deepInclude(yield* client.request(method, params), { ttlMs: 1000, cacheScope: "private" }, method)
        }
      })
  )

  it.effect("A list is cached privately if a mounted source contributes to it (2026-07-28)", () =>
    Effect.gen(function* () {
      const cache = { timeToLive: 1000, scope: "public" } as const
      const caching = { tools: cache, prompts: cache, resources: cache, resourceTemplates: cache }
      const adminOnly = <A>(item: A) =>
        Effect.map(Principal.Principal, ({ subject }) => (subject === "admin" ? [item] : []))
      const changes = Stream.never
      const mounted = Layer.effectDiscard(
        Effect.gen(function* () {
          const tools = yield* Tools.ToolRegistry
          const prompts = yield* Prompts.PromptRegistry
          const resources = yield* Resources.ResourceRegistry
          const wipe = { name: "wipe", inputSchema: { type: "object" as const } }
          yield* tools.mount({ list: adminOnly(wipe), call: () => undefined, changes })
          yield* prompts.mount({ list: adminOnly({ name: "wipe" }), get: () => undefined, changes })
          yield* resources.mount({
            list: adminOnly({ uri: "a://wipe", name: "wipe" }),
            templates: adminOnly({ uriTemplate: "a://{wipe}", name: "wipe" }),
            read: () => undefined,
            watch: () => undefined,
            matches: () => false,
            changes
          })
        })
      )
      const ofSources = yield* open(mounted, {}, { caching })
      const lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
      for (const method of lists) {
        assert.deepInclude(yield* ofSources.request(method), { ttlMs: 1000, cacheScope: "private" }, method)
      }
      const members = Resources.layerTemplate(
        { uriTemplate: "m://{id}", name: "m", list: adminOnly({ uri: "m://1", name: "m" }) },
        () => Effect.succeed("x")
      )
      const ofMembers = yield* open(members, {}, { caching })
      assert.deepInclude(yield* ofMembers.request("resources/list"), { cacheScope: "private" })
      assert.deepInclude(yield* ofMembers.request("resources/templates/list"), { cacheScope: "public" })
    })
  )

  it.effect("Caching becomes private when an entry with limited visibility is registered (2026-07-28)", () =>
    Effect.gen(function* () {
      const registry = yield* Deferred.make<Context.Context<Tools.ToolRegistry>>()
      const registers = Layer.effectDiscard(
        Effect.flatMap(Effect.context<Tools.ToolRegistry>(), (context) => Deferred.succeed(registry, context))
      )
      const client = yield* open(Layer.merge(tool("open"), registers), {}, { caching: { tools: { scope: "public" } } })
      const scopeOfTools = Effect.map(client.request("tools/list"), ({ cacheScope }) => cacheScope)
      const secret = Tools.layer(Tool.make("secret", { description: "" }), () => Effect.succeed("x"), {
        visible: () => true
      })
      assert.strictEqual(yield* scopeOfTools, "public")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Effect.provideContext(
            Layer.buildWithScope(secret, yield* Effect.scope),
            yield* Deferred.await(registry)
          )
          assert.strictEqual(yield* scopeOfTools, "private")
        })
      )
      assert.strictEqual(yield* scopeOfTools, "public")
    })
  )

  for (const version of versions()) {
    it.effect(`Caching hints are omitted in ${version}`, () =>
      Effect.gen(function* () {
        const cache = { timeToLive: "7 millis", scope: "public" } as const
        const client = yield* session(
          Layer.merge(tool("a"), resource({ cache })),
          { version },
          { caching: { tools: { timeToLive: 5 } } }
        )
        assert.deepStrictEqual(Object.keys(yield* client.request("tools/list")), ["tools"])
        assert.deepStrictEqual(Object.keys(yield* client.request(...read("a://b"))), ["contents"])
      })
    )
  }
})

describe("Lists", () => {
  it.effect(
    "Lists have the same order on every connection (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ features: Layer.mergeAll(many(20), prompt, resource(), template) })
        const wire = yield* connect(server)
        const clients = [yield* join(server), modern(wire), yield* join(server, { capabilities: {} })]
        for (const method of ["tools/list", "prompts/list", "resources/list"]) {
          const expected = yield* clients[0]!.request(method)
          for (const client of clients) {
            yield* client.call("tool-3")
            assert.deepStrictEqual(yield* client.request(method), expected)
          }
        }
        const { tools } = yield* clients[0]!.request("tools/list")
        assert.deepStrictEqual(
          tools.map(({ name }: { name: string }) => name),
          Array.from({ length: 20 }, (_, i) => `tool-${i}`)
        )
      }),
    verifies(
      "tools.list.order",
      "tools.list.not-per-connection",
      "prompts.list.not-per-connection",
      "resources.list.not-per-connection",
      "tools.list.answered",
      "prompts.list.answered",
      "resources.list.answered"
    )
  )

  it.effect(
    "Lists contain only entries visible to the caller, regardless of cache scope (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const admin = (principal: Principal.Principal["Service"]) => principal.subject === "admin"
        const secret = Layer.mergeAll(
          tool("open"),
          Tools.layer(Tool.make("secret", { description: "" }), () => Effect.succeed("x"), { visible: admin }),
          resource({ visible: admin, cache: { timeToLive: 1000, scope: "public" } }),
          Resources.layerTemplate(
            {
              uriTemplate: "secret://{id}",
              name: "secret",
              visible: admin,
              cache: { timeToLive: 1000, scope: "public" },
              list: Effect.succeed([{ uri: "secret://1", name: "one" }]),
              complete: { id: () => Effect.succeed(["1"]) }
            },
            () => Effect.succeed("x")
          ),
          Prompts.layer(Prompt.make("secret", { arguments: { id: Schema.String } }), () => Effect.succeed("x"), {
            visible: admin,
            complete: { id: () => Effect.succeed(["1"]) }
          })
        )
        const scope = "public"
        const caching = {
          tools: { scope },
          prompts: { scope },
          resources: { scope },
          resourceTemplates: { scope }
        } as const
        const server = yield* serve({ features: secret, caching })
        const as = (subject: string) => join(server, { principal: { ...Principal.anonymous, subject } })
        const [guest, boss] = [yield* as("guest"), yield* as("admin")]
        const names = ({ tools }: any) => tools.map(({ name }: any) => name)
        assert.deepStrictEqual(names(yield* boss.request("tools/list")), ["open", "secret"])
        assert.deepStrictEqual(names(yield* guest.request("tools/list")), ["open"])
        assert.strictEqual((yield* guest.refused("tools/call", { name: "secret" })).code, -32602)
        assert.strictEqual((yield* guest.refused(...read("a://b"))).code, -32602)
        assert.strictEqual((yield* boss.request(...read("a://b"))).contents[0].text, "x")
        const listed = (client: typeof guest, method: string, field: string) =>
          Effect.map(client.request(method), (result) => result[field].map(({ name }: any) => name))
        for (const [method, field, all] of [
          ["prompts/list", "prompts", ["secret"]],
          ["resources/list", "resources", ["b", "one"]],
          ["resources/templates/list", "resourceTemplates", ["secret"]]
        ] as const) {
          assert.deepStrictEqual(yield* listed(boss, method, field), all)
          assert.deepStrictEqual(yield* listed(guest, method, field), [])
        }
        const argument = { name: "id", value: "" }
        for (const [method, params] of [
          read("secret://1"),
          ["prompts/get", { name: "secret", arguments: { id: "1" } }],
          ["completion/complete", { ref: { type: "ref/prompt", name: "secret" }, argument }],
          ["completion/complete", { ref: { type: "ref/resource", uri: "secret://{id}" }, argument }]
        ] as const) {
          yield* boss.request(method, params)
          assert.strictEqual((yield* guest.refused(method, params)).code, -32602, method)
        }
      }),
    verifies("caching.access.controlled", "caching.access.not-by-scope")
  )

  it.effect("A list rejects cursors it did not issue, including the empty string", () =>
    Effect.gen(function* () {
      const client = yield* open(many(3), {}, { pageSize: 2 })
      for (const cursor of ["", "x", "e30"]) {
        assert.strictEqual((yield* client.refused("tools/list", { cursor })).code, -32602, cursor)
      }
    })
  )
})

describe("Tool arguments", () => {
  it.effect("Invalid tool arguments return a result that the model can read", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Tools.layer(Tool.make("add", { description: "", input: { n: Schema.Int } }), ({ n }) =>
          Effect.as(Elicitation.confirm(`Add ${n}?`), "added")
        )
      )
      for (const args of [{}, { n: "1" }, { n: 1.5 }, { n: null }]) {
        const result = yield* client.call("add", args)
        assert.strictEqual(result.resultType, "complete")
        assert.isTrue(result.isError)
        assert.match(result.content[0].text, /n/)
      }
      assert.strictEqual((yield* client.refused("tools/call", { name: "add", arguments: [1] })).code, -32602)
      assert.strictEqual((yield* client.call("add", { n: 1 })).resultType, "input_required")
    })
  )
})

describe("Tool schemas", () => {
  const schema = (properties: object, rest: object = {}) => ({ type: "object", properties, ...rest })
  const header = (name: unknown, type = "string") => ({ type, "x-mcp-header": name })
  const made = (inputSchema: any) => () => Tool.raw("t", { description: "", inputSchema })
  const served = (inputSchema: any) => () => Tools.layer(made(inputSchema)(), () => Effect.succeed(""))

  it.effect("A tool schema can map arguments to headers", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Tools.layer(Tool.raw("t", { description: "", inputSchema: schema({ a: header("Region") }) }), () =>
          Effect.succeed("x")
        )
      )
      const { tools } = yield* client.request("tools/list")
      assert.strictEqual(tools[0].inputSchema.properties.a["x-mcp-header"], "Region")
    })
  )

  it(
    "A tool schema with invalid header mappings is rejected (2026-07-28)",
    verifies(
      "tools.header.not-empty",
      "tools.header.token",
      "tools.header.no-control-characters",
      "tools.header.unique",
      "tools.header.primitive",
      "tools.header.reachable"
    ),
    () => {
      for (const broken of [
        schema({ a: header("") }),
        schema({ a: header("a b") }),
        schema({ a: header("a:b") }),
        schema({ a: header("a\r\nb") }),
        schema({ a: header("é") }),
        schema({ a: header(3) }),
        schema({ a: header("A"), b: header("a") }),
        schema({ a: header("a"), b: header("A") }),
        schema({ a: header("A", "number") }),
        schema({ a: header("A", "object") }),
        schema({ a: { type: "array", items: header("A") } }),
        schema({ a: { anyOf: [header("A"), { type: "null" }] } })
      ]) {
        assert.throws(served(broken), /x-mcp-header/, JSON.stringify(broken))
      }
      served(schema({ a: header("A"), b: header("B", "integer"), c: schema({ d: header("C", "boolean") }) }))()
    }
  )

  it(
    "A tool schema with a network reference is rejected and never fetched (2026-07-28)",
    verifies(
      "json-schema.ref.not-fetched",
      "json-schema.ref.opt-in",
      "json-schema.ref.unresolved",
      "json-schema.bounded"
    ),
    () => {
      const { fetch } = globalThis
      globalThis.fetch = () => {
        throw new Error("fetched")
      }
      try {
        for (const $ref of ["https://example.com/a.json", "http://localhost/a", "//example.com/a", "other.json"]) {
          assert.throws(made(schema({ a: { $ref } })), /Unsupported JSON Schema/, $ref)
        }
        let deep: object = { type: "string" }
        for (let i = 0; i < 5000; i++) deep = { anyOf: [deep] }
        assert.throws(made(schema({ a: deep })), /deep|many|depth/)
      } finally {
        globalThis.fetch = fetch
      }
    }
  )
})

describe("Structured content", () => {
  const values: ReadonlyArray<readonly [string, Schema.Codec<any, any>, unknown]> = [
    ["a string", Schema.String, "x"],
    ["a number", Schema.Finite, 1.5],
    ["a boolean", Schema.Boolean, false],
    ["null", Schema.Null, null],
    ["an array", Schema.Array(Schema.Int), [1, 2]],
    ["a union", Schema.Union([Schema.Int, Schema.Struct({ a: Schema.Int })]), { a: 1 }]
  ]
  for (const [what, output, value] of values) {
    const features = Layer.merge(
      Tools.layer(Tool.make("value", { description: "", output }), () => Effect.succeed(value)),
      Tools.layer(Tool.make("object", { description: "", output: { a: Schema.Int } }), () => Effect.succeed({ a: 1 }))
    )
    it.effect(`Structured content can be ${what} (2026-07-28)`, () =>
      Effect.gen(function* () {
        const client = yield* open(features)
        const { tools } = yield* client.request("tools/list")
        assert.isDefined(tools[0].outputSchema)
        const result = yield* client.call("value")
        assert.deepStrictEqual(result.structuredContent, value)
        assert.deepStrictEqual(JSON.parse(result.content[0].text), value)
      })
    )
    for (const version of versions()) {
      it.effect(`Structured content that is ${what} is sent only as text in ${version}`, () =>
        Effect.gen(function* () {
          const client = yield* session(features, { version })
          const { tools } = yield* client.request("tools/list")
          assert.notProperty(tools[0], "outputSchema")
          const result = yield* client.call("value")
          // Revisions with structured content accept an object without a schema.
          const sayable = what === "a union" && version >= "2025-06-18"
          assert.deepStrictEqual(result.structuredContent, sayable ? value : undefined)
          assert.deepStrictEqual(JSON.parse(result.content[0].text), value)
          const object = yield* client.call("object")
          assert.strictEqual(object.structuredContent !== undefined, version >= "2025-06-18")
        })
      )
    }
  }
})

describe("Both protocol eras on one connection", () => {
  it.effect("A dual-era server chooses each request's era by its _meta alone", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: Layer.mergeAll(tool("a"), resource()) })
      const wire = yield* connect(server, { handshake: false })
      const client = modern(wire)
      assert.strictEqual((yield* client.request("tools/list")).resultType, "complete")
      assert.strictEqual((yield* wire.refused("tools/list")).code, -32600)
      const initialized = yield* wire.request("initialize", {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "old", version: "1" }
      })
      assert.strictEqual(initialized.protocolVersion, "2025-06-18")
      yield* wire.notify("notifications/initialized")
      const [old, fresh, pong, discovered] = yield* Effect.all(
        [
          wire.request("tools/list"),
          client.request("tools/list"),
          wire.request("ping"),
          client.request("server/discover")
        ],
        { concurrency: "unbounded" }
      )
      assert.notProperty(old, "resultType")
      assert.notProperty(old, "_meta")
      assert.strictEqual(fresh.resultType, "complete")
      assert.deepStrictEqual(pong, {})
      assert.isDefined(discovered.supportedVersions)
      assert.deepStrictEqual(
        old.tools.map(({ name }: any) => name),
        fresh.tools.map(({ name }: any) => name)
      )
      assert.strictEqual((yield* wire.refused("resources/read", { uri: "x://y" })).code, -32002)
      assert.strictEqual((yield* client.refused("resources/read", { uri: "x://y" })).code, -32602)
    })
  )

  it.effect("A dual-era server never negotiates the stateless revision in initialize", () =>
    Effect.gen(function* () {
      for (const protocolVersion of ["2026-07-28", "2099-01-01"]) {
        const client = yield* session(tool("a"), { handshake: false })
        const clientInfo = { name: "raw", version: "0" }
        const initialized = yield* client.request("initialize", { protocolVersion, capabilities: {}, clientInfo })
        assert.strictEqual(initialized.protocolVersion, "2025-11-25")
      }
    })
  )

  it.effect("A dual-era server cancels a request of either era by its id", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const waits = (name: string) =>
        Tools.layer(Tool.make(name, { description: "" }), () =>
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended.push(name)))
        )
      const wire = yield* session(Layer.mergeAll(waits("old"), waits("new")))
      const client = modern(wire)
      const old = yield* Effect.forkChild(wire.call("old"))
      const fresh = yield* Effect.forkChild(client.call("new"))
      yield* quiesce
      yield* Fiber.interrupt(fresh)
      yield* quiesce
      assert.deepStrictEqual(ended, ["new"])
      yield* Fiber.interrupt(old)
      yield* quiesce
      assert.deepStrictEqual(ended, ["new", "old"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* wire.session.peer.inFlight, [])
    })
  )
})
