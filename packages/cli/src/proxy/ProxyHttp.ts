/** A gateway over HTTP, in a separate module so that a proxy over stdio does not load HTTP. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import { createServer } from "node:http"
import { code, CommandFailure } from "../terminal/Exit.ts"
import type { Served } from "./Proxy.ts"

export interface Options extends Pick<McpServer.HttpOptions, "allowedHosts" | "allowedOrigins"> {
  readonly port: number
  readonly host: string
  readonly announce: (url: string) => Effect.Effect<void>
}

const reasonOf = (cause: unknown): string => {
  const known = Predicate.hasProperty(cause, "code") ? cause.code : undefined
  if (known === "EADDRINUSE") return "another program is already listening there"
  if (known === "EACCES") return "you do not have permission to listen there"
  return cause instanceof Error ? cause.message : String(cause)
}

/** Returns the error for an address that can't be listened on. */
export const cannotServe = (cause: unknown, host: string, port: number): CommandFailure =>
  new CommandFailure({
    code: code.usage,
    message: `Cannot serve at ${host}, port ${port}: ${reasonOf(cause)}. Choose another --port, or 0 for any that is free`
  })

/** Serves until interrupted. */
export const overHttp = (gateway: Served, { announce, host, port, ...options }: Options) => {
  const said = Layer.effectDiscard(
    Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
      address._tag === "UnixPathAddress"
        ? Effect.void
        : announce(`http://${host.includes(":") ? `[${host}]` : host}:${address.port}/mcp`)
    )
  )
  return said.pipe(
    Layer.provideMerge(
      McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp", ...options }), {
        disableLogger: true,
        disableListenLog: true
      })
    ),
    Layer.provide(gateway),
    Layer.provide(NodeHttpServer.layer(createServer, { port, host, gracefulShutdownTimeout: "1 second" })),
    Layer.launch,
    Effect.mapError(({ cause }) => cannotServe(cause, host, port))
  )
}
