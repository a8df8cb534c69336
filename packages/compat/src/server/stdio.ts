/** Serving over stdin and stdout (spec: basic/transports, stdio). */
import { serve as serveProcess } from "@effect-mcp/server/internal/Stdio"
import { notify, report } from "../model/report.ts"
import type { Actor } from "./Actor.ts"
import { drain, servedAs, serveOver } from "./connect.ts"
import type { Factory } from "./Factory.ts"
import { served } from "./served.ts"
import type { Transport } from "./Transport.ts"

/** The standard streams of this process as a transport. Other output to stdout is redirected to stderr. */
export class StdioServerTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  #close: (() => void) | undefined

  constructor(...streams: ReadonlyArray<never>) {
    if (streams.length > 0) {
      throw new TypeError(
        "StdioServerTransport always uses process.stdin and process.stdout. For other streams, implement a Transport"
      )
    }
    servedAs(this, {
      serve: (actor, ended) => {
        this.#close = ended
        void actor.run(serveProcess({ drain })).then(() => {
          notify(
            () => this.onclose?.(),
            (error) => report(this.onerror, error)
          )
          ended()
        })
      }
    })
  }

  async start(): Promise<void> {}

  async send(): Promise<void> {
    throw new Error("Cannot send on StdioServerTransport directly: use the server that is connected to it")
  }

  async close(): Promise<void> {
    this.#close?.()
  }
}

/** Returned by `serveStdio`. Closes the server and ends its requests. */
export interface StdioHandle {
  close(): Promise<void>
}

export interface ServeStdioOptions {
  /** How to serve clients of revisions up to 2025-11-25. `reject` rejects their handshake. Default `serve`. */
  legacy?: "serve" | "reject" | undefined
  /** Default: the standard streams of this process. */
  transport?: Transport | undefined
  /** Default: prints the error to stderr. */
  onerror?: ((error: Error) => void) | undefined
}

const print = ({ message, stack }: Error): void => void process.stderr.write(`${stack ?? message}\n`)

/** Serves a server from the factory, one per connection. If the factory fails, the error is reported and the transport closed. */
export const serveStdio = (factory: Factory, options: ServeStdioOptions = {}): StdioHandle => {
  const { legacy = "serve", onerror = print, transport = new StdioServerTransport() } = options
  const revisions = legacy === "reject" ? (["2026-07-28"] as const) : undefined
  const start = async (): Promise<Actor | undefined> => {
    try {
      const actor = await served(factory, { per: "connection", revisions })
      try {
        await serveOver(actor, transport, () => void actor.close())
      } catch (error) {
        await actor.close()
        throw error
      }
      return actor
    } catch (error) {
      report(onerror, error)
      await transport.close()
      return undefined
    }
  }
  const started = start()
  return { close: async () => (await started)?.close() }
}
