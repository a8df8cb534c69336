/** Confined processes: a server of Node's, a bwrap that records its arguments, and a server that can't be confined. */
import type * as Sandbox from "@effect-mcp/client/Sandbox"
import * as Stdio from "@effect-mcp/client/Stdio"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Fiber, Stream } from "effect"

/** Tries to write to two folders and to start a program, and reports the results on stderr. */
const program = `
import { writeFileSync } from "node:fs"
import { spawnSync } from "node:child_process"
const attempt = (name, run) => { try { run(); return name + " works" } catch { return name + " fails" } }
const [inside, outside] = process.argv.slice(2)
process.stderr.write([
  attempt("inside", () => writeFileSync(inside + "/file", "x")),
  attempt("outside", () => writeFileSync(outside + "/file", "x")),
  attempt("program", () => { if (spawnSync("true").error) throw new Error() })
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

describe("confined servers", () => {
  it.live("A Node server can only write to the folders that it is given", () =>
    Effect.gen(function* () {
      const { inside, outside, server } = yield* workplace
      const seen: Array<Sandbox.Confinement> = []
      const base = { command: process.execPath, args: [server, inside, outside] }
      const report = (confinement: Sandbox.Confinement) => Effect.sync(() => void seen.push(confinement))
      const free = yield* firstLine(base)
      assert.deepInclude(free, { value: "inside works, outside works, program works" })
      const confined = yield* firstLine({ ...base, sandbox: { write: [inside], report } })
      const [confinement] = seen
      assert.deepInclude(confined, { value: "inside works, outside fails, program fails" })
      assert.include(["bwrap", "node"], confinement?.by)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A server is started by bwrap if it works", () =>
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
