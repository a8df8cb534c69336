/** `effect-mcp proxy`: the server, served again: over stdio, or over HTTP. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import type { Served } from "../proxy/Proxy.ts"
import { chosen } from "../session/Session.ts"
import * as Settings from "../target/Settings.ts"
import { safeLine } from "../terminal/Style.ts"

/** Where a server is served again. */
export const endpointFlags = {
  http: Flag.Boolean("http").pipe(
    Flag.withDescription("Serve over HTTP, at /mcp, instead of stdin and stdout"),
    Flag.withDefault(false),
    Flag.withoutNegation
  ),
  port: Flag.Int("port").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("With --http: the port, 0 for any that is free"),
    Flag.optional
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("ADDRESS"),
    Flag.withDescription("With --http: where to listen. Default 127.0.0.1, which only this machine reaches"),
    Flag.optional
  ),
  clients: Flag.Int("clients").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("With --http: clients at once; each has a connection to the server, or a process. Default 64"),
    Flag.withDefault(64)
  ),
  allowHost: Flag.String("allow-host").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("With --http: a name that clients may reach it by, beside localhost; repeatable"),
    Flag.atLeast(0)
  ),
  allowOrigin: Flag.String("allow-origin").pipe(
    Flag.withMetavar("ORIGIN"),
    Flag.withDescription("With --http: a site whose pages may use it; repeatable"),
    Flag.atLeast(0)
  )
}

type Endpoint = Command.Command.Config.Infer<typeof endpointFlags>

/** Ends with exit code 2 where the flags do not belong together. */
export const checkEndpoint = ({ http, port }: Endpoint) =>
  http === Option.isSome(port) ? Effect.void : usage("--http and --port belong together: --http --port 8080")

/** Serves a gateway in front of the server of that name: until stdin ends, or until it is interrupted. */
export const serve = Effect.fnUntraced(function* (gateway: Served, name: string, endpoint: Endpoint) {
  const { allowHost, allowOrigin, host, port } = endpoint
  const output = yield* Output
  // Loaded when needed: the other commands serve nothing.
  const { overStdio } = yield* Effect.promise(() => import("../proxy/Proxy.ts"))
  if (Option.isNone(port)) return yield* overStdio(gateway)
  const { overHttp } = yield* Effect.promise(() => import("../proxy/ProxyHttp.ts"))
  const place = Option.getOrElse(host, () => "127.0.0.1")
  if (!/^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(place)) {
    yield* output.note(
      `${output.noteStyle.red("warning:")} everyone who reaches ${safeLine(place)} can use the server, with your logins: there is no authorization. Put a proxy that asks for one in front, or leave out --host`
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
    const { note } = yield* Output
    const { gateway } = yield* Effect.promise(() => import("../proxy/Proxy.ts"))
    return yield* serve(gateway(target, settings, endpoint.clients, note), target.name, endpoint)
  })
).pipe(
  Command.withDescription("Serve the server again, in every revision: over stdio or HTTP"),
  Command.withExamples([
    {
      command: "effect-mcp proxy -- https://example.com/mcp",
      description: "A server behind HTTP, for hosts that start processes"
    },
    { command: "effect-mcp proxy --http --port 8080 -- node server.js", description: "A process, for clients of HTTP" }
  ])
)
