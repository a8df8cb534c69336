/** `effect-mcp dev`: serves the server through a proxy, and restarts it when the project's files change. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import { byUser, chosen, confined, guards, SelectedServer, version } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { safe } from "../terminal/Style.ts"
import * as Target from "../target/Target.ts"
import { checkEndpoint, endpointFlags, serve } from "./Proxy.ts"

const config = {
  file: Argument.String("file").pipe(
    Argument.withDescription("The server's program, for Node; or put its command after --"),
    Argument.optional
  ),
  watch: Flag.String("watch").pipe(
    Flag.withMetavar("PATH"),
    Flag.withDescription("Watch this file or folder, not the whole project; repeatable"),
    Flag.atLeast(0)
  ),
  ui: Flag.Boolean("ui").pipe(
    Flag.withDescription("Try the server on a local page, as effect-mcp ui does, instead of serving it"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  ...endpointFlags
}

/** Returns the server, and the folder in which to look for its project. */
const started = Effect.fnUntraced(function* (file: Option.Option<string>, settings: Settings.Settings) {
  const path = yield* Path.Path
  const folder = path.resolve(settings.cwd ?? ".")
  if (Option.isNone(file)) {
    const target = yield* chosen(settings)
    if (target.mayDemandLogin !== true) return { target, folder }
    return yield* usage(`dev starts a process. For the server at ${target.name}, use effect-mcp proxy`)
  }
  const { target } = yield* SelectedServer
  if (target !== undefined || settings.config !== undefined) {
    return yield* usage(`dev needs only one of ${file.value}, a command after --, or --config`)
  }
  const words = [process.execPath, file.value]
  const program =
    Target.parse(words) ?? (yield* usage("dev needs a server: name its file, or put its command after --"))
  const named = { ...program, name: `node ${file.value}` }
  return { target: yield* confined(named, settings), folder: path.dirname(path.resolve(folder, file.value)) }
})

export const dev = Command.make(
  "dev",
  config,
  Effect.fnUntraced(function* ({ file, ui, watch, ...endpoint }) {
    yield* checkEndpoint(endpoint)
    if (ui && endpoint.http) return yield* usage("Use either --ui or --http")
    const settings = yield* Settings.settings
    const path = yield* Path.Path
    const output = yield* Output
    const { note } = output
    const { folder, target } = yield* started(file, settings)
    // Built before the server starts, because an unreadable file is a usage error.
    const guarded = yield* guards(settings, target, output)
    // Loaded on demand, because no other command watches files.
    const [Proxy, Restarts, ProjectFiles, Gateway] = yield* Effect.promise(() =>
      Promise.all([
        import("../proxy/Proxy.ts"),
        import("../dev/Restarts.ts"),
        import("../dev/ProjectFiles.ts"),
        import("@effect-mcp/gateway/Gateway")
      ])
    )
    const options = Proxy.connectOptions(settings, note)
    const client = { ...Proxy.clientOptions(settings), clientInfo: { name: "effect-mcp", version } }
    const restarts = yield* Restarts.make({
      start: (trial) => target.connect(trial ? { ...options, words: () => Effect.void } : options),
      client,
      note: (text) => note(safe(text))
    })
    const project = yield* ProjectFiles.projectOf(folder)
    const watched = watch.length === 0 ? [project] : watch.map((given) => path.resolve(given))
    const changes = yield* Effect.mapError(
      ProjectFiles.changes(watched, project),
      ({ message }) => new CommandFailure({ code: code.usage, message })
    )
    const restartFor = (changed: ReadonlyArray<string>) => {
      const [first = "", ...others] = changed
      const what = others.length === 0 ? `${first} has changed` : `${first} and ${others.length} more have changed`
      return Effect.andThen(note(safe(what)), restarts.restart(`The server is restarting: ${what}`))
    }
    // A change during a start interrupts the start.
    const starts = Stream.concat(Stream.make(restarts.restart("")), Stream.map(changes, restartFor))
    yield* Effect.forkScoped(Stream.runDrain(Stream.switchMap(starts, Stream.fromEffect)))
    const gateway = Gateway.layer({
      connector: restarts.connector,
      middleware: restarts.middleware,
      changingLists: true,
      capacity: endpoint.clients,
      // Restarts are normal here, and a start may take a while.
      reconnectTimeout: settings.timeout ?? "30 seconds",
      client: { ...client, reconnect: { attempts: Infinity, delay: "50 millis", maxDelay: "1 second" } }
    }).pipe(Layer.provide(Layer.succeedContext(guarded)))
    if (!ui) return yield* serve(gateway, target.name, endpoint)
    const Page = yield* Effect.promise(() => import("../ui/Page.ts"))
    return yield* byUser(settings, Page.show(Page.behind(target, gateway), settings, { port: 0, history: true }))
  }, Effect.scoped)
).pipe(
  Command.withDescription("Run the server, and restart it whenever the files of its project change"),
  Command.withShortDescription("Run the server, restarted on change"),
  Command.withExamples([
    { command: "effect-mcp dev src/server.ts", description: "As a host's command; the host stays connected" },
    { command: "effect-mcp dev --ui src/server.ts", description: "With a page to try it; the page stays connected" },
    { command: "effect-mcp dev --http --port 8080 --watch src -- bun src/server.ts", description: "Over HTTP" }
  ])
)
