/** A TCP proxy on loopback that forwards bytes until told to cut. */
import { Effect, type Scope } from "effect"
import * as net from "node:net"

export interface Proxy {
  readonly port: number
  /** Breaks open connections; `which` selects some of them. */
  readonly cut: (which?: (bytes: number) => boolean) => number
  /** Number of open connections. */
  readonly open: () => number
  /** Called with every chunk; `true` breaks its connection. */
  onPiece: ((bytes: number) => boolean) | undefined
}

interface Pair {
  readonly client: net.Socket
  readonly server: net.Socket
  bytes: number
}

export const make = Effect.fnUntraced(function* (target: number): Effect.fn.Return<Proxy, never, Scope.Scope> {
  const pairs = new Set<Pair>()
  const destroy = (pair: Pair): void => {
    if (!pairs.delete(pair)) return
    // A reset, like a wire that is pulled out: bytes in flight are lost.
    pair.client.resetAndDestroy()
    pair.server.resetAndDestroy()
  }
  const listener = net.createServer((client) => {
    const server = net.connect({ host: "127.0.0.1", port: target })
    const pair: Pair = { client, server, bytes: 0 }
    pairs.add(pair)
    const pass = (from: net.Socket, to: net.Socket): void => {
      from.on("data", (piece) => {
        pair.bytes += piece.length
        if (proxy.onPiece?.(pair.bytes) === true) destroy(pair)
        else to.write(piece)
      })
      from.on("end", () => to.end())
      from.on("error", () => destroy(pair))
      from.on("close", () => (to.destroy(), pairs.delete(pair)))
    }
    pass(client, server)
    pass(server, client)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((done) => listener.listen({ host: "127.0.0.1", port: 0 }, done))),
    () =>
      Effect.promise(() => {
        const closed = new Promise<void>((done) => listener.close(() => done()))
        for (const pair of pairs) destroy(pair)
        return closed
      })
  )
  const proxy: Proxy = {
    port: (listener.address() as net.AddressInfo).port,
    cut: (which = () => true) => {
      const chosen = [...pairs].filter(({ bytes }) => which(bytes))
      chosen.forEach(destroy)
      return chosen.length
    },
    open: () => pairs.size,
    onPiece: undefined
  }
  return proxy
})
