/**
 * Programs a client can start as a stdio server. Each one relays everything that happens to it over a local socket to this process, where
 * the misbehaving server runs.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Base64 from "effect/encoding/Base64"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as SocketServer from "effect/socket/SocketServer"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { at, parse } from "../model/json.ts"
import { linesOf } from "../model/lines.ts"
import { TargetError } from "../target/Target.ts"
import type { Process, ProcessEvent, ProcessListener } from "./LineDouble.ts"

/** Sends a line of JSON for each event and receives a line for each command. Imports no packages. */
const program = `
import { connect } from "node:net"
const [port, key] = process.argv.slice(2)
const socket = connect(Number(port), "127.0.0.1")
const tell = (event) => socket.write(JSON.stringify(event) + "\\n")
tell({ key })
process.stdin.on("data", (chunk) => tell({ input: chunk.toString("base64") }))
process.stdin.on("end", () => tell({ ended: true }))
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => tell({ signal }))
for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on("error", () => {})
let parts = []
const act = ({ exit, err, out }) => {
  if (out !== undefined) process.stdout.write(Buffer.from(out, "base64"))
  if (err !== undefined) process.stderr.write(err)
  if (exit !== undefined) process.stdout.write("", () => process.exit(exit))
}
socket.setEncoding("utf8")
socket.on("data", (text) => {
  const [first, ...others] = text.split("\\n")
  parts.push(first)
  for (const next of others) {
    act(JSON.parse(parts.join("")))
    parts = [next]
  }
})
socket.on("error", () => process.exit(1))
socket.on("close", () => process.exit(0))
`

/** A command line. */
export interface CommandLine {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** A program that the client may start any number of times. */
export interface Startable extends CommandLine {
  /** Completes when none of its processes is left. */
  readonly ended: Effect.Effect<void>
}

interface Relay {
  /** Creates the server program of one conversation. It works until the scope closes. */
  readonly offer: (start: (process: Process) => ProcessListener) => Effect.Effect<Startable, never, Scope.Scope>
}

/** Decodes chunks that may end in the middle of a character. */
const decoding = () => {
  const decoder = new TextDecoder()
  return (base64: unknown): string => {
    const read = Base64.decode(String(base64))
    return Result.isSuccess(read) ? decoder.decode(read.success, { stream: true }) : ""
  }
}

const eventOf = (said: unknown, decoded: (base64: unknown) => string): ProcessEvent | undefined => {
  if (!isJsonObject(said)) return undefined
  if (said["input"] !== undefined) return { _tag: "Input", text: decoded(said["input"]) }
  if (typeof said["signal"] === "string") return { _tag: "Signal", signal: said["signal"] }
  return said["ended"] === true ? { _tag: "InputEnded" } : undefined
}

/** A process, as seen from this side of the relay. */
interface Relayed extends Process {
  /** Closes the connection. The process then exits at once, even if nobody reads its output. */
  readonly end: () => void
}

class Offer {
  readonly start: (process: Process) => ProcessListener
  readonly none = Latch.makeUnsafe(true)
  /** True once the conversation is over. */
  isOver = false
  private readonly running = new Set<Relayed>()

  constructor(start: (process: Process) => ProcessListener) {
    this.start = start
  }

  begin(process: Relayed): void {
    this.running.add(process)
    this.none.closeUnsafe()
  }

  end(process: Relayed): void {
    this.running.delete(process)
    if (this.running.size === 0) this.none.openUnsafe()
  }

  /** Ends all processes of the conversation. */
  close(): void {
    this.isOver = true
    for (const { end } of this.running) end()
  }
}

/** Serves one relay until it is gone. */
const serve = (offers: ReadonlyMap<string, Offer>, socket: Socket.Socket) =>
  Effect.gen(function* () {
    const pull = yield* Socket.readerString(socket)
    const writer = yield* socket.writer
    const orders = yield* Queue.unbounded<object>()
    const over = Deferred.makeUnsafe<void>()
    const order = (order: object): void => void Queue.offerUnsafe(orders, order)
    const process: Relayed = {
      write: (bytes) => order({ out: Base64.encode(bytes) }),
      log: (err) => order({ err }),
      exit: (exit) => order({ exit }),
      end: () => Deferred.doneUnsafe(over, Exit.void)
    }
    yield* Effect.forkScoped(
      Effect.forever(Effect.flatMap(Queue.take(orders), (order) => writer.write(`${JSON.stringify(order)}\n`)))
    )
    let receive: ProcessListener | undefined
    let offer: Offer | undefined
    const decoded = decoding()
    const take = (line: string): void => {
      const said = parse(line)
      if (offer !== undefined) {
        const event = eventOf(said, decoded)
        return event && receive?.(event)
      }
      // The first line has the key. Without an open conversation for it, the connection is closed, which ends the program.
      const key = at(said, "key")
      offer = typeof key === "string" ? offers.get(key) : undefined
      if (offer === undefined) return process.end()
      offer.begin(process)
      receive = offer.start(process)
    }
    const feed = linesOf(take)
    const read = Effect.map(pull, (texts) => texts.forEach(feed))
    const gone = Effect.sync(() => {
      if (offer?.isOver === false) receive?.({ _tag: "Gone" })
      offer?.end(process)
    })
    return yield* Effect.ensuring(Effect.raceFirst(Effect.forever(read), Deferred.await(over)), gone)
  }).pipe(Effect.scoped, Effect.ignore)

/** Listens for relays while the scope is open. */
export const listen: Effect.Effect<
  Relay,
  TargetError,
  FileSystem.FileSystem | SocketServer.SocketServer | Scope.Scope
> = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { address, run } = yield* SocketServer.SocketServer
  const failed = ({ message }: { readonly message: string }) =>
    new TargetError({ message: `Cannot write a program for the client to start: ${message}` })
  const folder = yield* Effect.mapError(fs.makeTempDirectoryScoped({ prefix: "effect-mcp-" }), failed)
  const file = `${folder}/server.mjs`
  yield* Effect.mapError(fs.writeFileString(file, program), failed)
  const offers = new Map<string, Offer>()
  yield* Effect.forkScoped(run((socket) => serve(offers, socket)))
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return {
    offer: (start) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            // Random, so that other users of this machine can't guess it.
            const [key, offer] = [globalThis.crypto.randomUUID(), new Offer(start)]
            offers.set(key, offer)
            return { key, offer }
          }),
          ({ key, offer }) =>
            Effect.sync(() => {
              offers.delete(key)
              offer.close()
            })
        ),
        ({ key, offer }) => ({
          command: process.execPath,
          args: [file, `${port}`, key],
          ended: offer.none.await
        })
      )
  }
})
