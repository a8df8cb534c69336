import { Elicitation } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Rename } from "@effect-mcp/examples/workspace/tools"
import { Workspace } from "@effect-mcp/examples/workspace/Workspace"
import { connect, files } from "./support.ts"

const answering = (action: "accept" | "decline" | "cancel", asked: Array<string> = []) =>
  Elicitation.layer({
    form: ({ message }) => {
      asked.push(message)
      return Effect.succeed(action === "accept" ? { action, content: {} } : { action })
    }
  })

const move = { from: "src/index.ts", to: "src/main.ts" }

/** The paths in the workspace afterwards, and the outcome of the call. */
const renaming = Effect.fnUntraced(function* (input: typeof move) {
  const workspace = Context.get(yield* Layer.build(Workspace.layerMemory(files)), Workspace)
  const client = yield* connect(undefined, { workspace: Layer.succeed(Workspace, workspace) })
  const outcome = yield* Effect.match(client.callTool(Rename, input), {
    onFailure: (error) => `${error._tag}: ${error.message}`,
    onSuccess: ({ from, to }) => `${from} is ${to}`
  })
  return { outcome, paths: yield* workspace.files }
})

const before = Object.keys(files).toSorted()

describe.each(Revision.withElicitation)("Rename over $version", (revision) => {
  it.effect("rename renames once the user has agreed to exactly that", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const workspace = Context.get(yield* Layer.build(Workspace.layerMemory(files)), Workspace)
      const client = yield* connect(revision, { workspace: Layer.succeed(Workspace, workspace) }).pipe(
        Effect.provide(answering("accept", asked))
      )
      assert.deepStrictEqual(yield* client.callTool(Rename, move), move)
      assert.deepStrictEqual(asked, ["Rename src/index.ts to src/main.ts?"])
      assert.include(yield* workspace.files, "src/main.ts")
      assert.notInclude(yield* workspace.files, "src/index.ts")
    })
  )

  it.effect.each(["decline", "cancel"] as const)("rename changes no file if the user says %s", (action) =>
    Effect.gen(function* () {
      const workspace = Context.get(yield* Layer.build(Workspace.layerMemory(files)), Workspace)
      const client = yield* connect(revision, { workspace: Layer.succeed(Workspace, workspace) }).pipe(
        Effect.provide(answering(action))
      )
      const error = yield* Effect.flip(client.callTool(Rename, move))
      assert.strictEqual(error._tag, "ToolFailure")
      assert.include(error.message, "Nothing was renamed")
      assert.deepStrictEqual(yield* workspace.files, before)
    })
  )
})

describe("Rename", () => {
  it.effect("rename reports that the client cannot ask its user and changes no file", () =>
    Effect.gen(function* () {
      const { outcome, paths } = yield* renaming(move)
      assert.strictEqual(outcome, "ToolFailure: This client cannot ask its user: rename needs elicitation")
      assert.deepStrictEqual(paths, before)
    })
  )

  it.effect("rename does not ask about a missing file", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { outcome } = yield* renaming({ from: "nope.ts", to: "a.ts" }).pipe(
        Effect.provide(answering("accept", asked))
      )
      assert.strictEqual(outcome, "ToolFailure: Not in the workspace: nope.ts")
      assert.deepStrictEqual(asked, [])
    })
  )

  it.effect.each(["../out.ts", "/tmp/out.ts", "src/../../out.ts", ".git/hooks/pre-commit", "C:\\out.ts", ""])(
    "rename never leaves the workspace: %j",
    (to) =>
      Effect.gen(function* () {
        const { outcome, paths } = yield* renaming({ from: "README.md", to }).pipe(Effect.provide(answering("accept")))
        assert.strictEqual(outcome, `ToolFailure: Not in the workspace: ${to}`)
        assert.deepStrictEqual(paths, before)
      })
  )

  it.effect("rename never replaces a file", () =>
    Effect.gen(function* () {
      const { outcome, paths } = yield* renaming({ from: "README.md", to: "src/index.ts" }).pipe(
        Effect.provide(answering("accept"))
      )
      assert.strictEqual(outcome, "ToolFailure: Already in the workspace: src/index.ts")
      assert.deepStrictEqual(paths, before)
    })
  )
})
