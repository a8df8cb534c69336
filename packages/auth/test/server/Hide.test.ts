/** Hiding features from callers that lack a scope: every kind, local and mounted, in every revision with authorization. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { openAt, type Reply, revisions } from "./support/protected.ts"

const tool = (name: string) =>
  Tools.layer(Tool.make(name, { description: name }), () => Effect.map(Auth.caller, ({ subject }) => subject))
const prompt = (name: string) => Prompts.layer(Prompt.make(name), () => Effect.succeed("Be brief"))
const resource = (name: string) =>
  Resources.layer(
    { uri: `file:///${name}`, name, cache: { timeToLive: 1000, scope: "public" } },
    Effect.succeed("psst"),
    Stream.never
  )
const template = (name: string) =>
  Resources.layerTemplate(
    {
      uriTemplate: `${name}://{id}`,
      name,
      list: Effect.succeed([{ uri: `${name}://1`, name: `${name} 1` }]),
      complete: { id: () => Effect.succeed(["1"]) }
    },
    ({ id }) => Effect.succeed(id)
  )

const all = (kind: string) =>
  Layer.mergeAll(
    tool(`${kind}-tool`),
    prompt(`${kind}-prompt`),
    resource(`${kind}-resource`),
    template(`${kind}-template`)
  )

/** Another server's tools, prompts and resources, as a gateway mounts them. */
const mounted = Layer.effectDiscard(
  Effect.gen(function* () {
    const tools = yield* Tools.ToolRegistry
    const prompts = yield* Prompts.PromptRegistry
    const resources = yield* Resources.ResourceRegistry
    const changes = Stream.never
    yield* tools.mount({
      list: Effect.succeed([{ name: "mounted-tool", inputSchema: { type: "object" } }]),
      call: ({ name }) => (name === "mounted-tool" ? Effect.succeed({ content: [] }) : undefined),
      changes
    })
    yield* prompts.mount({
      list: Effect.succeed([{ name: "mounted-prompt" }]),
      get: ({ name }) => (name === "mounted-prompt" ? Effect.succeed({ messages: [] }) : undefined),
      changes
    })
    const source: Resources.ResourceSource = {
      list: Effect.succeed([{ uri: "///mounted-resource", name: "mounted-resource" }]),
      templates: Effect.succeed([{ uriTemplate: "//{id}", name: "mounted-template" }]),
      read: ({ uri }) =>
        uri === "///mounted-resource" ? Effect.succeed({ contents: [{ uri, text: "psst" }] }) : undefined,
      watch: () => Stream.never,
      matches: UriTemplate.matches,
      changes
    }
    yield* resources.mount(source, { prefix: "file:" })
  })
)

const features = Layer.mergeAll(
  all("open"),
  Layer.merge(all("secret"), mounted).pipe(Auth.requires({ scopes: ["secret"], hide: true })),
  // Nested, so that both scopes are needed.
  tool("inner-tool").pipe(Auth.requires({ scopes: ["inner"], hide: true }), Auth.requires("outer"))
)

const caching = {
  tools: { scope: "public" },
  prompts: { scope: "public" },
  resources: { scope: "public" },
  resourceTemplates: { scope: "public" }
} as const

const lists = [
  ["tools/list", "tools"],
  ["prompts/list", "prompts"],
  ["resources/list", "resources"],
  ["resources/templates/list", "resourceTemplates"]
] as const

describe.each(revisions)("Hidden features at %s", (revision) => {
  const open = openAt(revision)
  const subscription: readonly [string, (uri: string) => object] =
    revision === "2026-07-28"
      ? ["subscriptions/listen", (uri) => ({ notifications: { resourceSubscriptions: [uri] } })]
      : ["resources/subscribe", (uri) => ({ uri })]
  const requests = (kind: string): ReadonlyArray<readonly [method: string, params: object]> => [
    ["tools/call", { name: `${kind}-tool`, arguments: {} }],
    ["prompts/get", { name: `${kind}-prompt` }],
    ["resources/read", { uri: `file:///${kind}-resource` }],
    ...(kind === "mounted"
      ? []
      : [
          ["resources/read", { uri: `${kind}-template://1` }] as const,
          [
            "completion/complete",
            { ref: { type: "ref/prompt", name: `${kind}-prompt` }, argument: { name: "x", value: "" } }
          ] as const,
          [
            "completion/complete",
            { ref: { type: "ref/resource", uri: `${kind}-template://{id}` }, argument: { name: "id", value: "" } }
          ] as const
        ])
  ]

  it.effect("A hidden feature is listed only for callers with its scope", () =>
    Effect.gen(function* () {
      const { bearer, post } = yield* open({ features, caching })
      const poor = yield* bearer({ subject: "alice" })
      const rich = yield* bearer({ subject: "bob", scopes: ["secret"] })
      // Alternates between the callers, because a list shown to one must not be cached for the other.
      for (const [caller, kinds] of [
        [poor, ["open"]],
        [rich, ["open", "secret", "mounted"]],
        [poor, ["open"]],
        [rich, ["open", "secret", "mounted"]]
      ] as const) {
        for (const [method, field] of lists) {
          const { json } = yield* post(method, {}, caller)
          const names: ReadonlyArray<string> = json.result[field].map(
            ({ name }: { name: string }) => name.split("-")[0]
          )
          assert.deepStrictEqual(new Set(names), new Set(kinds), method)
          assert.strictEqual(json.result.cacheScope, revision === "2026-07-28" ? "private" : undefined)
        }
      }
    })
  )

  it.effect("A list is cached privately even if only a mounted server is hidden", () =>
    Effect.gen(function* () {
      const hidden = mounted.pipe(Auth.requires({ scopes: ["secret"], hide: true }))
      const { bearer, post } = yield* open({ features: Layer.merge(all("open"), hidden), caching })
      const caller = yield* bearer({ subject: "alice" })
      for (const [method] of lists) {
        const { json } = yield* post(method, {}, caller)
        assert.strictEqual(json.result.cacheScope, revision === "2026-07-28" ? "private" : undefined)
      }
    })
  )

  it.effect("Calling a hidden feature without its scope fails like an unknown name", () =>
    Effect.gen(function* () {
      const { bearer, post } = yield* open({ features })
      const poor = yield* bearer()
      const rich = yield* bearer({ scopes: ["secret"] })
      const said = ({ headers, json, status }: Reply, kind: string) => [
        status,
        headers.get("www-authenticate"),
        JSON.stringify(json.error).replaceAll(kind, "?")
      ]
      const madeUp = requests("nothing")
      for (const kind of ["secret", "mounted"])
        for (const [index, [method, params]] of requests(kind).entries()) {
          const none = yield* post(method, madeUp[index]![1], poor)
          assert.deepStrictEqual(said(yield* post(method, params, poor), kind), said(none, "nothing"), method)
          if (method !== "completion/complete" || kind !== "secret")
            assert.isDefined((yield* post(method, params, rich)).json.result, `${kind} ${method}`)
        }
    })
  )

  it.effect("A subscription to a hidden resource is rejected or has no effect", () =>
    Effect.gen(function* () {
      const { bearer, post } = yield* open({ features })
      const poor = yield* bearer()
      const [method, params] = subscription
      const reply = yield* post(method, params("file:///mounted-resource"), poor)
      assert.isNull(reply.headers.get("www-authenticate"))
      assert.isDefined(reply.json.error)
    })
  )

  it.effect("A feature hidden by several annotations needs all of their scopes", () =>
    Effect.gen(function* () {
      const { bearer, call, post } = yield* open({ features })
      for (const scopes of [["inner"], ["outer"], ["inner", "outer"]]) {
        const caller = yield* bearer({ scopes })
        const { json } = yield* post("tools/list", {}, caller)
        const shown = json.result.tools.some(({ name }: { name: string }) => name === "inner-tool")
        assert.strictEqual(shown, scopes.length === 2, scopes.join(" "))
        assert.strictEqual((yield* call("inner-tool", caller)).json.result !== undefined, shown)
      }
    })
  )
})

describe("Guarded features in 2026-07-28", () => {
  it.effect("A guarded resource is cached privately even if its own hint is public", () =>
    Effect.gen(function* () {
      const guarded = Layer.mergeAll(resource("open"), resource("guarded").pipe(Auth.requires("read")))
      const { bearer, post } = yield* openAt("2026-07-28")({ features: guarded, caching })
      const rich = yield* bearer({ scopes: ["read"] })
      const scopeOf = (reply: Reply) => reply.json.result.cacheScope
      assert.strictEqual(scopeOf(yield* post("resources/read", { uri: "file:///open" }, rich)), "public")
      assert.strictEqual(scopeOf(yield* post("resources/read", { uri: "file:///guarded" }, rich)), "private")
      // All callers see the same list, because nothing is hidden.
      assert.strictEqual(scopeOf(yield* post("resources/list", {}, rich)), "public")
    })
  )
})
