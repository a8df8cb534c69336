/**
 * Two nodes of a library behind a round robin, one of which is killed while a
 * client uses it: `node library-kill.ts`. Needs a Postgres.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { PgClient } from "@effect/sql-pg"
import {
  Console,
  Context,
  Effect,
  Fiber,
  Layer,
  Schedule,
  Stream
} from "effect"
import { FetchHttpClient } from "effect/http"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"
import { database, Lend } from "./library.ts"
import { robin } from "./robin.ts"

const script = fileURLToPath(new URL("library-node.ts", import.meta.url))

/** Starts a node in a separate process. */
const started = Effect.fnUntraced(function* (schema: string) {
  const child = yield* ChildProcess.make(process.execPath, [script, schema], {
    stdin: "ignore",
    stderr: "inherit"
  })
  const [port] = yield* yield* Stream.toPull(
    Stream.splitLines(Stream.decodeText(child.stdout))
  )
  return { pid: Number(child.pid), port: Number(port) }
})

/** Creates a database schema that is dropped when the scope closes. */
const schema = Effect.gen(function* () {
  const name = `library_${process.pid}`
  const run = (statement: string) =>
    Effect.flatMap(PgClient.PgClient, (sql) =>
      Effect.orDie(sql.unsafe(`${statement} ${name}`))
    )
  yield* Effect.acquireRelease(run("CREATE SCHEMA"), () =>
    Effect.orDie(
      Effect.flatMap(PgClient.PgClient, (sql) =>
        sql.unsafe(`DROP SCHEMA ${name} CASCADE`)
      )
    )
  )
  return name
})

const connected = (url: string) =>
  Effect.map(
    Layer.build(
      McpClient.layerHttp({ url, revisions: ["2025-11-25"] }).pipe(
        Layer.provide(FetchHttpClient.layer)
      )
    ),
    Context.get(McpClient.McpClient)
  )

const program = Effect.gen(function* () {
  const name = yield* schema
  const nodes = [yield* started(name), yield* started(name)]
  const { opened, url } = yield* robin(nodes.map(({ port }) => port))
  const client = yield* connected(url)
  const numberOf = (pid: number) =>
    nodes.findIndex((node) => node.pid === pid) + 1
  // A call fails if its node dies. This one is safe to repeat.
  const lend = (book: string) =>
    Effect.map(
      Effect.retry(client.callTool(Lend, { book }), {
        times: 20,
        schedule: Schedule.spaced("200 millis")
      }),
      ({ by }) => numberOf(by)
    )
  const lent = Effect.forEach(["Emma", "Dune", "Faust", "Momo"], lend)
  const [holder = 0, ...others] = yield* lent
  yield* Console.log(
    `4 books are lent by node ${holder}${others.every((one) => one === holder) ? "" : " and another"}.`
  )
  const running = yield* Effect.forkChild(lend("Ulysses"))
  yield* Effect.sleep("50 millis")
  yield* Effect.sync(() => process.kill(nodes[holder - 1]?.pid ?? 0, "SIGKILL"))
  yield* Console.log(`Node ${holder} is killed while it lends another.`)
  yield* Console.log(`That one is lent by node ${yield* Fiber.join(running)}.`)
  yield* Console.log(
    `4 more are lent by node ${[...new Set(yield* lent)].join(" and ")}.`
  )
  yield* Console.log(`The client has opened ${opened()} session.`)
})

program.pipe(
  Effect.scoped,
  Effect.provide(
    Layer.orDie(Layer.merge(NodeServices.layer, database("public")))
  ),
  NodeRuntime.runMain
)
