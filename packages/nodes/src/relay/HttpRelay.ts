/**
 * The relay over HTTP: each node listens at an address of its own, which only nodes that know the shared secret may use.
 *
 * Owns whether a request was sent: one that found no connection may go to another node, any other may have run.
 */
import {
  NodesUnavailable,
  RelayError,
  type Relay,
  type RelayedRequest,
  type RelayedResponse,
  type RelayEndpoint
} from "@effect-mcp/server/Nodes"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { createHash, timingSafeEqual } from "node:crypto"
import { Agent, createServer, type IncomingMessage, request as send, type Server, type ServerResponse } from "node:http"
import { networkInterfaces } from "node:os"
import { deserialize, serialize } from "node:v8"
import { addressOf } from "../directory/Directory.ts"

export interface Options {
  /** The address to listen at for other nodes. Default: all. */
  readonly host?: string | undefined
  /** The port to listen at for other nodes. Default: any that is free. */
  readonly port?: number | undefined
  /** The host name or address by which other nodes reach this one. Default: `host`, else the first address of this machine. */
  readonly advertise?: string | undefined
}

/** Length of the head of a relayed request, whose headers were admitted already. */
const maxHead = 256 * 1024
/** How long a connection to another node may take, in milliseconds. */
const connectTimeout = 1000
/** Bytes of a body that arrives from another node, which has read and admitted it. */
const maxBody = 256 * 1024 * 1024

const headName = "x-mcp-relay"
const notHere = 421

/** As `structuredClone` has it, which claims of a principal may need: JSON has no bigint, date or map. */
const encodeHead = (head: Omit<RelayedRequest, "body">): Effect.Effect<string, RelayError> =>
  Effect.try({
    try: () => serialize(head).toString("base64url"),
    catch: (cause) =>
      failed(false, `The claims of the principal cannot be sent to another node, give plain data: ${String(cause)}`)
  })
const decodeHead = (text: unknown): unknown => {
  try {
    return deserialize(Buffer.from(String(text), "base64url"))
  } catch {
    return undefined
  }
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const decode = (text: unknown): unknown => {
  try {
    return JSON.parse(Buffer.from(String(text), "base64url").toString())
  } catch {
    return undefined
  }
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** The first address of this machine that others reach; loopback where it has none. */
const ownAddress = (): string =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1"

// ---- the node that asks

const connectionOf = (address: string): { readonly host: string; readonly port: number } => {
  const { hostname, port } = new URL(`http://${address}`)
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) }
}

const failed = (isSent: boolean, message: string): RelayError =>
  new RelayError({ reason: isSent ? "Cut" : "NotSent", message })

const bodyOf = (response: IncomingMessage): RelayedResponse["body"] =>
  Stream.fromAsyncIterable(response, (error) => failed(true, String(error)))

const responseOf = (response: IncomingMessage): Effect.Effect<RelayedResponse, RelayError> => {
  if (response.statusCode === notHere) {
    response.resume()
    return Effect.fail(failed(false, "The node does not hold the session"))
  }
  const head = decode(response.headers[headName])
  if (response.statusCode !== 200 || !isJsonObject(head) || typeof head["status"] !== "number") {
    response.resume()
    return Effect.fail(failed(true, `The node answered the relay with status ${response.statusCode}`))
  }
  const headers = isJsonObject(head["headers"]) ? head["headers"] : {}
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)])
  return Effect.succeed({ status: head["status"], headers: Object.fromEntries(texts), body: bodyOf(response) })
}

const sending =
  (agent: Agent, secret: string): Relay["send"] =>
  (node, { body, ...head }) =>
    Effect.flatMap(
      Effect.acquireRelease(
        Effect.map(
          Effect.tapError(encodeHead(head), ({ message }) => Effect.logWarning(message)),
          (encoded) => {
            const headers = {
              authorization: `Bearer ${secret}`,
              [headName]: encoded,
              ...(body === undefined ? undefined : { "content-length": body.length })
            }
            return send({ ...connectionOf(addressOf(node)), agent, method: "POST", path: "/", headers })
          }
        ),
        (request) => Effect.sync(() => void request.destroy())
      ),
      (request) =>
        Effect.callback<RelayedResponse, RelayError>((resume) => {
          let isSent = false
          request.on("socket", (socket) => {
            isSent = !socket.connecting
            if (isSent) return
            const timer = setTimeout(() => socket.destroy(new Error("The connection took too long")), connectTimeout)
            socket.once("connect", () => {
              isSent = true
              clearTimeout(timer)
            })
            socket.once("close", () => clearTimeout(timer))
          })
          request.on("error", (error) => resume(Effect.fail(failed(isSent, error.message))))
          request.on("response", (response) => {
            // Its errors are those of the body, which may not be read yet.
            response.on("error", () => {})
            resume(responseOf(response))
          })
          request.end(body)
        })
    )

// ---- the node that answers

const isRelayed = (head: unknown): head is Omit<RelayedRequest, "body"> =>
  isJsonObject(head) &&
  ["server", "session", "method", "url"].every((name) => typeof head[name] === "string") &&
  isJsonObject(head["headers"])

const read = (request: IncomingMessage): Effect.Effect<Uint8Array | undefined> =>
  Effect.callback((resume) => {
    const parts: Array<Buffer> = []
    let size = 0
    request.on("data", (part: Buffer) => {
      size += part.length
      if (size > maxBody) request.destroy()
      else parts.push(part)
    })
    request.on("end", () => resume(Effect.succeed(size === 0 ? undefined : Buffer.concat(parts))))
    request.on("close", () => resume(Effect.never))
  })

const write = (response: ServerResponse, bytes: Uint8Array): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (response.write(bytes)) return resume(Effect.void)
    response.once("drain", () => resume(Effect.void))
  })

type Answer = RelayEndpoint["answer"]

const respond = (request: IncomingMessage, response: ServerResponse, answer: Answer): Effect.Effect<void> =>
  Effect.gen(function* () {
    const head = decodeHead(request.headers[headName])
    if (!isRelayed(head)) {
      response.writeHead(400).end()
      return
    }
    const answered = yield* answer({ ...head, body: yield* read(request) })
    response.writeHead(200, { [headName]: encode({ status: answered.status, headers: answered.headers }) })
    response.flushHeaders()
    yield* Stream.runForEach(answered.body, (bytes) => write(response, bytes))
    response.end()
  }).pipe(
    Effect.scoped,
    Effect.catch(({ reason }) =>
      Effect.sync(() => {
        if (reason === "NotSent" && !response.headersSent) response.writeHead(notHere).end()
        else response.destroy()
      })
    ),
    Effect.tapDefect((defect) => Effect.logError("A request of another node could not be answered", defect)),
    Effect.ensuring(Effect.sync(() => void (response.writableEnded || response.destroy())))
  )

const listen = ({ host, port = 0 }: Options, server: Server): Effect.Effect<number, NodesUnavailable> =>
  Effect.callback((resume) => {
    server.once("error", (cause) => {
      const message = `The relay cannot listen at port ${port} of ${host ?? "any address"}: give a \`port\` that is free`
      resume(Effect.fail(new NodesUnavailable({ message, cause })))
    })
    server.listen(port, host, () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Listens until the scope closes. The secret is one that the nodes share. */
export const make = Effect.fnUntraced(function* (
  options: Options,
  secret: string
): Effect.fn.Return<{ readonly relay: Relay; readonly address: string }, NodesUnavailable, Scope.Scope> {
  const endpoints = new Set<RelayEndpoint>()
  const expected = digest(`Bearer ${secret}`)
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const scope = yield* Scope.Scope
  const answer: Answer = (request) => {
    const asked = ([first, ...rest]: ReadonlyArray<RelayEndpoint>): ReturnType<Answer> =>
      first === undefined
        ? Effect.fail(failed(false, "The node does not hold the session"))
        : Effect.catch(first.answer(request), (error) =>
            error.reason === "NotSent" ? asked(rest) : Effect.fail(error)
          )
    return asked([...endpoints].filter(({ server }) => server === request.server))
  }
  const server = createServer(
    { keepAliveTimeout: 0, maxHeaderSize: maxHead, requestTimeout: 0 },
    (request, response) => {
      if (!timingSafeEqual(digest(request.headers.authorization ?? ""), expected)) {
        response.writeHead(403, { connection: "close" }).end()
        return
      }
      const fiber = Fiber.runIn(runFork(respond(request, response, answer)), scope)
      response.on("close", () => fiber.interruptUnsafe())
    }
  )
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    })
  )
  const port = yield* listen(options, server)
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 256, timeout: 0 })
  yield* Scope.addFinalizerExit(scope, () => Effect.sync(() => agent.destroy()))
  const host = options.advertise ?? options.host ?? ownAddress()
  const serve: Relay["serve"] = (endpoint) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => endpoints.add(endpoint)),
        () => Effect.sync(() => endpoints.delete(endpoint))
      )
    )
  return {
    relay: { send: sending(agent, secret), serve },
    address: `${host.includes(":") ? `[${host}]` : host}:${port}`
  }
})
