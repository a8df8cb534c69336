/** `effect-mcp proxy`: serves a server over stdio or HTTP, in every revision. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import type { Served } from "../proxy/Proxy.ts"
import { chosen, guards } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { safeLine } from "../terminal/Style.ts"

/** Flags for the proxy's transport and address. */
export const endpointFlags = {
  http: Flag.Boolean("http").pipe(
    Flag.withDescription("Serve over HTTP, at /mcp, instead of stdin and stdout"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("With --http: the port; 0 picks any free port"),
    Flag.optional
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("ADDRESS"),
    Flag.withDescription("With --http: the address to listen on. Default 127.0.0.1, which only this machine can reach"),
    Flag.optional
  ),
  clients: Flag.Int("clients").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("With --http: maximum number of clients; each has its own connection or process. Default 64"),
    Flag.withDefault(64)
  ),
  allowHost: Flag.String("allow-host").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("With --http: a host name that clients may use, besides localhost; repeatable"),
    Flag.atLeast(0)
  ),
  allowOrigin: Flag.String("allow-origin").pipe(
    Flag.withMetavar("ORIGIN"),
    Flag.withDescription("With --http: a site whose pages may send requests; repeatable"),
    Flag.atLeast(0)
  )
}

type Endpoint = Command.Command.Config.Infer<typeof endpointFlags>

/** Ends with exit code 2 if the flags contradict each other. */
export const checkEndpoint = ({ http, port }: Endpoint) =>
  http === Option.isSome(port) ? Effect.void : usage("--http and --port belong together: --http --port 8080")

/** Serves a gateway in front of the named server until stdin ends or the command is interrupted. */
export const serve = Effect.fnUntraced(function* (gateway: Served, name: string, endpoint: Endpoint) {
  const { allowHost, allowOrigin, host, port } = endpoint
  const output = yield* Output
  // Loaded on demand, because most commands don't serve anything.
  const { overStdio } = yield* Effect.promise(() => import("../proxy/Proxy.ts"))
  if (Option.isNone(port)) return yield* overStdio(gateway)
  const { overHttp } = yield* Effect.promise(() => import("../proxy/ProxyHttp.ts"))
  const place = Option.getOrElse(host, () => "127.0.0.1")
  if (!/^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(place)) {
    yield* output.note(
      `${output.noteStyle.red("warning:")} anyone who can reach ${safeLine(place)} can use the server with your logins: there is no authorization. Put a proxy with authorization in front, or leave out --host`
    )
  }
  return yield* overHttp(gateway, {
    port: port.value,
    host: place,
    allowedHosts: allowHost,
    allowedOrigins: allowOrigin,
    announce: (url) => output.note(`Serving ${name} at ${url}`)
  })
})

export const proxy = Command.make(
  "proxy",
  endpointFlags,
  Effect.fnUntraced(function* (endpoint) {
    yield* checkEndpoint(endpoint)
    const settings = yield* Settings.settings
    const target = yield* chosen(settings)
    const output = yield* Output
    const { gateway } = yield* Effect.promise(() => import("../proxy/Proxy.ts"))
    // Built first, because an unreadable file is a usage error.
    const guarded = yield* guards(settings, target, output)
    const served = gateway(target, settings, endpoint.clients, output.note)
    return yield* serve(Layer.provide(served, Layer.succeedContext(guarded)), target.name, endpoint)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Serve the server in every revision, over stdio or HTTP"),
  Command.withExamples([
    {
      command: "effect-mcp proxy -- https://example.com/mcp",
      description: "A server behind HTTP, for hosts that start processes"
    },
    { command: "effect-mcp proxy --http --port 8080 -- node server.js", description: "A process, for HTTP clients" }
  ])
)
