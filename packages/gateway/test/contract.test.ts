/** The contract of a server that mounts another, and the contract of a gateway, whose features depend on the caller. */
import * as Sources from "@effect-mcp/client/Sources"
import { Prompts, Resources, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Contract from "@effect-mcp/server/Contract"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as Gateway from "../src/Gateway.ts"
import { Behind, behind } from "./support/gateway.ts"

const contractIn = (context: Context.Context<McpServer.McpServer>) =>
  Context.get(context, McpServer.McpServer).contract()

describe.each(Revision.all)("Contracts of servers mounting a $version server", (revision) => {
  it.effect("A mounting server's contract includes the mounted features, sorted by name", () =>
    Effect.gen(function* () {
      const server = yield* Layer.build(behind)
      const client = yield* Effect.provide(McpTest.join(revision), server)
      const features = Layer.effectDiscard(
        Effect.gen(function* () {
          yield* (yield* Tools.ToolRegistry).mount(Sources.tools(client))
          yield* (yield* Prompts.PromptRegistry).mount(Sources.prompts(client))
          yield* (yield* Resources.ResourceRegistry).mount(Sources.resources(client))
        })
      )
      const mounting = yield* contractIn(
        yield* Layer.build(McpServer.layer({ name: "mounting", version: "1", features }))
      )
      const own = yield* contractIn(server)
      const namesOf = ({ prompts, resourceTemplates, tools }: Contract.Contract) => ({
        tools: tools.map(({ name }) => name),
        prompts: prompts.map(({ name }) => name),
        templates: resourceTemplates.map(({ uriTemplate }) => uriTemplate)
      })
      assert.deepStrictEqual(namesOf(mounting), namesOf(own))
      assert.isAtLeast(mounting.tools.length, 3)
      assert.includeMembers(
        mounting.resources.map(({ uri }) => uri),
        own.resources.map(({ uri }) => uri)
      )
      const text = Contract.toText(mounting)
      assert.strictEqual(Contract.toText(yield* Contract.fromText(text)), text)
    }).pipe(Effect.provide(Behind.layer))
  )
})

describe("Gateway contracts", () => {
  it.effect("A gateway's contract contains only tasks and opens no connection", () =>
    Effect.gen(function* () {
      const gateway = yield* Layer.build(Gateway.layer({ connector: Effect.die(new Error("A connection was opened")) }))
      const { extensions, prompts, resources, resourceTemplates, tools } = yield* contractIn(gateway)
      assert.deepStrictEqual([tools, prompts, resources, resourceTemplates], [[], [], [], []])
      assert.deepStrictEqual([...new Set(extensions.map(({ id }) => id))], ["io.modelcontextprotocol/tasks"])
    })
  )
})
