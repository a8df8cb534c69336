/* oxlint-disable unicorn/prefer-add-event-listener -- servers of the SDK are not event targets */
/** Schemas of tools and prompts from every version of zod: how they are listed, and how arguments are validated. */
import type { Client } from "@effect-mcp/compat/v1/client/index.js"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { z as zodMini } from "zod/mini"
import { z as z3 } from "zod/v3"
import { z } from "zod"
import { z as z325 } from "zod-3.25/v4"
import { z as z40 } from "zod-4.0"
import { comparable } from "./support/comparable.ts"
import { clientV1, type Kind, kinds, serverV1, serverV2, type V1 } from "./support/modules.ts"
import { reported, unhandled } from "./support/unhandled.ts"

const info = { name: "schemas", version: "1.0.0" }

type Server = InstanceType<V1["McpServer"]>

/** An official client of a v1 server. */
const connected = async (kind: Kind, register: (server: Server, sdk: V1) => void): Promise<Client> => {
  const sdk = await serverV1(kind)
  const { Client } = await clientV1("official")
  const server = new sdk.McpServer(info)
  register(server, sdk)
  const client = new Client(info)
  const [near, far] = sdk.InMemoryTransport.createLinkedPair()
  await server.connect(far)
  await client.connect(near)
  onTestFinished(() => client.close())
  return client
}

const done = () => ({ content: [] })

/** Fields of many types. */
const shapes: { readonly [zod: string]: { readonly [field: string]: StandardSchemaV1 } } = {
  zod3: {
    text: z3.string().describe("Any"),
    optional: z3.string().optional(),
    described: z3.number().optional().describe("How many"),
    nullable: z3.boolean().nullable(),
    withDefault: z3.number().int().min(1).max(9).default(2),
    either: z3.union([z3.string(), z3.boolean()]),
    choice: z3.enum(["small", "large"]).optional(),
    inner: z3.object({ a: z3.string().optional() }).optional()
  },
  zod4: {
    text: z.string().describe("Any"),
    optional: z.string().optional(),
    described: z.number().optional().describe("How many"),
    nullable: z.boolean().nullable(),
    withDefault: z.number().int().min(1).max(9).default(2),
    either: z.union([z.string(), z.boolean()]),
    choice: z.enum(["small", "large"]).optional(),
    inner: z.object({ a: z.string().optional() }).optional()
  }
}

/** Schemas without a JSON Schema, as programs write them. Each zod package has different types. */
const older: { readonly [zod: string]: { readonly whole: StandardSchemaV1; readonly shape: RawShape } } = {
  "3.25": {
    whole: z325.object({ name: z325.string().describe("Who"), loud: z325.boolean().optional() }),
    shape: { name: z325.string().describe("Who"), loud: z325.boolean().optional() }
  },
  "4.0": {
    whole: z40.object({ name: z40.string().describe("Who"), loud: z40.boolean().optional() }),
    shape: { name: z40.string().describe("Who"), loud: z40.boolean().optional() }
  },
  mini: {
    whole: zodMini.object({ name: zodMini.string(), loud: zodMini.optional(zodMini.boolean()) }),
    shape: { name: zodMini.string(), loud: zodMini.optional(zodMini.boolean()) }
  }
}
type RawShape = { readonly [field: string]: StandardSchemaV1 }

/** Returns the text of a result without the quotes and backslashes that JSON adds. */
const messageOf = (result: unknown): string => JSON.stringify(result).replaceAll(/[\\"]/g, " ")

describe("Listed schemas", () => {
  it.each(Object.entries(shapes))("A raw shape in %s is listed as in the SDK", async (_, shape) => {
    const listed = async (kind: Kind) => {
      const client = await connected(kind, (server) => {
        server.registerTool("shaped", { inputSchema: shape, outputSchema: shape }, done)
        const { optional, text } = shape
        if (optional === undefined || text === undefined) return
        server.registerPrompt("asked", { argsSchema: { text, optional } }, () => ({
          messages: []
        }))
      })
      return comparable([await client.listTools(), await client.listPrompts()])
    }
    assert.deepStrictEqual(await listed("shim"), await listed("official"))
  })

  it.each(Object.entries(older))("A zod %s schema is listed and validates", async (zod, { shape, whole }) => {
    const client = await connected("shim", (server) => {
      server.registerTool("whole", { inputSchema: whole }, (args) => ({
        content: [{ type: "text", text: JSON.stringify(args) }]
      }))
      server.registerTool("shape", { inputSchema: shape }, done)
    })
    const description = zod === "mini" ? {} : { description: "Who" }
    for (const { inputSchema } of (await client.listTools()).tools) {
      assert.deepInclude(inputSchema, {
        properties: { name: { type: "string", ...description }, loud: { type: "boolean" } },
        required: ["name"]
      })
    }
    assert.isTrue((await client.callTool({ name: "whole", arguments: { name: 1 } })).isError)
    const { content } = await client.callTool({ name: "whole", arguments: { name: "Ada" } })
    assert.deepStrictEqual(content, [{ type: "text", text: '{"name":"Ada"}' }])
  })

  it("A v2 server lists a zod 4.0 schema", async () => {
    const { McpServer } = await serverV2("shim")
    const { Client, InMemoryTransport } = await import("@modelcontextprotocol/client")
    const server = new McpServer(info)
    server.registerTool("old", { inputSchema: z40.object({ name: z40.string().describe("Who") }) }, done)
    const client = new Client(info)
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
    const { tools } = await client.listTools()
    assert.deepStrictEqual(tools[0]?.inputSchema.properties, { name: { description: "Who", type: "string" } })
  })

  it.each(kinds)("A %s server rejects a shape that mixes zod 3 and zod 4", async (kind) => {
    const sdk = await serverV1(kind)
    const server = new sdk.McpServer(info)
    const mixed = { old: z3.string(), new: z.string() }
    let error: unknown
    try {
      server.registerTool("mixed", { inputSchema: mixed }, done)
    } catch (thrown) {
      error = thrown
    }
    assert.match(String(error), /mixed|all of zod/i)
  })
})

describe("Invalid arguments", () => {
  it.each(kinds.flatMap((kind) => ["zod3", "zod4"].map((zod) => ({ kind, zod }))))(
    "A $kind server with a $zod shape names every invalid argument",
    async ({ kind, zod }) => {
      const shape =
        zod === "zod3"
          ? { a: z3.string(), b: z3.number(), c: z3.boolean() }
          : { a: z.string(), b: z.number(), c: z.boolean() }
      const client = await connected(kind, (server) => void server.registerTool("three", { inputSchema: shape }, done))
      const text = messageOf(await client.callTool({ name: "three", arguments: { a: 1, b: "2" } }))
      for (const name of ["a", "b", "c"]) assert.include(text, ` ${name} `)
    }
  )
})

describe("Asynchronous refinements", () => {
  /** Schemas with a refinement whose result is decided by `check`. */
  const refined = (check: () => Promise<boolean>): { readonly [of: string]: StandardSchemaV1 | RawShape } => ({
    "a shape of zod 3": { name: z3.string().refine(check) },
    "a shape of zod 4": { name: z.string().refine(check) },
    "a schema of zod 3": z3.object({ name: z3.string().refine(check) }),
    "a schema of zod 4": z.object({ name: z.string().refine(check) }),
    "a schema of zod 4.0": z40.object({ name: z40.string().refine(check) })
  })

  it.each(kinds.flatMap((kind) => Object.keys(refined(async () => true)).map((of) => ({ kind, of }))))(
    "A rejecting $of refinement fails the $kind server's call once",
    async ({ kind, of }) => {
      const reasons = unhandled()
      let runs = 0
      const schemas = refined(async () => {
        runs++
        throw new Error("No database")
      })
      const client = await connected(kind, (server) => {
        server.registerTool("refined", { inputSchema: schemas[of] }, done)
      })
      const result = await client.callTool({ name: "refined", arguments: { name: "Ada" } })
      await reported()
      assert.deepStrictEqual([result.isError, runs, reasons], [true, 1, []])
    }
  )

  it.each([
    ["zod 3", z3],
    ["zod 4", z]
  ] as const)("A %s refinement runs once in requests, results and notifications", async (_, zod) => {
    const reasons = unhandled()
    let runs = 0
    const refuses = async () => {
      runs++
      throw new Error("No database")
    }
    const { Client } = await clientV1("shim")
    const { InMemoryTransport, Server } = await serverV1("shim")
    const schema: StandardSchemaV1 = zod === z3 ? z3.any().refine(refuses) : z.any().refine(refuses)
    const server = new Server(info, { capabilities: {} })
    const heard = new Promise<Error>((resolve) => (server.onerror = resolve))
    server.setRequestHandler("acme/checked", { params: schema }, () => ({}))
    server.setRequestHandler("acme/plain", { params: z.any() }, () => ({}))
    server.setNotificationHandler("acme/told", { params: schema }, () => {})
    const client = new Client(info)
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
    const errors = [
      await client.request({ method: "acme/checked" }, z.any()).catch((error) => String(error)),
      await client.request({ method: "acme/plain" }, schema).catch((error) => String(error))
    ]
    await client.notification({ method: "acme/told" })
    errors.push(String(await heard))
    await reported()
    for (const error of errors) assert.include(error, "No database")
    assert.deepStrictEqual([runs, reasons], [3, []])
  })
})
