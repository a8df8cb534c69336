/** The flags `--policy` and `--sandbox`, with servers in separate processes. */
import { McpClient, Stdio } from "@effect-mcp/client"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import { commandLine, here, run } from "../../support/run.ts"

const support = (file: string) => fileURLToPath(new URL(`../../support/${file}`, import.meta.url))
const changing = [process.execPath, support("changing.ts")]
const writing = [process.execPath, support("writing.ts")]

const workplace = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const cwd = yield* files.makeTempDirectoryScoped()
  yield* files.writeFileString(`${cwd}/tools.txt`, "read\nwrite")
  const file = `${cwd}/policy.json`
  return {
    cwd,
    exists: (path: string) => files.exists(path),
    policy: (policy: unknown) =>
      Effect.as(files.writeFileString(file, JSON.stringify(policy)), ["--policy", file, "--cwd", cwd] as const)
  }
})

const old = ["--revision", "2025-11-25"]

describe("effect-mcp --policy", () => {
  it.live("The call command only runs the calls that a rule allows, without a terminal to ask", () =>
    Effect.gen(function* () {
      const { policy } = yield* workplace
      const flags = yield* policy({
        rules: [
          { decide: "deny", name: "write", reason: "Nothing is written here" },
          { decide: "allow", name: "read", source: "user" }
        ]
      })
      const call = (name: string, more: ReadonlyArray<string>) =>
        run(["call", name, ...more, ...old, "--", ...changing])
      const read = yield* call("read", flags)
      assert.deepStrictEqual([read.code, read.stdout], [0, "read write\n"], read.stderr)
      const write = yield* call("write", flags)
      assert.deepStrictEqual([write.code, write.stdout], [1, ""])
      assert.include(write.stderr, "Nothing was sent, because of --policy: The policy denies call of write")
      assert.include(write.stderr, "Nothing is written here")
      assert.notInclude(write.stderr, "The server returned an error")
      const defaults = yield* call("read", yield* policy({}))
      assert.strictEqual(defaults.code, 1)
      assert.include(defaults.stderr, "there is no approver to ask")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Rules apply to the server's name in --config", () =>
    Effect.gen(function* () {
      const { cwd, policy } = yield* workplace
      const [command, ...args] = changing
      const files = yield* FileSystem.FileSystem
      const config = `${cwd}/mcp.json`
      yield* files.writeFileString(config, JSON.stringify({ mcpServers: { notes: { command, args } } }))
      const call = (flags: ReadonlyArray<string>) =>
        run(["call", "read", "--config", config, "--server", "notes", ...flags, ...old])
      assert.strictEqual((yield* call(yield* policy({ rules: [{ decide: "allow", server: "notes" }] }))).code, 0)
      assert.strictEqual((yield* call(yield* policy({ rules: [{ decide: "allow", server: "other" }] }))).code, 1)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live.each([
    ["a rule with an unknown field", { rules: [{ decide: "deny", tool: "write" }] }],
    ["an unknown field", { rule: [] }],
    ["an edit without a value", { rules: [{ decide: "edit" }] }]
  ])("A policy with %s is a usage error", ([, content]) =>
    Effect.gen(function* () {
      const { policy } = yield* workplace
      const { code, stderr } = yield* run(["call", "read", ...(yield* policy(content)), ...old, "--", ...changing])
      assert.strictEqual(code, 2, stderr)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("The proxy denies calls by the rules, and lists all tools", () =>
    Effect.gen(function* () {
      const { policy } = yield* workplace
      const flags = yield* policy({ rules: [{ decide: "allow", name: "read", source: "model" }] })
      const [command, ...args] = commandLine(["proxy", ...flags, "--", ...changing])
      const client = yield* McpClient.open(Stdio.open({ command, args }), { revisions: ["2025-11-25"] })
      const { content } = yield* client.callToolByName("read", {})
      assert.deepStrictEqual(content, [{ type: "text", text: "read write" }])
      const error = yield* Effect.flip(client.callToolByName("write", {}))
      assert.include(error.message, "The policy denies call of write")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe("effect-mcp --lock", () => {
  it.live("A request for a hidden prompt fails and names the flag", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const lock = `${(yield* workplace).cwd}/pins.json`
      yield* run(["lock", "--lock", lock, ...here])
      const pins = JSON.parse(yield* files.readFileString(lock))
      const { prompts } = pins.servers.everything
      const [name = ""] = Object.keys(prompts)
      delete prompts[name]
      yield* files.writeFileString(lock, JSON.stringify(pins))
      const { code, stderr } = yield* run(["prompt", name, "--lock", lock, ...here])
      assert.strictEqual(code, 1)
      assert.include(stderr, `Nothing was sent, because of --lock: The prompt "${name}" of everything is hidden`)
      assert.notInclude(stderr, "The server returned an error")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("effect-mcp --sandbox", () => {
  it.live("A confined server may only write to the folders of --root, and the command says what is left", () =>
    Effect.gen(function* () {
      const { cwd, exists } = yield* workplace
      const target = `${cwd}/target.txt`
      const call = (...flags: ReadonlyArray<string>) =>
        run(["call", "write", `file=${target}`, ...flags, ...old, "--", ...writing])
      const confined = yield* call("--sandbox")
      assert.strictEqual(confined.code, 1, confined.stderr)
      assert.match(
        confined.stderr,
        /\[sandbox\] The server is sandboxed by (bwrap|node), but can still read your files/
      )
      assert.isFalse(yield* exists(target))
      const allowed = yield* call("--sandbox", "--network", "--root", cwd)
      assert.strictEqual(allowed.code, 0, allowed.stderr)
      assert.isTrue(yield* exists(target))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("A server that nothing can confine is not started", () =>
    Effect.gen(function* () {
      const { cwd } = yield* workplace
      const flags = ["--sandbox", "--env", "PATH=/nowhere", "--cwd", cwd]
      const { code, stderr } = yield* run(["call", "read", ...flags, ...old, "--", "/bin/cat"])
      assert.strictEqual(code, 3)
      assert.include(stderr, "Nothing on this machine can confine /bin/cat")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Only commands can be confined, and --network belongs to --sandbox", () =>
    Effect.gen(function* () {
      const url = yield* run(["call", "read", "--sandbox", "--", "http://127.0.0.1:9"])
      assert.deepStrictEqual([url.code, url.stdout], [2, ""])
      assert.include(url.stderr, "--sandbox confines a command")
      const fuzz = yield* run(["fuzz", "--sandbox", "--", ...changing])
      assert.strictEqual(fuzz.code, 2, fuzz.stderr)
      const network = yield* run(["call", "read", "--network", "--", ...changing])
      assert.strictEqual(network.code, 2)
      assert.include(network.stderr, "--network needs --sandbox")
    })
  )
})
