/**
 * Starts the processes under test and reads their figures from the operating system. CPU is the time of all threads in nanoseconds
 * (`schedstat`), the only figure that other work on the machine hardly affects. Linux only.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as path from "node:path"
import { text } from "node:stream/consumers"
import type { Entry } from "./Servers.ts"

export const root = path.dirname(import.meta.dirname)

export interface SpawnOptions {
  /** Flags for Node. Default: `--expose-gc` with `probe`, otherwise none. */
  readonly flags?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Whether to let the process report its memory, which slows down its start. Default true. */
  readonly probe?: boolean
}

const probe = path.join(root, "peers", "probe.mjs")

/** Starts a server. Keeps its stderr for reports. */
export const start = (entry: Entry, options: SpawnOptions = {}): Answering => {
  const probed = options.probe !== false
  const flags = options.flags ?? (probed ? ["--expose-gc"] : [])
  const args = [...flags, ...(probed ? ["--import", probe] : []), path.join(root, entry.file), ...(entry.args ?? [])]
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, NODE_ENV: "production", ...entry.env, ...options.env },
    stdio: probed ? ["pipe", "pipe", "pipe", "ipc"] : ["pipe", "pipe", "pipe"]
  })
  let log = ""
  child.stderr?.on("data", (data) => {
    log = `${log}${data}`.slice(-4000)
  })
  return { child, log: () => log }
}

export const stop = (child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    const force = setTimeout(() => child.kill("SIGKILL"), 3000)
    child.once("exit", () => {
      clearTimeout(force)
      resolve()
    })
    child.kill(signal)
  })

/** Returns the CPU time of a process so far, in nanoseconds. */
export const cpu = (pid: number): number => {
  let total = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "latin1").split(" ")[0])
    } catch {
      // The thread has ended in the meantime.
    }
  }
  return total
}

/** Returns the resident memory in bytes. */
export const resident = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) * 1024

/** A process that answers over IPC, and its stderr. */
export interface Answering {
  readonly child: ChildProcess
  readonly log: () => string
}

/** Returns the next IPC message of a process. Rejects if it exits first or reports an `error`. */
export const told = <A extends object>({ child, log }: Answering): Promise<A> =>
  new Promise((resolve, reject) => {
    const gone = (code: number | null): void => reject(new Error(`exit ${code}: ${log()}`))
    child.once("exit", gone)
    child.once("message", (said: A & { readonly error?: string }) => {
      child.off("exit", gone)
      if (said.error === undefined) resolve(said)
      else reject(new Error(said.error))
    })
  })

/** Sends a message over IPC and waits for the next one. */
export const ask = <A extends object>(process: Answering, question: object): Promise<A> => {
  const answer = told<A>(process)
  process.child.send(question)
  return answer
}

/** Returns heap and external memory after a collection, in bytes. */
export const heap = (child: ChildProcess): Promise<number> =>
  new Promise((resolve) => {
    child.once("message", (bytes) => resolve(Number(bytes)))
    child.send("heap")
  })

const isFigures = (value: unknown): value is Readonly<Record<string, number>> =>
  typeof value === "object" && value !== null

/** Runs a process and returns the figures that it prints as JSON. */
export const printed = async (
  script: string,
  ...args: ReadonlyArray<string>
): Promise<Readonly<Record<string, number>>> => {
  const env = { ...process.env, NODE_ENV: "production" }
  const child = spawn(process.execPath, ["--expose-gc", script, ...args], { env, stdio: ["ignore", "pipe", "ignore"] })
  const figures: unknown = JSON.parse(await text(child.stdout))
  if (!isFigures(figures)) throw new Error(`${script} printed no figures`)
  return figures
}
