/** A server on top of the clients of several servers: a gateway, which continues while one of them is down. */
import * as McpClients from "@effect-mcp/client/McpClients"
import { Completions, Prompt, Prompts, Resources, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { member, mortal, pass } from "../support/mortal.ts"

const features = (title: string) =>
  Layer.mergeAll(
    Tools.layer(Tool.make("tell", { description: "" }), () => Effect.succeed(title)),
    Prompts.layer(
      Prompt.make("review", { arguments: { file: Schema.String } }),
      ({ file }) => Effect.succeed(`${title} ${file}`),
      { complete: { file: Completions.choices([`${title}.ts`]) } }
    ),
    Resources.layer({ uri: "note://one", name: "one" }, Effect.succeed(`A note of ${title}`))
  )

const textOf = ({ content }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  content.map((block) => ("text" in block ? block.text : block.type)).join()

describe.each(Revision.all)("A server mounting multiple servers, $version", (revision) => {
  it.effect("A mounting server offers the features of every server that is up", () =>
    Effect.gen(function* () {
      const [rome, oslo] = [yield* mortal(features("rome")), yield* mortal(features("oslo"))]
      const clients = yield* McpClients.make({ rome: member(rome, revision), oslo: member(oslo, revision) })
      const caller = yield* McpTest.connect(Layer.effectDiscard(clients.mount), revision)
      const tools = Effect.map(Stream.runCollect(caller.listTools), (all) => all.map(({ name }) => name))
      const uris = Effect.map(Stream.runCollect(caller.listResources), (all) => all.map(({ uri }) => uri))
      assert.deepStrictEqual(yield* tools, ["rome_tell", "oslo_tell"])
      assert.deepStrictEqual(yield* uris, ["rome+note://one", "oslo+note://one"])
      assert.strictEqual(textOf(yield* caller.callToolByName("oslo_tell")), "oslo")
      assert.strictEqual(yield* caller.readResourceText("rome+note://one"), "A note of rome")
      const { messages } = yield* caller.getPromptByName("oslo_review", { file: "a.ts" })
      assert.deepInclude(messages[0]?.content, { text: "oslo a.ts" })
      const { values } = yield* caller.complete({
        ref: { type: "ref/prompt", name: "rome_review" },
        argument: { name: "file", value: "r" }
      })
      assert.deepStrictEqual(values, ["rome.ts"])

      yield* oslo.stop()
      yield* TestClock.adjust("1 second")
      yield* quiesce
      assert.deepStrictEqual(yield* tools, ["rome_tell"])
      assert.deepStrictEqual(yield* uris, ["rome+note://one"])
      const error = yield* Effect.flip(caller.callToolByName("oslo_tell"))
      assert.deepInclude(error, { _tag: "McpError", code: -32603 })
      assert.include(error.message, "The server oslo is not connected")
      assert.include((yield* Effect.flip(caller.readResource("oslo+note://one"))).message, "oslo is not connected")
      assert.strictEqual(textOf(yield* caller.callToolByName("rome_tell")), "rome")

      yield* oslo.start
      yield* pass(30)
      assert.strictEqual(textOf(yield* caller.callToolByName("oslo_tell")), "oslo")
    })
  )

  it.effect("A mounting server lists resources of other servers while one does not answer", () =>
    Effect.gen(function* () {
      const [rome, oslo] = [yield* mortal(features("rome")), yield* mortal(features("oslo"))]
      const connector = Effect.map(oslo.connector, (transport) => ({
        ...transport,
        sink: {
          ...transport.sink,
          send: (...sent: Parameters<typeof transport.sink.send>) => {
            if (!JSON.stringify(sent[0]).includes('"resources/')) transport.sink.send(...sent)
          }
        }
      }))
      const silent = member({ ...oslo, connector }, revision)
      const clients = yield* McpClients.make({ rome: member(rome, revision), silent }, { patience: "3 seconds" })
      const caller = yield* McpTest.connect(Layer.effectDiscard(clients.mount), revision)
      for (const list of [Stream.drain(caller.listResourceTemplates), caller.listResources]) {
        const listing = yield* Effect.forkChild(Stream.runCollect(list))
        yield* quiesce
        yield* TestClock.adjust("3 seconds")
        yield* quiesce
        assert.isDefined(listing.pollUnsafe())
      }
      const uris = Effect.map(Stream.runCollect(caller.listResources), (all) => all.map(({ uri }) => uri))
      const listing = yield* Effect.forkChild(uris)
      yield* quiesce
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* Fiber.join(listing), ["rome+note://one"])
    })
  )
})
