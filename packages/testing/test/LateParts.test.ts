/** Modules that a client loads late are loaded before its test begins, because neither `quiesce` nor a test clock waits for modules. */
import { Tool, Tools } from "@effect-mcp/core"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import * as McpTest from "../src/McpTest.ts"

const Add = Tool.make("add", { description: "" })

for (const { version } of Revision.all.toReversed()) {
  it.effect(`A client's first list is loaded when quiesce completes (${version})`, () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(
        Tools.layer(Add, () => Effect.succeed({ content: [] })),
        version
      )
      const listing = yield* Effect.forkChild(Stream.runCollect(client.listTools), { startImmediately: true })
      yield* quiesce
      const exit = listing.pollUnsafe()
      assert.isDefined(exit)
      assert.isTrue(Exit.isSuccess(exit))
    })
  )
}
