/**
 * Confines a server's process, with `bwrap` (bubblewrap) on Linux, or else with Node's permissions if the server runs on Node.
 *
 * Neither confines everything. `confine` returns the gaps that remain, so that a program can tell its user or refuse to start the server.
 */
import { TransportError } from "@effect-mcp/core/Transport"
import { effectOf } from "@effect-mcp/core/internal/calling"
import * as Effect from "effect/Effect"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"

export interface Options {
  /** Folders that the server may write to, such as your roots. Absolute paths. Default none. */
  readonly write?: ReadonlyArray<string> | undefined
  /** Whether to let the server use the network. Default false. */
  readonly network?: boolean | undefined
  /** Whether to fail if something that the server shouldn't do can't be prevented. Reading files doesn't count. Default false. */
  readonly required?: boolean | undefined
  /** Called with the result before the server starts. Default: logs a warning if there are gaps. */
  readonly report?: ((confinement: Confinement) => Effect.Effect<void>) | undefined
}

/** Something that a confined server can still do. */
export type Gap =
  /** Read every file that you can read. Neither tool prevents it. */
  | "read"
  /** Write files outside the `write` folders. */
  | "write"
  /** Use the network although it shouldn't. */
  | "network"
  /** Start other programs, which are not confined. */
  | "processes"
  /** Break out on purpose: Node's permissions protect from mistakes, not from malicious code. */
  | "escape"

/** How a server is confined. */
export interface Confinement {
  readonly by: "bwrap" | "node" | "nothing"
  readonly gaps: ReadonlyArray<Gap>
}

/** A command line. */
interface Line {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** The sandboxing tools available on this machine. */
export interface SandboxTools {
  /** True if `bwrap` works. It may be installed, but forbidden. */
  readonly bwrap: boolean
  /** Version of Node that the command runs, if it runs Node. */
  readonly node: string | undefined
}

const isBelow = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

const temporary = "/tmp"

/** Returns the server's own folders in /tmp, which it must be able to find. */
const ownTemporary = ({ args, command }: Line, cwd: string): ReadonlyArray<string> => {
  const files = [command, ...args].filter((word) => isBelow(word, temporary))
  const folders = files.map((file) => {
    const folder = file.slice(0, file.lastIndexOf("/"))
    return isBelow(folder, temporary) && folder !== temporary ? folder : file
  })
  return [...new Set([...folders, ...(isBelow(cwd, temporary) ? [cwd] : [])])]
}

/** Location of the name server's address on some systems. */
const resolver = "/run/systemd/resolve"

const bwrap = (line: Line, { network = false, write = [] }: Options, cwd: string): Line => {
  const { args, command } = line
  return {
    command: "bwrap",
    args: [
      "--ro-bind",
      "/",
      "/",
      "--dev",
      "/dev",
      "--proc",
      "/proc",
      // Another program's socket, such as Docker's, would lead out of the sandbox.
      "--tmpfs",
      temporary,
      ...ownTemporary(line, cwd).flatMap((folder) => ["--ro-bind-try", folder, folder]),
      "--tmpfs",
      "/run",
      ...(network ? ["--ro-bind-try", resolver, resolver] : ["--unshare-net"]),
      // Without it, a server that runs as root could remount the system.
      "--cap-drop",
      "ALL",
      "--unshare-user",
      "--unshare-pid",
      "--unshare-ipc",
      "--unshare-uts",
      "--die-with-parent",
      "--new-session",
      ...write.flatMap((folder) => ["--bind", folder, folder]),
      "--chdir",
      cwd,
      "--",
      command,
      ...args
    ]
  }
}

const versionOf = (node: string): readonly [major: number, minor: number] => {
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(node) ?? []
  return [Number(major), Number(minor)]
}

/** True if this version of Node has `--permission`. */
const hasPermissions = (node: string): boolean => {
  const [major, minor] = versionOf(node)
  return major >= 24 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13)
}

const withPermissions = ({ args, command }: Line, { network = false, write = [] }: Options, node: string): Line => {
  const [major] = versionOf(node)
  const net = network && major >= 25 ? ["--allow-net"] : []
  const writes = write.map((folder) => `--allow-fs-write=${folder.replace(/\/+$/, "")}/*`)
  return { command, args: ["--permission", "--allow-fs-read=*", ...writes, ...net, ...args] }
}

/** Plans how to start a server with this machine's tools. */
export const plan = (
  line: Line,
  options: Options,
  { bwrap: hasBwrap, node }: SandboxTools,
  cwd: string
): readonly [line: Line, confinement: Confinement] => {
  const network: ReadonlyArray<Gap> = options.network === true ? [] : ["network"]
  if (hasBwrap) {
    // In that case all of /tmp is visible, including other programs' sockets.
    const gaps: ReadonlyArray<Gap> = ownTemporary(line, cwd).includes(temporary) ? ["read", "processes"] : ["read"]
    return [bwrap(line, options, cwd), { by: "bwrap", gaps }]
  }
  if (node === undefined || !hasPermissions(node)) {
    return [line, { by: "nothing", gaps: ["read", "write", ...network, "processes"] }]
  }
  const [major] = versionOf(node)
  const gaps: ReadonlyArray<Gap> = ["read", ...(major >= 25 ? [] : network), "escape"]
  return [withPermissions(line, options, node), { by: "node", gaps }]
}

const isNode = (command: string): boolean => /(?:^|[/\\])node(?:\.exe)?$/.test(command)

const look = Effect.fnUntraced(function* (command: string, env: { readonly [name: string]: string | undefined }) {
  const spawner = yield* ChildProcessSpawner
  const probe = (name: string, args: ReadonlyArray<string>) =>
    Effect.option(spawner.string(ChildProcess.make(name, args, { env, stderr: "ignore" })))
  const works = yield* probe("bwrap", ["--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "--", "echo", "works"])
  const hasBwrap = works._tag === "Some" && works.value.trim() === "works"
  const version = hasBwrap || !isNode(command) ? undefined : yield* probe(command, ["--version"])
  return { bwrap: hasBwrap, node: version?._tag === "Some" ? version.value.trim() : undefined }
})

const names: Readonly<Record<Gap, string>> = {
  read: "read your files",
  write: "write files",
  network: "use the network",
  processes: "start programs",
  escape: "deliberately break out"
}

/** Describes a confinement to a user, with its gaps. */
export const describe = ({ by, gaps }: Confinement): string => {
  const left = gaps.map((gap) => names[gap]).join(", ")
  return `The server is sandboxed by ${by}${gaps.length === 0 ? "" : `, but can still ${left}`}`
}

const reported = (confinement: Confinement): Effect.Effect<void> =>
  confinement.gaps.length === 0 ? Effect.void : Effect.logWarning(describe(confinement))

/** Returns the command line that starts a server confined. Fails if `required` and something can't be prevented. */
export const confine = Effect.fnUntraced(function* (
  line: Line,
  options: Options,
  env: { readonly [name: string]: string | undefined },
  cwd: string
): Effect.fn.Return<Line & { readonly confinement: Confinement }, TransportError, ChildProcessSpawner> {
  const tools = yield* look(line.command, env)
  const [confined, confinement] = plan(line, options, tools, cwd)
  const report = options.report ?? reported
  yield* Effect.catchCause(
    effectOf("sandbox.report", () => report(confinement)),
    (cause) => Effect.logError("Failed to report the sandbox", cause)
  )
  const gaps = confinement.gaps.filter((gap) => gap !== "read")
  if (options.required === true && gaps.length > 0) {
    return yield* new TransportError({
      reason: "Open",
      message: `Cannot sandbox the server ${line.command}: it could still ${gaps.map((gap) => names[gap]).join(", ")}. Install bwrap, or set sandbox.required to false`
    })
  }
  return { ...confined, confinement }
})
