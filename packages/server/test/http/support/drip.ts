/** A POST whose body begins and does not end. */
import { Effect, Queue, type Scope } from "effect"
import { connect, type Socket } from "node:net"

/** Begins one; `closed` hears of its connection when the server answers, or hangs up. */
export const drip = (
  port: number,
  closed: Queue.Queue<void>,
  path = "/mcp"
): Effect.Effect<Socket, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect(port, "127.0.0.1", () => {
        const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
        socket.write(`${head}content-length: 100\r\n\r\n{`, () => resume(Effect.succeed(socket)))
      })
      socket.on("error", () => {})
      socket.on("data", () => Queue.offerUnsafe(closed, undefined))
      socket.on("close", () => Queue.offerUnsafe(closed, undefined))
    }),
    (socket) => Effect.sync(() => void socket.destroy())
  )
