import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch, Layer, Queue } from "effect"
import { concurrency } from "@effect-mcp/examples/workspace/Search"
import { Search } from "@effect-mcp/examples/workspace/tools"
import { Workspace } from "@effect-mcp/examples/workspace/Workspace"
import { connect } from "./support.ts"

describe.each(Revision.all)("Search over $version", (revision) => {
  it.effect("A search finds lines in all text files, ignores case and skips binary files", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      assert.deepStrictEqual(yield* client.callTool(Search, { query: "needle" }), {
        matches: [
          { path: "README.md", line: 3, text: "Needle in the readme." },
          { path: "src/deep/a b#c.ts", line: 2, text: "here is a NEEDLE" },
          { path: "src/index.ts", line: 1, text: "export const needle = 1" }
        ],
        files: 4,
        complete: true
      })
    })
  )

  it.effect("A search reports how many files are done", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const events: Array<ProgressParams> = []
      yield* client.callTool(Search, { query: "needle" }, { onProgress: (event) => void events.push(event) })
      assert.deepStrictEqual(
        events.map(({ progress, total }) => [progress, total]),
        [
          [1, 4],
          [2, 4],
          [3, 4],
          [4, 4]
        ]
      )
    })
  )
})

describe("Search", () => {
  const paths = (query: { readonly query: string; readonly glob?: string }) =>
    Effect.gen(function* () {
      const client = yield* connect()
      return (yield* client.callTool(Search, query)).matches.map((match) => match.path)
    })

  it.effect("A glob without a slash applies to any folder, and one with a slash from the top", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* paths({ query: "needle", glob: "*.ts" }), ["src/deep/a b#c.ts", "src/index.ts"])
      assert.deepStrictEqual(yield* paths({ query: "needle", glob: "src/*.ts" }), ["src/index.ts"])
      assert.deepStrictEqual(yield* paths({ query: "needle", glob: "*.py" }), [])
    })
  )

  it.effect("A search reports if there are more matches than requested", () =>
    Effect.gen(function* () {
      const client = yield* connect()
      const some = yield* client.callTool(Search, { query: "needle", maxResults: 2 })
      assert.strictEqual(some.matches.length, 2)
      assert.isFalse(some.complete)
      assert.isTrue((yield* client.callTool(Search, { query: "needle", maxResults: 3 })).complete)
    })
  )

  it.effect("A cancelled search stops within its current files and reads no others", () =>
    Effect.gen(function* () {
      const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`file-${1000 + n}.txt`, "needle"]))
      const gate = Latch.makeUnsafe(false)
      const opened = yield* Queue.unbounded<string>()
      const interrupted = yield* Queue.unbounded<string>()
      const memory = Context.get(yield* Layer.build(Workspace.layerMemory(many)), Workspace)
      const gated = Layer.succeed(Workspace, {
        ...memory,
        read: (path) =>
          Queue.offer(opened, path).pipe(
            Effect.andThen(gate.await),
            Effect.andThen(memory.read(path)),
            Effect.onInterrupt(() => Queue.offer(interrupted, path))
          )
      })
      const client = yield* connect(undefined, { workspace: gated })

      const call = yield* Effect.forkChild(client.callTool(Search, { query: "needle" }))
      const inHand = yield* Queue.takeN(opened, concurrency)
      yield* Fiber.interrupt(call)
      assert.sameMembers(yield* Queue.takeN(interrupted, concurrency), inHand)

      yield* gate.open
      // The same server still answers, and the cancelled search has not continued.
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(client.ping)))
      assert.strictEqual(yield* Queue.size(opened), 0)
    })
  )
})
