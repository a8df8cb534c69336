/** Servers over standard input and output. */
import * as Process from "./Process.ts"
import type { Entry } from "./Servers.ts"
import { type Limit, load, type Load, type Target } from "./Target.ts"
import * as Wire from "./Wire.ts"

interface Waiting {
  readonly answered: (messages: ReadonlyArray<Wire.Message>) => void
  readonly failed: (error: Error) => void
}

/** Starts a server. Nothing is said to it before `ready`. */
export const target = (
  entry: Entry,
  era: Wire.Era,
  options?: Process.SpawnOptions
): Target & {
  readonly ready: () => Promise<void>
  /** Closes stdin and waits for the process to end by itself; at most 3 seconds. */
  readonly end: () => Promise<void>
  /** Heap and external memory after a collection, in bytes. */
  readonly heap: () => Promise<number>
} => {
  const { child, log } = Process.start(entry, options)
  const { pid, stdin, stdout } = child
  if (pid === undefined || stdin === null || stdout === null) throw new Error(`${entry.id} did not start`)
  const waiting = new Map<number, Waiting>()
  /** What came before the answer, by the number in its token. */
  const before = new Map<number, Array<Wire.Message>>()
  let id = 1_000_000
  /** Ids of the requests that come after another one's answer. */
  let follower = 1_000_000_000

  const take = (message: Wire.Message): void => {
    const { method, params } = message
    if (method === "notifications/progress") {
      const asked = Number(params?.progressToken?.slice(3))
      const seen = before.get(asked)
      if (seen === undefined) before.set(asked, [message])
      else seen.push(message)
      return
    }
    if (method !== undefined || typeof message.id !== "number") return
    const entry = waiting.get(message.id)
    const seen = before.get(message.id)
    waiting.delete(message.id)
    before.delete(message.id)
    entry?.answered(seen === undefined ? [message] : [...seen, message])
  }
  // Joined only when a newline is there, so that lines of a MiB stay linear.
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
  stdin.on("error", () => {})
  const exited = new Promise((resolve) => child.once("exit", resolve))
  child.once("exit", (code) => {
    for (const { failed } of waiting.values()) failed(new Error(`${entry.id}: exit ${code}: ${log()}`))
    waiting.clear()
  })

  let out: Array<string> = []
  const write = (line: string): void => {
    if (out.push(line) > 1) return
    queueMicrotask(() => {
      stdin.write(`${out.join("\n")}\n`)
      out = []
    })
  }
  const send = (id: number, request: Wire.Request, entry: Waiting): void => {
    waiting.set(id, entry)
    write(Wire.encode(id, request, era))
  }

  /** Sends a request and all that come after its answer; the last answer counts, as that to the first. */
  const chain = (kind: Wire.Kinds, id: number, entry: Waiting): void => {
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
