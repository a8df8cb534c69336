/** Runs other programs. Their output is only shown if they fail. */
import { spawn } from "node:child_process"
import * as path from "node:path"

/** Thrown by a check that cannot run on this machine. It counts neither as passed nor as failed. */
export class Skipped extends Error {}

export interface Options {
  readonly cwd: string
  /** Variables to add to the environment of this process, or to remove if undefined. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Time limit in milliseconds. Default: five minutes. */
  readonly timeout?: number
  /** Folders to search for programs before the folders in `PATH`. */
  readonly bin?: ReadonlyArray<string>
}

export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** Matches npm's environment variables about registries. */
const settings = /^npm_config_(?:.*registry|.*proxy|ca|cafile|cache|userconfig|globalconfig|strict_ssl|.*_authtoken)$/i

/** True for variables to inherit. Other npm variables would change the settings of the package managers under test. */
const isInherited = (name: string): boolean =>
  settings.test(name) || !/^(?:npm_.*|INIT_CWD|NODE_COMPILE_CACHE)$/i.test(name)

export const environment = ({ bin = [], env }: Options): NodeJS.ProcessEnv => {
  const inherited = Object.entries(process.env).filter(([name]) => isInherited(name))
  const PATH = [...bin, process.env["PATH"] ?? ""].join(path.delimiter)
  return { ...Object.fromEntries(inherited), PATH, CI: "true", NO_COLOR: "1", ...env }
}

const tail = (text: string): string => text.trimEnd().split("\n").slice(-25).join("\n")

/** Runs a program. If its exit code is not 0, fails with the last lines of its output. */
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
