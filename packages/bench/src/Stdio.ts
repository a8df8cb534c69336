/** Starts stdio servers and runs load on them. */
import type { Readable, Writable } from "node:stream"
import * as Process from "./Process.ts"
import type { Entry } from "./Servers.ts"
import { type Limit, load, type Load, type Target } from "./Target.ts"
import * as Wire from "./Wire.ts"

interface Waiting {
  readonly answered: (messages: ReadonlyArray<Wire.Message>) => void
  readonly failed: (error: Error) => void
}

/** The requests that are waiting for answers, and the messages that preceded the answers. */
class Pending {
  private readonly waiting = new Map<number, Waiting>()
  /** Messages that arrived before the answer, by the number in their token. */
  private readonly before = new Map<number, Array<Wire.Message>>()

  add(id: number, entry: Waiting): void {
    this.waiting.set(id, entry)
  }

  take(message: Wire.Message): void {
    const { method, params } = message
    if (method === "notifications/progress") {
      const asked = Number(params?.progressToken?.slice(3))
      const seen = this.before.get(asked)
      if (seen === undefined) this.before.set(asked, [message])
      else seen.push(message)
      return
    }
    if (method !== undefined || typeof message.id !== "number") return
    const entry = this.waiting.get(message.id)
    const seen = this.before.get(message.id)
    this.waiting.delete(message.id)
    this.before.delete(message.id)
    entry?.answered(seen === undefined ? [message] : [...seen, message])
  }

  fail(error: Error): void {
    for (const { failed } of this.waiting.values()) failed(error)
    this.waiting.clear()
  }
}

/** Calls `take` with each message that arrives. */
const receive = (stdout: Readable, take: (message: Wire.Message) => void): void => {
  // Joined only after a newline, so that a line of a MiB takes linear time.
  let parts: Array<Buffer> = []
  stdout.on("data", (data: Buffer) => {
    if (!data.includes(10)) {
      parts.push(data)
      return
    }
    const whole = parts.length === 0 ? data : Buffer.concat([...parts, data])
    const last = whole.lastIndexOf(10)
    parts = last + 1 < whole.length ? [whole.subarray(last + 1)] : []
    for (const line of whole.toString("utf8", 0, last).split("\n")) {
      if (line !== "") for (const message of Wire.parse(line)) take(message)
    }
  })
}

/** Returns a function that writes the lines of one turn together. */
const writerOf = (stdin: Writable): ((line: string) => void) => {
  stdin.on("error", () => {})
  let out: Array<string> = []
  return (line) => {
    if (out.push(line) > 1) return
    queueMicrotask(() => {
      stdin.write(`${out.join("\n")}\n`)
      out = []
    })
  }
}

type Send = (id: number, request: Wire.Request, entry: Waiting) => void

/** Sends a request and all its follow-up requests. The last answer counts as the answer to the first request. */
const chaining = (send: Send, era: Wire.Era): ((kind: Wire.Kinds, id: number, entry: Waiting) => void) => {
  /** Ids of follow-up requests. */
  let follower = 1_000_000_000
  return (kind, id, entry) => {
    const { build, next } = Wire.kinds[kind]
    const step = (request: Wire.Request, own: number): void =>
      send(own, request, {
        ...entry,
        answered: (messages) => {
          const answer = messages.at(-1)
          const following = answer === undefined ? undefined : next?.(answer, request)
          if (following === undefined) entry.answered(own === id ? messages : [{ ...answer, id }])
          else step(following, ++follower)
        }
      })
    step(build(id, era), id)
  }
}

/** Starts a server. Sends nothing before `ready`. */
export const target = (
  entry: Entry,
  era: Wire.Era,
  options?: Process.SpawnOptions
): Target & {
  readonly ready: () => Promise<void>
  /** Closes stdin and waits at most 3 seconds for the process to exit. */
  readonly end: () => Promise<void>
  /** Returns heap and external memory after a collection, in bytes. */
  readonly heap: () => Promise<number>
} => {
  const { child, log } = Process.start(entry, options)
  const { pid, stdin, stdout } = child
  if (pid === undefined || stdin === null || stdout === null) throw new Error(`${entry.id} did not start`)
  const pending = new Pending()
  let id = 1_000_000
  receive(stdout, (message) => pending.take(message))
  const exited = new Promise((resolve) => child.once("exit", resolve))
  child.once("exit", (code) => pending.fail(new Error(`${entry.id}: exit ${code}: ${log()}`)))

  const write = writerOf(stdin)
  const send: Send = (id, request, entry) => {
    pending.add(id, entry)
    write(Wire.encode(id, request, era))
  }
  const chain = chaining(send, era)

  return {
    pid,
    ready: async () => {
      if (era === "2026") return
      const [answer] = await new Promise<ReadonlyArray<Wire.Message>>((answered, failed) =>
        send(1, Wire.initialize, { answered, failed })
      )
      if (answer?.result?.protocolVersion === undefined) throw new Error(`${entry.id}: ${JSON.stringify(answer)}`)
      write(Wire.initialized)
    },
    run: (kind: Wire.Kinds, inFlight: number, limit: Limit): Promise<Load> =>
      load<ReadonlyArray<Wire.Message>>(
        inFlight,
        limit,
        () => ++id,
        (_lane, id, answered, failed) => chain(kind, id, { answered, failed }),
        (messages, id) => Wire.verify(kind, messages, id)
      ),
    end: async () => {
      stdin.end()
      const late = setTimeout(() => child.kill("SIGTERM"), 3000)
      await exited
      clearTimeout(late)
    },
    heap: () => Process.heap(child),
    close: () => Process.stop(child)
  }
}
