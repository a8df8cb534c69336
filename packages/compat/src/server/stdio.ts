/** Serving over stdin and stdout (spec: basic/transports, stdio). */
import { serve as serveProcess } from "@effect-mcp/server/internal/Stdio"
import { servedAs } from "./connect.ts"
import type { Factory } from "./Factory.ts"
import { served } from "./served.ts"
import type { Transport } from "./Transport.ts"

/** The standard streams of this process as a transport: what else is printed to stdout goes to stderr. */
export class StdioServerTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  #close: (() => void) | undefined

  constructor(...streams: ReadonlyArray<never>) {
    if (streams.length > 0) {
      throw new TypeError(
        "StdioServerTransport was given streams; it serves those of this process. Give none, or a Transport of your own"
      )
    }
    servedAs(this, {
      serve: (actor, ended) => {
        this.#close = ended
        void actor.run(serveProcess()).then(() => {
          this.onclose?.()
          ended()
        })
      }
    })
  }

  async start(): Promise<void> {}

  async send(): Promise<void> {
    throw new Error("StdioServerTransport is connected to a server, which sends")
  }

  async close(): Promise<void> {
    this.#close?.()
  }
}

/** What `serveStdio` gives: closes the server and ends its requests. */
export interface StdioHandle {
  close(): Promise<void>
}

/** Serves what a function makes: one server for the connection. */
export const serveStdio = async (factory: Factory): Promise<StdioHandle> => {
  const actor = await served(factory, { per: "connection" })
  void actor.run(serveProcess()).then(() => actor.close())
  return { close: () => actor.close() }
}
