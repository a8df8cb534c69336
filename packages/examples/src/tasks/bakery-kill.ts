/**
 * Starts the bakery, kills its process in the middle of a task, and starts it
 * again: `node bakery-kill.ts`.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient, Stdio } from "@effect-mcp/client"
import { Console, Effect, FileSystem, Path, Stream } from "effect"
import { fileURLToPath } from "node:url"
import { Bake } from "./bakery.ts"

const script = fileURLToPath(new URL("bakery-server.ts", import.meta.url))

/** Starts a new process of the server on the file, and connects a client. */
const started = Effect.fnUntraced(function* (file: string) {
  const transport = yield* Stdio.open({
    command: process.execPath,
    args: [script, file]
  })
  const client = yield* McpClient.connect(transport)
  return { client, pid: transport.pid }
})

const program = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const file = (yield* Path.Path).join(
    yield* fs.makeTempDirectoryScoped(),
    "bakery.db"
  )
  const first = yield* started(file)
  const task = yield* first.client.start(Bake, { loaf: "rye" })
  yield* Console.log("The call is a task.")
  yield* task.states.pipe(
    Stream.tap(({ message }) =>
      message === undefined ? Effect.void : Console.log(message)
    ),
    Stream.takeUntil(({ message }) => message === "rye: mix is done"),
    Stream.runDrain
  )
  yield* Effect.sync(() => process.kill(first.pid, "SIGKILL"))
  yield* Console.log("The process of the server is killed.")
  const second = yield* started(file)
  yield* Console.log("Another process is started on the file.")
  const { done } = yield* Effect.flatMap(
    second.client.task(Bake, task.id ?? ""),
    ({ result }) => result
  )
  for (const { process, step } of done) {
    yield* Console.log(
      `${step}: by the ${process === first.pid ? "first" : "second"} process`
    )
  }
})

program.pipe(
  Effect.scoped,
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
