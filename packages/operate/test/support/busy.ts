/** A server with a request of every kind, and its console. */
import { NodeHttpServer } from "@effect/platform-node"
import { Elicitation, Memory, Progress, Tool, Tools } from "@effect-mcp/core"
import { McpClient } from "@effect-mcp/client"
import { Admin, Telemetry } from "@effect-mcp/operate"
import * as Console from "@effect-mcp/operate/console"
import { McpServer } from "@effect-mcp/server"
import { Context, Deferred, Effect, Latch, Layer, Logger, Redacted, Schema } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"

export const token = "token-of-the-operator"
export const readOnly = "token-that-may-see"

/** Hostile text that would run if it were inserted as HTML. */
export const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

const Stuck = Tool.make("stuck", { description: "Hangs" })
const Report = Tool.make("report", { description: "Reads pages" })
const Book = Tool.make("book", { description: "Asks for a date" })
const Quick = Tool.make("quick", { description: "Is done at once" })
const Fails = Tool.make("fails", { description: "Fails" })
const Ask = Schema.Struct({ day: Schema.String })

const client = (name: string, connect: McpServer.Server["connect"]) =>
  Effect.gen(function* () {
    const [near, far] = yield* Memory.pair()
    yield* connect(far, { kind: "memory" })
    return yield* McpClient.open(Effect.succeed(near), {
      revisions: ["2025-11-25"],
      clientInfo: { name, version: "1.4.0" }
    })
  })

/** Starts the server. `sessions` adds sessions to the first three, `stranger` names a client, and `more` lets `report` report again. */
export const busy = Effect.fnUntraced(function* (sessions = 0, stranger = hostile) {
  const began = yield* Deferred.make<void>()
  const more = yield* Latch.make(false)
  const features = Layer.mergeAll(
    Tools.layer(Stuck, () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never)),
    Tools.layer(Report, () =>
      Effect.gen(function* () {
        yield* Progress.report(3, { total: 12, message: `Reads page 3 of ${stranger}` })
        yield* more.await
        yield* Progress.report(7, { total: 12, message: "Reads page 7" })
        return yield* Effect.never
      })
    ),
    Tools.layer(Book, () => Effect.as(Elicitation.form("Which day?", Ask), "booked")),
    Tools.layer(Quick, () => Effect.succeed("done")),
    Tools.layer(Fails, () => Effect.fail(new Tools.ToolFailure({ message: "no" })))
  )
  const observed = Layer.mergeAll(Admin.layerHistory(), Telemetry.layer())
  const page = Console.layer({ token: Redacted.make(token), readOnlyToken: Redacted.make(readOnly) })
  const context = yield* Layer.build(
    McpServer.serveHttp(page, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(Layer.provide(McpServer.layer({ name: "busy", version: "1", features }), observed)),
      Layer.provide(observed),
      Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))),
      Layer.provide(Logger.layer([]))
    )
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const { connect, requests } = Context.get(context, McpServer.McpServer)
  const answers = Elicitation.layer({ form: () => Effect.never })
  const [desktop, editor] = [yield* client("claude-desktop", connect), yield* client(stranger, connect)]
  const agent = yield* Effect.provide(client("travel-agent", connect), answers)
  for (let i = 0; i < sessions; i++) {
    const { callToolByName } = yield* client(`client-${i}`, connect)
    yield* Effect.forkScoped(Effect.exit(callToolByName("report")))
  }
  const calls = Effect.gen(function* () {
    yield* desktop.callToolByName("quick")
    yield* desktop.callToolByName("fails")
  })
  yield* calls
  const stuck = yield* Effect.forkScoped(Effect.flip(desktop.callToolByName("stuck")))
  yield* Effect.forkScoped(Effect.exit(editor.callToolByName("report")))
  yield* Effect.forkScoped(Effect.exit(agent.callToolByName("book")))
  yield* Deferred.await(began)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return { port, url: `http://127.0.0.1:${port}/console`, stuck, more, calls, requests }
})
