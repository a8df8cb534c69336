/** A minimal stdio client, written without this project: correct, or with a single fault. */
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { Data, Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import type { Faulty } from "./finds.ts"

type Json = any

/** How the client differs from a correct one. */
export interface Faults {
  /** Writes a line that is not a message. */
  readonly greets?: boolean
  /** Answers in 2026-07-28. */
  readonly replies?: boolean
  readonly sameId?: boolean
  /** Treats each chunk of stdout as a message. */
  readonly trustsPieces?: boolean
  /** Stops at a line that is not a message. */
  readonly strict?: boolean
  /** Stops at output on stderr. */
  readonly fearful?: boolean
  /** Waits for the response of a server that has exited. */
  readonly patient?: boolean
  /** Sends SIGTERM without closing stdin. */
  readonly hasty?: boolean
  /** Does not wait until the server has exited. */
  readonly leaves?: boolean
  /** Sends SIGTERM but never SIGKILL. */
  readonly gentle?: boolean
  /** Does not start the server again. */
  readonly resigned?: boolean
}

const meta = (revision: string) =>
  revision < "2026"
    ? undefined
    : {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "minimal", version: "1" }
      }

/** Resolves to true if it happens within that many milliseconds. */
const within = async (milliseconds: number, event: Promise<unknown>): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), milliseconds)))
  const isThere = await Promise.race([event.then(() => true), late])
  clearTimeout(timer)
  return isThere
}

class Session {
  private readonly child: ChildProcess
  private readonly exited: Promise<unknown>
  private readonly given: FuzzClient.GivenCommand
  private readonly faults: Faults
  private readonly waiting = new Map<unknown, { resolve: (message: Json) => void; reject: (error: Error) => void }>()
  private broken: Error | undefined
  private open = ""
  private next = 0

  constructor(given: FuzzClient.GivenCommand, faults: Faults) {
    this.given = given
    this.faults = faults
    this.child = spawn(given.command, [...given.args], { stdio: "pipe" })
    this.exited = once(this.child, "exit")
    this.child.stdin!.on("error", () => {})
    this.child.stdout!.setEncoding("utf8").on("data", (text: string) => this.read(text))
    this.child.stderr!.on("data", () => faults.fearful && this.fail("stderr"))
    // The rest of stdout is read before.
    this.child.on("close", () => faults.patient || this.fail("The server has exited"))
  }

  private fail(why: string): void {
    this.broken = new Error(why)
    for (const { reject } of this.waiting.values()) reject(this.broken)
  }

  private write(message: Json): void {
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  }

  private read(text: string): void {
    const parts = (this.open + text).split("\n")
    this.open = this.faults.trustsPieces ? "" : parts.pop()!
    for (const line of parts) if (line.trim() !== "") this.take(line)
  }

  private take(line: string): void {
    try {
      const message = JSON.parse(line)
      if (message?.method === undefined) this.waiting.get(message?.id)?.resolve(message)
      else if (message.id !== undefined && this.given.revision < "2026") {
        const { id, method } = message
        this.write(method === "ping" ? { id, result: {} } : { id, error: { code: -32601, message: "no" } })
      }
    } catch {
      if (this.faults.strict) this.fail("no message")
    }
  }

  private async request(method: string, params: Json = {}): Promise<Json> {
    const id = this.faults.sameId && method !== "initialize" ? 1 : ++this.next
    if (this.broken !== undefined) throw this.broken
    const response = new Promise<Json>((resolve, reject) => this.waiting.set(id, { resolve, reject }))
    const _meta = meta(this.given.revision)
    this.write({ id, method, params: _meta === undefined ? params : { ...params, _meta } })
    const { result } = await response
    if (typeof result !== "object" || result === null) throw new Error("no result")
    return result
  }

  private async hello(): Promise<void> {
    const { revision } = this.given
    if (revision >= "2026") return
    const clientInfo = { name: "minimal", version: "1" }
    const { protocolVersion } = await this.request("initialize", {
      protocolVersion: revision,
      capabilities: {},
      clientInfo
    })
    if (protocolVersion !== revision) throw new Error("no common version")
    this.write({ method: "notifications/initialized" })
  }

  async work(): Promise<void> {
    await this.hello()
    if (this.faults.greets) this.child.stdin!.write("hello\n")
    let cursor: string | undefined
    for (let page = 0; page === 0 || (cursor !== undefined && page < 50); page++) {
      const { nextCursor } = await this.request("tools/list", cursor === undefined ? {} : { cursor })
      cursor = typeof nextCursor === "string" ? nextCursor : undefined
    }
    if (this.faults.replies) this.write({ id: "x", result: {} })
    await this.request("tools/call", { name: "add_numbers", arguments: { a: 1, b: 2 } })
  }

  get isExited(): boolean {
    return this.child.exitCode !== null
  }

  /** Follows the specification: end of input, SIGTERM, SIGKILL. */
  async close(): Promise<void> {
    if (!this.faults.hasty) this.child.stdin!.end()
    if (this.faults.leaves) return
    if (!this.faults.hasty && (await within(300, this.exited))) return
    this.child.kill("SIGTERM")
    if (this.faults.gentle || (await within(300, this.exited))) return
    this.child.kill("SIGKILL")
  }
}

/** The client cannot continue. */
class Stopped extends Data.TaggedError("Stopped")<{ readonly message: string }> {}

const tried = async (given: FuzzClient.GivenCommand, faults: Faults): Promise<void> => {
  const session = new Session(given, faults)
  try {
    await session.work()
  } catch (error) {
    if (!session.isExited || faults.resigned || given.revision < "2026") throw error
    const again = new Session(given, faults)
    await again.work().finally(() => again.close())
  } finally {
    await session.close()
  }
}

export const lineClient = (faults: Faults = {}) =>
  FuzzClient.stdioClient("a minimal client over stdio", (given) =>
    Effect.tryPromise({ try: () => tried(given, faults), catch: (error) => new Stopped({ message: String(error) }) })
  )

export interface LineMutant extends Faulty {
  readonly name: string
  readonly faults: Faults
}

const modern = "2026-07-28"

export const lineMutants: ReadonlyArray<LineMutant> = [
  { name: "writes a greeting", finds: "client-stdin-only-messages", faults: { greets: true } },
  { name: "uses one id for all requests", finds: "client-id-unique", faults: { sameId: true } },
  { name: "treats chunks as messages", finds: "client-carries-on", faults: { trustsPieces: true } },
  { name: "disconnects on an invalid line", finds: "client-carries-on", faults: { strict: true } },
  { name: "treats stderr output as an error", finds: "client-stderr-no-error", faults: { fearful: true } },
  { name: "waits for a server that has exited", finds: "client-notices-exit", faults: { patient: true } },
  { name: "sends SIGTERM at once", finds: "client-closes-stdin", faults: { hasty: true } },
  { name: "leaves its server behind", finds: "client-terminates", faults: { leaves: true } },
  { name: "never kills", finds: "client-kills", faults: { gentle: true } },
  { name: "writes responses", finds: "client-stdin-no-responses", revision: modern, faults: { replies: true } },
  { name: "leaves a modern server behind", finds: "client-ends-by-force", revision: modern, faults: { leaves: true } },
  { name: "never starts its server again", finds: "client-restarts", revision: modern, faults: { resigned: true } }
]
