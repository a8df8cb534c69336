import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { run } from "@effect-mcp/cli/Cli"
import { hosts, Machine } from "@effect-mcp/cli/hosts/Host"
import * as Output from "@effect-mcp/cli/Output"
import { Effect, Layer } from "effect"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { capture } from "../../support/run.ts"

const server = fileURLToPath(new URL("../../../../interop/src/reference/server.ts", import.meta.url))

/** A user with an empty home, and a folder with a project, which may be the home. */
const userIn = (folder: "home" | "project") =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-hosts-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true }))
    ),
    (root) => {
      const [home, cwd] = [join(root, "home"), join(root, folder)]
      for (const folder of [home, cwd]) mkdirSync(folder, { recursive: true })
      writeFileSync(join(cwd, "server.js"), "")
      writeFileSync(join(cwd, "package.json"), '{"name":"@acme/server"}')
      const env = { TOKEN: "secret" }
      const effectMcp = Effect.fnUntraced(function* (...argv: ReadonlyArray<string>) {
        const [stdout, stderr] = [capture(), capture()]
        const output = Output.make({ env: {}, stdin: {}, stdout: stdout.stream, stderr: stderr.stream })
        const services = Layer.mergeAll(
          NodeServices.layer,
          Layer.effect(Output.Output, output),
          Layer.succeed(Machine, { platform: "linux", home, env, cwd })
        )
        const code = yield* Effect.provide(run(argv), services, { local: true })
        return { code, stdout: stdout.text(), stderr: stderr.text() }
      })
      const write = (file: string, text: string, mode = 0o644) => {
        mkdirSync(dirname(join(home, file)), { recursive: true })
        writeFileSync(join(home, file), text, { mode })
      }
      return { home, cwd, effectMcp, write, read: (file: string) => readFileSync(join(home, file), "utf8") }
    }
  )

const user = userIn("project")

const files: { readonly [id: string]: string } = {
  "claude-desktop": ".config/Claude/claude_desktop_config.json",
  "claude-code": ".claude.json",
  cursor: ".cursor/mcp.json",
  vscode: ".config/Code/User/mcp.json",
  codex: ".codex/config.toml",
  gemini: ".gemini/settings.json"
}

describe("effect-mcp install", () => {
  it.live.each(hosts.map(({ id }) => id))("install writes a %s file that list reads and undo empties", (id) =>
    Effect.gen(function* () {
      const { cwd, effectMcp, home, read } = yield* user
      const file = files[id] ?? ""
      const dry = yield* effectMcp("install", id, "--dry-run", "--name", "mine", "--", "node", "server.js")
      assert.deepStrictEqual([dry.code, existsSync(join(home, file))], [0, false])
      const made = yield* effectMcp("install", id, "--name", "mine", "--env", "KEY=secret", "--", "node", "server.js")
      assert.deepStrictEqual([made.code, made.stderr], [0, ""])
      assert.notInclude(made.stdout, "secret")
      assert.include(read(file), "secret")
      assert.strictEqual(statSync(join(home, file)).mode & 0o777, 0o600)
      const again = yield* effectMcp("install", id, "--name", "mine", "--env", "KEY=secret", "--", "node", "server.js")
      assert.match(again.stdout, /^Has already mine/)
      const listed = yield* effectMcp("list", "--json")
      assert.deepStrictEqual(JSON.parse(listed.stdout), [
        { client: id, name: "mine", server: `node ${join(cwd, "server.js")} --env KEY=...`, file: join(home, file) }
      ])
      const undone = yield* effectMcp("install", id, "--undo", "--name", "mine")
      assert.match(undone.stdout, /^Removed mine/)
      assert.deepStrictEqual(JSON.parse((yield* effectMcp("list", "--json")).stdout), [])
    })
  )

  it.live.each(hosts.filter(({ id }) => id !== "claude-desktop").map(({ id }) => id))(
    "install writes a URL and its headers for %s, as read by list",
    (id) =>
      Effect.gen(function* () {
        const { effectMcp, read } = yield* user
        const url = "https://mcp.example.com/mcp"
        const made = yield* effectMcp("install", id, "--header", "Authorization: Bearer abc", "--", url)
        assert.strictEqual(made.code, 0)
        assert.include(read(files[id] ?? ""), "Bearer abc")
        const [row] = JSON.parse((yield* effectMcp("list", "--json")).stdout)
        assert.deepStrictEqual([row.name, row.server], ["example", `${url} --header Authorization=...`])
      })
  )

  it.live("list shows a file in the home folder once", () =>
    Effect.gen(function* () {
      const { effectMcp } = yield* userIn("home")
      yield* effectMcp("install", "codex", "--name", "mine", "--", "node", "server.js")
      const rows: ReadonlyArray<unknown> = JSON.parse((yield* effectMcp("list", "--json")).stdout)
      assert.strictEqual(rows.length, 1)
    })
  )

  it.live("install explains what Claude Desktop needs instead of a URL", () =>
    Effect.gen(function* () {
      const { effectMcp } = yield* user
      const { code, stderr } = yield* effectMcp("install", "claude-desktop", "--", "https://example.com/mcp")
      assert.strictEqual(code, 2)
      assert.include(stderr, "effect-mcp proxy -- https://example.com/mcp")
    })
  )

  it.live("install preserves comments and other settings in JSON and TOML, and makes a backup", () =>
    Effect.gen(function* () {
      const { effectMcp, home, read, write } = yield* user
      const json =
        '{\n\t// My servers.\n\t"servers": {\n\t\t"old": { "command": "old" }, // Keep it.\n\t},\n\t"inputs": []\n}\n'
      const toml = '# Mine.\nmodel = "m"\n\n[mcp_servers.old]\ncommand = "old" # Keep it.\n'
      write(files["vscode"] ?? "", json, 0o640)
      write(files["codex"] ?? "", toml)
      for (const id of ["vscode", "codex"]) {
        assert.strictEqual((yield* effectMcp("install", id, "--", "node", "server.js", "--port", "1")).code, 0)
      }
      const [vscode, codex] = [read(files["vscode"] ?? ""), read(files["codex"] ?? "")]
      assert.include(vscode, "// My servers.")
      assert.include(vscode, '"old": { "command": "old" }, // Keep it.')
      assert.include(vscode, '\n\t\t"server": {\n\t\t\t"type": "stdio",')
      assert.include(codex, toml.trimEnd())
      assert.include(codex, "[mcp_servers.server]")
      assert.strictEqual(read(`${files["vscode"]}.before-effect-mcp`), json)
      assert.strictEqual(statSync(join(home, files["vscode"] ?? "")).mode & 0o777, 0o640)
      assert.strictEqual((yield* effectMcp("install", "vscode", "--undo", "--name", "server")).code, 0)
      assert.notInclude(read(files["vscode"] ?? ""), '"server"')
    })
  )

  it.live("install rejects a name found on every object, and drops the scope from a scoped package's name", () =>
    Effect.gen(function* () {
      const { effectMcp, read } = yield* user
      const { code, stderr } = yield* effectMcp("install", "cursor", "--name", "__proto__", "--", "node", "server.js")
      assert.deepStrictEqual([code, stderr.includes("the first a letter or a digit")], [2, true], stderr)
      yield* effectMcp("install", "cursor", "--", "npx", "@acme/_private")
      assert.deepStrictEqual(Object.keys(JSON.parse(read(files["cursor"] ?? "")).mcpServers), ["private"])
    })
  )

  it.live("install names a server after its project, and --undo finds it", () =>
    Effect.gen(function* () {
      const { cwd, effectMcp, read } = yield* user
      const names = () => Object.keys(JSON.parse(read(files["cursor"] ?? "")).mcpServers)
      writeFileSync(join(cwd, "package.json"), '{"name":"@acme/tide-tables"}')
      mkdirSync(join(cwd, "src"))
      writeFileSync(join(cwd, "src", "server.ts"), "")
      yield* effectMcp("install", "cursor", "--", "node", "src/server.ts")
      assert.deepStrictEqual(names(), ["tide-tables"])
      yield* effectMcp("install", "cursor", "--undo", "--", "node", "src/server.ts")
      assert.deepStrictEqual(names(), [])
      rmSync(join(cwd, "package.json"))
      yield* effectMcp("install", "cursor", "--", "node", "server.js")
      assert.deepStrictEqual(names(), ["project"])
    })
  )

  it.live("install preserves a file's permissions, whatever the umask", () =>
    Effect.gen(function* () {
      const { effectMcp, home, write } = yield* user
      const file = files["cursor"] ?? ""
      write(file, "{}")
      chmodSync(join(home, file), 0o664)
      assert.strictEqual((yield* effectMcp("install", "cursor", "--", "node", "server.js")).code, 0)
      assert.strictEqual(statSync(join(home, file)).mode & 0o777, 0o664)
    })
  )

  it.live("install and list show no URL password or query, and no secret option's value", () =>
    Effect.gen(function* () {
      const { effectMcp } = yield* user
      const url = "https://ada:swordfish@example.com/mcp?key=swordfish"
      const installed = yield* effectMcp("install", "cursor", "--name", "remote", "--", url)
      const words = ["npx", "it", "--api-key", "swordfish", "--token=swordfish", url]
      yield* effectMcp("install", "cursor", "--name", "local", "--", ...words)
      const listed = [yield* effectMcp("list"), yield* effectMcp("list", "--json")]
      for (const { code, stderr, stdout } of [installed, ...listed]) {
        assert.strictEqual(code, 0)
        assert.include(stdout, "https://...@example.com/mcp?...")
        assert.notInclude(stdout + stderr, "swordfish")
      }
    })
  )

  it.live("install replaces an existing server only with --force, and --undo restores it", () =>
    Effect.gen(function* () {
      const { effectMcp, read, write } = yield* user
      const file = files["cursor"] ?? ""
      write(file, '{"mcpServers":{"server":{"command":"old"}}}')
      const refused = yield* effectMcp("install", "cursor", "--", "node", "server.js")
      assert.strictEqual(refused.code, 2)
      assert.include(refused.stderr, "already has another server named server")
      assert.match((yield* effectMcp("install", "cursor", "--force", "--", "node", "server.js")).stdout, /^Replaced/)
      assert.match((yield* effectMcp("install", "cursor", "--undo", "--", "node", "server.js")).stdout, /^Put back/)
      assert.strictEqual(JSON.parse(read(file)).mcpServers.server.command, "old")
    })
  )

  it.live("install never overwrites a file it cannot read", () =>
    Effect.gen(function* () {
      const { effectMcp, read, write } = yield* user
      const broken = { cursor: '{"mcpServers": [', gemini: '{"mcpServers": []}', codex: "mcp_servers = [" }
      for (const [id, text] of Object.entries(broken)) {
        write(files[id] ?? "", text)
        const { code, stderr } = yield* effectMcp("install", id, "--", "node", "server.js")
        assert.deepStrictEqual([code, read(files[id] ?? "")], [2, text])
        assert.include(stderr, "Cannot use")
      }
      assert.strictEqual((yield* effectMcp("list")).code, 0)
    })
  )
})

describe("effect-mcp install --project", () => {
  const secret = '{"mcpServers":{"mine":{"command":"mine","env":{"KEY":"swordfish"}}}}'
  const links: { readonly [kind: string]: (home: string, cwd: string) => void } = {
    file: (home, cwd) => {
      mkdirSync(join(cwd, ".cursor"))
      symlinkSync(join(home, ".cursor", "mcp.json"), join(cwd, ".cursor", "mcp.json"))
    },
    folder: (home, cwd) => symlinkSync(join(home, ".cursor"), join(cwd, ".cursor"))
  }

  it.live.each(Object.keys(links))("A linked %s that leads to the user's own configuration is rejected", (kind) =>
    Effect.gen(function* () {
      const { cwd, effectMcp, home, read, write } = yield* user
      write(".cursor/mcp.json", secret)
      links[kind]?.(home, cwd)
      const { code, stderr } = yield* effectMcp("install", "cursor", "--project", "--", "node", "server.js")
      assert.deepStrictEqual([code, read(".cursor/mcp.json")], [2, secret])
      assert.include(stderr, "outside of the project")
      assert.isFalse(existsSync(join(cwd, ".cursor", "mcp.json.before-effect-mcp")))
      const listed = yield* effectMcp("list", "--json")
      assert.deepStrictEqual(
        JSON.parse(listed.stdout).map(({ file }: { file: string }) => file),
        [join(home, ".cursor", "mcp.json")]
      )
    })
  )

  it.live("A backup linked to the user's own configuration is not restored", () =>
    Effect.gen(function* () {
      const { cwd, effectMcp, home, write } = yield* user
      write(".cursor/mcp.json", secret)
      mkdirSync(join(cwd, ".cursor"))
      const file = join(cwd, ".cursor", "mcp.json")
      writeFileSync(file, '{"mcpServers":{"mine":{"command":"theirs"}}}')
      symlinkSync(join(home, ".cursor", "mcp.json"), `${file}.before-effect-mcp`)
      const { code } = yield* effectMcp("install", "cursor", "--project", "--undo", "--name", "mine")
      assert.deepStrictEqual([code, readFileSync(file, "utf8").includes("swordfish")], [2, false])
    })
  )

  it.live("A link to another file in the project is followed", () =>
    Effect.gen(function* () {
      const { cwd, effectMcp } = yield* user
      writeFileSync(join(cwd, "servers.json"), "{}")
      symlinkSync("servers.json", join(cwd, ".mcp.json"))
      const { code } = yield* effectMcp("install", "claude-code", "--project", "--", "node", "server.js")
      assert.strictEqual(code, 0)
      assert.include(readFileSync(join(cwd, "servers.json"), "utf8"), "server.js")
    })
  )

  it.live("A backup is readable only by its owner", () =>
    Effect.gen(function* () {
      const { cwd, effectMcp } = yield* user
      writeFileSync(join(cwd, ".mcp.json"), "{}", { mode: 0o644 })
      yield* effectMcp("install", "claude-code", "--project", "--", "node", "server.js")
      assert.strictEqual(statSync(join(cwd, ".mcp.json.before-effect-mcp")).mode & 0o777, 0o600)
    })
  )
})

describe("--config FILE --server NAME", () => {
  const config = (servers: object) => JSON.stringify({ mcpServers: servers })

  it.live("--config starts a server from a host's configuration, with its variables", () =>
    Effect.gen(function* () {
      const { effectMcp, home, write } = yield* user
      const everything = {
        command: process.execPath,
        args: [server, "--stdio"],
        env: { A: "${TOKEN}", B: "${NONE:-b}" }
      }
      write("mcp.json", config({ everything, other: { url: "https://example.com/mcp" } }))
      const argv = ["tools", "add", "--json", "--config", join(home, "mcp.json"), "--revision", "2025-11-25"]
      const one = yield* effectMcp(...argv, "--server", "everything")
      assert.deepStrictEqual([one.code, JSON.parse(one.stdout).name], [0, "add"])
      const none = yield* effectMcp(...argv)
      assert.deepStrictEqual(
        [none.code, none.stderr.includes("--server must name one of everything, other")],
        [2, true]
      )
    })
  )

  it.live("--config rejects an entry with a missing or host-only variable", () =>
    Effect.gen(function* () {
      const { effectMcp, home, write } = yield* user
      const texts = {
        "${input:key}": "only a host can fill in",
        "${MISSING}": "the environment variable MISSING is not set"
      }
      for (const [text, reason] of Object.entries(texts)) {
        write("mcp.json", config({ one: { command: "node", args: [text] } }))
        const { code, stderr } = yield* effectMcp("ping", "--config", join(home, "mcp.json"))
        assert.strictEqual(code, 2)
        assert.include(stderr, reason)
      }
    })
  )

  it.live.each([
    ["mcp.json", `{"mcpServers":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["mcp.toml", `mcp_servers = ${"[".repeat(100_000)}${"]".repeat(100_000)}`],
    ["mcp.toml", `[${"a.".repeat(100_000)}a]`]
  ] as const)("--config reports a file that is nested too deeply: %s", ([name, text]) =>
    Effect.gen(function* () {
      const { effectMcp, home, write } = yield* user
      write(name, text)
      const { code, stderr } = yield* effectMcp("ping", "--config", join(home, name))
      assert.deepStrictEqual([code, stderr.includes("it is nested too deeply")], [2, true], stderr)
    })
  )

  it.live("--config rejects a second server after --, and --server is rejected on its own", () =>
    Effect.gen(function* () {
      const { effectMcp } = yield* user
      const both = yield* effectMcp("ping", "--config", "mcp.json", "--", "node")
      assert.include(both.stderr, "--config already names the server")
      assert.include((yield* effectMcp("ping", "--server", "a", "--", "node")).stderr, "--server needs --config")
    })
  )
})
