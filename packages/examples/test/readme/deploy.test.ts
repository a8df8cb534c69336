import { Elicitation } from "@effect-mcp/core"
import { Deploy, deploy } from "@effect-mcp/examples/readme/deploy"
import { Revision } from "@effect-mcp/protocol"
import { McpTest } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

it.effect.each(Revision.withElicitation)(
  "A confirmed deployment has a version ($version)",
  (revision) =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(deploy, revision)
      assert.deepStrictEqual(
        yield* client.callTool(Deploy, { service: "web" }),
        { version: 7 }
      )
    }).pipe(Effect.provide(Elicitation.layerAccept()))
)
