/** Command lines that confine servers, for the tools that a machine may have. */
import * as Sandbox from "@effect-mcp/client/Sandbox"
import { assert, describe, it } from "@effect/vitest"

const line = { command: "node", args: ["server.js"] }
const plan = (options: Sandbox.Options, tools: Partial<Sandbox.SandboxTools>, cwd = "/home/ada/project") => {
  const [{ args, command }, confinement] = Sandbox.plan(line, options, { bwrap: false, node: undefined, ...tools }, cwd)
  return { ...confinement, words: [command, ...args].join(" ") }
}

describe("Sandbox plans", () => {
  it("Prefers bwrap, with a read-only system, no network and writable folders", () => {
    const { by, gaps, words } = plan({ write: ["/data"] }, { bwrap: true, node: "v24.0.0" })
    assert.deepStrictEqual([by, gaps], ["bwrap", ["read"]])
    assert.match(words, /^bwrap --ro-bind \/ \/ /)
    for (const part of [
      "--unshare-net",
      "--tmpfs /run",
      "--tmpfs /tmp",
      "--bind /data /data",
      "--die-with-parent",
      "--cap-drop ALL"
    ])
      assert.include(words, part)
    assert.match(words, / --chdir \/home\/ada\/project -- node server\.js$/)
  })

  it("Keeps network access if allowed, and the files of a server in /tmp", () => {
    const { gaps, words } = plan({ network: true }, { bwrap: true }, "/tmp/project")
    assert.notInclude(words, "--unshare-net")
    assert.include(words, "--tmpfs /tmp --ro-bind-try /tmp/project /tmp/project")
    assert.include(words, "--tmpfs /run --ro-bind-try /run/systemd/resolve")
    assert.deepStrictEqual(gaps, ["read"])
    // Sockets of other programs in /tmp lead out.
    assert.deepStrictEqual(plan({}, { bwrap: true }, "/tmp").gaps, ["read", "processes"])
  })

  it("Uses Node's permissions without bwrap and reports their gaps", () => {
    const { by, gaps, words } = plan({ write: ["/data/"] }, { node: "v24.21.0" })
    assert.deepStrictEqual([by, gaps], ["node", ["read", "network", "escape"]])
    assert.strictEqual(words, "node --permission --allow-fs-read=* --allow-fs-write=/data/* server.js")
    assert.deepStrictEqual(plan({}, { node: "v25.1.0" }).gaps, ["read", "escape"])
    assert.include(plan({ network: true }, { node: "v25.1.0" }).words, "--allow-net")
    assert.deepStrictEqual(plan({ network: true }, { node: "v24.0.0" }).gaps, ["read", "escape"])
  })

  it.each(["v20.20.2", "v22.12.0", "v23.4.0", undefined, "nonsense"])("Confines nothing without a tool: %s", (node) => {
    const { by, gaps, words } = plan({}, { node })
    assert.deepStrictEqual([by, gaps, words], ["nothing", ["read", "write", "network", "processes"], "node server.js"])
  })

  it.each(["v22.13.0", "v23.5.0", "v24.0.0"])("Uses the permissions of Node %s", (node) => {
    assert.strictEqual(plan({}, { node }).by, "node")
  })
})
