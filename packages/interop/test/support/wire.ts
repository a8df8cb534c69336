/**
 * The reference server in a separate process, used line by line: for messages that no decent client sends, and for both eras at once.
 */
import { Deferred, Effect, PubSub, type Scope } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { serverFile } from "./official.ts"

export interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: any
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: any }
}

export interface Wire {
  readonly send: (message: object) => Effect.Effect<void>
  /** Sends a request and waits for its answer, which may be an error. */
  readonly ask: (id: string | number, method: string, params?: object) => Effect.Effect<Message>
  /** Everything the server has sent so far, in order. */
  readonly received: ReadonlyArray<Message>
  /** Waits for the first match among past and future messages. */
  readonly until: (fits: (message: Message) => boolean) => Effect.Effect<Message>
  /** Ends the server's stdin, and returns its exit code. */
  readonly end: Effect.Effect<number | null>
}

/** The `_meta` of a request with all its declarations. */
export const meta = (capabilities: object = {}, more: object = {}) => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "wire", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": capabilities,
  ...more
})

export const open = (args: ReadonlyArray<string> = []): Effect.Effect<Wire, never, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [serverFile, "--stdio", ...args], { stdio: ["pipe", "pipe", "ignore"] })
      ),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    const exited = yield* Deferred.make<number | null>()
    child.once("close", (code) => Deferred.doneUnsafe(exited, Effect.succeed(code)))
    const received: Array<Message> = []
    const messages = yield* PubSub.unbounded<Message>()
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message: Message = JSON.parse(line)
      received.push(message)
      PubSub.publishUnsafe(messages, message)
    })
    const send: Wire["send"] = (message) =>
      Effect.sync(() => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`))
    const until: Wire["until"] = (fits) =>
      Effect.scoped(
        Effect.gen(function* () {
          const subscription = yield* PubSub.subscribe(messages)
          let message = received.find(fits)
          while (message === undefined || !fits(message)) message = yield* PubSub.take(subscription)
          return message
        })
      )
    return {
      send,
      until,
      received,
      ask: (id, method, params) =>
        Effect.andThen(
          send(params === undefined ? { id, method } : { id, method, params }),
          until((message) => message.id === id && message.method === undefined)
        ),
      end: Effect.andThen(
        Effect.sync(() => void child.stdin.end()),
        Deferred.await(exited)
      )
    }
  })

/** A wire with an open session of the older era. */
export const withSession = (capabilities: object, args?: ReadonlyArray<string>) =>
  Effect.tap(open(args), (wire) =>
    Effect.andThen(
      wire.ask("initialize", "initialize", {
        protocolVersion: "2025-11-25",
        capabilities,
        clientInfo: { name: "wire", version: "1.0.0" }
      }),
      wire.send({ method: "notifications/initialized" })
    )
  )

export const call = (name: string, args: object = {}, capabilities?: object, more?: object) => ({
  name,
  arguments: args,
  _meta: meta(capabilities),
  ...more
})
