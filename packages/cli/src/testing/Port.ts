/** Listens on a free local port. A separate module, because only HTTP servers need it. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { code, CommandFailure } from "../terminal/Exit.ts"

const cannot = ({ message }: { readonly message: string }) =>
  Layer.effectContext(
    Effect.fail(new CommandFailure({ code: code.usage, message: `Cannot listen on 127.0.0.1: ${message}` }))
  )

/** Listens on 127.0.0.1 only, as `layer` does, for connections of any protocol. */
export const layerSocket = NodeSocketServer.layer({ port: 0, host: "127.0.0.1" }).pipe(Layer.catch(cannot))

/** Listens on 127.0.0.1 only. */
export const layer = NodeHttpServer.layer(createServer, {
  port: 0,
  host: "127.0.0.1",
  disablePreemptiveShutdown: true
}).pipe(Layer.catch(cannot))
