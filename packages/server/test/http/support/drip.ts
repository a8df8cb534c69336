/** A POST whose body starts and never ends. */
import { Effect, Queue, type Scope } from "effect"
import { connect, type Socket } from "node:net"

export interface Dripped {
  readonly path?: string
  /** The beginning of the body. */
  readonly begin?: string
  /** Declared length of the whole body. */
  readonly length?: number
  /** Further header lines. */
  readonly head?: string
}

/** Starts one; `closed` receives one message when its connection closes: the server answered, or hung up. */
export const drip = (
  port: number,
  closed: Queue.Queue<void>,
  { begin = "{", head = "", length = 100, path = "/mcp" }: Dripped = {}
): Effect.Effect<Socket, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(port, "127.0.0.1", () => {
        const first = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
        socket.write(`${first}${head}content-length: ${length}\r\n\r\n${begin}`, () => resume(Effect.succeed(socket)))
      })
      let heard = false
      const hear = (): void => {
        if (!heard) Queue.offerUnsafe(closed, undefined)
        heard = true
      }
      socket.on("error", () => {})
      socket.on("data", hear)
      socket.on("close", hear)
    }),
    (socket) => Effect.sync(() => void socket.destroy())
  )
