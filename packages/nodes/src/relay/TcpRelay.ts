/**
 * The relay between processes. Each node listens on its own address, only responds to nodes that know the shared secret, and opens one
 * connection to each node that it sends requests to.
 */
import { Fibers } from "@effect-mcp/core/internal/inFlight"
import { NodesUnavailable, RelayError, type RelayEndpoint } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { createServer, type Server, type Socket } from "node:net"
import { networkInterfaces } from "node:os"
import { addressOf, type NodeId, placeOf } from "./NodeId.ts"
import { AnsweringLine } from "./AnsweringLine.ts"
import { AskingLine, probed } from "./AskingLine.ts"
import { askedOf, type NodeRelay } from "./NodeRelay.ts"
import { welcome } from "./handshake.ts"
import { encodeRequest } from "./RequestHead.ts"

export interface Options {
  /** Address to listen on for other nodes. Default: all addresses. */
  readonly host?: string | undefined
  /** Port to listen on for other nodes. Default: any free port. */
  readonly port?: number | undefined
  /** Host name or address where other nodes can reach this one. Defaults to `host`, or else to this machine's first address. */
  readonly advertise?: string | undefined
}

/** Returns this machine's first address that others can reach, or loopback if there is none. */
const ownAddress = (): string =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1"

const listen = ({ host, port = 0 }: Options, server: Server): Effect.Effect<number, NodesUnavailable> =>
  Effect.callback((resume) => {
    server.once("error", (cause) => {
      const message = `The relay cannot listen on ${host ?? "any address"}, port ${port}. Choose a free \`port\``
      resume(Effect.fail(new NodesUnavailable({ message, cause })))
    })
    server.listen(port, host, () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Time limits when leaving: first for connecting nodes to prove themselves, then for writing responses. */
const flushed = "2 seconds"

/** Connections to other nodes, by address. */
class Lines {
  private readonly secret: string
  readonly byAddress = new Map<string, AskingLine>()
  /** Addresses of nodes that have left. Another node may reuse an address. */
  readonly left = new Set<string>()

  constructor(secret: string) {
    this.secret = secret
  }

  to(node: NodeId): AskingLine {
    const address = addressOf(node)
    const known = this.byAddress.get(address)
    if (known !== undefined) return known
    const closed = (): void => {
      if (this.byAddress.get(address) === line) this.byAddress.delete(address)
    }
    const line = new AskingLine(placeOf(address), {
      secret: this.secret,
      opened: () => this.left.delete(address),
      left: () => this.left.add(address),
      closed
    })
    this.byAddress.set(address, line)
    return line
  }

  close(): void {
    for (const line of this.byAddress.values()) line.close()
  }
}

const sending =
  (lines: Lines): NodeRelay["send"] =>
  (node, request) =>
    Effect.flatMap(encodeRequest(node, request), (head) =>
      Effect.callback((resume) => {
        const line = lines.to(node)
        const id = line.ask(node, head, request.body, (answer) =>
          resume(
            Effect.tap(answer, ({ body }) =>
              typeof body === "string" || body instanceof Uint8Array
                ? Effect.void
                : Effect.addFinalizer(() => Effect.sync(() => line.leave(id)))
            )
          )
        )
        return Effect.sync(() => line.leave(id))
      })
    )

/** Listens until the scope closes. The nodes share `secret`. */
export const make = Effect.fnUntraced(function* (
  options: Options,
  secret: string
): Effect.fn.Return<{ readonly relay: NodeRelay; readonly address: string }, NodesUnavailable, Scope.Scope> {
  const endpoints = new Set<RelayEndpoint>()
  const fibers = new Fibers()
  const sockets = new Set<Socket>()
  const answers = new Map<Socket, AnsweringLine>()
  const lines = new Lines(secret)
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  let self: NodeId = ""
  const notHere = Effect.fail(
    new RelayError({ reason: "NotSent", message: "The other node does not hold this session" })
  )
  const answering = {
    runFork,
    own: (fiber: Parameters<Fibers["add"]>[0]) => fibers.add(fiber),
    answer: (node: NodeId, request: Parameters<RelayEndpoint["answer"]>[0]) =>
      node === self ? askedOf(endpoints, request) : notHere
  }
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: probed }, (socket) => {
    sockets.add(socket)
    // The connection closes after an error.
    socket
      .on("error", () => {})
      .once("close", () => {
        sockets.delete(socket)
        answers.delete(socket)
      })
    const welcomed = Effect.match(welcome(socket, secret), {
      onFailure: () => void socket.destroy(),
      onSuccess: () => void (socket.destroyed || answers.set(socket, new AnsweringLine(socket, answering)))
    })
    fibers.add(runFork(welcomed))
  })
  const within = (effect: Effect.Effect<unknown>) => Effect.timeoutOption(Effect.interruptible(effect), flushed)
  const leave = yield* Effect.cached(
    // A node that has proved itself may already have sent a request, so tell it whether that was read.
    within(Effect.suspend(() => Fiber.awaitAll(fibers.all()))).pipe(
      Effect.andThen(fibers.end),
      Effect.andThen(
        Effect.suspend(() =>
          within(Effect.forEach(answers.values(), ({ leave }) => leave, { concurrency: "unbounded", discard: true }))
        )
      )
    )
  )
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      leave,
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
    )
  )
  const port = yield* listen(options, server)
  yield* Effect.addFinalizer(() => Effect.sync(() => lines.close()))
  const host = options.advertise ?? options.host ?? ownAddress()
  const relay: NodeRelay = {
    send: sending(lines),
    serve: (endpoint) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => endpoints.add(endpoint)),
          () => Effect.sync(() => endpoints.delete(endpoint))
        )
      ),
    named: (node) => {
      self = node
    },
    asked: () => new Set([...lines.byAddress.values()].flatMap((line) => [...line.nodes()])),
    hasLeft: (node) => lines.left.has(addressOf(node)),
    cut: (node) => lines.byAddress.get(addressOf(node))?.cut(node),
    leave
  }
  return { relay, address: `${host.includes(":") ? `[${host}]` : host}:${port}` }
})
