/** Conditions under which a call may become a task: the client's declarations, and requests for a task. */
import { InvalidResult } from "@effect-mcp/client/ClientError"
import * as Extension from "@effect-mcp/core/Extension"
import * as Tool from "@effect-mcp/core/Tool"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { fork } from "../support/recovering.ts"
import * as Modern from "../support/modern.ts"
import type * as Scripted from "../support/scripted.ts"
import { created, ended, generations, id, serving, sum } from "../support/tasks.ts"

const paramsOf = (server: Scripted.Scripted) => server.requests("tools/call").map(({ params }) => params?.["task"])
const plain = { "tools/call": () => Effect.succeed(sum) }

describe("Calls to a 2025-11-25 server", () => {
  const version = "2025-11-25"

  it.effect(
    "A call requests a task if the tool requires one",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* serving({ version })
        const named = yield* fork(client.callToolByName("add"))
        yield* ended(named)
        const Add = Tool.make("add", { description: "Adds" })
        yield* ended(yield* fork(client.callTool(Add, {})))
        const Other = Tool.make("other", { description: "Adds", task: "required" })
        yield* ended(yield* fork(client.callTool(Other, {})))
        assert.deepStrictEqual(paramsOf(server), [{}, {}, {}])
        // The list was read once.
        assert.strictEqual(server.requests("tools/list").length, 1)
      }),
    verifies("tasks.tool.required-called")
  )

  it.effect(
    "A call requests no task if the tool does not require one",
    () =>
      Effect.gen(function* () {
        for (const support of ["optional", "forbidden", null] as const) {
          const { client, server } = yield* serving({ version, support, answers: plain })
          assert.deepStrictEqual((yield* client.callToolByName("add")).structuredContent, { sum: 3 })
          assert.deepStrictEqual(paramsOf(server), [undefined])
        }
      }),
    verifies("tasks.tool.forbidden-not-called")
  )

  it.effect(
    "A call requests no task if either side does not support tasks",
    () =>
      Effect.gen(function* () {
        for (const capabilities of [
          { tools: {} },
          { tools: {}, tasks: { requests: {} } },
          { tools: {}, tasks: { list: {} } }
        ]) {
          const { client, server } = yield* serving({ version, capabilities, answers: plain })
          yield* Stream.runDrain(client.listTools)
          yield* client.callToolByName("add")
          assert.deepStrictEqual(paramsOf(server), [undefined])
        }
        const { client, server } = yield* serving({ version, answers: plain }, { tasks: false })
        yield* client.callToolByName("add")
        assert.deepStrictEqual(paramsOf(server), [undefined])
      }),
    verifies(
      "tasks.tool.server-capability",
      "tasks.capability.requestor-respects",
      "tasks.capability.undeclared-no-tasks"
    )
  )

  it.effect("A call accepts a plain result and rejects an unrequested task", () =>
    Effect.gen(function* () {
      const inline = yield* serving({ version, answers: plain })
      assert.deepStrictEqual((yield* inline.client.callToolByName("add")).structuredContent, { sum: 3 })
      const { client, server } = yield* serving({
        version,
        support: "optional",
        answers: { "tools/call": () => created(version) }
      })
      assert.instanceOf(yield* Effect.flip(client.callToolByName("add")), InvalidResult)
      assert.deepStrictEqual(server.requests("tasks/get"), [])
    })
  )
})

describe("2026-07-28 clients", () => {
  const version = Modern.version

  it.effect(
    "A client declares the tasks extension in each request and accepts both kinds of answers",
    () =>
      Effect.gen(function* () {
        let calls = 0
        const { client, server } = yield* serving({
          version,
          answers: { "tools/call": () => (calls++ === 0 ? Modern.complete(sum) : created(version)) }
        })
        assert.deepStrictEqual((yield* client.callToolByName("add")).structuredContent, { sum: 3 })
        const call = yield* fork(client.callToolByName("add"))
        assert.deepStrictEqual((yield* ended(call)).structuredContent, { sum: 3 })
        for (const method of ["server/discover", "tools/call", "tasks/get", "subscriptions/listen"]) {
          const declared = Modern.declared(server.requests(method)[0], Meta.clientCapabilities)
          assert.deepStrictEqual(declared, { extensions: { [id]: {} } }, method)
        }
        assert.deepStrictEqual(paramsOf(server), [undefined, undefined])
      }),
    verifies("tasks-extension.declared.both-shapes")
  )

  it.effect(
    "A client rejects a task that the request, the server or its options rule out",
    () =>
      Effect.gen(function* () {
        const task = () => created(version)
        const Notes = Extension.make("com.example/notes", {
          undeclared: "served",
          requests: { find: Extension.request("com.example/find") }
        })
        const capabilities = { tools: {}, resources: {}, extensions: { [id]: {}, [Notes.id]: {} } }
        const answers = { "resources/read": task, "com.example/find": task, "tools/list": task }
        const { client, server } = yield* serving({ version, capabilities, answers })
        assert.instanceOf(yield* Effect.flip(client.readResource("a:b")), InvalidResult)
        assert.instanceOf(yield* Effect.flip(client.request(Notes.requests.find, {})), InvalidResult)
        assert.instanceOf(yield* Effect.flip(Stream.runDrain(client.listTools)), InvalidResult)
        assert.notInclude(Modern.methods(server), "tasks/get")
        const undeclared = yield* serving({ version, capabilities: { tools: {} } })
        assert.instanceOf(yield* Effect.flip(undeclared.client.callToolByName("add")), InvalidResult)
        const unwanted = yield* serving({ version }, { tasks: false })
        assert.instanceOf(yield* Effect.flip(unwanted.client.callToolByName("add")), InvalidResult)
        assert.deepStrictEqual(Modern.declared(unwanted.server.requests("tools/call")[0], Meta.clientCapabilities), {})
      }),
    verifies("tasks-extension.declared.unsupported-request")
  )

  it.effect("A client leaves tasks to a program that declares them itself", () =>
    Effect.gen(function* () {
      const { client } = yield* serving({ version }, { extensions: { [id]: {} } })
      assert.deepStrictEqual(yield* client.raw.request("tools/call", { name: "add" }), created(version, {}, 500))
      assert.instanceOf(yield* Effect.flip(client.callToolByName("add")), InvalidResult)
    })
  )
})

describe.each(generations)("Bare requests in %s", (version) => {
  it.effect("A bare request returns the created task as its answer", () =>
    Effect.gen(function* () {
      const { client } = yield* serving({ version })
      assert.deepStrictEqual(yield* client.raw.request("tools/call", { name: "add" }), created(version, {}, 500))
    })
  )
})
