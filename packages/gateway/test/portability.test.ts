/** Schemas of upstream tools, as clients of a gateway, of a mounting server and of several servers see them. */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as McpClients from "@effect-mcp/client/McpClients"
import { Memory, Tool, Tools } from "@effect-mcp/core"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Portability from "@effect-mcp/protocol/Portability"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Context, Effect, Layer, Queue, Schema, Stream } from "effect"
import * as Gateway from "../src/Gateway.ts"

const File = Schema.Struct({
  kind: Schema.Literal("file"),
  path: Schema.String,
  "date<": Schema.optionalKey(Schema.String)
})
const Page = Schema.Struct({ kind: Schema.Literal("page"), url: Schema.String, date_: Schema.optionalKey(Schema.Int) })
const Input = Schema.Union([File, Page])
const inputSchema = JsonSchema.input(Input)
const portable = Portability.portable({ name: "open", inputSchema })

/** Replaces the names that the projection replaces, as a model does that only sees the projection. */
const sentAs = (wire: JsonObject): JsonObject => {
  const { properties } = portable.tool.inputSchema
  const aliases = new Map(
    Object.keys(isJsonObject(properties) ? properties : {}).map((name) => [
      Object.keys(portable.original({ [name]: 0 }))[0],
      name
    ])
  )
  return Object.fromEntries(Object.entries(wire).map(([name, value]) => [aliases.get(name) ?? name, value]))
}

/** The tools of a server, as a host sees them. */
interface Offered {
  readonly list: Effect.Effect<ReadonlyArray<JsonObject>, { readonly message: string }>
  readonly call: (name: string, args: JsonObject) => Effect.Effect<unknown, { readonly message: string }>
}
type Version = "2025-11-25" | "2026-07-28"

const connectorOf = (server: McpServer.Server) =>
  Effect.gen(function* () {
    const [near, far] = yield* Memory.pair()
    yield* server.connect(far)
    return near
  })
const serverOf = <E>(layer: Layer.Layer<McpServer.McpServer, E>) =>
  Effect.map(Layer.build(layer), Context.get(McpServer.McpServer))

const offered = (client: McpClient.Client): Offered => ({
  call: client.callToolByName,
  list: Effect.map(Stream.runCollect(client.listTools), (tools) => tools.map(({ inputSchema }) => inputSchema))
})
const clientOf = (server: McpServer.Server, version: Version) =>
  Effect.gen(function* () {
    return offered(yield* McpClient.open(connectorOf(server), { revisions: [version] }))
  })

/** Ways to offer the tools of a server, with and without projection. */
const ways = {
  "a gateway": (upstream: McpServer.Server, version: Version, portability: "project" | "off" | undefined) =>
    Effect.gen(function* () {
      const connector = connectorOf(upstream)
      return yield* clientOf(yield* serverOf(Gateway.layer({ connector, portability })), version)
    }),
  "a mounting server": (
    upstream: McpServer.Server,
    version: Version,
    portability: "project" | "off" | undefined = "off"
  ) =>
    Effect.gen(function* () {
      const clients = yield* McpClients.make(
        { upstream: McpClients.server({ connector: connectorOf(upstream) }) },
        { names: "refuse" }
      )
      const features = Layer.effectDiscard(clients.mount)
      return yield* clientOf(
        yield* serverOf(McpServer.layer({ name: "m", version: "1", features, portability })),
        version
      )
    }),
  "several clients": (upstream: McpServer.Server, version: Version, portability: "project" | "off" | undefined) =>
    Effect.gen(function* () {
      const client = { revisions: [version] }
      const clients = yield* McpClients.make(
        { upstream: McpClients.server({ connector: connectorOf(upstream), client }) },
        { names: "refuse", portability }
      )
      const list = Effect.map(clients.listTools, (all) => all.map(({ item: { inputSchema } }) => inputSchema))
      return { list, call: clients.callToolByName } satisfies Offered
    })
}

/** Connects to a server with one tool, whose calls are put into a queue. */
const connected = (way: keyof typeof ways, version: Version, portability?: "project" | "off") =>
  Effect.gen(function* () {
    const calls = yield* Queue.unbounded<unknown>()
    const open = Tool.raw("open", { description: "Opens", inputSchema })
    const upstream = yield* serverOf(
      McpServer.layer({
        name: "behind",
        version: "1.0.0",
        features: Tools.layer(open, (input) => Effect.as(Queue.offer(calls, input), "Opened")),
        portability: "off"
      })
    )
    return { client: yield* ways[way](upstream, version, portability), calls }
  })

describe.each(
  (["a gateway", "a mounting server", "several clients"] as const).flatMap((way) =>
    (["2025-11-25", "2026-07-28"] as const).map((version) => [way, version] as const)
  )
)("A tool of %s in %s", (way, version) => {
  it.effect("Is listed unchanged without projection", () =>
    Effect.gen(function* () {
      const { client } = yield* connected(way, version, way === "a mounting server" ? "off" : undefined)
      assert.deepStrictEqual(yield* client.list, [inputSchema])
    })
  )

  it.effect.prop(
    "Is listed as one object, and calls reach its server in their original form",
    [Arbitrary.schema(Input)],
    ([value]) =>
      Effect.gen(function* () {
        const { calls, client } = yield* connected(way, version, "project")
        assert.deepStrictEqual(yield* client.list, [portable.tool.inputSchema])
        const wire = Schema.encodeSync(Input)(value)
        const sent = sentAs({ ...wire })
        if ("date<" in wire) assert.notProperty(sent, "date<")
        yield* client.call("open", sent)
        assert.deepStrictEqual(yield* Queue.take(calls), { ...wire })
      }),
    { arbitrary: { runs: 10 } }
  )

  it.effect("Receives the original names before anything was listed", () =>
    Effect.gen(function* () {
      const { calls, client } = yield* connected(way, version, "project")
      const wire = { kind: "file", path: "a.txt", "date<": "May" }
      yield* client.call("open", sentAs(wire))
      assert.deepStrictEqual(yield* Queue.take(calls), wire)
    })
  )
})
