/** Starts and kills a server process whose tasks outlive it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as path from "node:path"
import { createInterface } from "node:readline"
import * as Process from "./Process.ts"
import { ours } from "./Servers.ts"
import * as Wire from "./Wire.ts"

const script = path.join(Process.root, ours, "recovery.js")
const meta = {
  "io.modelcontextprotocol/protocolVersion": Wire.stateless,
  "io.modelcontextprotocol/clientInfo": { name: "driver", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: { form: {} },
    extensions: { "io.modelcontextprotocol/tasks": {} }
  }
}

export type Result = NonNullable<Wire.Message["result"]>

export class Node {
  private readonly child: ChildProcess
  private readonly answers = new Map<number, (result: Result) => void>()
  private readonly watchers = new Set<(line: string) => boolean>()
  private id = 0
  /** The lines of stderr so far, with their times. */
  readonly lines: Array<{ readonly line: string; readonly at: number }> = []

  constructor(kind: string, place: string, lease: number) {
    const env = { ...process.env, NODE_ENV: "production" }
    this.child = spawn(process.execPath, [script, kind, place, `${lease}`], { env, stdio: "pipe" })
    const { stderr, stdin, stdout } = this.child
    if (stderr === null || stdin === null || stdout === null) throw new Error("The server has no pipes")
    // The process may be gone while a request is written.
    stdin.on("error", () => {})
    createInterface(stdout).on("line", (text) => {
      for (const message of Wire.parse(text)) {
        if (typeof message.id === "number") this.answers.get(message.id)?.(message.result ?? {})
      }
    })
    createInterface(stderr).on("line", (line) => {
      this.lines.push({ line, at: performance.now() })
      for (const watcher of this.watchers) if (watcher(line)) this.watchers.delete(watcher)
    })
  }

  request(method: string, params: object): Promise<Result> {
    return new Promise((resolve) => {
      this.answers.set(++this.id, resolve)
      const { id } = this
      this.child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } })}\n`)
    })
  }

  /** Waits until the server responds. */
  async ready(): Promise<this> {
    await this.request("server/discover", {})
    return this
  }

  async call(name: string, args: object): Promise<string> {
    const { taskId } = await this.request("tools/call", { name, arguments: args })
    if (taskId === undefined) throw new Error(`The call of ${name} made no task`)
    return taskId
  }

  /** Reads the task until it satisfies the condition. */
  async read(taskId: string, until: (task: Result) => boolean): Promise<Result> {
    for (;;) {
      const task = await this.request("tasks/get", { taskId })
      if (until(task)) return task
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** Returns the time of the first line with this start, and waits for it if necessary. Fails after `patience` milliseconds. */
  line(start: string, patience = 30_000): Promise<number> {
    const known = this.lines.find(({ line }) => line.startsWith(start))
    if (known !== undefined) return Promise.resolve(known.at)
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.watchers.delete(watcher)
        reject(
          new Error(
            `No line began with ${start}: ${this.lines
              .map(({ line }) => line)
              .slice(-5)
              .join("; ")}`
          )
        )
      }, patience)
      const watcher = (line: string): boolean => {
        if (!line.startsWith(start)) return false
        clearTimeout(late)
        resolve(performance.now())
        return true
      }
      this.watchers.add(watcher)
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Kills the process, and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = once(this.child, "exit")
    this.child.kill("SIGKILL")
    await exited
  }
}

/** Drops a database schema. */
export const remove = async (schema: string): Promise<void> => {
  const removal = spawn(process.execPath, [script, "postgres", schema, "remove"], { stdio: "ignore" })
  await once(removal, "exit")
}
