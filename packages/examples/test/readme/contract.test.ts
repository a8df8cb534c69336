import { deploy } from "@effect-mcp/examples/readme/deploy"
import { Contract, McpServer } from "@effect-mcp/server"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"

const server = McpServer.layer({
  name: "deploy",
  version: "1.0.0",
  features: deploy
})

it.effect("The contract equals the locked contract", () =>
  Effect.gen(function* () {
    const { contract } = yield* McpServer.McpServer
    // If a change is intended, the new lock is `Contract.toText(yield*
    // contract())`.
    const locked = yield* Contract.fromText(
      readFileSync(new URL("contract.json", import.meta.url), "utf8")
    )
    assert.deepStrictEqual(Contract.diff(locked, yield* contract()), [])
  }).pipe(Effect.provide(server))
)
