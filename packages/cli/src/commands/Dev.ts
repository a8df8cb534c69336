/** `effect-mcp dev`: the server, served again, and started again whenever the files of its project change. */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import { chosen, SelectedServer, version } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { safe } from "../terminal/Style.ts"
import * as Target from "../target/Target.ts"
import { checkEndpoint, endpointFlags, serve } from "./Proxy.ts"

const config = {
  file: Argument.String("file").pipe(
    Argument.withDescription("The program of the server, for Node; or put its command after --"),
    Argument.optional
  ),
  watch: Flag.String("watch").pipe(
    Flag.withMetavar("PATH"),
    Flag.withDescription("Watch this file or folder, not the whole project; repeatable"),
    Flag.atLeast(0)
  ),
  ...endpointFlags
}

/** The server, and the folder in which its project is looked for. */
const started = Effect.fnUntraced(function* (file: Option.Option<string>, settings: Settings.Settings) {
  const path = yield* Path.Path
  const folder = path.resolve(settings.cwd ?? ".")
  if (Option.isNone(file)) {
    const target = yield* chosen(settings)
    if (target.mayDemandLogin !== true) return { target, folder }
    return yield* usage(`dev starts a process: for the server at ${target.name} there is effect-mcp proxy`)
  }
  const { target } = yield* SelectedServer
  if (target !== undefined || settings.config !== undefined) {
    return yield* usage(`dev takes ${file.value}, or a command after --, or --config: one of them`)
  }
  const words = [process.execPath, file.value]
  const program = Target.parse(words) ?? (yield* usage("dev needs the file of a server"))
  return { target: { ...program, name: `node ${file.value}` }, folder: path.dirname(path.resolve(folder, file.value)) }
})

export const dev = Command.make(
  "dev",
  config,
  Effect.fnUntraced(function* ({ file, watch, ...endpoint }) {
    yield* checkEndpoint(endpoint)
    const settings = yield* Settings.settings
    const path = yield* Path.Path
    const { note } = yield* Output
    const { folder, target } = yield* started(file, settings)
    // Loaded when needed: no other command watches or serves.
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
      return Effect.andThen(note(safe(what)), restarts.restart(`The server is started again: ${what}`))
    }
    // A change during a start ends that start.
    const starts = Stream.concat(Stream.make(restarts.restart("")), Stream.map(changes, restartFor))
    yield* Effect.forkScoped(Stream.runDrain(Stream.switchMap(starts, Stream.fromEffect)))
    const gateway = Gateway.layer({
      connector: restarts.connector,
      middleware: restarts.middleware,
      changingLists: true,
      capacity: endpoint.clients,
      // The start of a server takes its time, and its end is the rule here.
      reconnectTimeout: settings.timeout ?? "30 seconds",
      client: { ...client, reconnect: { attempts: Infinity, delay: "50 millis", maxDelay: "1 second" } }
    })
    return yield* serve(gateway, target.name, endpoint)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Serve the server again, and start it again whenever the files of its project change"),
  Command.withShortDescription("Serve the server, started again on change"),
  Command.withExamples([
    { command: "effect-mcp dev src/server.ts", description: "As the command of a host: it stays connected" },
    { command: "effect-mcp dev --http --port 8080 --watch src -- bun src/server.ts", description: "Over HTTP" }
  ])
)
