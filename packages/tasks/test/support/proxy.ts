/** A proxy in front of Postgres that cuts and delays traffic. */
import { Effect } from "effect"
import { connect, createServer, type Socket } from "node:net"

export interface Proxy {
  readonly url: string
  /** Cuts the connections that are open. */
  readonly cut: Effect.Effect<number>
  /** Delays everything from Postgres from now on, in milliseconds. Infinity drops it. */
  readonly delay: (millis: number) => Effect.Effect<void>
}

export const make = (target: string) =>
  Effect.gen(function* () {
    const { hostname, port, username, password, pathname } = new URL(target)
    const open = new Set<Socket>()
    let delay = 0
    const server = createServer((near) => {
      const far = connect(Number(port === "" ? "5432" : port), hostname)
      for (const [from, to] of [
        [near, far],
        [far, near]
      ] as const) {
        open.add(from)
        from.on("data", (bytes) => {
          if (from === near || delay === 0) to.write(bytes)
          else if (delay !== Infinity) setTimeout(() => to.write(bytes), delay)
        })
        from.on("error", () => {})
        from.on("close", () => {
          open.delete(from)
          to.destroy()
        })
      }
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.sync(() => {
          server.close()
          for (const socket of open) socket.destroy()
        })
    )
    const address = server.address()
    const at = typeof address === "object" && address !== null ? address.port : 0
    const user = password === "" ? username : `${username}:${password}`
    return {
      url: `postgres://${user}@127.0.0.1:${at}${pathname}`,
      cut: Effect.sync(() => {
        const { size } = open
        for (const socket of open) socket.destroy()
        return size
      }),
      delay: (millis) => Effect.sync(() => void (delay = millis))
    } satisfies Proxy
  })
