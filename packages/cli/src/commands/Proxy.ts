/** `effect-mcp proxy`: the server, served again: over stdio, or over HTTP. */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { usage } from "../Exit.ts"
import { Output } from "../Output.ts"
import { noServer, Server } from "../Session.ts"
import * as Settings from "../Settings.ts"

const flags = {
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

export const proxy = Command.make(
  "proxy",
  flags,
  Effect.fnUntraced(function* ({ allowHost, allowOrigin, clients, host, http, port }) {
    const { target } = yield* Server
    if (target === undefined) return yield* noServer
    if (http !== Option.isSome(port)) return yield* usage("--http and --port belong together: --http --port 8080")
    const settings = yield* Settings.settings
    const output = yield* Output
    // Loaded when needed: the other commands serve nothing.
    const Proxy = yield* Effect.promise(() => import("../Proxy.ts"))
    const gateway = Proxy.gateway(target, settings, clients, output.note)
    if (Option.isNone(port)) return yield* Proxy.overStdio(gateway)
    const { overHttp } = yield* Effect.promise(() => import("../ProxyHttp.ts"))
    return yield* overHttp(gateway, {
      port: port.value,
      host: Option.getOrElse(host, () => "127.0.0.1"),
      allowedHosts: allowHost,
      allowedOrigins: allowOrigin,
      announce: (url) => output.note(`Serving ${target.name} at ${url}`)
    })
  })
).pipe(
  Command.withDescription("Serve the server again, in every revision: over stdio, or over HTTP"),
  Command.withExamples([
    {
      command: "effect-mcp proxy -- https://example.com/mcp",
      description: "A server behind HTTP, for hosts that start processes"
    },
    { command: "effect-mcp proxy --http --port 8080 -- node server.js", description: "A process, for clients of HTTP" }
  ])
)
