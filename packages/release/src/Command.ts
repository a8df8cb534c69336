/** Runs the programs of others: their output is kept, and shown only when one fails. */
import { spawn } from "node:child_process"
import * as path from "node:path"

/** A check that cannot run on this machine: it counts neither as passed nor as failed. */
export class Skipped extends Error {}

export interface Options {
  readonly cwd: string
  /** Added to the environment of this process; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Milliseconds. Default: five minutes. */
  readonly timeout?: number
  /** Folders that are searched for programs before those of `PATH`. */
  readonly bin?: ReadonlyArray<string>
}

export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** How npm reaches registries, where that is said by variables. */
const settings = /^npm_config_(?:.*registry|.*proxy|ca|cafile|cache|userconfig|globalconfig|strict_ssl|.*_authtoken)$/i

/** Everything else that npm tells the scripts which it runs would reach the package managers under test as their settings. */
const isInherited = (name: string): boolean =>
  settings.test(name) || !/^(?:npm_.*|INIT_CWD|NODE_COMPILE_CACHE)$/i.test(name)

export const environment = ({ bin = [], env }: Options): NodeJS.ProcessEnv => {
  const inherited = Object.entries(process.env).filter(([name]) => isInherited(name))
  const PATH = [...bin, process.env["PATH"] ?? ""].join(path.delimiter)
  return { ...Object.fromEntries(inherited), PATH, CI: "true", NO_COLOR: "1", ...env }
}

const tail = (text: string): string => text.trimEnd().split("\n").slice(-25).join("\n")

/** Runs a program to its end. Fails with the last lines of its output when it exits with another code than 0. */
export const run = (command: string, args: ReadonlyArray<string>, options: Options): Promise<Output> =>
  new Promise((resolve, reject) => {
    const { timeout = 300_000 } = options
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: environment(options),
      stdio: ["ignore", "pipe", "pipe"],
      timeout,
      killSignal: "SIGKILL"
    })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    child.once("error", reject)
    child.once("close", (code, signal) => {
      if (code === 0) return resolve({ stdout, stderr })
      const ended = signal === null ? `exit code ${code}` : `${signal}, after at most ${timeout / 1000} s`
      reject(new Error(`${[command, ...args].join(" ")}: ${ended}\n${tail(`${stdout}\n${stderr}`)}`))
    })
  })
