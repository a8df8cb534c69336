/** The example of two nodes, one of which is killed while a client uses it, run unchanged if there is a Postgres. */
import { NodeServices } from "@effect/platform-node"
import { needs } from "@effect-mcp/spec/skip"
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"
import { database } from "../../src/nodes/library.ts"

const program = fileURLToPath(new URL("../../src/nodes/library-kill.ts", import.meta.url))

const connected = await Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe("SELECT 1")).pipe(
  Effect.provide(database("public")),
  Effect.timeout("5 seconds"),
  Effect.runPromiseExit
)

layer(NodeServices.layer, { excludeTestServices: true })("library", (it) => {
  it.effect(
    "The library keeps lending in the same session after the node that held it is killed",
    () =>
      Effect.gen(function* () {
        const child = yield* ChildProcess.make(process.execPath, [program], { stdin: "ignore" })
        const [output, code] = yield* Effect.all([Stream.mkString(Stream.decodeText(child.all)), child.exitCode], {
          concurrency: 2
        })
        assert.strictEqual(Number(code), 0, output)
        const [, holder] = /^4 books are lent by node ([12])\.$/m.exec(output) ?? []
        const other = holder === "1" ? 2 : 1
        assert.deepStrictEqual(output.trim().split("\n"), [
          `4 books are lent by node ${holder}.`,
          `Node ${holder} is killed while it lends another.`,
          `That one is lent by node ${other}.`,
          `4 more are lent by node ${other}.`,
          "The client has opened 1 session."
        ])
      }),
    needs(Exit.isSuccess(connected), "no Postgres at DATABASE_URL or 127.0.0.1:5432")
  )
})
