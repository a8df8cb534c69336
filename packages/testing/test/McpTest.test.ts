/** Runs one test body with one feature layer in every revision and over every wire. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Elicitation, Principal, Roots, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Tasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Harness from "../src/Harness.ts"
import * as McpTest from "../src/McpTest.ts"
import { Bookings, BookTable, features, Folders, Greet, Wait } from "./features.ts"

describe.each(Harness.cases(Revision.withElicitation))("book_table in $title", ({ open }) => {
  it.effect("book_table books no table if the guest declines", () =>
    Effect.gen(function* () {
      const tables = yield* open(features)
      const error = yield* Effect.flip(tables.callTool(BookTable, { restaurant: "Maaemo", guests: 2 }))
      assert.strictEqual(error._tag, "ToolFailure")
      assert.deepStrictEqual(yield* (yield* Bookings).made, [])
    }).pipe(Effect.provide([Bookings.layerTest, Elicitation.layerDecline]))
  )

  it.effect("book_table books and reports progress if the guest accepts", () =>
    Effect.gen(function* () {
      const tables = yield* open(features)
      const steps: Array<number> = []
      const { reference } = yield* tables.callTool(
        BookTable,
        { restaurant: "Maaemo", guests: 2 },
        { onProgress: ({ progress }) => void steps.push(progress) }
      )
      assert.strictEqual(reference, "ref-1")
      // With replays, code before a question runs and reports once per round.
      assert.deepStrictEqual([...new Set(steps)], [1])
      assert.deepStrictEqual(yield* (yield* Bookings).made, ["Maaemo"])
    }).pipe(Effect.provide([Bookings.layerTest, Elicitation.layerAccept()]))
  )

  it.effect("A tool receives the form content that the user filled in", () =>
    Effect.gen(function* () {
      const client = yield* open(features)
      const { content } = yield* client.callTool(Greet, {})
      assert.deepInclude(content[0], { text: "Hello Ada" })
    }).pipe(Effect.provide([Bookings.layerTest, Elicitation.layerAccept({ name: "Ada" })]))
  )

  it.effect("Dismissing, declining and having no user are three different failures", () =>
    Effect.gen(function* () {
      const tell = Effect.fnUntraced(function* (user: Layer.Layer<Elicitation.Elicitation>) {
        const client = yield* Effect.provide(open(features), user)
        return (yield* Effect.flip(client.callTool(Greet, {}))).message
      })
      const dismissed = yield* tell(Elicitation.layerCancel)
      const declined = yield* tell(Elicitation.layerDecline)
      const nobody = yield* tell(Elicitation.layer({}))
      assert.strictEqual(new Set([dismissed, declined, nobody]).size, 3)
    }).pipe(Effect.provide(Bookings.layerTest))
  )
})

describe.each(Harness.cases(Revision.all))("Connections in $title", ({ open, revision }) => {
  it.effect("A test connection uses only the given revision", () =>
    Effect.gen(function* () {
      const client = yield* open(features)
      assert.strictEqual(client.revision.version, revision.version)
    }).pipe(Effect.provide(Bookings.layerTest))
  )

  it.effect("A test connection sees tools, resources and prompts", () =>
    Effect.gen(function* () {
      const client = yield* open(features, { server: { name: "named" } })
      assert.strictEqual(client.serverInfo.name, "named")
      assert.strictEqual(yield* client.readResourceText("menu://today"), "soup")
      assert.strictEqual((yield* client.getPromptByName("review", { file: "a.ts" })).messages.length, 1)
      yield* client.ping
    }).pipe(Effect.provide(Bookings.layerTest))
  )

  it.effect("The server can use client services from the test's context", () =>
    Effect.gen(function* () {
      const client = yield* open(features)
      const { content } = yield* client.callTool(Folders, {})
      assert.deepInclude(content[0], { text: "file:///a\nfile:///b" })
    }).pipe(Effect.provide([Bookings.layerTest, Roots.layerStatic([{ uri: "file:///a" }, { uri: "file:///b" }])]))
  )

  it.effect("A test connection closes both sides with its scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(open(features), scope)
      const call = yield* Effect.forkChild(Effect.exit(client.callTool(Wait, {})), { startImmediately: true })
      yield* quiesce
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.join(call)
      assert.isTrue(Exit.isFailure(exit))
    }).pipe(Effect.provide(Bookings.layerTest))
  )
})

describe("McpTest", () => {
  it.effect("`McpTest.join` connects any number of clients to one server", () =>
    Effect.gen(function* () {
      const clients = yield* Effect.forEach(Revision.all, (revision) => McpTest.join(revision))
      const server = yield* McpServer.McpServer
      assert.strictEqual((yield* server.sessions).length, Revision.all.length)
      for (const client of clients) assert.strictEqual(yield* client.readResourceText("menu://today"), "soup")
    }).pipe(
      Effect.provide(
        McpServer.layer({ name: "shared", version: "1", features }).pipe(Layer.provide(Bookings.layerTest))
      )
    )
  )

  it.effect("`McpTest.layer` provides a test body's client from the context", () =>
    Effect.gen(function* () {
      const client = yield* McpClient.McpClient
      assert.strictEqual(yield* client.readResourceText("menu://today"), "soup")
    }).pipe(Effect.provide(McpTest.layer(features).pipe(Layer.provide(Bookings.layerTest))))
  )

  it.effect("`McpTest.connect` fails if its features fail to build", () =>
    Effect.gen(function* () {
      const broken = Layer.merge(features, Layer.effectDiscard(Effect.fail("no database" as const)))
      assert.strictEqual(yield* Effect.flip(McpTest.connect(broken, "2025-11-25")), "no database")
    }).pipe(Effect.provide(Bookings.layerTest))
  )
})

it.effect.each(Revision.all)("McpTest.connect opens a client for the given principal ($version)", (revision) =>
  Effect.gen(function* () {
    const Who = Tool.make("who", { description: "Names the caller" })
    const isAdmin = ({ scopes }: Principal.Principal["Service"]) => scopes.includes("admin")
    const who = Tools.layer(Who, () => Effect.map(Principal.Principal, ({ subject }) => subject ?? "anonymous"), {
      visible: isAdmin
    })
    const admin = yield* McpTest.connect(who, revision, {
      principal: { subject: "ada", scopes: ["admin"], claims: {} }
    })
    const { content } = yield* admin.callTool(Who, {})
    assert.deepStrictEqual(content, [{ type: "text", text: "ada" }])
    const other = yield* McpTest.connect(who, revision, { principal: { subject: "bob", scopes: [], claims: {} } })
    assert.deepStrictEqual(yield* Stream.runCollect(other.listTools), [])
  })
)

it.effect("Clients of one server see only their own principal's tasks", () =>
  Effect.gen(function* () {
    const Report = Tool.make("report", { description: "Writes a report", task: "required" })
    const features = Layer.mergeAll(
      Tools.layer(Report, () => Effect.never),
      Tasks.layer()
    )
    const server = McpServer.layer({ name: "test", version: "0.0.0", features })
    yield* Effect.gen(function* () {
      const as = (subject: string) => McpTest.join("2025-11-25", { principal: { subject, scopes: [], claims: {} } })
      const tasksOf = (client: McpClient.Client) => Stream.runCollect(Stream.map(client.listTasks, ({ id }) => id))
      const ada = yield* as("ada")
      const { id } = yield* ada.start(Report, {})
      assert.deepStrictEqual(yield* tasksOf(yield* as("ada")), [id])
      assert.deepStrictEqual(yield* tasksOf(yield* as("bob")), [])
    }).pipe(Effect.provide(server))
  })
)
