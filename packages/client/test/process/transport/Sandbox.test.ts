/** Confined processes: by Node's permissions, by a bwrap that records its arguments, by the real bwrap, and a server that can't be confined. */
import type * as Sandbox from "@effect-mcp/client/Sandbox"
import * as Stdio from "@effect-mcp/client/Stdio"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Fiber, Stream } from "effect"
import { spawnSync } from "node:child_process"
import { createServer } from "node:net"

/** Tries to write to two folders and to start a program, and reports the results on stderr. */
const program = `
import { writeFileSync } from "node:fs"
import { spawnSync } from "node:child_process"
const attempt = (name, run) => { try { run(); return name + " works" } catch { return name + " fails" } }
const [inside, outside] = process.argv.slice(2)
process.stderr.write([
  attempt("inside", () => writeFileSync(inside + "/file", "x")),
  attempt("outside", () => writeFileSync(outside + "/file", "x")),
  attempt("program", () => { if (spawnSync(process.execPath, ["--version"]).error) throw new Error() })
].join(", ") + "\\n")
`

const workplace = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const [inside, outside] = [yield* files.makeTempDirectoryScoped(), yield* files.makeTempDirectoryScoped()]
  const server = `${outside}/server.mjs`
  yield* files.writeFileString(server, program)
  return { files, inside, outside, server }
})

/** Starts a server, and returns the first line that it writes to stderr. */
const firstLine = (options: Stdio.Options) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { stderr } = yield* Stdio.open(options)
      return yield* Fiber.join(yield* Effect.forkChild(Stream.runHead(stderr), { startImmediately: true }))
    })
  )

/** Reports from a program that the server starts. Arguments: two folders, a port on this machine, and the id of a process outside. */
const script = `
report() { if "\${@:2}" 2>/dev/null; then echo -n "$1: yes"; else echo -n "$1: no"; fi; }
{
  report inside bash -c 'echo x > "$0/file"' "$1"; echo -n ", "
  report outside bash -c 'echo x > "$0/file"' "$2"; echo -n ", "
  report network bash -c ': < "/dev/tcp/127.0.0.1/$0"' "$3"; echo -n ", "
  report processes grep -qs node "/proc/$4/cmdline"; echo
} >&2
`

/** True if the real bwrap works. It may be missing, or forbidden in a container. */
const hasBwrap =
  spawnSync("bwrap", ["--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "--", "true"]).status === 0

/** A port of this machine that accepts connections. */
const listening = Effect.acquireRelease(
  Effect.callback<ReturnType<typeof createServer>>((resume) => {
    const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
).pipe(
  Effect.map((server) => {
    const address = server.address()
    return typeof address === "object" && address !== null ? address.port : 0
  })
)

describe("confined servers", () => {
  it.live("A Node server can only write to the folders it is given", () =>
    Effect.gen(function* () {
      const { inside, outside, server } = yield* workplace
      const seen: Array<Sandbox.Confinement> = []
      // Without bwrap, which would be preferred.
      const base = { command: process.execPath, args: [server, inside, outside], env: { PATH: inside } }
      const report = (confinement: Sandbox.Confinement) => Effect.sync(() => void seen.push(confinement))
      const free = yield* firstLine(base)
      assert.deepInclude(free, { value: "inside works, outside works, program works" })
      const confined = yield* firstLine({ ...base, sandbox: { write: [inside], report } })
      const [confinement] = seen
      assert.deepInclude(confined, { value: "inside works, outside fails, program fails" })
      assert.strictEqual(confinement?.by, "node")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A server is started with bwrap if it works", () =>
    Effect.gen(function* () {
      const { files, inside, outside, server } = yield* workplace
      const log = `${inside}/log`
      const script = `#!/bin/sh\necho "$@" >> "${log}"\nwhile [ "$1" != "--" ]; do shift; done\nshift\nexec "$@"\n`
      yield* files.writeFileString(`${outside}/bwrap`, script, { mode: 0o755 })
      const line = yield* firstLine({
        command: process.execPath,
        args: [server, inside, outside],
        env: { PATH: `${outside}:${process.env["PATH"]}` },
        sandbox: { write: [inside], required: true }
      })
      assert.deepInclude(line, { value: "inside works, outside works, program works" })
      const [, started] = (yield* files.readFileString(log)).split("\n")
      assert.include(started, `--unshare-net`)
      assert.include(started, `--bind ${inside} ${inside}`)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live.skipIf(!hasBwrap)(
    `bwrap confines a server and the programs that it starts${hasBwrap ? "" : ": it does not work here"}`,
    () =>
      Effect.gen(function* () {
        const { files, inside, outside } = yield* workplace
        const port = yield* listening
        // Outside /tmp, in which the sandbox hides everything.
        const secret = yield* files.makeTempDirectoryScoped({ directory: process.cwd(), prefix: ".sandbox-" })
        const server = `${outside}/shell.sh`
        yield* files.writeFileString(server, script)
        const seen: Array<Sandbox.Confinement> = []
        const run = (sandbox: Stdio.Options["sandbox"]) =>
          firstLine({
            command: "/bin/bash",
            args: [server, inside, secret, String(port), String(process.pid)],
            env: { PATH: process.env["PATH"] ?? "" },
            sandbox
          })
        const report = (confinement: Sandbox.Confinement) => Effect.sync(() => void seen.push(confinement))
        assert.deepInclude(yield* run(undefined), { value: "inside: yes, outside: yes, network: yes, processes: yes" })
        assert.deepInclude(yield* run({ write: [inside], required: true, report }), {
          value: "inside: yes, outside: no, network: no, processes: no"
        })
        assert.strictEqual(seen[0]?.by, "bwrap")
        assert.deepInclude(yield* run({ write: [inside], network: true }), {
          value: "inside: yes, outside: no, network: yes, processes: no"
        })
      }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A server that can't be confined doesn't start if the sandbox is required", () =>
    Effect.gen(function* () {
      const { inside } = yield* workplace
      const open = Effect.scoped(
        Stdio.open({
          command: "/bin/sh",
          args: ["-c", `echo > ${inside}/started`],
          // Without the programs of the system, among them bwrap.
          env: { PATH: inside },
          sandbox: { required: true }
        })
      )
      const error = yield* Effect.flip(open)
      const files = yield* FileSystem.FileSystem
      assert.include(error.message, "Cannot sandbox the server")
      assert.isFalse(yield* files.exists(`${inside}/started`))
      const command = Stdio.open({ command: {} as never, sandbox: {} })
      assert.include((yield* Effect.flip(Effect.scoped(command))).message, "requires a command")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
