/** `McpServer.contract`: the features of a server, read without a request. */
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Contract from "@effect-mcp/server/Contract"
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema, Stream } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Notes } from "../support/notes.ts"
import { connect, serve } from "../support/raw.ts"

const never = Effect.die(new Error("A handler was called"))
const ada = { subject: "ada", scopes: [], claims: {} }
const isAda = ({ subject }: Principal["Service"]) => subject === "ada"

const add = (fields: { readonly [name: string]: Schema.Codec<number> } = { a: Schema.Finite }) =>
  Tools.layer(Tool.make("add", { description: "Adds", input: fields, output: { sum: Schema.Finite } }), () => never)
const now = Tools.layer(Tool.make("now", { description: "Tells the time" }), () => never)
const review = Prompts.layer(Prompt.make("review", { arguments: { code: Schema.String } }), () => never)
const greeting = Resources.layer({ uri: "text:greeting", name: "greeting", mimeType: "text/plain" }, never)
const cities = Resources.layerTemplate(
  { uriTemplate: "city://{name}", name: "city", list: never, complete: { name: () => never } },
  () => never
)
const notes = Extensions.layer(Notes, {
  settings: { limit: 3 },
  requests: { find: () => never },
  notifications: { seen: () => never },
  subscriptions: { added: () => never }
})

const features = Layer.mergeAll(now, add(), review, greeting, cities, notes)

/** Another feature of each kind, whose name sorts first. */
const more = Layer.mergeAll(
  Prompts.layer(Prompt.make("ask"), () => never),
  Resources.layer({ uri: "text:again", name: "again" }, never),
  Resources.layerTemplate({ uriTemplate: "area://{id}", name: "area" }, () => never)
)

const contractOf = <E>(
  features: Layer.Layer<never, E, McpServer.Registries>,
  options: Partial<McpServer.Options<E, never>> = {}
) => Effect.flatMap(serve({ ...options, features }), ({ contract }) => contract())

const text = readFileSync(join(import.meta.dirname, "contract.txt"), "utf8")

describe("Server contracts", () => {
  it.effect("A contract lists an extension's _meta keys in order, if it has any", () =>
    Effect.gen(function* () {
      const Keys = Extension.make("com.example/keys", {
        meta: {
          b: Extension.meta("com.example/b", Schema.String),
          a: Extension.meta("com.example/a", Schema.Struct({ n: Schema.Finite }))
        }
      })
      const { extensions } = yield* contractOf(Layer.merge(notes, Extensions.layer(Keys, {})))
      const [keys, other] = extensions
      assert.deepStrictEqual(
        keys?.meta?.map(({ key, value }) => [key, value["type"]]),
        [
          ["com.example/a", "object"],
          ["com.example/b", "string"]
        ]
      )
      assert.notProperty(other, "meta")
    })
  )

  it.effect("A contract's text omits empty lists and is read back with them", () =>
    Effect.gen(function* () {
      const contract = yield* Contract.fromText(`{ "name": "s", "extensions": [] }`)
      assert.deepStrictEqual([contract.tools, contract.resourceTemplates], [[], []])
      assert.deepStrictEqual(JSON.parse(Contract.toText(contract)), { name: "s", extensions: [] })
    })
  )

  it.effect("A contract's text has each kind of feature, with sorted lists and keys", () =>
    Effect.gen(function* () {
      const extensions = { "com.example/notes": { limit: 0 }, "com.example/bare": { level: 1 } }
      const contract = yield* contractOf(features, { instructions: "Add first.", extensions })
      assert.strictEqual(Contract.toText(contract), text)
      assert.strictEqual(Contract.toText(yield* Contract.fromText(text)), text)
    })
  )

  it.effect("Two servers with the same features have equal contracts, in any build order", () =>
    Effect.gen(function* () {
      const both = Layer.mergeAll(features, more)
      const first = yield* contractOf(both)
      assert.deepStrictEqual(yield* contractOf(both), first)
      const turned = Layer.mergeAll(more, notes, cities, greeting, review, add(), now)
      assert.strictEqual(Contract.toText(yield* contractOf(turned)), Contract.toText(first))
    })
  )

  it.effect("A contract contains only the features its principal can see", () =>
    Effect.gen(function* () {
      const Secret = Extension.make("com.example/secret", { serverSettings: { who: Schema.String } })
      const server = yield* serve({
        features: Layer.mergeAll(
          add(),
          Tools.layer(Tool.make("secret", { description: "" }), () => never, { visible: isAda }),
          Prompts.layer(Prompt.make("secret"), () => never, { visible: isAda }),
          Resources.layer({ uri: "secret:one", name: "secret", visible: isAda }, never),
          Resources.layerTemplate({ uriTemplate: "secret://{id}", name: "secret", visible: isAda }, () => never),
          Extensions.layer(Secret, {
            settings: ({ principal }) => (isAda(principal) ? { who: "ada" } : undefined)
          })
        )
      })
      const namesOf = ({ extensions, prompts, resources, resourceTemplates, tools }: Contract.Contract) => [
        ...[...tools, ...prompts].map(({ name }) => name),
        ...resources.map(({ uri }) => uri),
        ...resourceTemplates.map(({ uriTemplate }) => uriTemplate),
        ...extensions.map(({ id, settings }) => [id, settings])
      ]
      assert.deepStrictEqual(namesOf(yield* server.contract({ principal: ada })), [
        "add",
        "secret",
        "secret",
        "secret:one",
        "secret://{id}",
        ["com.example/secret", { who: "ada" }]
      ])
      assert.deepStrictEqual(namesOf(yield* server.contract()), ["add"])
      assert.deepStrictEqual(yield* server.contract({ principal: anonymous }), yield* server.contract())
    })
  )

  it.effect("A contract lists an extension in its newest revision, if the server supports that revision", () =>
    Effect.gen(function* () {
      const Old = Extension.make("com.example/old", {
        revisions: ["2025-06-18", "2025-11-25"],
        serverSettings: { in: Schema.String }
      })
      const old = Extensions.layer(Old, { settings: ({ revision }) => ({ in: revision.version }) })
      const settingsOf = ({ extensions }: Contract.Contract) => extensions.map(({ settings }) => settings)
      assert.deepStrictEqual(settingsOf(yield* contractOf(old)), [{ in: "2025-11-25" }])
      assert.deepStrictEqual(settingsOf(yield* contractOf(old, { revisions: ["2026-07-28"] })), [])
      assert.deepStrictEqual(settingsOf(yield* contractOf(old, { revisions: ["2025-06-18"] })), [{ in: "2025-06-18" }])
    })
  )

  it.effect("Building a contract runs no handlers and includes features added later", () =>
    Effect.gen(function* () {
      let registry: Prompts.PromptRegistry["Service"] | undefined
      const handled: Array<string> = []
      const server = yield* serve({
        features: Layer.mergeAll(
          Layer.effectDiscard(Effect.map(Prompts.PromptRegistry, (service) => void (registry = service))),
          Middleware.layer(({ method }, next) =>
            Effect.andThen(
              Effect.sync(() => handled.push(method)),
              next
            )
          ),
          add(),
          cities
        )
      })
      assert.deepStrictEqual((yield* server.contract()).prompts, [])
      assert.isDefined(registry)
      yield* registry.register({ prompt: { name: "late" }, get: () => never, complete: {} })
      assert.deepStrictEqual((yield* server.contract()).prompts, [{ name: "late" }])
      assert.deepStrictEqual([yield* server.sessions, yield* server.requests.list, handled], [[], [], []])
      const client = yield* connect(server)
      assert.deepStrictEqual(client.initialized.capabilities.prompts, { listChanged: true })
    })
  )

  it.effect("A contract includes mounted tools, and fails if they cannot be listed", () =>
    Effect.gen(function* () {
      let isDown = false
      const list = Effect.flatMap(Principal, ({ subject }) =>
        isDown
          ? Effect.fail(McpError.internalError("down"))
          : Effect.succeed([{ name: subject ?? "", inputSchema: { type: "object" as const } }])
      )
      const source: Tools.ToolSource = { list, call: () => undefined, changes: Stream.never }
      const server = yield* serve({
        features: Layer.effectDiscard(
          Effect.flatMap(Tools.ToolRegistry, ({ mount }) => mount(source, { prefix: "far_" }))
        )
      })
      const { tools } = yield* server.contract({ principal: ada })
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["far_ada"]
      )
      isDown = true
      assert.strictEqual((yield* Effect.flip(server.contract())).message, "down")
    })
  )

  it.effect("A contract lock fails if a tool's input gains a required field", () =>
    Effect.gen(function* () {
      const locked = yield* Contract.fromText(Contract.toText(yield* contractOf(add())))
      assert.deepStrictEqual(Contract.diff(locked, yield* contractOf(add())), [])
      const changed = yield* contractOf(add({ a: Schema.Finite, b: Schema.Finite }))
      assert.deepStrictEqual(Contract.diff(locked, changed), [
        { kind: "changed", breaking: true, message: 'The tool "add" requires "b"' }
      ])
    })
  )

  it.effect("Contract.fromText rejects text that is not a contract", () =>
    Effect.gen(function* () {
      for (const text of ["", "{}", '{"name":1}']) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Contract.fromText(text))), text)
      }
    })
  )
})
